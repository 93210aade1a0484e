import { describe, expect, it } from '@jest/globals';
import { compilePathGlob } from './path-glob.ts';

describe('path patterns', () => {
  it.each([
    ['env/*.yaml', 'env/a.yaml', true],
    ['env/*.yaml', 'env/b/a.yaml', false],
    ['env/**/*.yaml', 'env/a.yaml', true],
    ['env/**/*.yaml', 'env/b/c/a.yaml', true],
    ['**/x.yaml', 'x.yaml', true],
    ['env/**', 'env/b/c', true],
    ['env/{a,b}.yaml', 'env/b.yaml', true],
    ['env/{a,b}.yaml', 'env/c.yaml', false],
    ['env/[!a].yaml', 'env/b.yaml', true],
    ['env/[!a].yaml', 'env/a.yaml', false],
    ['env/?.y.ml', 'env/a.yaml', false],
    ['env/{a', 'env/{a', true],
    ['env/}a{', 'env/a', false],
    ['a+b(1)/[z-a]', 'a+b(1)/z', false],
  ])('%s on %s: %s', (pattern, path, matches) => {
    expect(compilePathGlob(pattern)(path)).toBe(matches);
  });

  it.each([
    ['any folders', `${'**/'.repeat(30)}b`, `${'a/'.repeat(200)}c`],
    ['stars', `${'*a'.repeat(30)}b`, 'a'.repeat(2000)],
    ['alternatives', `${'{*,a}'.repeat(30)}b`, 'a'.repeat(200)],
    ['alternatives in each other', `${'{a,'.repeat(200)}b${'}'.repeat(200)}c`, 'a'.repeat(2000)],
  ])('match in time proportional to the path: %s', (_name, pattern, path) => {
    expect(compilePathGlob(pattern)(path)).toBe(false);
  });

  it.each([
    ['a{,b{c,}}d', 'abcd', true],
    ['a{,b{c,}}d', 'abd', true],
    ['a{,b{c,}}d', 'acd', false],
    ['a,b', 'a,b', true],
    ['x[+-9]y', 'x/y', false],
    ['ü?', 'üß', true],
  ])('%s on %s: %s', (pattern, path, matches) => {
    expect(compilePathGlob(pattern)(path)).toBe(matches);
  });
});
