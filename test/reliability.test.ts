import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { hasTitle } from '#support';

const read = (path: string): string => readFileSync(path, 'utf8');
const page = read('docs/reliability.md');
const rows = [...page.matchAll(/^\| (T-[A-Z]+-\d+) \| `([^`]+)` \| (.+) \|$/gm)].map(
  ([, id = '', file = '', name = '']) => ({ id, file, name }),
);
const open = /^## Open\n([\s\S]*?)\n## /m.exec(page)?.[1]?.match(/T-[A-Z]+-\d+/g) ?? [];
const pages = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md'].concat(
  readdirSync('docs', { recursive: true, encoding: 'utf8' }).flatMap((name) =>
    name.endsWith('.md') ? [`docs/${name}`] : [],
  ),
);

describe('docs/reliability.md', () => {
  it('lists each promise of the acceptance list once, as proven or as open', () => {
    const promised = [...read('docs/acceptance.md').matchAll(/^\| (T-[A-Z]+-\d+) \|/gm)].map(([, id = '']) => id);
    expect(rows.length).toBeGreaterThan(40);
    expect([...rows.map(({ id }) => id), ...open].sort()).toEqual(promised.sort());
  });

  it.each(rows)('$id: $file has the test that the page names', ({ file, name }) => {
    expect(file).toMatch(/\.(?:test|e2e)\.ts$/);
    expect([name, hasTitle(read(file), name)]).toEqual([name, true]);
  });
});

describe('tests that pages name', () => {
  it.each(pages)('exist for %s', (path) => {
    const named = [...read(path).matchAll(/`((?:[\w-]+\/)+[\w.-]+\.(?:test|e2e)\.ts)`/g)].map(([, file = '']) => file);
    expect(named.filter((file) => !existsSync(file))).toEqual([]);
  });
});
