import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#support';
import type { WorkerSlot } from './worker-slots.ts';
import { SlotLoan } from './slot-loan.ts';

/** A slot that records when it is released and returned. */
function countingSlot(): WorkerSlot & { lent: number; readonly log: string[] } {
  const slot = {
    lent: 0,
    log: [] as string[],
    releaseWhile: async <T>(waiting: Promise<T>): Promise<T> => {
      slot.lent += 1;
      slot.log.push('lent');
      const result = await waiting;
      slot.lent -= 1;
      slot.log.push('back');
      return result;
    },
  };
  return slot;
}

describe('SlotLoan', () => {
  it('keeps the slot during short waits and releases it once for overlapping long waits', async () => {
    const clock = new FakeClock();
    const slot = countingSlot();
    const loan = new SlotLoan(slot, clock);
    await loan.during(Promise.resolve(1));
    expect(slot.log).toEqual([]);
    const waits = [200, 300, 400].map((ms) => loan.during(clock.sleep(ms)));
    await clock.advance(100);
    expect([slot.lent, slot.log]).toEqual([1, ['lent']]);
    await clock.advance(250);
    expect(slot.log).toEqual(['lent']);
    await clock.advance(50);
    await Promise.all(waits);
    expect(slot.log).toEqual(['lent', 'back']);
    expect(clock.pending).toBe(0);
  });

  it('releases the slot again for the next long wait, and returns it after a failed one', async () => {
    const clock = new FakeClock();
    const slot = countingSlot();
    const loan = new SlotLoan(slot, clock);
    for (let i = 0; i < 2; i += 1) {
      const failing = clock.sleep(200).then(() => Promise.reject(new Error('refused')));
      const waits = loan.during(failing);
      waits.catch(() => undefined);
      await clock.advance(200);
      await expect(waits).rejects.toThrow('refused');
    }
    expect(slot.log).toEqual(['lent', 'back', 'lent', 'back']);
  });

  it('asks after each interval whether the wait is long', async () => {
    const clock = new FakeClock();
    const slot = countingSlot();
    let isKnownLong = false;
    const waits = new SlotLoan(slot, clock).during(clock.sleep(1000), () => isKnownLong);
    await clock.advance(500);
    expect(slot.log).toEqual([]);
    isKnownLong = true;
    await clock.advance(500);
    await waits;
    expect(slot.log).toEqual(['lent', 'back']);
  });

  it('releases the slot at once for a wait that is known to be long', async () => {
    const clock = new FakeClock();
    const slot = countingSlot();
    const waits = new SlotLoan(slot, clock).during(clock.sleep(10), () => true);
    await clock.settle();
    expect(slot.lent).toBe(1);
    await clock.advance(10);
    await waits;
    expect([slot.lent, clock.pending]).toEqual([0, 0]);
  });
});
