import { describe, expect, it } from '@jest/globals';
import { newAbortController, Shutdown } from '#base';
import { FakeClock } from '#support';
import { silentLogger } from '#telemetry';
import { CalmCollection, ownProcess, shouldCollect } from './calm-collection.ts';

const mebibyte = 1024 * 1024;

interface Observed {
  readonly usedMb: number;
  readonly totalMb?: number;
  readonly cpuMs?: number;
  readonly followUps?: number;
}

describe('a collection of garbage', () => {
  it.each([
    ['after a burst', { usedMb: 200 }, 'garbage'],
    ['while the process works', { usedMb: 200, cpuMs: 500 }, undefined],
    ['with little garbage', { usedMb: 82 }, undefined],
    ['with more garbage than that', { usedMb: 83 }, 'garbage'],
    ['of a heap whose collection would be a long pause', { usedMb: 513 }, undefined],
    ['again, while many pages are empty', { usedMb: 60, totalMb: 100, followUps: 1 }, 'pages'],
    ['again, with few empty pages', { usedMb: 60, totalMb: 64, followUps: 1 }, undefined],
    ['again, after the last follow-up', { usedMb: 60, totalMb: 100, followUps: 0 }, undefined],
  ])('%s', (_when, { usedMb, totalMb = usedMb, cpuMs = 20, followUps = 0 }: Observed, expected) => {
    const [usedBytes, totalBytes] = [usedMb * mebibyte, totalMb * mebibyte];
    expect(shouldCollect({ cpuMs, usedBytes, totalBytes, afterLastBytes: 60 * mebibyte, followUps })).toBe(expected);
  });

  it('happens after each burst, and again while that returns pages, and ends with the process', async () => {
    const clock = new FakeClock();
    let [cpuMs, usedMb, totalMb, collections] = [0, 40, 400, 0];
    const process = {
      cpuMs: () => cpuMs,
      usedHeapBytes: () => usedMb * mebibyte,
      totalHeapBytes: () => totalMb * mebibyte,
      collect: () => {
        collections += 1;
        usedMb = 60;
        totalMb = Math.max(100, totalMb - 100);
      },
    };
    const stop = newAbortController();
    const running = new CalmCollection({ clock, logger: silentLogger, process }).run(stop.signal);
    const counts: number[] = [];
    const pass = async (ms: number): Promise<void> => {
      await clock.advance(ms);
      counts.push(collections);
    };
    cpuMs += 4000;
    usedMb = 300;
    await pass(5000); // Busy.
    await pass(5000); // Calm.
    await pass(60_000); // Nothing new to free, but empty pages: 300, 200, 100, and the same again.
    usedMb = 120;
    await pass(5000); // A burst without much CPU.
    expect(counts).toEqual([0, 1, 4, 5]);
    stop.abort(new Shutdown());
    await running;
  });

  it.each([
    [60, 9],
    [70, 3],
  ])('of %i MiB happens at most %i times', async (liveMb, times) => {
    const clock = new FakeClock();
    let [usedMb, totalMb, collections] = [300, 4000, 0];
    const process = {
      cpuMs: () => 0,
      usedHeapBytes: () => usedMb * mebibyte,
      totalHeapBytes: () => totalMb * mebibyte,
      collect: () => {
        collections += 1;
        usedMb = liveMb;
        totalMb -= 4;
      },
    };
    const stop = newAbortController();
    const running = new CalmCollection({ clock, logger: silentLogger, process }).run(stop.signal);
    await clock.advance(600_000);
    expect(collections).toBe(times);
    stop.abort(new Shutdown());
    await running;
  });

  it('frees what this process no longer uses', async () => {
    const own = ownProcess();
    const dropped = new WeakRef({ text: 'no longer used' });
    // A WeakRef holds its object until the end of the current task.
    await new Promise((done) => setImmediate(done));
    own.collect();
    expect(dropped.deref()).toBeUndefined();
    expect(own.usedHeapBytes()).toBeGreaterThan(mebibyte);
    expect(own.cpuMs()).toBeGreaterThan(0);
  });
});
