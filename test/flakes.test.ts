import { describe, expect, it } from '@jest/globals';
import { judgeRetries } from '../scripts/jest/flakes.mjs';

const failed = (...names: readonly string[]): readonly { readonly file: string; readonly failure: string }[] =>
  names.map((file) => ({ file, failure: 'took too long' }));

describe('a failed test file that ran once more, alone,', () => {
  it.each([
    { what: 'nothing failed', failures: [], alone: [], known: ['a'], passed: true, lines: [] },
    {
      what: 'is listed if it passes then',
      failures: ['a'],
      alone: ['a'],
      known: [],
      passed: true,
      lines: ['flaky: a (took too long)'],
    },
    {
      what: 'fails the run if it fails again',
      failures: ['a', 'b'],
      alone: ['b'],
      known: [],
      passed: false,
      lines: ['failed: a (also when it ran alone)', 'flaky: b (took too long)'],
    },
    {
      what: 'fails the run if it was flaky before',
      failures: ['a'],
      alone: ['a'],
      known: ['a'],
      passed: false,
      lines: ['failed: a (flaky again, see test/known-flakes.txt: took too long)'],
    },
    {
      what: 'is listed with two others',
      failures: ['a', 'b', 'c'],
      alone: ['a', 'b', 'c'],
      known: ['d'],
      passed: true,
      lines: ['flaky: a (took too long)', 'flaky: b (took too long)', 'flaky: c (took too long)'],
    },
    {
      what: 'fails the run with three others, which do not run again',
      failures: ['a', 'b', 'c', 'd'],
      alone: [],
      known: [],
      passed: false,
      lines: ['a', 'b', 'c', 'd'].map((file) => `failed: ${file} (took too long)`),
    },
  ])('$what', ({ failures, alone, known, passed, lines }) => {
    expect(judgeRetries({ failures: failed(...failures), passedAlone: alone, knownFlakes: known })).toEqual({
      passed,
      lines,
    });
  });
});
