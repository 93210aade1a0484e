import { getEventListeners, getMaxListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DeadlineExceeded, DriftlessError, messageOf, OwnershipLost, Shutdown, Superseded, UsageError } from '#base';
import { PromMetrics, silentLogger } from '#telemetry';
import type { LogFields, Logger } from '#telemetry';
import { FakeClock } from '#support';
import { QueueMetrics } from './metrics.ts';
import { Processors, describeStall } from './processors.ts';
import type { ItemHandler, ProcessorsConfig } from './processors.ts';
import { createWorkQueue } from './work-queue.ts';

type Payload = readonly number[];

interface Line {
  readonly level: 'info' | 'error';
  readonly message: string;
  readonly fields: LogFields;
}

function setUp(handler: ItemHandler<string, Payload>, config: Partial<ProcessorsConfig> = {}) {
  const clock = new FakeClock();
  const registry = new PromMetrics();
  const metrics = new QueueMetrics(registry);
  const lines: Line[] = [];
  const write = (level: Line['level']) => (message: string, fields?: LogFields) =>
    void lines.push({ level, message, fields: fields ?? {} });
  const logger: Logger = { ...silentLogger, info: write('info'), error: write('error') };
  const queue = createWorkQueue<string, Payload>({ clock, name: 'q', merge: (a, b) => [...a, ...b], metrics });
  const pool = new Processors({ queue, handler, clock, logger, metrics }, { workers: 2, graceMs: 10_000, ...config });
  const stop = new AbortController();
  let ended: unknown = 'no';
  const start = (): void => {
    void pool.run(stop.signal).then(
      () => (ended = 'stopped'),
      (error: unknown) => (ended = error),
    );
  };
  const end = async () => {
    await clock.settle();
    return ended;
  };
  const outcomes = async () => {
    const counter = /^driftless_workqueue_items_total\{name="q",outcome="(\w+)"\} (\d+)/gm;
    const counts: Record<string, number> = {};
    for (const [, outcome = '', count] of (await registry.expose()).matchAll(counter)) counts[outcome] = Number(count);
    return counts;
  };
  return { clock, queue, pool, stop, start, end, lines, outcomes };
}

describe('a handler that releases its slot', () => {
  it('makes room for others, keeps its key and returns before new keys, within the number of workers', async () => {
    const seen: string[] = [];
    const gates = new Map<string, () => void>();
    let [working, most] = [0, 0];
    const gate = (name: string) => new Promise<void>((resolve) => void gates.set(name, resolve));
    const { clock, queue, pool, start, stop, end } = setUp(async ({ key }, _signal, slot) => {
      working += 1;
      most = Math.max(most, working);
      seen.push(`${key} begins`);
      if (key.startsWith('slow')) {
        working -= 1;
        await slot.releaseWhile(gate(key));
        working += 1;
        most = Math.max(most, working);
      } else await gate(key);
      working -= 1;
      seen.push(`${key} ends`);
      return 'done';
    });
    start();
    for (const key of ['slow1', 'slow2', 'slow3', 'a', 'b', 'c']) queue.add(key);
    await clock.settle();
    // Three have released their slots, and both workers are busy.
    expect(seen).toEqual(['slow1', 'slow2', 'slow3', 'a', 'b'].map((key) => `${key} begins`));
    expect(pool.progress()).toMatchObject({ running: 2, waiting: 1 });
    queue.add('slow1');
    gates.get('slow1')?.();
    await clock.settle();
    expect(seen.slice(5)).toEqual([]);
    gates.get('a')?.();
    await clock.settle();
    // The returning handler goes first. Its key was added again, but waits behind the other keys.
    expect(seen.slice(5)).toEqual(['a ends', 'slow1 ends', 'c begins']);
    for (const key of ['b', 'c', 'slow1', 'slow2', 'slow3']) gates.get(key)?.();
    await clock.settle();
    gates.get('slow1')?.();
    await clock.settle();
    expect(seen.filter((line) => line.endsWith('ends'))).toHaveLength(7);
    expect(most).toBe(2);
    // Idle workers make room for returning handlers, and the pool keeps its size.
    for (const key of ['slow1', 'slow2', 'x', 'y', 'z']) queue.add(key);
    await clock.settle();
    for (const key of ['x', 'y']) gates.get(key)?.();
    await clock.settle();
    for (const key of ['z', 'slow1', 'slow2']) gates.get(key)?.();
    await clock.settle();
    expect([working, most, pool.progress().running]).toEqual([0, 2, 0]);
    stop.abort(new Shutdown());
    expect(await end()).toBe('stopped');
  });

  it('is awaited at the stop, and its error is reported as that of the item', async () => {
    let fail: (error: Error) => void = () => undefined;
    const { clock, queue, start, stop, end, outcomes } = setUp(async (_taken, _signal, slot) => {
      await slot.releaseWhile(new Promise<void>((_resolve, reject) => void (fail = reject)));
      return 'done';
    });
    start();
    queue.add('a');
    await clock.settle();
    stop.abort(new Shutdown());
    expect(await end()).toBe('no');
    fail(new TypeError('gone'));
    expect(await end()).toBe('stopped');
    expect(await outcomes()).toMatchObject({ retried: 1 });
  });
});

describe('processors', () => {
  it('log and count an item that throws, and run it again after its backoff', async () => {
    const runs: string[] = [];
    const { clock, queue, start, stop, end, lines, outcomes } = setUp(async ({ key, payload }) => {
      runs.push(`${key} ${(payload ?? []).join()} at ${clock.monotonic()}`);
      if (key === 'bad' && runs.filter((run) => run.startsWith('bad')).length < 3) throw new TypeError('broken');
      return 'done';
    });
    start();
    queue.add('bad', { payload: [1], priority: 'user' });
    queue.add('good');
    await clock.advance(500);
    queue.add('good');
    await clock.advance(10_000);
    expect(runs).toEqual(['bad 1 at 0', 'good  at 0', 'bad 1 at 500', 'good  at 500', 'bad 1 at 1500']);
    expect(lines.map(({ level, fields }) => [level, fields['key'], fields['queue'], fields['retry']])).toEqual([
      ['error', 'bad', 'q', 'backoff'],
      ['error', 'bad', 'q', 'backoff'],
    ]);
    expect(lines[0]?.fields['error']).toBeInstanceOf(TypeError);
    expect(await outcomes()).toEqual({ retried: 2, done: 3, failed: 0, requeued: 0, aborted: 0 });
    stop.abort(new Shutdown());
    expect(await end()).toBe('stopped');
    expect(clock.pending).toBe(0);
  });

  it('keep the payload of a failed run, merged with adds during the run', async () => {
    const seen: unknown[] = [];
    const { clock, queue, start } = setUp(async ({ key, payload, priority }) => {
      seen.push([payload, priority]);
      if (seen.length === 1) {
        queue.add(key, { payload: [2], priority: 'resync', delayMs: 3 });
        throw new Error('first time');
      }
      return 'done';
    });
    start();
    queue.add('a', { payload: [1], priority: 'user' });
    await clock.advance(5000);
    expect(seen).toEqual([
      [[1], 'user'],
      [[1, 2], 'user'],
    ]);
  });

  const failures: [string, unknown, number | undefined][] = [
    ['never', new UsageError('no such thing'), undefined],
    ['after a stated time', new DriftlessError('BUSY', 'busy', { retry: { afterMs: 7000 } }), 7000],
    ['backoff', new DriftlessError('BROKEN', 'broken'), 500],
    ['backoff after the platform’s abort error', new DOMException('socket', 'AbortError'), 500],
    ['backoff after a thrown value that is no error', 'a text', 500],
    ['never when superseded by newer work', new Superseded('a newer one'), undefined],
    ['never when ownership was lost', new OwnershipLost('a'), undefined],
  ];
  it.each(failures)('retry %s', async (_name, thrown, afterMs) => {
    const runs: number[] = [];
    const { clock, queue, start } = setUp(async () => {
      runs.push(clock.monotonic());
      if (runs.length === 1) throw thrown as Error;
      return 'done';
    });
    start();
    queue.add('a');
    await clock.advance(20_000);
    expect(runs).toEqual(afterMs === undefined ? [0] : [0, afterMs]);
    expect([queue.depth, queue.delayed, queue.inFlight]).toEqual([0, 0, 0]);
  });

  it('survive a handler that throws synchronously', async () => {
    let runs = 0;
    const { clock, queue, start, lines } = setUp(() => {
      runs += 1;
      throw new Error('at once');
    });
    start();
    queue.add('a');
    await clock.advance(500);
    expect([runs, lines.length]).toEqual([2, 2]);
  });

  it('requeue with the delay, priority and payload of the result', async () => {
    const seen: unknown[] = [];
    const { clock, queue, start } = setUp(async ({ payload, priority }) => {
      seen.push([clock.monotonic(), payload, priority]);
      if (seen.length === 1) return { requeueAfterMs: 100 };
      if (seen.length === 2) return { requeueAfterMs: 50, priority: 'resync', payload: [9] };
      return 'done';
    });
    start();
    queue.add('a', { payload: [1], priority: 'user' });
    await clock.advance(1000);
    expect(seen).toEqual([
      [0, [1], 'user'],
      [100, undefined, 'user'],
      [150, [9], 'resync'],
    ]);
  });

  it('do not run a dropped key again, even if its run requeues it', async () => {
    let runs = 0;
    const { clock, queue, start } = setUp(async ({ key }) => {
      runs += 1;
      queue.drop(key);
      return { requeueAfterMs: 1 };
    });
    start();
    queue.add('a');
    await clock.advance(1000);
    expect(runs).toBe(1);
  });

  it('process as many keys at once as there are workers', async () => {
    let most = 0;
    const { clock, queue, pool, start } = setUp(
      async (_taken, signal) => {
        most = Math.max(most, pool.progress().running);
        await clock.sleep(10, signal);
        return 'done';
      },
      { workers: 5 },
    );
    start();
    for (let i = 0; i < 20; i += 1) queue.add(`key-${i}`);
    await clock.advance(35);
    expect(most).toBe(5);
    expect(pool.progress()).toMatchObject({ workers: 5, running: 5, waiting: 0, oldestInFlightMs: 5, takenTotal: 20 });
    await clock.advance(5);
    expect(pool.progress().running).toBe(0);
  });

  it('yield to the event loop while keys are always due', async () => {
    let runs = 0;
    const { queue, start, stop, end } = setUp(async () => {
      runs += 1;
      return 'done';
    });
    for (let i = 0; i < 5000; i += 1) queue.add(`key-${i}`);
    start();
    await new Promise((resolve) => setImmediate(resolve));
    expect(runs).toBeLessThan(200);
    for (let turns = 0; runs < 5000 && turns < 500; turns += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(runs).toBe(5000);
    stop.abort(new Shutdown());
    expect(await end()).toBe('stopped');
  });

  it('leave no listeners behind, and allow one for each worker', async () => {
    // With a limit Node would print a leak warning at the eleventh listener.
    const limits = new Set<number>();
    const { clock, queue, start, stop, end } = setUp(
      async (_taken, signal) => {
        limits.add(getMaxListeners(signal));
        await clock.sleep(1, signal);
        return 'done';
      },
      { workers: 40 },
    );
    start();
    for (let i = 0; i < 200; i += 1) queue.add(`key-${i}`);
    await clock.advance(20);
    expect([...limits]).toEqual([Infinity]);
    expect(getEventListeners(stop.signal, 'abort').length).toBeLessThanOrEqual(2);
    stop.abort(new Shutdown());
    expect(await end()).toBe('stopped');
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
  });
});

describe('stopping processors', () => {
  it('starts nothing new and waits for running items', async () => {
    const started: string[] = [];
    const { clock, queue, start, stop, end } = setUp(async ({ key }, signal) => {
      started.push(key);
      await clock.sleep(5000, signal);
      return 'done';
    });
    start();
    for (const key of ['a', 'b', 'c']) queue.add(key);
    await clock.settle();
    stop.abort(new Shutdown());
    await clock.advance(4999);
    expect(await end()).toBe('no');
    await clock.advance(1);
    expect(await end()).toBe('stopped');
    expect(started).toEqual(['a', 'b']);
    expect([queue.depth, queue.inFlight]).toEqual([1, 0]);
    expect(clock.pending).toBe(0);
  });

  it('aborts running items after the grace period with a typed reason, and does not requeue them', async () => {
    let reason: unknown;
    const { clock, queue, start, stop, end, lines, outcomes } = setUp(async (_taken, signal) => {
      await clock.sleep(60_000, signal).catch((error: unknown) => {
        reason = error;
        throw error as Error;
      });
      return 'done';
    });
    start();
    queue.add('a');
    await clock.settle();
    stop.abort(new Shutdown());
    await clock.advance(9_999);
    expect(reason).toBeUndefined();
    await clock.advance(1);
    expect(reason).toBeInstanceOf(Shutdown);
    expect(await end()).toBe('stopped');
    expect([queue.depth, queue.delayed, queue.inFlight]).toEqual([0, 0, 0]);
    expect(lines.map(({ level }) => level)).toEqual(['info']);
    expect(await outcomes()).toEqual({ aborted: 1, done: 0, retried: 0, failed: 0, requeued: 0 });
  });

  it('gives up on an item that ignores its abort, and names it', async () => {
    const { clock, queue, start, stop, end } = setUp(() => new Promise(() => undefined));
    start();
    queue.add('argocd/stubborn');
    await clock.settle();
    stop.abort(new Shutdown());
    await clock.advance(10_999);
    expect(await end()).toBe('no');
    await clock.advance(1);
    const error = await end();
    expect(error).toBeInstanceOf(DeadlineExceeded);
    expect(messageOf(error)).toContain('argocd/stubborn');
  });

  it('puts back a key that was taken at the moment of the stop', async () => {
    let runs = 0;
    const { clock, queue, start, stop, end } = setUp(async () => {
      runs += 1;
      return 'done';
    });
    start();
    await clock.settle();
    queue.add('a', { payload: [1], priority: 'user' });
    stop.abort(new Shutdown());
    expect(await end()).toBe('stopped');
    expect(runs).toBe(0);
    expect(await queue.take(new AbortController().signal)).toMatchObject({ key: 'a', payload: [1], priority: 'user' });
  });

  it('ends when the queue is shut down and empty', async () => {
    const runs: string[] = [];
    const { clock, queue, start, end } = setUp(async ({ key }) => {
      runs.push(key);
      await clock.sleep(10);
      return 'done';
    });
    start();
    for (const key of ['a', 'b', 'c']) queue.add(key);
    await clock.settle();
    queue.shutDown();
    await clock.advance(20);
    expect(await end()).toBe('stopped');
    expect(runs).toEqual(['a', 'b', 'c']);
  });

  it('starts nothing when already stopped', async () => {
    const { queue, start, stop, end, clock } = setUp(async () => 'done');
    queue.add('a');
    stop.abort(new Shutdown());
    start();
    expect(await end()).toBe('stopped');
    expect([queue.depth, clock.pending]).toEqual([1, 0]);
  });

  it('rejects and stops all loops when the queue itself fails', async () => {
    const { clock, queue } = setUp(async () => 'done');
    let takes = 0;
    const broken = {
      take: (signal: AbortSignal) =>
        (takes += 1) === 3 ? Promise.reject(new Error('queue broke')) : queue.take(signal),
    };
    const pool = new Processors(
      {
        queue: new Proxy(queue, {
          get: (target, name) => Reflect.get(name === 'take' ? broken : target, name) as unknown,
        }),
        handler: async () => 'done',
        clock,
        logger: silentLogger,
      },
      { workers: 3, graceMs: 1 },
    );
    await expect(pool.run(new AbortController().signal)).rejects.toThrow('queue broke');
  });
});

// T-Q-1
describe('no request is lost', () => {
  const steps = [0, 1, 2, 3, 4];

  it.each(steps)('an add at step %i of a run causes exactly one more run that sees it', async (at) => {
    const runs: Payload[] = [];
    let runNumber = 0;
    const { clock, queue, start } = setUp(async ({ payload }, signal) => {
      runNumber += 1;
      runs.push(payload ?? []);
      for (const step of steps) {
        if (runNumber === 1 && step === at) {
          queue.add('a', { payload: [2] });
          queue.add('a', { payload: [3] });
        }
        await clock.sleep(1, signal);
      }
      return 'done';
    });
    start();
    queue.add('a', { payload: [1] });
    await clock.advance(100);
    expect(runs).toEqual([[1], [2, 3]]);
  });
});

/*
 * Random interleavings of producers and of handlers that wait at several points and fail at
 * random, with any number of loops. Invariants:
 * 1. No key is processed twice at once.
 * 2. In the end, the last run of each key began after its last add and succeeded.
 * 3. No payload is lost: each was given to a run that succeeded.
 * 4. The queue is empty.
 */
describe('random interleavings', () => {
  it('hold the invariants', async () => {
    const add = fc.record({
      key: fc.constantFrom('a', 'b', 'c'),
      priority: fc.constantFrom('user' as const, 'live' as const, 'resync' as const),
      delayed: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(add, { minLength: 1, maxLength: 15 }),
        fc.array(fc.boolean(), { maxLength: 6 }),
        fc.integer({ min: 1, max: 4 }),
        async (scheduler, adds, fails, workers) => {
          const world = {
            added: new Map<string, number>(),
            seen: new Map<string, number>(),
            processed: new Set<string>(),
          };
          const lost = new Set(adds.keys());
          const { clock, queue, start, stop, end } = setUp(
            async ({ key, payload }) => {
              if (world.processed.has(key)) throw new Error(`${key} is processed twice at once`);
              world.processed.add(key);
              const began = world.added.get(key) ?? 0;
              await scheduler.schedule(Promise.resolve(), `first step of ${key}`);
              await scheduler.schedule(Promise.resolve(), `second step of ${key}`);
              world.processed.delete(key);
              if (fails.pop() === true) throw new Error('bad luck');
              world.seen.set(key, began);
              for (const id of payload ?? []) lost.delete(id);
              return 'done';
            },
            { workers },
          );
          start();
          for (const [id, { key, priority, delayed }] of adds.entries()) {
            void scheduler.schedule(Promise.resolve(), `add ${id} of ${key}`).then(() => {
              world.added.set(key, id + 1);
              queue.add(key, { payload: [id], priority, ...(delayed ? { delayMs: 50 } : {}) });
            });
          }
          for (let round = 0; round < 12; round += 1) {
            while (scheduler.count() > 0) {
              await scheduler.waitNext(1);
              await clock.settle(1);
            }
            await clock.advance(10_000);
          }
          for (const [key, id] of world.added) expect([key, world.seen.get(key)]).toEqual([key, id]);
          expect([...lost]).toEqual([]);
          expect([queue.depth, queue.delayed, queue.inFlight]).toEqual([0, 0, 0]);
          stop.abort(new Shutdown());
          expect(await end()).toBe('stopped');
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('describeStall', () => {
  const calm = {
    workers: 2,
    running: 0,
    waiting: 0,
    oldestWaitingMs: 0,
    oldestInFlightMs: 0,
    takenTotal: 9,
    sinceTakenMs: 1e6,
  };

  it.each([
    ['nothing is due', calm],
    ['one item is slow and no key waits', { ...calm, running: 1, oldestInFlightMs: 1e9 }],
    ['keys wait, but not for long', { ...calm, running: 2, waiting: 5, oldestWaitingMs: 999, oldestInFlightMs: 1e9 }],
    ['a long queue makes progress', { ...calm, running: 1, waiting: 5000, oldestWaitingMs: 1e6, sinceTakenMs: 10 }],
  ])('reports no stall when %s', (_name, progress) => {
    expect(describeStall(progress, 1000)).toBeUndefined();
  });

  it('reports a stall when all workers are stuck and when none takes a waiting key', () => {
    const stuck = { ...calm, running: 2, waiting: 3, oldestWaitingMs: 60_000, oldestInFlightMs: 90_000 };
    expect(describeStall(stuck, 30_000)).toBe(
      '3 keys wait, the oldest for 60 s; 2 of 2 processors are busy, one for 90 s',
    );
    expect(describeStall({ ...stuck, running: 0 }, 30_000)).toBe(
      '3 keys wait, the oldest for 60 s; 0 of 2 processors work',
    );
  });

  it('distinguishes a stuck pool from a working one', async () => {
    const { clock, queue, pool, start } = setUp(async ({ key }, signal) => {
      await clock.sleep(key.startsWith('stuck') ? 1e9 : 10, signal);
      return 'done';
    });
    start();
    queue.add('stuck-1');
    for (let i = 0; i < 50; i += 1) queue.add(`key-${i}`);
    await clock.advance(400);
    expect(describeStall(pool.progress(), 200)).toBeUndefined();
    queue.add('stuck-2', { priority: 'user' });
    await clock.advance(400);
    expect(describeStall(pool.progress(), 200)).toContain('2 of 2 processors are busy');
  });
});
