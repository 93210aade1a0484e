import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#support';
import { EventLoopDelay } from './event-loop-delay.ts';

/** A clock whose timers fire late. */
class LateClock extends FakeClock {
  lateMs = 0;

  override sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return super.sleep(delayMs + this.lateMs, signal);
  }
}

describe('the delay of the event loop', () => {
  it('is how late timers fire, over the last two minutes', async () => {
    const clock = new LateClock();
    const delay = new EventLoopDelay(clock, () => clock.monotonic());
    expect(delay.read()).toEqual({ min: 0, max: 0, mean: 0, stddev: 0, p50: 0, p90: 0, p99: 0 });
    const stop = new AbortController();
    const ended = delay.run(stop.signal);
    clock.lateMs = 80;
    await clock.advance(100 * 580);
    clock.lateMs = 0;
    await clock.advance(100 * 500);
    const half = delay.read();
    expect(half).toMatchObject({ min: 0, max: 80, p90: 80, p99: 80 });
    expect(half.mean).toBeGreaterThan(35);
    expect(half.mean).toBeLessThan(45);
    await clock.advance(120_000);
    expect(delay.read().max).toBe(0);
    stop.abort();
    await ended;
  });

  it.each([
    ['twice a second while it is busy', 1, [20, 22]],
    ['every four seconds at rest', 0.01, [3, 6]],
  ] as const)('wakes the process %s', async (_title, share, [least, most]) => {
    const clock = new FakeClock();
    let sleeps = 0;
    const counted = Object.assign(Object.create(clock) as FakeClock, {
      monotonic: () => clock.monotonic(),
      sleep: (ms: number, signal?: AbortSignal) => {
        sleeps += 1;
        return clock.sleep(ms, signal);
      },
    });
    const stop = new AbortController();
    const ended = new EventLoopDelay(counted, () => share * clock.monotonic()).run(stop.signal);
    await clock.advance(10_000);
    expect(sleeps).toBeGreaterThanOrEqual(least);
    expect(sleeps).toBeLessThanOrEqual(most);
    stop.abort();
    await ended;
  });

  it('counts a delay for the time that it covers', async () => {
    const clock = new LateClock();
    const delay = new EventLoopDelay(clock, () => 0);
    const stop = new AbortController();
    const ended = delay.run(stop.signal);
    await clock.advance(100_000);
    clock.lateMs = 3000;
    await clock.advance(11_000);
    // One delay of 3 s covers 7 of about 110 s.
    expect(delay.read()).toMatchObject({ max: 3000, p90: 0, p99: 3000 });
    stop.abort();
    await ended;
  });
});
