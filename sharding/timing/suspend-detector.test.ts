import { describe, expect, it } from '@jest/globals';
import { SuspendDetector } from './suspend-detector.ts';

describe('a suspend', () => {
  const clocks = { monotonic: 1000, boot: 5000, losses: 0 };
  const detector = (): SuspendDetector =>
    new SuspendDetector({
      monotonic: () => clocks.monotonic,
      boot: () => clocks.boot,
      hub: { losses: () => clocks.losses },
    });

  it('is reported once, from a quarter of a second on', () => {
    const found = detector();
    clocks.boot += 250;
    expect(found.wasSuspended()).toBe(false);
    clocks.boot += 1;
    expect([found.wasSuspended(), found.wasSuspended()]).toEqual([true, false]);
    clocks.monotonic += 60_000;
    clocks.boot += 60_100;
    expect(found.wasSuspended()).toBe(false);
  });

  it('that short ones add up to is reported, too', () => {
    const found = detector();
    const reported = [1, 2, 3].map(() => {
      clocks.boot += 100;
      return found.wasSuspended();
    });
    expect(reported).toEqual([false, false, true]);
  });

  it('that only the clock of the hub shows is reported once', () => {
    const found = detector();
    clocks.losses += 1;
    expect([found.wasSuspended(), found.wasSuspended()]).toEqual([true, false]);
  });
});
