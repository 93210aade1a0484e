import { describe, expect, it } from '@jest/globals';
import { suitesOf } from '../scripts/jest/suites.mjs';

const filesOf = (folder: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, i) => `${folder}/${String.fromCharCode(97 + i)}.test.ts`);

describe('the suites of npm test', () => {
  it('have each file once, beside files of its folder', () => {
    const files = [...filesOf('kube', 23), ...filesOf('api', 10), 'base/a/b.test.ts'];
    const suites = suitesOf(files);
    expect(suites.flatMap((suite) => suite.files).sort()).toEqual([...files].sort());
    for (const suite of suites) expect(new Set(suite.files.map((file) => file.split('/')[0])).size).toBe(1);
  });

  it('are of similar size, with names of their own', () => {
    const suites = suitesOf([...filesOf('kube', 23), ...filesOf('api', 10)]);
    expect(suites.map(({ name, files }) => [name, files.length])).toEqual([
      ['api-1', 10],
      ['kube-1', 8],
      ['kube-2', 8],
      ['kube-3', 7],
    ]);
  });
});
