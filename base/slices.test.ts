import { describe, expect, it } from '@jest/globals';
import { runSteps, inSlices } from './slices.ts';
import type { SlicedWork } from './slices.ts';

/** A clock that advances a millisecond for each step of work. */
class StepClock {
  ms = 0;
  monotonic(): number {
    return this.ms;
  }
}

function* work(count: number, clock: StepClock): SlicedWork<number> {
  let sum = 0;
  for (let i = 1; i <= count; i += 1) {
    sum += i;
    clock.ms += 1;
    yield;
  }
  return sum;
}

/** Counts turns of the event loop until `done` settles. */
async function turnsOf(body: Promise<unknown>): Promise<number> {
  let [turns, isDone] = [0, false];
  void body.then(() => (isDone = true));
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  for (; !isDone; turns += 1) await turn();
  return turns;
}

describe('work in slices', () => {
  const { signal } = new AbortController();

  it('lets the event loop turn every ten milliseconds, with the same result as in one piece', async () => {
    const [small, large] = [new StepClock(), new StepClock()];
    const turns = [await turnsOf(inSlices(work(100, small), { clock: small }, signal)), 0];
    turns[1] = await turnsOf(inSlices(work(1000, large), { clock: large }, signal));
    expect(turns[0]).toBeGreaterThanOrEqual(10);
    expect(turns[0]).toBeLessThan(15);
    expect(turns[1]).toBeGreaterThanOrEqual(100);
    expect(turns[1]).toBeLessThan(110);
    const clock = new StepClock();
    expect(await inSlices(work(1000, clock), { clock }, signal)).toBe(runSteps(work(1000, new StepClock())));
  });

  it('stops between two slices on abort, and passes errors on', async () => {
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
    const failing = (function* (): SlicedWork<void> {
      yield;
      throw reason;
    })();
    await expect(inSlices(failing, { clock }, signal)).rejects.toBe(reason);
  });
});
