import { describe, expect, it } from '@jest/globals';
import { bootClock } from './boot-clock.ts';

function machine() {
  const at = { boot: 5_000_000, monotonic: 1_000_000, wall: 1_700_000_000_000, readings: 0 };
  const run = (ms: number): void => {
    at.boot += ms;
    at.monotonic += ms;
    at.wall += ms;
  };
  const suspend = (ms: number): void => {
    at.boot += ms;
    at.wall += ms;
  };
  const boot = (): number => {
    at.readings += 1;
    return at.boot;
  };
  const read = bootClock({ boot, clock: { now: () => at.wall, monotonic: () => at.monotonic } });
  return { at, run, suspend, read };
}

describe('bootClock', () => {
  it('shows a suspend at the next reading, however soon', () => {
    const { at, run, suspend, read } = machine();
    read();
    run(1);
    suspend(300);
    expect(read()).toBe(at.boot);
  });

  it('shows within 100 ms a suspend that a step of the wall clock hides', () => {
    const { at, run, suspend, read } = machine();
    read();
    suspend(60_000);
    at.wall -= 60_000;
    run(100);
    expect(read()).toBe(at.boot);
  });

  it('shows a suspend at the next reading if the wall clock was set back by more than that', () => {
    const { at, run, suspend, read } = machine();
    read();
    run(1);
    suspend(60_000);
    at.wall -= 120_000;
    expect(read()).toBe(at.boot);
  });

  it('is never more than 50 ms behind, and shows the sum of short suspends within 100 ms', () => {
    const { at, run, suspend, read } = machine();
    read();
    for (let i = 0; i < 1_000; i += 1) {
      run(7);
      suspend(i % 97);
      const behindMs = at.boot - read();
      expect(behindMs).toBeGreaterThanOrEqual(0);
      expect(behindMs).toBeLessThanOrEqual(50);
    }
    run(100);
    expect(read()).toBe(at.boot);
  });

  it('equals the boot clock while the machine runs, at ten readings a second', () => {
    const { at, run, read } = machine();
    for (let i = 0; i < 10_000; i += 1) {
      expect(read()).toBe(at.boot);
      run(1);
    }
    expect(at.readings).toBe(100);
  });
});
