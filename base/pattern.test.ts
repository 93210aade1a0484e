import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { cachedPatterns, compileLinearPattern } from './pattern.ts';
import type { LinearPattern } from './pattern.ts';

interface Vectors {
  readonly texts: readonly string[];
  readonly rows: readonly { pattern: string; valid: boolean; matches: readonly string[]; whole: readonly string[] }[];
}
const vectors = JSON.parse(readFileSync(new URL('./testdata/go-regexp.json', import.meta.url), 'utf8')) as Vectors;

describe('compileLinearPattern', () => {
  it('limits the cache by the total instructions of its patterns', () => {
    for (let i = 0; i < 40; i += 1) expect(compileLinearPattern(`(?:${i}|[a-z]x){900}`).ok).toBe(true);
    const { count, size } = cachedPatterns();
    expect(size).toBeLessThanOrEqual(100_000);
    expect(size).toBeGreaterThan(50_000);
    for (let i = 0; i < 600; i += 1) compileLinearPattern(`small${i}`);
    expect(cachedPatterns().count).toBe(512);
    expect(cachedPatterns().size).toBeLessThan(size);
    expect(count).toBeLessThan(40);
  });

  it.each(vectors.rows)('agrees with Go on $pattern', ({ pattern, valid, matches, whole }) => {
    const compiled = compileLinearPattern(pattern);
    expect(compiled.ok).toBe(valid);
    if (!compiled.ok) return;
    expect(vectors.texts.filter((text) => compiled.test(text))).toEqual(matches);
    expect(vectors.texts.filter((text) => compiled.matchesWhole(text))).toEqual(whole);
  });

  it.each([
    ['i', 'a.B', 'AxB', true],
    ['', 'a.B', 'AxB', false],
    ['s', '^a.b$', 'a\nb', true],
    ['', '^a.b$', 'a\nb', false],
    ['m', '^b$', 'a\nb', true],
    ['', '^b$', 'a\nb', false],
    ['ims', '^B.C$', 'a\nb\nc', true],
  ])('supports the flags "%s" for %s', (flags, source, text, expected) => {
    expect(valid(compileLinearPattern(source, flags)).test(text)).toBe(expected);
  });

  it.each([
    ['(a', '', '"(a" is not a regular expression: error parsing regexp: missing closing ): `(a`'],
    [
      '(?=a)',
      '',
      '"(?=a)" is not a regular expression: error parsing regexp: invalid or unsupported Perl syntax: `(?=`',
    ],
    ['a', 'y', 'the flag "y" of a regular expression is not supported'],
    ['a'.repeat(5000), '', 'a regular expression of 5000 characters is too long (at most 4096)'],
    [
      'a{1000}'.repeat(200),
      '',
      `the regular expression "${'a{1000}'.repeat(17).slice(0, 117)}..." is too large: use smaller counts in its repeats`,
    ],
    [
      `(${'ab'.repeat(400)}){1000}`,
      '',
      `the regular expression "(${'ab'.repeat(58)}..." is too large: use smaller counts in its repeats`,
    ],
  ])('describes the error in %s', (source, flags, message) => {
    expect(compileLinearPattern(source, flags)).toMatchObject({ ok: false, message });
    expect(compileLinearPattern(source, flags)).toHaveProperty(
      'reason',
      /too (long|large)/.test(message) ? 'limit' : 'malformed',
    );
    expect(message.length).toBeLessThan(260);
  });

  it('refuses deep nesting with a readable message', () => {
    const nested = compileLinearPattern(`${'('.repeat(2000)}${')'.repeat(2000)}`);
    expect(nested).toMatchObject({ ok: false });
    expect(nested.ok ? '' : nested.message).toMatch(/nests too deeply/);
  });

  it('compiles a pattern once', () => {
    expect(compileLinearPattern('^once$', 'i')).toBe(compileLinearPattern('^once$', 'i'));
    expect(compileLinearPattern('^once$', 'i')).not.toBe(compileLinearPattern('^once$'));
  });

  // A backtracking engine takes at least four times as long for twice the text, mostly
  // exponentially longer.
  it.each([
    '(a*)*$',
    '(a|aa)+$',
    '^(a+)+$',
    '^(.*a){12}$',
    '(.*)(.*)(.*)(.*)(.*)x',
    '(x+x+)+y',
    '^(([a-z])+.)+[A-Z]([a-z])+$',
  ])('matches in time proportional to the text: %s', (source) => {
    const pattern = valid(compileLinearPattern(source));
    const lengths = [20_000, 40_000, 80_000, 160_000];
    const times = lengths.map((length) => {
      const text = `${'a'.repeat(length)}!`;
      return Math.min(...Array.from({ length: 7 }, () => timeOf(() => pattern.test(text))));
    });
    const ratios = times.slice(1).map((time, i) => time / Math.max(times[i] ?? 0, 1e-3));
    expect(median(ratios)).toBeLessThan(4);
  });

  it('refuses a text on which a large pattern would take seconds, without trying', () => {
    const pattern = valid(compileLinearPattern('(((.?){10}){10}){10}'));
    expect(pattern.test('a'.repeat(10_000))).toBe(true);
    expect(() => pattern.test('a'.repeat(100_000))).toThrow(
      /^a regular expression of [0-9]+ steps on a text of 100000 characters would take too long$/,
    );
  });
});

function valid(pattern: LinearPattern): Extract<LinearPattern, { ok: true }> {
  if (!pattern.ok) throw new Error(pattern.message);
  return pattern;
}

function timeOf(run: () => unknown): number {
  const start = performance.now();
  run();
  return performance.now() - start;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
