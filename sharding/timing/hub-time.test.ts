import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { HubTime } from './hub-time.ts';

const start = Date.parse('2026-11-22T10:00:00Z');

/**
 * Response of a server whose time is `at`, received around our `monotonic` after a round trip of
 * `tripMs`.
 */
function told(at: number, monotonic: number, tripMs = 20) {
  return { dateMs: 1000 * Math.floor(at / 1000), sentAt: monotonic - tripMs / 2, answeredAt: monotonic + tripMs / 2 };
}

describe('the clock of the hub', () => {
  it('advances while all clocks of the machine stand still, and the first response reveals it', () => {
    const time = new HubTime();
    for (let ms = 0; ms < 60_000; ms += 700) time.answered(told(start + ms, ms));
    expect(time.losses()).toBe(0);
    time.answered(told(start + 63_000, 60_000));
    expect(time.losses()).toBe(1);
    for (let ms = 60_000; ms < 90_000; ms += 700) time.answered(told(start + 3000 + ms, ms));
    expect(time.losses()).toBe(1);
  });

  it('ignores a response that was in flight while the machine stood still, and uses the next one', () => {
    const time = new HubTime();
    time.answered(told(start, 0));
    // It was sent before, and stayed in a buffer for a minute.
    time.answered(told(start + 6000, 6000));
    expect(time.losses()).toBe(0);
    time.answered(told(start + 72_000, 12_000));
    expect(time.losses()).toBe(1);
  });

  it('never reports a machine that did not stand still, despite rounded clocks and delayed responses', () => {
    const steps = fc.array(fc.tuple(fc.nat(20_000), fc.nat(900)), { maxLength: 100 });
    fc.assert(
      fc.property(fc.nat(999), steps, (offset, answers) => {
        const time = new HubTime();
        let at = 0;
        for (const [pause, trip] of answers) {
          at += pause + trip;
          time.answered(told(start + offset + at, at, trip));
        }
        expect(time.losses()).toBe(0);
      }),
    );
  });

  it('detects three seconds and more after any timely responses', () => {
    const earlier = fc.array(fc.nat(20_000), { minLength: 1, maxLength: 100 });
    fc.assert(
      fc.property(fc.nat(999), earlier, fc.integer({ min: 3000, max: 1_000_000 }), (offset, pauses, lost) => {
        const time = new HubTime();
        let at = 0;
        for (const pause of pauses) {
          at += pause;
          time.answered(told(start + offset + at, at));
        }
        time.answered(told(start + offset + at + lost + 50, at + 50));
        expect(time.losses()).toBe(1);
      }),
    );
  });

  it('does not take different clocks behind a load balancer for a suspend, once each server has answered', () => {
    const time = new HubTime();
    for (let ms = 0; ms < 60_000; ms += 2000) time.answered(told(start + ms + (ms % 6000), ms));
    const known = time.losses();
    for (let ms = 60_000; ms < 600_000; ms += 2000) time.answered(told(start + ms + (ms % 6000), ms));
    expect(time.losses()).toBe(known);
  });

  it('ignores slow responses and those without a time', () => {
    const time = new HubTime();
    time.answered(told(start, 0));
    time.answered(told(start + 60_000, 5000, 1100));
    time.answered({ ...told(start, 5000), dateMs: Number.NaN });
    expect(time.losses()).toBe(0);
    expect(time.answeredAt()).toBe(5550);
  });
});
