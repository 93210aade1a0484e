import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { fileMatch } from './file-match.ts';
import { comparableUrl } from './git-url.ts';

interface FileVectors {
  readonly texts: readonly string[];
  readonly rows: readonly { pattern: string; valid: boolean; matches: readonly string[] }[];
}
function read(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`./testdata/${name}`, import.meta.url), 'utf8'));
}
const files = read('go-file-match.json') as FileVectors;
const urls = (read('git-urls.json') as { urls: Record<string, string> }).urls;

describe('fileMatch', () => {
  it.each(files.rows)('agrees with filepath.Match on $pattern', ({ pattern, matches }) => {
    expect(files.texts.filter((text) => fileMatch(pattern, text))).toEqual(matches);
  });

  it('never throws, and stays fast with many stars', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...'ab[]^-*?\\/'), maxLength: 14 }),
        fc.string(),
        (pattern, text) => {
          expect(typeof fileMatch(pattern, text)).toBe('boolean');
        },
      ),
    );
    expect(fileMatch(`${'*a'.repeat(40)}b`, 'a'.repeat(2000))).toBe(false);
  });
});

describe('comparableUrl', () => {
  it.each(Object.entries(urls))('formats %j like Go: %j', (url, expected) => {
    expect(comparableUrl(url)).toBe(expected);
  });
});
