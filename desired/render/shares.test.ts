import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ShareSchedule, shortenedLimit } from './shares.ts';
import type { RenderShare } from './types.ts';

const rules = { slots: 4, slowAfterMs: 2000, rememberMs: 600_000 };
const share = (project: string, repository = 'r'): RenderShare => ({ project, repository });

/** Starts every run that may start now. */
function startAll(schedule: ShareSchedule, now: number): number[] {
  const started: number[] = [];
  for (let id = schedule.next(now); id !== undefined; id = schedule.next(now)) started.push(id);
  return started;
}

describe('render slots', () => {
  it('go to projects in turn, however many requests each has', () => {
    const schedule = new ShareSchedule({ ...rules, slots: 2 });
    const a = Array.from({ length: 6 }, () => schedule.add(share('a')));
    const b = [schedule.add(share('b')), schedule.add(share('b'))];
    expect(startAll(schedule, 0)).toEqual([a[0], b[0]]);
    schedule.end(a[0] ?? 0, false, 1);
    schedule.end(b[0] ?? 0, false, 1);
    expect(startAll(schedule, 1)).toEqual([a[1], b[1]]);
  });

  it('go to the repositories of one project in turn', () => {
    const schedule = new ShareSchedule({ ...rules, slots: 1 });
    const first = Array.from({ length: 3 }, () => schedule.add(share('a', 'one')));
    const second = schedule.add(share('a', 'two'));
    expect(startAll(schedule, 0)).toEqual([first[0]]);
    schedule.end(first[0] ?? 0, false, 1);
    expect(startAll(schedule, 1)).toEqual([second]);
  });

  it('are not multiplied by naming many repositories in one project', () => {
    const schedule = new ShareSchedule({ ...rules, slots: 2 });
    const many = Array.from({ length: 6 }, (_, i) => schedule.add(share('a', `r${i}`)));
    const one = [schedule.add(share('b')), schedule.add(share('b'))];
    expect(startAll(schedule, 0)).toEqual([many[0], one[0]]);
    schedule.end(many[0] ?? 0, false, 1);
    schedule.end(one[0] ?? 0, false, 1);
    expect(startAll(schedule, 1)).toEqual([many[1], one[1]]);
  });

  it('are lent to other projects while runs are slow, and not to the slow project', () => {
    const schedule = new ShareSchedule(rules);
    for (let i = 0; i < 12; i += 1) schedule.add(share('endless'));
    expect(startAll(schedule, 0)).toHaveLength(4);
    const other = schedule.add(share('other'));
    expect(startAll(schedule, 1999)).toEqual([]);
    expect(schedule.nextChangeAt(1999)).toBe(2000);
    expect(startAll(schedule, 2000)).toEqual([other]);
  });

  it('stay free for others after runs timed out', () => {
    const schedule = new ShareSchedule(rules);
    const first = schedule.add(share('endless'));
    startAll(schedule, 0);
    schedule.end(first, true, 60_000);
    for (let i = 0; i < 12; i += 1) schedule.add(share('endless'));
    expect(startAll(schedule, 60_000)).toHaveLength(2);
    const other = schedule.add(share('other'));
    expect(startAll(schedule, 60_001)).toEqual([other]);
  });

  it('are all available to a share again after a success', () => {
    const schedule = new ShareSchedule(rules);
    for (const timedOut of [true, false]) {
      const id = schedule.add(share('a'));
      startAll(schedule, 0);
      schedule.end(id, timedOut, 0);
    }
    for (let i = 0; i < 12; i += 1) schedule.add(share('a'));
    expect(startAll(schedule, 0)).toHaveLength(4);
  });

  it('are assigned at a cost that does not grow with the waiting runs', () => {
    const costOf = (waiting: number): number => {
      const schedule = new ShareSchedule(rules);
      for (let i = 0; i < waiting; i += 1) schedule.add(share(`p${i % 10}`));
      const begin = performance.now();
      for (let i = 0; i < 1000; i += 1) for (const id of startAll(schedule, 0)) schedule.end(id, false, 0);
      return performance.now() - begin;
    };
    const [few, many] = [5000, 200_000].map((waiting) => Math.min(...[0, 1, 2].map(() => costOf(waiting))));
    expect((many ?? 0) / (few ?? 1)).toBeLessThan(8);
  });

  it('never hold more than twice as many runs, lose no run, and stay busy', () => {
    const step = fc.record({
      act: fc.constantFrom('add', 'end', 'timeout', 'drop', 'wait'),
      project: fc.constantFrom('a', 'b', 'c'),
      pick: fc.nat(20),
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.array(step, { maxLength: 60 }), (slots, steps) => {
        const schedule = new ShareSchedule({ ...rules, slots });
        const [running, waiting] = [new Set<number>(), new Set<number>()];
        let now = 0;
        for (const { act, project, pick } of steps) {
          const someone = [...running][pick % Math.max(1, running.size)];
          const someWaiting = [...waiting][pick % Math.max(1, waiting.size)];
          if (act === 'add') waiting.add(schedule.add(share(project, `r${pick % 2}`)));
          if (act === 'wait') now += 100 * pick;
          if ((act === 'end' || act === 'timeout') && someone !== undefined) {
            schedule.end(someone, act === 'timeout', now);
            running.delete(someone);
          }
          if (act === 'drop' && someWaiting !== undefined) {
            schedule.drop(someWaiting);
            waiting.delete(someWaiting);
          }
          for (const id of startAll(schedule, now)) {
            expect(waiting.delete(id)).toBe(true);
            running.add(id);
          }
          expect(schedule.runningCount).toBe(running.size);
          expect(schedule.waitingCount).toBe(waiting.size);
          expect(running.size).toBeLessThanOrEqual(2 * slots);
          if (running.size === 0) expect(waiting.size).toBe(0);
        }
      }),
    );
  });
});

describe('the time limit of a source', () => {
  it('is halved on each further time-out, down to a minimum', () => {
    expect([0, 1, 2, 3, 4, 9].map((count) => shortenedLimit(90_000, count))).toEqual([
      90_000, 30_000, 15_000, 7500, 5000, 5000,
    ]);
    expect(shortenedLimit(2000, 3)).toBe(2000);
  });
});
