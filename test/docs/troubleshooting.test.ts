import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const read = (...path: readonly string[]): string =>
  readFileSync(join(import.meta.dirname, '..', '..', ...path), 'utf8');

it('every condition of an Application has a row in docs/troubleshooting.md', () => {
  const [, union = ''] = /export type ConditionType =\n([^]*?);\n\n/.exec(read('model', 'status.ts')) ?? [];
  const types = [...union.matchAll(/^ {2}\| '(\w+)'/gm)].map(([, type = '']) => type);
  expect(types.length).toBeGreaterThan(25);
  const rows = read('docs', 'troubleshooting.md')
    .split('\n')
    .filter((line) => line.startsWith('| '));
  const hasRow = (type: string): boolean => rows.some((row) => (row.split(' | ')[0] ?? '').includes(type));
  expect(types.filter((type) => !hasRow(type))).toEqual([]);
});
