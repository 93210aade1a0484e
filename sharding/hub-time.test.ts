import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { HubTime } from './hub-time.ts';

const start = Date.parse('2026-11-22T10:00:00Z');

/** What an answer says whose server has the time `at`, at our `monotonic`, when there and back take `tripMs` together. */
function told(at: number, monotonic: number, tripMs = 20) {
  return { dateMs: 1000 * Math.floor(at / 1000), sentAt: monotonic - tripMs / 2, answeredAt: monotonic + tripMs / 2 };
}

describe("13.4: the hub's clock by its answers", () => {
  it('13.4: goes on while all clocks of the machine stand still, and the first answer says so', () => {
    const time = new HubTime();
    for (let ms = 0; ms < 60_000; ms += 700) time.answered(told(start + ms, ms));
    expect(time.losses()).toBe(0);
    time.answered(told(start + 63_000, 60_000));
    expect(time.losses()).toBe(1);
    for (let ms = 60_000; ms < 90_000; ms += 700) time.answered(told(start + 3000 + ms, ms));
    expect(time.losses()).toBe(1);
  });

  it('13.4: an answer that was on its way while the machine stood still says nothing, and the next one does', () => {
    const time = new HubTime();
    time.answered(told(start, 0));
    // It was carried out before, and lay in a buffer for a minute.
    time.answered(told(start + 6000, 6000));
    expect(time.losses()).toBe(0);
    time.answered(told(start + 72_000, 12_000));
    expect(time.losses()).toBe(1);
  });

  it('13.4: a machine that never stood still is never said to have, however its clocks are rounded and answers are delayed', () => {
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

  it('13.4: three seconds and more are found after any answers that came in time', () => {
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

  it('13.4: servers behind a load balancer whose clocks differ are no machine that stood still, once each has answered', () => {
    const time = new HubTime();
    for (let ms = 0; ms < 60_000; ms += 2000) time.answered(told(start + ms + (ms % 6000), ms));
    const known = time.losses();
    for (let ms = 60_000; ms < 600_000; ms += 2000) time.answered(told(start + ms + (ms % 6000), ms));
    expect(time.losses()).toBe(known);
  });

  it('13.4: what took long, or says no time, is not listened to', () => {
    const time = new HubTime();
    time.answered(told(start, 0));
    time.answered(told(start + 60_000, 5000, 1100));
    time.answered({ ...told(start, 5000), dateMs: Number.NaN });
    expect(time.losses()).toBe(0);
    expect(time.answeredAt()).toBe(5550);
  });
});
