import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { outsideText, splitUserInfo } from './outside.ts';
import type { OutsideSource } from './outside.ts';
import { parseYamlDocuments } from './yaml.ts';

const sources: readonly OutsideSource[] = [
  ...(['server', 'page', 'program', 'credential plugin', 'parser'] as const),
  ...(['url', 'rpc', 'script', 'system', 'field'] as const),
];
const canary = 'c4nary/+ val"ue\\';

describe('texts from outside', () => {
  it.each(sources)('never contain hidden values in any form: %s', (source) => {
    const forms = [
      canary,
      encodeURIComponent(canary),
      Buffer.from(canary).toString('base64'),
      JSON.stringify(canary),
      `x${canary}y`,
    ];
    for (const form of forms) {
      const shown = outsideText(source, `it said ${form} to me`, { hidden: [canary] });
      expect(shown).not.toContain(form);
      expect(shown).not.toMatch(/c4nary/);
    }
    expect(outsideText(source, `key:\n${'a'.repeat(40)}\n`, { hidden: [`-\n${'a'.repeat(40)}\n-`] })).not.toContain(
      'aaaa',
    );
  });

  it.each([
    ['as Go programs have them in JSON', 'p<ss&w>rd', 'p\\u003css\\u0026w\\u003erd'],
    ['as Go programs have them in an address', "it's (a) pass word!", 'it%27s+%28a%29+pass+word%21'],
    ['without the padding of base64', 'hunter2!', Buffer.from('hunter2!').toString('base64').replace(/=+$/, '')],
    ['in the base64 of addresses', '??>>??>>', Buffer.from('??>>??>>').toString('base64url')],
    [
      'with the line ends that are taken from the text',
      'first hunter\r\nsecond hunter\r\n',
      'first hunter\r\nsecond hunter\r\n',
    ],
    ['with the controls that are taken from the text', 'hun\u0001ter2\u200e', 'hun\u0001ter2\u200e'],
    ['line by line', `${'a'.repeat(20)}\r\n${'b'.repeat(20)}\r\n`, `${'b'.repeat(20)}\r\n`],
  ])('never contain hidden values %s', (_name, hidden, form) => {
    const shown = outsideText('program', `it said ${form} to me`, { hidden: [hidden] });
    expect(shown.replace(/\s*(?:\*\*\*=*\s*)+/, ' *** ')).toBe('it said *** to me');
  });

  it.each(sources)('contain no escape sequences and no marks that change the writing direction: %s', (source) => {
    const nasty = 'a\u001b[31mred\u001b]0;title\u0007 \u001b[2J\u009b31m\u202eevil\u2066\u0000\u007fb\r\nc';
    const shown = outsideText(source, nasty);
    expect(shown).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
    expect(shown).not.toContain('title');
  });

  it('are replaced by the function of the caller for confidential objects', () => {
    const instead = (text: string): string => `it says ${text.length} characters`;
    expect(outsideText('server', 'c4nary\u001b[2J', { instead })).toBe('it says 6 characters');
    expect(outsideText('server', 'c4nary', { hidden: ['c4nary'], instead: (text) => text })).toBe('***');
  });

  it('lose a short hidden value only where it stands alone', () => {
    expect(outsideText('program', 'abc: the alphabet begins with abc, ab+c and abcd', { hidden: ['abc', 'b+'] })).toBe(
      '***: the alphabet begins with ***, a***c and abcd'.replace('a***c', 'ab+c'),
    );
  });

  it.each([
    ['page', ' <html>\n <b>no</b>', '<html> <b>no</b>'],
    ['system', 'first line\nsecond line', 'first line'],
    ['program', 'first line\nsecond line', 'first line\nsecond line'],
    ['program', 'cannot overwrite table (map[a:map[b:x] c:y z]) for d', 'cannot overwrite table (map[***]) for d'],
    ['program', 'map[a:x', 'map[***]'],
    [
      'rpc',
      'cannot unmarshal string into Go value of type map[string]interface {}',
      'cannot unmarshal string into Go value of type map[string]interface {}',
    ],
    ['parser', 'unidentified alias "hunter2"', 'unidentified alias ***'],
    ['parser', 'tag name is malformed: hunter2 and more', 'tag name is malformed: ***'],
    ['parser', 'unknown tag !<hunter2>', 'unknown tag ***'],
    ['url', 'https://u:p@host/x?access_token=t&a=b', 'https://***@host/x?access_token=***&a=b'],
    [
      'credential plugin',
      'An error occurred (AccessDenied): dial tcp: no such host: hunter2',
      'AccessDenied, no such host',
    ],
    ['credential plugin', 'here is my refresh token: hunter2', ''],
    ['rpc', 'password="x" token=abc {"password":"hunter2","a":1}', 'password="x" token=*** {"password":"***","a":1}'],
  ] as const)('are shown from a %s: %j', (source, text, shown) => {
    expect(outsideText(source, text)).toBe(shown);
    expect(outsideText(source, shown)).toBe(shown);
  });

  it('lose private keys completely', () => {
    const key = '-----BEGIN OPENSSH PRIVATE KEY-----\nabcd\nefgh\n-----END OPENSSH PRIVATE KEY-----';
    expect(outsideText('program', `cannot load ${key}: bad`)).toBe('cannot load ***: bad');
    expect(outsideText('program', `cannot load ${key.slice(0, 45)}`)).toBe('cannot load ***');
  });

  it.each([
    ['a'.repeat(3_000_000), 'letters'],
    ['map['.repeat(500_000), 'maps'],
    ['\u001b['.repeat(500_000), 'sequences'],
    ['-----BEGIN PRIVATE KEY-----'.repeat(50_000), 'keys'],
    ['password='.repeat(200_000), 'names'],
    ['secrets "a'.repeat(100_000), 'sentences'],
    ['"'.repeat(1_000_000), 'quotes'],
  ])('are read in linear time (%#)', (text) => {
    // A quadratic reader would take minutes for this.
    for (const source of sources)
      expect(outsideText(source, text, { hidden: ['hunter2'] }).length).toBeLessThan(70_000);
  });
});

describe('YAML that cannot be parsed', () => {
  it.each([
    'password: *hunter2',
    'password: !hunter2%zz x',
    'password: !<hunter2 x',
    'password: !hunter2!hunter2 x',
    'password: "hunter2',
    'password: hunter2: hunter2: x',
    'password: [hunter2, {hunter2',
    '%hunter2\nhunter2: *hunter2',
    'a: &hunter2 *hunter2',
    '? hunter2\n- hunter2: }',
  ])('is not quoted in the message or the cause: %j', (text) => {
    let found: unknown;
    try {
      found = parseYamlDocuments(`kind: Secret\n${text}`);
    } catch (error) {
      found = error;
    }
    if (found instanceof Error)
      expect(inspect(found, { depth: 10 }).replaceAll(/^.*at .*$/gm, '')).not.toContain('hunter2');
    else expect(JSON.stringify(found)).toContain('kind');
  });
});

describe('addresses with user info', () => {
  it.each([
    ['https://u:p%40ss@host:6443/x@y', { url: 'https://host:6443/x@y', username: 'u', password: 'p@ss' }],
    ['https://u@host', { url: 'https://host', username: 'u' }],
    ['https://:p@host', { url: 'https://host', password: 'p' }],
    ['https://u:p@q@host', { url: 'https://host', username: 'u', password: 'p@q' }],
    ['https://host/a@b', { url: 'https://host/a@b' }],
    ['https://host?a@b', { url: 'https://host?a@b' }],
    ['git@host:org/repo', { url: 'git@host:org/repo' }],
    ['*', { url: '*' }],
    ['', { url: '' }],
  ])('split into address and credentials: %s', (url, parts) => {
    expect(splitUserInfo(url)).toEqual(parts);
  });
});
