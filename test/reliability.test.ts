import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const read = (path: string): string => readFileSync(path, 'utf8');
const page = read('docs/reliability.md');
const rows = [...page.matchAll(/^\| (T-[A-Z]+-\d+) \| `([^`]+)` \| (.+) \|$/gm)].map(
  ([, id = '', file = '', name = '']) => ({ id, file, name }),
);
const open = /^## Open\n([\s\S]*?)\n## /m.exec(page)?.[1]?.match(/T-[A-Z]+-\d+/g) ?? [];

describe('14: docs/reliability.md', () => {
  it('14: has each promise of the acceptance list once: as proven, or as open', () => {
    const promised = [...read('docs/acceptance.md').matchAll(/^\| (T-[A-Z]+-\d+) \|/gm)].map(([, id = '']) => id);
    expect(rows.length).toBeGreaterThan(40);
    expect([...rows.map(({ id }) => id), ...open].sort()).toEqual(promised.sort());
  });

  it.each(rows)('14: $id: $file has the test that the page names', ({ file, name }) => {
    expect(file).toMatch(/\.(?:test|e2e)\.ts$/);
    const text = read(file);
    const isThere = ["'", '`', '"'].some((quote) => text.includes(quote + name + quote));
    expect([name, isThere]).toEqual([name, true]);
  });
});
