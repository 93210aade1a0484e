import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { seededRandom } from '#base';
import type { RandomSource } from '#base';
import { machineTools } from '../../testing/repository.ts';
import { describeWithTool } from '../../testing/with-tool.ts';
import { formatAssignment, parseSetLine, SetLineError } from './strvals.ts';

const formatted = (line: string): readonly string[] => parseSetLine(line).map(formatAssignment);

describe('a line of --set', () => {
  it.each<[string, readonly string[]]>([
    ['a=1', ['a=1']],
    ['a.b=1,c={x,y}', ['a.b=1', 'c={x,y}']],
    ['a\\.b=x\\,y', ['a\\.b=x\\,y']],
    ['a[0][1].b=x', ['a[0][1].b=x']],
    ['a=', ['a=']],
    ['a=,b=1', ['a=,', 'b=1']],
    ['a=\\{x}', ['a=\\{x}']],
    ['a=x=y[0].z', ['a=x=y[0].z']],
    ['a={}', ['a={}']],
    ['a={x}b=1', ['a={x}', 'b=1']],
    ['a={x\\},y}', ['a={x\\},y}']],
    ['a[0', []],
    ['a[0]', ['a[0]']],
    ['', []],
    ['=x', ['=x']],
  ])('splits %j like helm', (line, expected) => {
    expect(formatted(line)).toEqual(expected);
  });

  it.each([
    ['a', 'key "a" has no value'],
    ['a,b=1', 'key "a" has no value (cannot end with ,)'],
    ['a[x]=1', 'error parsing index: strconv.Atoi: parsing "x": invalid syntax'],
    ['a[-1]=1', 'negative -1 index not allowed'],
    ['a[0]b=1', 'unexpected data at end of array index: "b"'],
    ['a={x', "list must terminate with '}'"],
    [`${'a.'.repeat(31)}b=1`, 'value name nested level is greater than maximum supported nested level of 30'],
  ])('refuses %j with helm’s message', (line, message) => {
    expect(() => parseSetLine(line)).toThrow(new SetLineError(message));
  });

  it('round-trips any characters', () => {
    const random = seededRandom(7);
    for (let i = 0; i < 2000; i += 1) {
      const key = textFrom(random, 6);
      const [assignment] = parseSetLine(
        formatAssignment({ path: [{ key: `k${key}` }], value: { kind: 'text', text: key } }),
      );
      expect(assignment).toEqual({ path: [{ key: `k${key}` }], value: { kind: 'text', text: key } });
    }
  });
});

const alphabet = [
  'a',
  'b',
  'true',
  'null',
  '0',
  '12',
  '1234567',
  '1e3',
  '.',
  ',',
  '=',
  '[',
  ']',
  '{',
  '}',
  '\\',
  '"',
  ' ',
  'ü',
];

function textFrom(random: RandomSource, most: number): string {
  return Array.from({ length: Math.floor(random.next() * most) }, () => pick(random, alphabet)).join('');
}

function pick<T>(random: RandomSource, from: readonly T[]): T {
  return from[Math.floor(random.next() * from.length)] as T;
}

/** Mostly well-formed, with a few invalid characters. */
function lineFrom(random: RandomSource): string {
  const path = pick(random, [
    'a',
    'b.c',
    'list[0]',
    'list[1].x',
    'deep[0][1]',
    'm.n.o',
    'null',
    'text.x',
    '',
    'k\\.x',
    'list[2',
  ]);
  const value = pick(random, [
    'x',
    '5',
    '1234567',
    'true',
    '{p,q}',
    '{1,null,x}',
    '{}',
    '',
    'a\\,b',
    '00',
    '-7',
    'x,',
    '9223372036854775808',
  ]);
  return `${path}${random.next() < 0.1 ? textFrom(random, 3) : ''}=${value}${random.next() < 0.2 ? textFrom(random, 4) : ''}`;
}

describeWithTool('helm', 'helm itself', () => {
  const folder = mkdtempSync(join(tmpdir(), 'strvals-'));
  beforeAll(() => {
    mkdirSync(join(folder, 'templates'));
    writeFileSync(join(folder, 'Chart.yaml'), 'apiVersion: v2\nname: x\nversion: 1.0.0\n');
    writeFileSync(
      join(folder, 'templates', 'v.yaml'),
      'v: {{ .Values | toJson }}\nkinds: {{ range $k, $v := .Values }}{{ $k }}={{ kindOf $v }};{{ end }}\n',
    );
    writeFileSync(join(folder, 'base.yaml'), 'list: [{x: 1, y: 2}, {x: 3}]\nm: {n: {p: 1}}\ntext: t\nnone: null\n');
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const render = (args: readonly string[]): string | undefined => {
    const all = ['template', '.', '--values=base.yaml', ...args];
    try {
      const env = { HOME: folder };
      return execFileSync(machineTools('helm') ?? '', all, { cwd: folder, env, encoding: 'utf8', stdio: 'pipe' });
    } catch {
      return undefined;
    }
  };
  const ours = (flag: string, line: string): string | undefined => {
    try {
      return render(formatted(line).map((one) => `${flag}=${one}`));
    } catch (error) {
      if (error instanceof SetLineError) return undefined;
      throw error;
    }
  };

  it('gives the same result for our arguments as for the whole line, also errors', () => {
    const random = seededRandom(11);
    for (let i = 0; i < 60; i += 1) {
      const line = [lineFrom(random), ...(random.next() < 0.5 ? [lineFrom(random)] : [])].join(',');
      const flag = random.next() < 0.7 ? '--set' : '--set-string';
      expect([line, ours(flag, line)]).toEqual([line, render([`${flag}=${line}`])]);
    }
  }, 60_000);
});
