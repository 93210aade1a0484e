import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { compileGlob, globMatch } from './glob.ts';

interface Vectors {
  readonly texts: readonly string[];
  readonly rows: readonly { pattern: string; separators: string; valid: boolean; matches: readonly string[] }[];
}
const vectors = JSON.parse(readFileSync(new URL('./testdata/gobwas.json', import.meta.url), 'utf8')) as Vectors;

// Faults of the gobwas optimiser that are not worth keeping: multi-byte text after `?`, empty
// braces, three stars with separators, a branch that ends in a star before more text.
const upstreamFaults = new Set(['?é', 'x{}y', '***', 'a***b', '{a*,b?}c']);

describe('compileGlob', () => {
  it.each(vectors.rows.filter((row) => !upstreamFaults.has(row.pattern)))(
    'agrees with gobwas on $pattern with separators "$separators"',
    ({ pattern, separators, valid, matches }) => {
      const glob = compileGlob(pattern, separators);
      expect(glob !== undefined).toBe(valid);
      expect(vectors.texts.filter((text) => glob?.(text) ?? false)).toEqual(matches);
      expect(vectors.texts.filter((text) => globMatch(pattern, text, separators))).toEqual(matches);
    },
  );

  it.each([
    ['?é', 'aé', true],
    ['x{}y', 'xy', true],
    ['a***b', 'ab', true],
    ['{a*,b?}c', 'ac', true],
    ['{a*,b?}c', 'bc', false],
  ])('matches as documented where gobwas has a fault: %s on %s', (pattern, text, expected) => {
    expect(globMatch(pattern, text)).toBe(expected);
  });

  it('matches patterns of many stars in linear time, with the same results', () => {
    const evil = compileGlob('*a*a*a*a*a*a*a*a*a*a*b');
    expect(evil?.(`${'a'.repeat(5000)}b`)).toBe(true);
    expect(evil?.('a'.repeat(5000))).toBe(false);
    expect(compileGlob('a*/*/*/*/[!x]?{y,z}', '/')?.('ab/c/d//wqz')).toBe(true);
    expect(compileGlob('a*/*/*/*/[!x]?{y,z}', '/')?.('ab/c/d/e//wqz')).toBe(false);
    expect(compileGlob('a*/**/*/*/[!x]?{y,z}', '/')?.('ab/c/d/e//wqz')).toBe(true);
  });

  it('matches any number of stars like a naive matcher', () => {
    const piece = fc.constantFrom('a', 'b', '/', '*');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), fc.stringMatching(/^[ab/]{0,12}$/), (pieces, text) => {
        const pattern = pieces.join('');
        const plain = new RegExp(
          `^${pattern.replace(/\*+/g, (stars) => (stars.length > 1 ? '@' : '[^/]*')).replaceAll('@', '.*')}$`,
        );
        expect(compileGlob(pattern, '/')?.(text)).toBe(plain.test(text));
      }),
    );
  });

  // T-SEC-33
  it('treats the special characters of regular expressions as literals, escaped or not', () => {
    const literal = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).filter((c) =>
      /[^\w*?[\]{},!\\]/.test(c),
    );
    for (const sign of literal) {
      for (const pattern of [`a${sign}b*`, `a\\${sign}b*`, `{a${sign}b,c}*`]) {
        const glob = compileGlob(pattern);
        const met = ['ab', 'aab', 'axb', 'a', 'b', '', `a${sign}b`, `a${sign}${sign}b`].filter(
          (text) => glob?.(text) ?? false,
        );
        expect([pattern, met]).toEqual([pattern, [`a${sign}b`]]);
      }
    }
  });

  it('never throws, whatever the pattern', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...'ab[]{}!-,*?\\^$/('), maxLength: 14 }),
        fc.string(),
        (pattern, text) => {
          expect(typeof globMatch(pattern, text, '/')).toBe('boolean');
        },
      ),
    );
  });

  it.each([
    ['alternatives', `${'{a,a}'.repeat(60)}b`, 'a'.repeat(60)],
    ['stars on a long text', '*a*a*b', 'a'.repeat(20_000)],
    ['stars in alternatives', `${'{*a,*b}'.repeat(40)}c`, 'ab'.repeat(100)],
  ])('matches in time proportional to the text: %s', (_name, pattern, text) => {
    expect(globMatch(pattern, text)).toBe(false);
  });

  it.each([['\\'], ['a\\'], ['*\\'], ['{a,\\'], ['[\\']])(
    'refuses %s, whose last backslash escapes nothing',
    (pattern) => {
      expect(compileGlob(pattern)).toBeUndefined();
      for (const text of ['', '\\', 'a', 'a\\']) expect(globMatch(pattern, text)).toBe(false);
    },
  );

  it('refuses deeply nested braces instead of overflowing the stack', () => {
    const nested = (depth: number): string => `${'{'.repeat(depth)}a${'}'.repeat(depth)}`;
    expect(globMatch(nested(100), 'a')).toBe(true);
    expect(compileGlob(nested(101))).toBeUndefined();
    expect(compileGlob('{'.repeat(1_000_000))).toBeUndefined();
    expect(globMatch('{a,b}'.repeat(200), 'ab'.repeat(100))).toBe(true);
  });
});
