import { getEventListeners } from 'node:events';
import { describe, expect, it, jest } from '@jest/globals';
import { FakeClock } from '#support';
import { systemClock } from './clock.ts';

describe('the system clock', () => {
  // Jest's fake timers share the limit of Node's own timers: a delay beyond 2^31-1 ms would fire
  // after 1 ms.
  const withFakeTimers = async (body: () => Promise<void> | void): Promise<void> => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    try {
      await body();
      expect(jest.getTimerCount()).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  };
  const longest = 2 ** 31 - 1;

  it.each([longest - 1, longest, longest + 1, 3 * longest + 17, 100 * 365 * 86_400_000])(
    'fires once after %i ms, not before',
    async (delayMs) => {
      await withFakeTimers(() => {
        const asked: number[] = [];
        const spy = jest.spyOn(globalThis, 'setTimeout');
        let fired = 0;
        systemClock.timer(delayMs, () => (fired += 1));
        jest.advanceTimersByTime(delayMs - 1);
        expect(fired).toBe(0);
        jest.advanceTimersByTime(1);
        expect(fired).toBe(1);
        for (const [, ms] of spy.mock.calls) asked.push(ms ?? 0);
        spy.mockRestore();
        expect(Math.max(...asked)).toBeLessThanOrEqual(longest);
        expect(asked.reduce((sum, ms) => sum + ms, 0)).toBe(delayMs);
      });
    },
  );

  it('cancels a long timer in any of its segments, and again after it fired', async () => {
    await withFakeTimers(() => {
      let fired = 0;
      const timer = systemClock.timer(2.5 * longest, () => (fired += 1));
      jest.advanceTimersByTime(1.2 * longest);
      timer.cancel();
      timer.cancel();
      jest.advanceTimersByTime(3 * longest);
      expect(fired).toBe(0);
      const short = systemClock.timer(-5, () => (fired += 1));
      jest.advanceTimersByTime(0);
      short.cancel();
      expect(fired).toBe(1);
    });
  });

  it('sleeps until its delay has passed or its signal aborts', async () => {
    await withFakeTimers(async () => {
      const stop = new AbortController();
      const short = systemClock.sleep(10, stop.signal);
      jest.advanceTimersByTime(10);
      await short;
      const long = systemClock.sleep(longest * 2, stop.signal);
      stop.abort(new Error('stop'));
      await expect(long).rejects.toThrow('stop');
      await expect(systemClock.sleep(1, stop.signal)).rejects.toThrow('stop');
      expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
    });
  });

  it('has a monotonic time that never goes back', () => {
    const readings = Array.from({ length: 1000 }, () => systemClock.monotonic());
    expect(readings.every((reading, i) => i === 0 || reading >= (readings[i - 1] ?? 0))).toBe(true);
    expect(systemClock.now()).toBeGreaterThan(Date.UTC(2020, 0));
  });
});

describe('sleepOn', () => {
  it('leaves neither timer nor listener, however it ends', async () => {
    const clock = new FakeClock();
    const stop = new AbortController();
    const done = clock.sleep(10, stop.signal);
    await clock.advance(10);
    await done;
    expect([clock.pending, getEventListeners(stop.signal, 'abort').length]).toEqual([0, 0]);
    const reason = new Error('stop');
    const cut = clock.sleep(10, stop.signal);
    stop.abort(reason);
    await expect(cut).rejects.toBe(reason);
    expect([clock.pending, getEventListeners(stop.signal, 'abort').length]).toEqual([0, 0]);
  });
});
