import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

type PageRow = readonly [subject: string, verdict: string];

/** The tables of subjects. */
function subjectTables(page: string): readonly (readonly PageRow[])[] {
  return page.split(/\n\n+/).flatMap((block) => {
    const [head = '', , ...lines] = block.trimEnd().split('\n');
    if (!head.startsWith('| Subject ')) return [];
    const cells = lines.map((line) => line.replace(/^\| /, '').split(' | '));
    return [cells.map(([subject = '', verdict = '']) => [subject, verdict] as const)];
  });
}

/** What readers sort by: letters and digits, without a leading article. */
const sortKey = (subject: string): string =>
  subject
    .toLowerCase()
    .replaceAll(/[^a-z0-9 ]/g, '')
    .trim()
    .replace(/^(?:a|an|the) /, '');

const fillWords = new Set('a an the of in is that with and or by on for to its it which whose as'.split(' '));
const subjectWords = (subject: string): ReadonlySet<string> =>
  new Set(
    (subject.toLowerCase().match(/[a-z0-9]+/g) ?? []).filter((w) => !fillWords.has(w)).map((w) => w.replace(/s$/, '')),
  );

/** Pairs of subjects that share four of five words: most likely one subject, written twice. */
function doubledSubjects(subjects: readonly string[]): readonly string[] {
  return subjects.flatMap((one, index) =>
    subjects.slice(index + 1).flatMap((other) => {
      const [a, b] = [subjectWords(one), subjectWords(other)];
      const shared = [...a].filter((word) => b.has(word)).length;
      return shared >= 0.8 * (a.size + b.size - shared) ? [`${one} = ${other}`] : [];
    }),
  );
}

/** Subjects that stand before a row that they should follow. */
const misplacedSubjects = (subjects: readonly string[]): readonly string[] =>
  subjects.filter((subject, index) => index > 0 && sortKey(subject) < sortKey(subjects[index - 1] ?? ''));

/** The rows of the first table that name no test, or one that does not exist. */
function untestedRows(page: string, isFile: (path: string) => boolean): readonly string[] {
  const [, block = ''] = page.split(/\n## Sources\n+/);
  const [, , ...lines] = block.split('\n\n')[0]?.split('\n') ?? [];
  return lines.filter((line) => {
    const tests = /\| (`[^|]*`) \|$/.exec(line)?.[1]?.split(', ') ?? [];
    const isTest = (name: string): boolean =>
      /^`(?:\S+\.(?:test|e2e)|test\/e2e\/corpus\/\w+)\.ts`$/.test(name) && isFile(name.slice(1, -1));
    return tests.length === 0 || !tests.every(isTest);
  });
}

describe('docs/compatibility.md', () => {
  const tables = subjectTables(readFileSync(join(import.meta.dirname, '../../docs/compatibility.md'), 'utf8'));
  const rows = tables.flat();

  it('has one row for each subject', () => {
    expect(rows.length).toBeGreaterThan(200);
    expect(doubledSubjects(rows.map(([subject]) => subject))).toEqual([]);
  });

  it('lists the subjects of each table in alphabetical order', () => {
    const misplaced = tables.flatMap((own) => misplacedSubjects(own.map(([subject]) => subject)));
    expect(misplaced).toEqual([]);
  });

  it('names a test for each row about sources', () => {
    const root = join(import.meta.dirname, '../..');
    const page = readFileSync(join(root, 'docs/compatibility.md'), 'utf8');
    expect(page).toContain('| Subject | Verdict | Difference and reason | Test |');
    expect(untestedRows(page, (path) => existsSync(join(root, path)))).toEqual([]);
  });

  it('gives each row a verdict of the table at its top', () => {
    const known = /^(?:same\b|differs(?: in (?:one|two|three|four) points?)?$|partly$|not yet$|ours$)/;
    expect(rows.filter(([, verdict]) => !known.test(verdict))).toEqual([]);
  });
});

describe('the checks of docs/compatibility.md', () => {
  it('find a subject that is there twice, also in slightly other words', () => {
    const table = '## A\n\n| Subject | Verdict | Reason |\n|---|---|---|\n| cascade deletion, waves | same | |\n';
    const again =
      '## B\n\n| Subject | Verdict | Reason |\n|---|---|---|\n| the waves, cascade deletions | differs | x |\n';
    const found = subjectTables(`${table}\n${again}`)
      .flat()
      .map(([subject]) => subject);
    expect(doubledSubjects(found)).toEqual(['cascade deletion, waves = the waves, cascade deletions']);
    expect(doubledSubjects(['server-side diff', 'server-side diff of a CertificateSigningRequest'])).toEqual([]);
  });

  it('find a row about sources without a test that exists', () => {
    const rows = [
      '| a | same | |',
      '| b | same | | `x.test.ts` |',
      '| c | same | | `gone.test.ts` |',
      '| d | same | | `x.ts` |',
    ];
    const page = `\n## Sources\n\n| Subject |\n|---|\n${rows.join('\n')}\n\n## Other\n`;
    expect(untestedRows(page, (path) => path.startsWith('x'))).toEqual([rows[0], rows[2], rows[3]]);
  });

  it('find a row at the wrong place', () => {
    expect(misplacedSubjects(['a `beta`', 'the alpha', 'an omega'])).toEqual(['the alpha']);
  });
});
