import { describe, expect, it } from '@jest/globals';
import { Shutdown, withDeadline } from '#base';
import { FakeClock } from '#support';
import { SizeLimitExceeded } from '../errors.ts';
import { InputBudget } from './input-budget.ts';

const never = new AbortController().signal;

/** Resolves when the test lets go. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

describe('the memory of an input', () => {
  it('counts as held while its body runs, and is free again after a success and a failure', async () => {
    const budget = new InputBudget(new FakeClock(), 100);
    const held = gate();
    const first = budget.run({ project: 'a', bytes: 40 }, never, () => held.opened.then(() => 'done'));
    const second = budget.run({ project: 'a', bytes: 50 }, never, () => Promise.reject(new Error('it failed')));
    const third = budget.run({ project: 'a', bytes: 50 }, never, () => Promise.resolve(budget.heldBytes));
    expect([budget.heldBytes, budget.waitingCount]).toEqual([40, 2]);
    held.open();
    expect(await first).toBe('done');
    await expect(second).rejects.toThrow('it failed');
    expect(await third).toBe(50);
    expect([budget.heldBytes, budget.waitingCount]).toEqual([0, 0]);
  });

  it('is not waited for any longer when the caller aborts, which lets the next one start', async () => {
    const clock = new FakeClock();
    const budget = new InputBudget(clock, 100);
    const held = gate();
    const first = budget.run({ project: 'a', bytes: 40 }, never, () => held.opened);
    const stop = new AbortController();
    const big = budget.run({ project: 'a', bytes: 50 }, stop.signal, () => Promise.resolve('big'));
    const small = budget.run({ project: 'a', bytes: 5 }, never, () => Promise.resolve('small'));
    stop.abort(new Shutdown('gone'));
    await expect(big).rejects.toThrow('gone');
    expect(await small).toBe('small');
    held.open();
    await first;
    expect([budget.heldBytes, budget.waitingCount, clock.pending]).toEqual([0, 0, 0]);
  });

  it('is not taken by a caller that has aborted already', async () => {
    const budget = new InputBudget(new FakeClock(), 100);
    const stop = new AbortController();
    stop.abort(new Shutdown('gone'));
    await expect(budget.run({ project: 'a', bytes: 1 }, stop.signal, () => Promise.resolve(1))).rejects.toThrow('gone');
    expect([budget.heldBytes, budget.waitingCount]).toEqual([0, 0]);
  });

  it('is waited for until the deadline of the caller', async () => {
    const clock = new FakeClock();
    const budget = new InputBudget(clock, 100);
    const held = gate();
    const first = budget.run({ project: 'a', bytes: 50 }, never, () => held.opened);
    const late = withDeadline(never, { clock, limitMs: 60_000, what: 'rendering x' }, (signal) =>
      budget.run({ project: 'a', bytes: 50 }, signal, () => Promise.resolve()),
    );
    const failed = expect(late).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    await clock.advance(60_000);
    await failed;
    expect(budget.waitingCount).toBe(0);
    held.open();
    await first;
  });

  it.each([
    ['--render-input-mb', 'split the source, or raise --render-input-mb'],
    [undefined, 'split the source'],
  ])('is refused above half of the total, with the option that raises it: %s', async (option, remedy) => {
    const budget = new InputBudget(new FakeClock(), 100, option);
    expect(await budget.run({ project: 'a', bytes: 50 }, never, () => Promise.resolve('fits'))).toBe('fits');
    const tooBig = budget.run({ project: 'a', bytes: 51 }, never, () => Promise.resolve());
    await expect(tooBig).rejects.toBeInstanceOf(SizeLimitExceeded);
    await expect(tooBig).rejects.toThrow(
      new RegExp(
        `^the source needs 51 bytes of files, more than the 50 bytes that one source may hold in memory: ${remedy}$`,
      ),
    );
  });

  it('is claimed without any other event once an input waited long enough', async () => {
    const clock = new FakeClock();
    const budget = new InputBudget(clock, 100);
    const held = gate();
    const first = budget.run({ project: 'a', bytes: 35 }, never, () => held.opened);
    let isStarted = false;
    const big = budget.run({ project: 'b', bytes: 45 }, never, () => Promise.resolve((isStarted = true)));
    await clock.advance(4999);
    expect(isStarted).toBe(false);
    await clock.advance(1);
    expect(isStarted).toBe(true);
    await big;
    held.open();
    await first;
    expect(clock.pending).toBe(0);
  });
});
