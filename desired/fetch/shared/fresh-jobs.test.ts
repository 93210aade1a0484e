import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#support';
import { FreshJobs } from './fresh-jobs.ts';

const { signal } = new AbortController();

/** Jobs whose ends the test decides; each returns its number. */
function jobBench(): {
  readonly jobs: FreshJobs<number>;
  readonly ends: (() => void)[];
  readonly run: (mustBegin: boolean, key?: string) => Promise<number>;
} {
  const jobs = new FreshJobs<number>({ clock: new FakeClock(), limitMs: 1000 });
  const ends: (() => void)[] = [];
  const body = (): Promise<number> =>
    new Promise((resolve) => {
      const number = ends.push(() => resolve(number));
    });
  return { jobs, ends, run: (mustBegin, key = 'a') => jobs.run({ key, what: 'x', mustBegin }, signal, body) };
}

const settle = async (): Promise<void> => {
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
};

describe('FreshJobs', () => {
  it('shares a running job, except with callers who need one that begins after their call', async () => {
    const { ends, run } = jobBench();
    const first = [run(false), run(false)];
    await settle();
    const later = [run(true), run(true)];
    const joined = run(false);
    await settle();
    expect(ends).toHaveLength(1);
    ends[0]?.();
    expect(await Promise.all([...first, joined])).toEqual([1, 1, 1]);
    await settle();
    expect(ends).toHaveLength(2);
    ends[1]?.();
    expect(await Promise.all(later)).toEqual([2, 2]);
  });

  it('runs the jobs of different keys side by side', async () => {
    const { ends, run } = jobBench();
    const both = [run(true, 'a'), run(true, 'b')];
    await settle();
    for (const end of ends) end();
    expect(await Promise.all(both)).toEqual([1, 2]);
  });

  it('does not give the result of a failed job to a later caller', async () => {
    const jobs = new FreshJobs<number>({ clock: new FakeClock(), limitMs: 1000 });
    const job = { key: 'a', what: 'x', mustBegin: false };
    await expect(jobs.run(job, signal, () => Promise.reject(new Error('bad')))).rejects.toThrow('bad');
    expect(await jobs.run(job, signal, () => Promise.resolve(7))).toBe(7);
  });
});
