import { describe, expect, it } from '@jest/globals';
import { finish, inSlices } from './slices.ts';
import type { Steps } from './slices.ts';

/** A clock that shows a millisecond more for each step of work. */
class StepClock {
  ms = 0;
  monotonic(): number {
    return this.ms;
  }
}

function* work(count: number, clock: StepClock): Steps<number> {
  let sum = 0;
  for (let i = 1; i <= count; i += 1) {
    sum += i;
    clock.ms += 1;
    yield;
  }
  return sum;
}

/** Turns of the event loop until something is done. */
async function turnsOf(body: Promise<unknown>): Promise<number> {
  let [turns, isDone] = [0, false];
  void body.then(() => (isDone = true));
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  for (; !isDone; turns += 1) await turn();
  return turns;
}

describe('work in slices', () => {
  const { signal } = new AbortController();

  it('15.1: lets the event loop turn every ten milliseconds, and comes to what it comes to in one piece', async () => {
    const [small, large] = [new StepClock(), new StepClock()];
    const turns = [await turnsOf(inSlices(work(100, small), { clock: small }, signal)), 0];
    turns[1] = await turnsOf(inSlices(work(1000, large), { clock: large }, signal));
    expect(turns[0]).toBeGreaterThanOrEqual(10);
    expect(turns[0]).toBeLessThan(15);
    expect(turns[1]).toBeGreaterThanOrEqual(100);
    expect(turns[1]).toBeLessThan(110);
    const clock = new StepClock();
    expect(await inSlices(work(1000, clock), { clock }, signal)).toBe(finish(work(1000, new StepClock())));
  });

  it('15.1: ends between two slices when nobody wants it any more, and passes errors on', async () => {
    const [clock, stop] = [new StepClock(), new AbortController()];
    const reason = new Error('enough');
    let slices = 0;
    const around = (slice: () => void): void => {
      slice();
      slices += 1;
      if (slices === 3) stop.abort(reason);
    };
    await expect(inSlices(work(1000, clock), { clock, around }, stop.signal)).rejects.toBe(reason);
    expect([slices, clock.ms]).toEqual([3, 30]);
    const failing = (function* (): Steps<void> {
      yield;
      throw reason;
    })();
    await expect(inSlices(failing, { clock }, signal)).rejects.toBe(reason);
  });
});
