import { describe, expect, it } from '@jest/globals';
import { casesOf, obsoleteReports, reportOf, resumed, seedOf, unitsLeft } from '../scripts/nightly/plan.mjs';
import type { NightlyResult } from '../scripts/nightly/plan.mjs';

const result = (over: Partial<NightlyResult>): NightlyResult => ({
  name: 'a.test.ts',
  round: 0,
  verdict: 'passed',
  seconds: 12,
  cases: [],
  command: 'node a',
  output: '',
  ...over,
});

describe('npm run nightly', () => {
  it('has the seeds of its commit: others in each round, the same again for the same commit', () => {
    expect(seedOf('0762887f', 0)).toBe(0x0762887);
    expect(seedOf('0762887f', 1)).toBe(0x0762887 + 1_000_003);
    expect(seedOf('fffffff', 2_000)).toBeLessThan(2 ** 31);
    expect(seedOf('1762887f', 0)).not.toBe(seedOf('0762887f', 0));
  });

  it('runs each unit once, then those with cases of a seed again', () => {
    const units = [
      { name: 'a', isSeeded: true },
      { name: 'b', isSeeded: false },
    ];
    const names = (results: readonly NightlyResult[], round: number): readonly string[] =>
      unitsLeft(units, results, round).map(({ name }) => name);
    expect(names([], 0)).toEqual(['a', 'b']);
    expect(names([result({ name: 'a' })], 0)).toEqual(['b']);
    expect(names([result({ name: 'a' }), result({ name: 'b' })], 1)).toEqual(['a']);
  });

  it('continues an interrupted run of the same commit, with what was cut', () => {
    const passed = result({});
    const state = { commit: 'c1', spentMs: 5, round: 1, results: [passed, result({ verdict: 'cut' })] };
    expect(resumed(state, 'c1')).toEqual({ ...state, results: [passed] });
    expect(resumed(state, 'c2')).toEqual({ commit: 'c2', spentMs: 0, round: 0, results: [] });
    expect(resumed(undefined, 'c2').results).toEqual([]);
  });

  it('keeps the last ten reports', () => {
    const names = Array.from({ length: 12 }, (_, i) => `2026-11-${10 + i}.md`);
    expect(obsoleteReports(['README.md', ...names].reverse())).toEqual(['2026-11-10.md', '2026-11-11.md']);
    expect(obsoleteReports(names.slice(0, 10))).toEqual([]);
  });

  it('counts cases as the tests print them', () => {
    const output = [
      '200 schedules of the world (DRIFTLESS_SEED=1 repeats them): 3 kills',
      'globs: 1000 inputs, the slowest took 2 ms',
      'mutation gate: 12 of 12 killed, 0 equivalent (9 s)',
      'Tests:       3 passed, 3 total',
      'other',
    ];
    expect(casesOf(output.join('\n'))).toEqual(output.slice(0, 4));
  });

  it('reports the commit, the seeds, each unit, what it did not reach, and how to repeat a finding', () => {
    const report = reportOf({
      date: '2026-11-28',
      commit: 'c1',
      hours: 2.04,
      results: [
        result({ cases: ['3 a|b inputs'] }),
        result({ name: 'b', round: 1, verdict: 'failed', output: 'x\nVIOLATION\n' }),
      ],
      left: ['defects'],
      seeds: [7, 8],
    });
    expect(report).toContain('Commit c1, 2.0 hours, 2 runs of units, seeds 7, 8.');
    expect(report).toContain('1 findings. Not reached: defects.');
    expect(report).toContain('| a.test.ts | 1 | passed | 12 | 3 a\\|b inputs |');
    expect(report).toContain('| b | 2 | failed | 12 |  |');
    expect(report).toContain('### b\n\nRepeat it: `node a`\n\n```text\nx\nVIOLATION\n```');
  });
});
