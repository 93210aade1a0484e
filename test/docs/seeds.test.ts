import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { hasTitle } from '#support';

const read = (path: string): string => readFileSync(path, 'utf8');
const page = read('docs/seeds.md');
const rows = [...page.matchAll(/^\| ([PAB]\d+) \| (.+) \| (.+) \| (`[^`]+`|–) \| (.+) \|$/gm)].map(
  ([, id = '', , verdict = '', file = '', evidence = '']) => ({
    id,
    verdict,
    file: file.replaceAll('`', ''),
    evidence,
  }),
);
const statements = { P: 60, A: 55, B: 54 } as const;
const kindOf = (verdict: string): string => verdict.split(':')[0] ?? '';

describe('docs/seeds.md', () => {
  it('has each statement of the three documents once, in order', () => {
    const ids = Object.entries(statements).flatMap(([letter, count]) =>
      Array.from({ length: count }, (_, i) => `${letter}${i + 1}`),
    );
    expect(rows.map(({ id }) => id)).toEqual(ids);
  });

  it('gives each a verdict of the table at its top, and says what differs or is missing', () => {
    const known = /^(?:holds|better(?:: .+)?|differs: .+|in part: .+|outside: .+)$/;
    expect(rows.filter(({ verdict }) => !known.test(verdict))).toEqual([]);
  });

  it.each(['holds', 'better', 'differs', 'in part', 'outside'])(
    'counts "%s" in its first table as in its rows',
    (kind) => {
      const counts = new RegExp(`^\\| ${kind} \\| [^|]+ \\| (\\d+) \\| (\\d+) \\| (\\d+) \\|$`, 'm')
        .exec(page)
        ?.slice(1);
      const found = Object.keys(statements).map(
        (letter) => rows.filter(({ id, verdict }) => id.startsWith(letter) && kindOf(verdict) === kind).length,
      );
      expect(counts?.map(Number)).toEqual(found);
    },
  );

  it('names a file and a test for each, unless something is missing', () => {
    const bare = rows.filter(({ file, evidence }) => file === '–' || evidence === '–');
    expect(bare.filter(({ verdict }) => !/^(?:in part|outside):/.test(verdict))).toEqual([]);
    expect(rows.filter(({ file }) => file !== '–' && !existsSync(file))).toEqual([]);
  });

  it.each(rows.filter(({ evidence }) => evidence !== '–'))('$id: $evidence exists', ({ evidence }) => {
    const [, file = '', title = ''] = /^`([^`]+\.(?:test|e2e)\.ts)`: (.+)$/.exec(evidence) ?? [];
    expect([file, title, file !== '' && hasTitle(read(file), title)]).toEqual([file, title, true]);
  });
});
