import { describe, expect, it } from '@jest/globals';
import { tenantOf, withChild } from '#base';
import type { Tenant } from '#base';
import { FakeClock, signalOf } from '#support';
import { SharedJobs } from './shared-jobs.ts';

describe('SharedJobs', () => {
  it('runs one job per key for concurrent callers', async () => {
    const clock = new FakeClock();
    const jobs = new SharedJobs<number>({ clock, limitMs: 1000 });
    const signal = new AbortController().signal;
    let runs = 0;
    const body = async (): Promise<number> => {
      runs += 1;
      await Promise.resolve();
      return runs;
    };
    expect(
      await Promise.all([
        jobs.run('a', 'x', signal, body),
        jobs.run('a', 'x', signal, body),
        jobs.run('b', 'x', signal, body),
      ]),
    ).toEqual([2, 2, 2]);
    expect(await jobs.run('a', 'x', signal, body)).toBe(3);
    expect(jobs.idle).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it('works on behalf of the first caller, also under a deadline of its own', async () => {
    const jobs = new SharedJobs<Tenant>({ clock: new FakeClock(), limitMs: 1000 });
    const [first, second] = ['first', 'second'].map((project) => ({ project, application: '' }));
    const body = (signal: AbortSignal): Promise<Tenant> =>
      withChild(signal, (child) => Promise.resolve(tenantOf(child)));
    const run = (tenant: Tenant): Promise<Tenant> => jobs.run('a', 'x', signalOf(tenant), body);
    expect(await Promise.all([run(first!), run(second!)])).toEqual([first, first]);
    expect(await run(second!)).toEqual(second);
    expect(tenantOf(new AbortController().signal)).toEqual({ project: '', application: '' });
  });

  it('reports a failure to all waiting callers and to no later one', async () => {
    const jobs = new SharedJobs<number>({ clock: new FakeClock(), limitMs: 1000 });
    const signal = new AbortController().signal;
    const bad = (): Promise<number> => Promise.reject(new Error('bad'));
    const results = await Promise.allSettled([jobs.run('a', 'x', signal, bad), jobs.run('a', 'x', signal, bad)]);
    expect(results.map((r) => r.status)).toEqual(['rejected', 'rejected']);
    expect(await jobs.run('a', 'x', signal, () => Promise.resolve(1))).toBe(1);
  });

  it('aborts a job that all callers have left, and none that has ended', async () => {
    const jobs = new SharedJobs<number>({ clock: new FakeClock(), limitMs: 1000 });
    const signals: AbortSignal[] = [];
    const body = (result: Promise<number>) => (signal: AbortSignal) => {
      signals.push(signal);
      return result;
    };
    const leaving = new AbortController();
    const left = jobs.run('a', 'x', leaving.signal, body(new Promise(() => undefined)));
    leaving.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    await jobs.run('b', 'x', new AbortController().signal, body(Promise.resolve(1)));
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
  });
});
