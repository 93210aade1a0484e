import { describe, expect, it } from '@jest/globals';
import { newAbortController, Shutdown } from '#base';
import { FakeClock } from '#support';
import { silentLogger } from '#telemetry';
import { CalmCollection, ownProcess, shouldCollect } from './calm-collection.ts';

const mebibyte = 1024 * 1024;

describe('a collection of garbage', () => {
  it.each([
    ['after a burst', 20, 200, 60, true],
    ['while the process works', 500, 200, 60, false],
    ['with little garbage', 20, 90, 60, false],
    ['with more garbage than that', 20, 91, 60, true],
    ['of a small heap that was never collected', 20, 15, 0, false],
    ['of a heap whose collection would be a long pause', 20, 513, 60, false],
  ])('%s', (_when, cpuMs, used, afterLast, expected) => {
    const found = shouldCollect({ cpuMs, usedBytes: used * mebibyte, afterLastBytes: afterLast * mebibyte });
    expect(found).toBe(expected);
  });

  it('happens once after each burst, and ends with the process', async () => {
    const clock = new FakeClock();
    let [cpuMs, usedMb, collections] = [0, 40, 0];
    const process = {
      cpuMs: () => cpuMs,
      usedHeapBytes: () => usedMb * mebibyte,
      collect: () => {
        collections += 1;
        usedMb = 60;
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
    await pass(60_000); // Nothing new to free.
    usedMb = 120;
    await pass(5000); // A burst without much CPU.
    expect(counts).toEqual([0, 1, 1, 2]);
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
