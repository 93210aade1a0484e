import { readFileSync } from 'node:fs';
import { env } from 'node:process';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { comparableAddress, isRefused, looseNames, readAddress } from './index.ts';
import type { AddressUse, SourceAddress } from './index.ts';

/** The readings of an address by other programs; "" if they refused it. */
interface ProgramReading {
  readonly text: string;
  readonly go?: string;
  readonly curl?: string;
  readonly git?: string;
  /** User, host, port and path that git passed to ssh. */
  readonly ssh?: string;
}

const readings = JSON.parse(
  readFileSync(new URL('./testdata/readings.json', import.meta.url), 'utf8'),
) as readonly ProgramReading[];

/** Escapes that stand for nothing else, and the spelling of scheme and host. */
function inOneWay(url: string): string {
  const [, scheme = '', authority = '', path = ''] = /^([a-z]+):\/\/([^/?#]*)(.*)$/i.exec(url) ?? [];
  const port = scheme.toLowerCase() === 'http' ? ':80' : ':443';
  const host = authority.toLowerCase();
  const plain = path
    .replace(/%[0-9a-f]{2}/gi, (escape) => {
      const char = decodeURIComponent(Number.parseInt(escape.slice(1), 16) < 128 ? escape : '%7E');
      return Number.parseInt(escape.slice(1), 16) < 128 && /[\w~-]/.test(char) ? char : escape.toUpperCase();
    })
    .replace(/[^\u0000-\u007f]+/g, encodeURIComponent)
    .replace(/\/$/, '');
  const slash = plain.startsWith('?') ? '/' : '';
  return `http://${host.endsWith(port) ? host.slice(0, -port.length) : host}${slash}${plain.replace(/\?$/, '')}`;
}

function hostOfLiteral(url: string): string {
  const [literal = ''] = /\[[0-9a-f:.]+\]/i.exec(url) ?? [];
  return literal === '' ? url : url.replace(literal, new URL(`http://${literal}/`).hostname);
}

const read = (text: string, use: AddressUse = 'any'): SourceAddress | string => {
  const address = readAddress(text, use);
  return isRefused(address) ? address.refused : address;
};

describe('the readings of programs', () => {
  it.each(readings.filter(({ ssh }) => ssh === undefined).map((row) => [row.text, row] as const))(
    'are ours, or we refuse: %j',
    (text, row) => {
      const address = read(text);
      if (typeof address === 'string') return;
      const mine = inOneWay(address.url);
      // The path of a request over TLS is not seen.
      for (const program of address.scheme === 'https' ? (['go'] as const) : (['go', 'curl', 'git'] as const)) {
        const bytes = program === 'go' ? 'utf8' : 'latin1';
        const theirs = hostOfLiteral(Buffer.from(row[program] ?? '', bytes).toString('utf8'));
        // curl cannot send these, and then nothing is dialled.
        if (theirs !== '') expect([program, inOneWay(theirs)]).toEqual([program, mine]);
      }
    },
  );

  it.each(readings.filter(({ ssh }) => ssh !== undefined).map((row) => [row.text, row.ssh ?? ''] as const))(
    'of ssh are ours, or we refuse: %j',
    (text, theirs) => {
      const address = read(text, 'git');
      if (typeof address === 'string' || address.transport !== 'ssh' || theirs === '') return;
      const { username = '', host, port, segments, isShort } = address;
      const path = decodeURIComponent(segments.join('/'));
      const from = isShort || path.startsWith('~') ? '' : '/';
      // git quotes the path for a shell.
      const [user, name, number = '', ...rest] = theirs.replace(/'\\(['!])'/g, '$1').split(' ');
      expect([username, host.replace(/^\[|\]$/g, ''), port]).toEqual([user, name, number === '22' ? '' : number]);
      expect(`${from}${path}`).toBe(decodeURIComponent(rest.join(' ').replace(/\/$/, '')));
    },
  );

  it('are recorded for addresses that we accept and that we refuse', () => {
    const accepted = readings.filter(({ text }) => typeof read(text, 'git') !== 'string').length;
    expect(accepted).toBeGreaterThan(100);
    expect(readings.length - accepted).toBeGreaterThan(100);
  });
});

const factor = Number(env['DRIFTLESS_LONG_FACTOR'] ?? '1');
const piece = fc.constantFrom(
  ...['http://', 'https://', 'HTTP://', 'ssh://', 'git://', 'file://', 'oci://', 'u@', 'u:p@', '@', ':', ':80', ':443'],
  ...[
    'h.example',
    'H.EXAMPLE',
    'evil',
    '127.0.0.1',
    '0x7f.1',
    '[::1]',
    '[::1%25e]',
    '.',
    '..',
    '/',
    '//',
    '\\',
    '?',
    '#',
  ],
  ...['%2e', '%2F', '%5c', '%25', '%00', '%73', '%C3%A9', 'é', 'ⓗ', 'K', '\ud800', '\t', '\n', ' ', ';', '*', '{a}'],
  ...[
    'a',
    'A',
    '.git',
    '~',
    '-',
    '--x',
    '&',
    '=',
    '+',
    '|',
    "'",
    '"',
    '<',
    '^',
    '`',
    '\u202e',
    '\u0000',
    'xn--',
    '。',
    '･',
  ],
);
const spelling = fc.oneof(
  fc.array(piece, { maxLength: 9 }).map((pieces) => pieces.join('')),
  fc
    .tuple(fc.constantFrom('http://', 'https://', 'ssh://git@', 'git@'), fc.array(piece, { maxLength: 6 }))
    .map(([scheme, pieces]) => `${scheme}h.example/${pieces.join('')}`),
  fc.string({ unit: 'binary', maxLength: 40 }),
);

describe('every spelling (fuzz)', () => {
  it('that is accepted is read alike by the reader of URLs in this process', () => {
    fc.assert(
      fc.property(spelling, fc.constantFrom<AddressUse>('git', 'chart', 'web', 'any'), (text, use) => {
        const address = read(text, use);
        if (typeof address === 'string') {
          expect(address).not.toBe('');
          return;
        }
        const { url, host, port, segments, query, transport } = address;
        expect(url).not.toMatch(/[\u0000-\u001f\u007f\\]|^-/);
        if (transport === 'local') return;
        expect(segments.some((segment) => /^\.{0,2}$|%(?:2f|5c|2e|25)|[\\/?#]/i.test(segment))).toBe(false);
        if (transport !== 'http') return;
        const [theirs, original] = [new URL(url), new URL(text.trim())];
        for (const one of [theirs, original]) {
          expect([one.hostname, one.port, one.search]).toEqual([host, port, query]);
          expect(inOneWay(`http://x${one.pathname}`)).toBe(inOneWay(`http://x/${segments.join('/')}`));
        }
      }),
      { numRuns: 5000 * factor },
    );
  });

  it('that is accepted has one text, which is read as itself', () => {
    fc.assert(
      fc.property(spelling, (text) => {
        const address = read(text);
        if (typeof address === 'string') return;
        const again = read(address.text);
        if (typeof again === 'string') throw new Error(`${text}: ${again}`);
        expect([again.text, again.url, comparableAddress(again)]).toEqual([
          address.text,
          address.url,
          comparableAddress(address),
        ]);
        expect(looseNames(again)).toEqual(looseNames(address));
      }),
      { numRuns: 3000 * factor },
    );
  });
});

describe('spellings of one address', () => {
  it.each<[string, string, readonly string[]]>([
    [
      'https://h.example/Team/app.git',
      'https://h.example/team/app',
      [
        'HTTPS://H.Example:443/Team/app.git/',
        ' https://h.example/%54eam/%61pp.git ',
        'https://h.example/Team/app%2Egit',
      ],
    ],
    ['git@h.example:a/b.git', 'git@h.example/a/b', ['git@H.EXAMPLE:a/b.git/']],
    ['ssh://git@h.example/a/b', 'git@h.example/a/b', ['SSH://git@h.example:22/a/b/', 'git@h.example:/a/b']],
    ['ssh://git@h.example:2222/~me/b', 'git@h.example:2222/~me/b', ['ssh://git@h.example:2222/%7Eme/b']],
    ['https://h.example/a%20b/%C3%A9', 'https://h.example/a%20b/%c3%a9', ['https://h.example/a%20b/%c3%a9']],
    ['https://h.example', 'https://h.example', ['https://h.example/']],
    ['oci://h.example:5000/Charts/x', 'oci://h.example:5000/charts/x', ['OCI://H.example:5000/Charts/x/']],
    ['/srv/git/a.git', '/srv/git/a', ['file:///srv/git/a.git', 'file://localhost/srv/git/a.git', '/srv/git/a.git/']],
  ])('have the text %s', (text, comparable, others) => {
    for (const one of [text, ...others]) {
      const address = read(one, one.includes('%2E') ? 'any' : 'git');
      if (one.includes('%2E')) expect(address).toMatch(/an encoded dot/);
      else if (typeof address === 'string') throw new Error(`${one}: ${address}`);
      else expect([one, address.text, comparableAddress(address)]).toEqual([one, text, comparable]);
    }
  });
});

describe('addresses of installations', () => {
  it.each<[AddressUse, string, string?]>([
    [
      'git',
      'https://user@dev.azure.com/org/My%20Project/_git/repo',
      'https://dev.azure.com/org/My%20Project/_git/repo',
    ],
    ['git', 'https://dev.azure.com/org/C%23%20Tools/_git/repo'],
    ['git', 'git@ssh.dev.azure.com:v3/org/My%20Project/repo'],
    ['git', 'ssh://APKAEXAMPLE@git-codecommit.eu-west-1.amazonaws.com/v1/repos/app'],
    [
      'git',
      'ssh://me@corp.example@source.developers.google.com:2022/p/project/r/repo',
      'ssh://me%40corp.example@source.developers.google.com:2022/p/project/r/repo',
    ],
    ['git', 'https://x-token-auth:ATCTT3x=F@bitbucket.org/team/app.git', 'https://bitbucket.org/team/app.git'],
    [
      'git',
      'https://oauth2:glpat-x_y@gitlab.example.com/group/sub/app.git',
      'https://gitlab.example.com/group/sub/app.git',
    ],
    ['git', 'ssh://git@bitbucket.example.com:7999/~user/app.git'],
    ['git', 'git@github.com:org/app.git'],
    ['git', 'http://gitea.git.svc.cluster.local.:3000/org/app.git'],
    ['git', 'https://storage.example/app.tgz?X-Amz-Signature=ab%2Fcd&X-Amz-Expires=60'],
    ['chart', 'https://charts.example.com/index/stable'],
    ['chart', 'https://account.blob.example/charts?sv=2020&sig=a%2Bb%3D'],
    ['chart', 'registry.example.com:5000/charts'],
    ['chart', 'ghcr.io/org/charts'],
    ['git', 'oci://ghcr.io/org/charts/app'],
    ['web', 'https://bucket.s3.example/chart-1.0.0%2Bbuild.tgz?X-Amz-Credential=a%2Fb'],
    ['web', 'https://h.example/chart-1.0.0+build.tgz'],
    ['web', 'https://raw.example/org/app/v1.2/values-prod.yaml'],
    ['git', 'https://h_x.example/app'],
    ['git', 'https://xn--bcher-kva.example/app'],
    ['git', 'https://[2001:db8::1]:8443/app'],
  ])('go on as %s: %s', (use, text, url = text) => {
    expect(read(text, use)).toMatchObject({ url });
  });
});

describe('what has no single reading', () => {
  it.each<[string, AddressUse, string]>([
    ['it is longer than', 'git', `https://h/${'a'.repeat(65_536)}`],
    ['it has an unpaired surrogate', 'git', 'https://h/\ud800x'],
    ['it has control characters', 'git', 'https://h/a\u0000b'],
    ['characters beyond ASCII', 'git', 'https://gith\u0443b.com/x'],
    ['characters beyond ASCII', 'git', 'git@gith\u0443b.com:x/y'],
    ['an IPv6 zone', 'git', 'http://[fe80::1%25eth0]/x'],
    ['an IPv6 zone', 'git', 'ssh://git@[fe80::1%eth0]/x'],
    ['its host is not valid', 'git', 'ssh://-oProxyCommand=touch/x'],
    ['its host is not valid', 'git', 'ssh://git@-oProxyCommand=touch/x'],
    ['its host is not valid', 'git', 'git@-oProxyCommand=x:y'],
    ['its user is not valid', 'git', '-x@h:y'.replace('-x', '$(x)')],
    ['it starts with "-"', 'git', '-oProxyCommand=x:y'],
    ['a part of it starts with "-"', 'git', 'git@h:-x'],
    ['is no host', 'git', 'file:x'],
    ['is no host', 'git', 'https:x/y'],
    ['file:// with a host', 'git', 'file://h/srv/x'],
    ['the scheme', 'git', 'ftp://h/x'],
    ['it must begin with https://', 'web', 'file:/etc/passwd'],
    ['the scheme file://', 'web', 'FILE:///etc/passwd'],
    ['git remote helpers', 'git', 'ext::sh -c x'],
    ['the segment ".."', 'git', 'FILE:///srv/../etc'],
    ['the segment ".."', 'git', '/srv/../etc'],
    ['letters, digits, dots', 'git', `oci://h/x@sha256:${'a'.repeat(64)}`],
    ['letters, digits, dots', 'git', 'oci://h:5000/x:1.0'],
    ['a user is not allowed', 'git', 'oci://u@h/x'],
    ['a user is not allowed', 'git', 'git://u@h/x'],
    ['a password is not allowed', 'git', 'ssh://git:pw@h/x'],
    ['its port is not valid', 'git', 'https://h:0443/x'],
    ['its port is not valid', 'git', 'https://h:/x'],
    ['it has a query', 'git', 'https://h/x.git?ref=main'],
    ['it has a query', 'git', 'git@h:x?y'],
    ['the segment ".."', 'git', 'https://h/..;/x'],
    ['must be escaped', 'git', 'https://h/a\u200bb'],
    ['invisible characters', 'git', 'https://h/a%E2%80%AEb'],
    ['Unicode normalization', 'git', 'https://h/team-%E2%84%AA/app'],
    ['Unicode normalization', 'git', 'https://h/%EF%BC%8E%EF%BC%8E/app'],
    ['must be escaped', 'git', 'https://h/\u00e9'],
    ['a broken percent escape', 'git', 'https://h/%c0%af'],
  ])('is refused (%s): %s %s', (why, use, text) => {
    expect(read(text, use)).toContain(why);
  });
});
