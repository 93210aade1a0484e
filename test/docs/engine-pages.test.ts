import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { places, withLinks } from '../../scripts/engine/pages.mjs';

const folder = join('docs', 'engine');
const pages = readdirSync(folder).map((name) => join(folder, name));
const codesIn = (text: string): string[] =>
  [...text.matchAll(/`([A-Z]+_[A-Z_]+|USAGE)`/g)].map(([, code = '']) => code);

describe('the pages of the package', () => {
  it('refer only to what is packed', () => {
    const packed = [...places].filter(([source]) => source.endsWith('.md'));
    expect(packed.map(([source]) => source)).toEqual(expect.arrayContaining(pages));
    for (const [source, place] of packed)
      expect(withLinks(source, place, readFileSync(source, 'utf8'))).not.toMatch(/\]\(\.\.\/(?!README|examples)/);
  });

  it.each([
    ['[releases](../releases.md)', 'docs/releases.md, which is not in the package'],
    ['[gone](gone.md)', 'docs/engine/gone.md, which is not in the package'],
    ['[gone](#nowhere)', 'docs/engine/live.md#nowhere, which has no such heading'],
    ['[gone](sync.md#nowhere)', 'docs/engine/sync.md#nowhere, which has no such heading'],
  ])('are not packed with a reference that leads nowhere: %s', (text, problem) => {
    expect(() => withLinks('docs/engine/live.md', 'docs/live.md', text)).toThrow(problem);
  });

  it('lead to where their targets are in the package', () => {
    const text = '[a](sync.md#field-manager) [b](../../examples/engine/live.mjs) [c](https://a.invalid) [d](#options)';
    expect(withLinks('docs/engine/live.md', 'docs/live.md', text)).toBe(
      '[a](sync.md#field-manager) [b](../examples/live.mjs) [c](https://a.invalid) [d](#options)',
    );
  });

  it('explain every error code that they name', () => {
    const explained = codesIn(readFileSync(join(folder, 'errors.md'), 'utf8'));
    const named = pages.flatMap((page) => codesIn(readFileSync(page, 'utf8')));
    expect(named.length).toBeGreaterThan(20);
    expect([...new Set(named)].filter((code) => !explained.includes(code))).toEqual([]);
  });

  it('list only error codes that exist', () => {
    const known = codesIn(readFileSync(join('docs', 'errors.md'), 'utf8'));
    const byStatus = [...readFileSync('kube/errors.ts', 'utf8').matchAll(/'(KUBE_[A-Z_]+)'/g)].map(([, code]) => code);
    const rows = [...readFileSync(join(folder, 'errors.md'), 'utf8').matchAll(/^\| (`[^|]+) \|/gm)];
    const own = rows.flatMap(([, cell = '']) => codesIn(cell));
    expect(own.filter((code) => !known.includes(code) && !byStatus.includes(code))).toEqual([]);
    expect(own).toEqual([...new Set(own)]);
  });
});
