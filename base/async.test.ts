import { getEventListeners, getMaxListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FakeClock } from '#support';
import { abortable, untilAborted, newAbortController, withChild, withDeadline } from './abort.ts';
import { KeyedMutex, ConcurrencyLimiter, mapLimit, yieldToLoop } from './async.ts';
import { DeadlineExceeded } from './errors.ts';

const live = (): AbortSignal => new AbortController().signal;
const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;
/** A promise with its resolve and reject functions. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe('withChild', () => {
  it('aborts with its parent, for the same reason', async () => {
    const parent = new AbortController();
    const reason = new Error('stop');
    const seen = withChild(parent.signal, async (signal) => {
      await untilAborted(signal);
      return signal.reason as unknown;
    });
    parent.abort(reason);
    expect(await seen).toBe(reason);
    expect(await withChild(parent.signal, async (signal) => signal.reason as unknown)).toBe(reason);
  });

  it('aborts alone without touching its parent', async () => {
    const parent = new AbortController();
    const reason = new Error('only this');
    await withChild(parent.signal, async (signal, abort) => {
      abort(reason);
      expect(signal.reason).toBe(reason);
    });
    expect(parent.signal.aborted).toBe(false);
  });

  it('leaves no listener behind, however its body ends', async () => {
    const { signal } = new AbortController();
    await Promise.allSettled([
      withChild(signal, async () => 1),
      withChild(signal, () => Promise.reject(new Error('no'))),
      withChild(signal, () => {
        throw new Error('at once');
      }),
      ...Array.from({ length: 100 }, () => withChild(signal, (child) => withChild(child, async () => 2))),
    ]);
    expect(listeners(signal)).toBe(0);
  });

  it('creates signals that accept any number of listeners without a warning', async () => {
    expect(getMaxListeners(newAbortController().signal)).toBe(Infinity);
    await withChild(live(), async (signal) => expect(getMaxListeners(signal)).toBe(Infinity));
  });
});

describe('withDeadline', () => {
  it('rejects at the deadline even if the body ignores its signal', async () => {
    const clock = new FakeClock();
    const signal = live();
    const late = withDeadline(signal, { clock, limitMs: 1500, what: 'listing pods' }, () => gate().opened);
    const caught = late.catch((error: unknown) => error);
    await clock.advance(1499);
    expect(listeners(signal)).toBe(1);
    await clock.advance(1);
    const error = await caught;
    expect(error).toBeInstanceOf(DeadlineExceeded);
    expect((error as Error).message).toBe('listing pods took longer than 1.5 s');
    expect([listeners(signal), clock.pending]).toEqual([0, 0]);
  });

  it('returns the result of its body and leaves no timer', async () => {
    const clock = new FakeClock();
    const deadline = { clock, limitMs: 10, what: 'it' };
    expect(await withDeadline(live(), deadline, async () => 7)).toBe(7);
    await expect(withDeadline(live(), deadline, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(clock.pending).toBe(0);
  });

  it('rejects with the reason of its parent if that aborts first', async () => {
    const parent = new AbortController();
    const clock = new FakeClock();
    const running = withDeadline(parent.signal, { clock, limitMs: 10, what: 'it' }, (signal) =>
      clock.sleep(99, signal),
    );
    parent.abort(new Error('shutdown'));
    await expect(running).rejects.toThrow('shutdown');
    expect(clock.pending).toBe(0);
  });
});

describe('abortable', () => {
  it('settles like its promise and leaves no listener', async () => {
    const { signal } = new AbortController();
    expect(await abortable(Promise.resolve(1), signal)).toBe(1);
    await expect(abortable(Promise.reject(new Error('no')), signal)).rejects.toThrow('no');
    await yieldToLoop();
    expect(listeners(signal)).toBe(0);
  });

  it('rejects at once on abort and swallows later failures', async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', onUnhandled);
    const stop = new AbortController();
    const { opened, open } = gate();
    const later = opened.then(() => Promise.reject(new Error('too late')));
    const waiting = abortable(later, stop.signal);
    stop.abort(new Error('stop'));
    await expect(waiting).rejects.toThrow('stop');
    await expect(abortable(later, stop.signal)).rejects.toThrow('stop');
    open();
    await new FakeClock().settle();
    process.off('unhandledRejection', onUnhandled);
    expect(unhandled).toEqual([]);
    expect(listeners(stop.signal)).toBe(0);
  });

  it('aborted resolves for an abort before and after the call', async () => {
    const stop = new AbortController();
    const before = untilAborted(stop.signal);
    stop.abort();
    await before;
    await untilAborted(stop.signal);
  });
});

describe('Limiter', () => {
  it('runs at most the given number at once, in order of arrival', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.integer({ min: 1, max: 4 }), fc.nat(12), async (scheduler, size, count) => {
        const limiter = new ConcurrencyLimiter(size);
        const started: number[] = [];
        let running = 0;
        let most = 0;
        const all = Array.from({ length: count }, (_, i) =>
          limiter.run(live(), async () => {
            started.push(i);
            most = Math.max(most, (running += 1));
            await scheduler.schedule(Promise.resolve(), `body ${i}`);
            running -= 1;
          }),
        );
        await scheduler.waitFor(Promise.all(all));
        expect(most).toBe(Math.min(size, count));
        expect(started).toEqual(Array.from({ length: count }, (_, i) => i));
      }),
      { numRuns: 50 },
    );
  });

  it('removes a waiter whose signal aborts without losing its permit', async () => {
    const limiter = new ConcurrencyLimiter(1);
    const first = gate();
    const order: string[] = [];
    const running = limiter.run(live(), () => first.opened);
    const stop = new AbortController();
    const leaving = limiter.run(stop.signal, async () => void order.push('never'));
    const next = limiter.run(live(), async () => void order.push('next'));
    stop.abort(new Error('gone'));
    await expect(leaving).rejects.toThrow('gone');
    await expect(limiter.run(stop.signal, async () => void order.push('never'))).rejects.toThrow('gone');
    first.open();
    await Promise.all([running, next]);
    expect(order).toEqual(['next']);
    expect(await limiter.run(live(), async () => 'free')).toBe('free');
  });

  it('releases the permit when a body fails', async () => {
    const limiter = new ConcurrencyLimiter(1);
    await expect(limiter.run(live(), () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await limiter.run(live(), async () => 1)).toBe(1);
  });

  it.each([0, -1])('treats size %i as no limit', async (size) => {
    const limiter = new ConcurrencyLimiter(size);
    const { opened, open } = gate();
    let running = 0;
    const all = Array.from({ length: 100 }, () => limiter.run(live(), () => ((running += 1), opened)));
    await yieldToLoop();
    expect(running).toBe(100);
    open();
    await Promise.all(all);
  });
});

describe('KeyedMutex', () => {
  it('excludes by key, not between keys, under any interleaving', async () => {
    const tasks = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), tasks, async (scheduler, keys) => {
        const mutex = new KeyedMutex<string>();
        const inside = new Set<string>();
        const order: Record<string, number[]> = {};
        let together = 0;
        const all = keys.map((key, i) =>
          mutex.run(key, live(), async () => {
            if (inside.has(key)) throw new Error(`two in ${key}`);
            inside.add(key);
            together = Math.max(together, inside.size);
            (order[key] ??= []).push(i);
            await scheduler.schedule(Promise.resolve(), `${key} ${i}`);
            inside.delete(key);
          }),
        );
        await scheduler.waitFor(Promise.all(all));
        expect(together).toBe(new Set(keys).size);
        for (const key of new Set(keys)) expect(order[key]).toEqual([...keys.keys()].filter((i) => keys[i] === key));
      }),
      { numRuns: 50 },
    );
  });

  it('continues after a failure and after a waiter that aborted', async () => {
    const mutex = new KeyedMutex<string>();
    const { opened, open } = gate();
    const failing = mutex.run('a', live(), () => opened.then(() => Promise.reject(new Error('no'))));
    const stop = new AbortController();
    const leaving = mutex.run('a', stop.signal, async () => 'never');
    const next = mutex.run('a', live(), async () => 'next');
    stop.abort(new Error('gone'));
    await expect(leaving).rejects.toThrow('gone');
    open();
    await expect(failing).rejects.toThrow('no');
    expect(await next).toBe('next');
    expect(await mutex.run('a', live(), async () => 'again')).toBe('again');
  });
});

describe('mapLimit', () => {
  it('maps in order with at most the given number at once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.nat()),
        fc.integer({ min: -1, max: 5 }),
        async (scheduler, items, width) => {
          let running = 0;
          let most = 0;
          const mapped = mapLimit(items, width, async (item, i) => {
            most = Math.max(most, (running += 1));
            await scheduler.schedule(Promise.resolve(), `item ${i}`);
            running -= 1;
            return `${i}:${item}`;
          });
          expect(await scheduler.waitFor(mapped)).toEqual(items.map((item, i) => `${i}:${item}`));
          expect(most).toBe(Math.min(Math.max(1, width), items.length));
        },
      ),
      { numRuns: 50 },
    );
  });

  it('after a failure starts nothing new, waits for running bodies, and rejects with the first', async () => {
    const { opened, open } = gate();
    const events: string[] = [];
    const mapped = mapLimit([0, 1, 2, 3], 2, async (item) => {
      events.push(`start ${item}`);
      if (item === 1) throw new Error('first');
      await opened;
      events.push(`end ${item}`);
      throw new Error('second');
    });
    const caught = mapped.catch((error: unknown) => events.push((error as Error).message));
    await yieldToLoop();
    expect(events).toEqual(['start 0', 'start 1']);
    open();
    await caught;
    expect(events).toEqual(['start 0', 'start 1', 'end 0', 'first']);
  });
});
