import { describe, expect, it } from '@jest/globals';
import { parseIgnoreRules } from './helmignore.ts';

describe('.helmignore', () => {
  it.each([
    ['*.md', 'a/b.md', false, true],
    ['*.md', 'a.mdx', false, false],
    ['/x', 'a/x', false, false],
    ['a/*', 'a/b', false, true],
    ['a/*', 'a/b/c', false, false],
    ['x/', 'x', false, false],
    ['x/', 'x', true, true],
    ['!keep', 'other', false, true],
    ['!keep', 'keep', false, false],
    ['[a-c]?\\*', 'bz*', false, true],
    ['[^a]', 'a', false, false],
    ['# x', '# x', false, false],
    ['', 'templates/.hidden', false, true],
  ])('%j excludes %s (a directory: %s): %s', (rules, path, isDirectory, isOut) => {
    expect(parseIgnoreRules(rules)(path, isDirectory)).toBe(isOut);
  });

  it('matches in time proportional to the path', () => {
    expect(parseIgnoreRules(`${'*a'.repeat(200)}b`)('a'.repeat(4000), false)).toBe(false);
  });
});
