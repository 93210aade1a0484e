import { getEventListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FakeClock } from '#support';
import { createWorkQueue } from './work-queue.ts';
import type { WorkQueueDeps } from './work-queue.ts';
import type { Priority, TakenItem, WorkQueue } from './types.ts';

type Payload = readonly number[];

function queueOf(clock: FakeClock, more: Partial<WorkQueueDeps<string, Payload>> = {}): WorkQueue<string, Payload> {
  return createWorkQueue<string, Payload>({ clock, name: 'q', merge: (a, b) => [...a, ...b], ...more });
}

const newSignal = (): AbortSignal => new AbortController().signal;

/*
 * Compares the queue with a naive model, step by step. Invariants:
 *  1. A key is processed at most once at a time.
 *  2. An add during processing is never lost: the key is due again (at its time) after done.
 *  3. Entries merge monotonically: all payloads in order of their adds, the highest priority, the
 *     earliest time.
 *  4. Due keys are taken by turns of the lanes, first in, first out within a lane; no take waits
 *     while a key is due.
 *  5. A dropped key does not run (again), whatever its run requeues, unless it is added later.
 *  6. After shutDown nothing is added; due keys are still handed out, then takes resolve undefined.
 *  7. In the end no entry and no timer is left.
 */
interface ModelRequest {
  payload: number[];
  priority: number;
  dueAt: number;
  order: number;
  limited: boolean;
  /** Position in each lane up to its priority, once ready. */
  positions: number[] | undefined;
}

interface ModelKey {
  request: ModelRequest | undefined;
  heldAt: number | undefined;
  dropped: boolean;
}

const priorities: readonly Priority[] = ['resync', 'live', 'user'];
const limitMs = 7;
const backoffMs = 11;

class Model {
  now = 0;
  turn = 0;
  counter = 0;
  closed = false;
  waiters: number[] = [];
  readonly keys = new Map<string, ModelKey>();
  /** Expected result of each take, by its number. */
  readonly given = new Map<number, TakenItem<string, Payload> | undefined>();

  ready(): [string, ModelKey, ModelRequest][] {
    return this.all().filter(([, , request]) => request.positions !== undefined);
  }

  waitingForTime(): [string, ModelKey, ModelRequest][] {
    return this.all().filter(([, , request]) => request.dueAt > this.now);
  }

  held(): string[] {
    return [...this.keys].filter(([, key]) => key.heldAt !== undefined).map(([name]) => name);
  }

  private all(): [string, ModelKey, ModelRequest][] {
    const all: [string, ModelKey, ModelRequest][] = [];
    for (const [name, key] of this.keys) if (key.request !== undefined) all.push([name, key, key.request]);
    return all;
  }

  add(
    name: string,
    request: { payload: number[]; priority: number; delayMs: number; limited?: boolean; older?: boolean },
  ): void {
    if (this.closed) return;
    const key = this.keys.get(name) ?? { request: undefined, heldAt: undefined, dropped: false };
    this.keys.set(name, key);
    const dueAt = this.now + Math.max(0, request.delayMs);
    this.counter += 1;
    if (key.request === undefined) {
      key.request = { ...request, limited: request.limited ?? false, dueAt, order: this.counter, positions: undefined };
    } else {
      const old = key.request;
      old.payload =
        request.older === true ? [...request.payload, ...old.payload] : [...old.payload, ...request.payload];
      old.priority = Math.max(old.priority, request.priority);
      if (dueAt < old.dueAt) Object.assign(old, { dueAt, limited: request.limited ?? false });
    }
    this.settle(name);
  }

  addRateLimited(name: string, request: { payload: number[]; priority: number }): void {
    const old = this.keys.get(name)?.request;
    const waits = old !== undefined && (old.dueAt <= this.now || old.limited);
    this.add(name, { ...request, delayMs: waits ? 1e9 : limitMs, limited: true });
  }

  /** Puts the key's request in its lanes when it can be taken. */
  private settle(name: string): void {
    const key = this.keys.get(name);
    if (key?.request === undefined || key.heldAt !== undefined || key.request.dueAt > this.now) return;
    key.request.positions ??= [];
    while (key.request.positions.length <= key.request.priority) key.request.positions.push((this.counter += 1));
  }

  serve(): void {
    while (this.waiters.length > 0 && (this.ready().length > 0 || this.closed)) {
      this.given.set(this.waiters.shift()!, this.pick());
    }
  }

  take(id: number): void {
    this.waiters.push(id);
    this.serve();
  }

  private pick(): TakenItem<string, Payload> | undefined {
    const ready = this.ready();
    if (ready.length === 0) return undefined;
    let lane = this.turn % 16 === 15 ? 0 : this.turn % 4 === 1 ? 1 : 2;
    while (!ready.some(([, , request]) => request.priority >= lane)) lane -= 1;
    this.turn += 1;
    const position = (request: ModelRequest): number => request.positions?.[lane] ?? Infinity;
    const [name, key, request] = ready.reduce((best, other) => (position(other[2]) < position(best[2]) ? other : best));
    Object.assign(key, { request: undefined, heldAt: this.now, dropped: false });
    return {
      key: name,
      payload: request.payload.length === 0 ? undefined : request.payload,
      priority: priorities[request.priority]!,
      waitedMs: this.now - request.dueAt,
    };
  }

  done(name: string, again?: { payload: number[]; priority: number; delayMs: number }): void {
    const key = this.keys.get(name)!;
    key.heldAt = undefined;
    this.settle(name);
    if (again !== undefined && !key.dropped) this.add(name, { ...again, older: true });
    if (key.request === undefined) this.keys.delete(name);
    this.serve();
  }

  drop(name: string): void {
    const key = this.keys.get(name);
    if (key === undefined) return;
    key.request = undefined;
    key.dropped = true;
    if (key.heldAt === undefined) this.keys.delete(name);
  }

  shutDown(): void {
    this.closed = true;
    for (const [name, key] of this.waitingForTime()) {
      key.request = undefined;
      if (key.heldAt === undefined) this.keys.delete(name);
    }
    this.serve();
  }

  advance(ms: number): void {
    const end = this.now + ms;
    for (;;) {
      const next = Math.min(end, ...this.waitingForTime().map(([, , request]) => request.dueAt));
      const due = this.waitingForTime().filter(([, , request]) => request.dueAt <= next);
      this.now = next;
      for (const [name] of due.sort((a, b) => a[2].dueAt - b[2].dueAt || a[2].order - b[2].order)) this.settle(name);
      this.serve();
      if (next === end) return;
    }
  }
}

const key = fc.constantFrom('a', 'b', 'c');
const priority = fc.constantFrom(0, 1, 2);
const delayMs = fc.oneof(fc.constant(0), fc.integer({ min: -2, max: 30 }));
const bearing = fc.boolean();
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('add' as const), key, priority, delayMs, bearing }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('addRateLimited' as const), key, priority, bearing }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('take' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('done' as const), which: fc.nat() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('again' as const),
      which: fc.nat(),
      priority,
      bearing,
      after: fc.oneof(fc.constant('backoff' as const), fc.integer({ min: 0, max: 20 })),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('drop' as const), key }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 15 }) }) },
);

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

class Harness {
  readonly clock = new FakeClock();
  readonly model = new Model();
  readonly got = new Map<number, TakenItem<string, Payload> | undefined>();
  readonly queue = queueOf(this.clock, {
    rateLimiter: { delayMs: () => limitMs, forget: () => undefined },
    failureBackoff: { delayMs: () => backoffMs, forget: () => undefined },
  });
  readonly signal = newSignal();
  takes = 0;
  stamp = 0;

  async apply(s: Step | { do: 'shutDown' }): Promise<void> {
    const { model, queue } = this;
    const payload = 'bearing' in s && s.bearing ? [(this.stamp += 1)] : [];
    const options =
      'priority' in s ? { priority: priorities[s.priority]!, ...(payload.length > 0 ? { payload } : {}) } : {};
    const held = model.held();
    const mine = 'which' in s ? held[s.which % Math.max(1, held.length)] : undefined;
    if (s.do === 'add') {
      queue.add(s.key, { ...options, delayMs: s.delayMs });
      model.add(s.key, { payload, priority: s.priority, delayMs: s.delayMs });
      model.serve();
    } else if (s.do === 'addRateLimited') {
      queue.addRateLimited(s.key, options);
      model.addRateLimited(s.key, { payload, priority: s.priority });
      model.serve();
    } else if (s.do === 'take') this.take();
    else if (s.do === 'advance') {
      await this.clock.advance(s.ms);
      model.advance(s.ms);
    } else if (s.do === 'drop') {
      queue.drop(s.key);
      model.drop(s.key);
    } else if (s.do === 'shutDown') {
      queue.shutDown();
      model.shutDown();
    } else if (mine === undefined) expect(() => queue.done('unknown')).toThrow('not being processed');
    else if (s.do === 'done') {
      queue.done(mine);
      model.done(mine);
    } else {
      queue.done(mine, { ...options, after: s.after });
      model.done(mine, { payload, priority: s.priority, delayMs: s.after === 'backoff' ? backoffMs : s.after });
    }
    await this.compare();
  }

  take(): void {
    const id = (this.takes += 1);
    void this.queue.take(this.signal).then((taken) => this.got.set(id, taken));
    this.model.take(id);
  }

  async compare(): Promise<void> {
    await this.clock.settle(1);
    const { model, queue } = this;
    expect(Object.fromEntries(this.got)).toEqual(Object.fromEntries(model.given));
    expect([queue.depth, queue.delayed, queue.inFlight]).toEqual([
      model.ready().length,
      model.waitingForTime().length,
      model.held().length,
    ]);
    const ages = model.held().map((name) => model.now - model.keys.get(name)!.heldAt!);
    expect(queue.progress().oldestInFlightMs).toBe(Math.max(0, ...ages));
    expect(queue.progress().takenTotal).toBe([...model.given.values()].filter((taken) => taken !== undefined).length);
    expect(this.clock.pending).toBeLessThanOrEqual(queue.delayed === 0 ? 0 : 1);
  }
}

describe('work queue against a naive model', () => {
  it('matches the model', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const harness = new Harness();
        for (const s of steps) await harness.apply(s);
        await harness.apply({ do: 'advance', ms: 40 });
        while (harness.model.ready().length + harness.model.held().length > 0) {
          await harness.apply({ do: 'take' });
          await harness.apply({ do: 'done', which: 0 });
        }
        expect([harness.queue.depth, harness.queue.delayed, harness.queue.inFlight]).toEqual([0, 0, 0]);
        expect(harness.clock.pending).toBe(0);
      }),
      { numRuns: 250 },
    );
  });

  it('matches the model after a shutdown', async () => {
    const steps = fc.array(step, { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(steps, steps, async (before, after) => {
        const harness = new Harness();
        for (const s of before) await harness.apply(s);
        await harness.apply({ do: 'shutDown' });
        for (const s of after) await harness.apply(s);
        while (harness.model.held().length > 0) await harness.apply({ do: 'done', which: 0 });
        for (let i = 0; i < 5; i += 1) {
          await harness.apply({ do: 'take' });
          await harness.apply({ do: 'done', which: 0 });
        }
        expect(harness.got.get(harness.takes)).toBeUndefined();
        expect(harness.got.has(harness.takes)).toBe(true);
        expect(harness.clock.pending).toBe(0);
      }),
      { numRuns: 100 },
    );
  });
});

describe('work queue', () => {
  const take = async (queue: WorkQueue<string, Payload>): Promise<TakenItem<string, Payload>> => {
    const taken = await queue.take(newSignal());
    if (taken === undefined) throw new Error('the queue is shut down');
    return taken;
  };

  it('keeps the payload of a delayed add when an immediate add follows', async () => {
    const clock = new FakeClock();
    const queue = queueOf(clock);
    queue.add('a', { payload: [1], delayMs: 1000, priority: 'resync' });
    queue.add('a', { payload: [2], priority: 'live' });
    expect(await take(queue)).toEqual({ key: 'a', payload: [1, 2], priority: 'live', waitedMs: 0 });
    queue.done('a');
    await clock.advance(2000);
    expect(queue.depth).toBe(0);
  });

  it('keeps the newer payload without a merge function; an add without payload keeps it too', async () => {
    const queue = createWorkQueue<string, string>({ clock: new FakeClock(), name: '' });
    queue.add('a', { payload: 'old' });
    queue.add('a', { payload: 'new' });
    queue.add('a');
    expect((await queue.take(newSignal()))?.payload).toBe('new');
  });

  it('stays unchanged when the merge function throws', async () => {
    const clock = new FakeClock();
    const queue = createWorkQueue<string, number>({
      clock,
      name: '',
      merge: () => {
        throw new Error('cannot merge');
      },
    });
    queue.add('a', { payload: 1 });
    expect(() => queue.add('a', { payload: 2 })).toThrow('cannot merge');
    expect((await queue.take(newSignal()))?.payload).toBe(1);
    queue.add('a', { payload: 3 });
    expect(() => queue.done('a', { after: 0, payload: 4 })).toThrow('cannot merge');
    expect(queue.inFlight).toBe(1);
    queue.done('a');
    expect((await queue.take(newSignal()))?.payload).toBe(3);
  });

  it('finds a key while it is due and waits for a worker', async () => {
    const clock = new FakeClock();
    const queue = queueOf(clock);
    queue.add('later', { delayMs: 1000 });
    queue.add('now', { payload: [7] });
    const found = { key: 'now', since: clock.monotonic(), priority: 'live', payload: [7] };
    expect(['now', 'later', 'other'].map((key) => queue.waiting(key))).toEqual([found, undefined, undefined]);
    await take(queue);
    queue.add('now');
    expect(queue.waiting('now')).toBeUndefined();
    queue.done('now');
    expect(queue.waiting('now')).toMatchObject({ key: 'now' });
  });

  it('measures the wait from the due time', async () => {
    const clock = new FakeClock();
    const queue = queueOf(clock);
    queue.add('a', { delayMs: 100 });
    await clock.advance(350);
    expect(queue.progress().oldestWaitingMs).toBe(250);
    expect((await take(queue)).waitedMs).toBe(250);
    queue.add('a');
    await clock.advance(60);
    expect(queue.progress()).toEqual({ oldestWaitingMs: 0, oldestInFlightMs: 60, takenTotal: 1 });
    queue.done('a');
    expect((await take(queue)).waitedMs).toBe(60);
  });

  it('delays by the rate limiter, and does not ask it again while the key waits', async () => {
    const clock = new FakeClock();
    const asked: string[] = [];
    const queue = queueOf(clock, {
      rateLimiter: { delayMs: (name) => asked.push(name) * 100, forget: (name) => asked.push(`forget ${name}`) },
    });
    queue.addRateLimited('a', { payload: [1] });
    queue.addRateLimited('a', { payload: [2] });
    await clock.advance(99);
    expect(queue.depth).toBe(0);
    await clock.advance(1);
    queue.addRateLimited('a', { payload: [3] });
    expect((await take(queue)).payload).toEqual([1, 2, 3]);
    queue.addRateLimited('a');
    queue.forget('a');
    expect(asked).toEqual(['a', 'a', 'forget a']);
  });

  it('gives a flow whose runs take long fewer turns', async () => {
    const clock = new FakeClock();
    const queue = queueOf(clock, { flowOf: (key) => key.slice(0, 1) });
    for (let i = 0; i < 4; i += 1) queue.add(`a${i}`);
    for (let i = 0; i < 8; i += 1) queue.add(`b${i}`);
    const order: string[] = [];
    for (let i = 0; i < 8; i += 1) {
      const taken = await queue.take(newSignal());
      order.push(taken?.key ?? '');
      // Two turns and a half.
      if (taken?.key.startsWith('a') === true) await clock.advance(250);
      queue.done(taken?.key ?? '');
    }
    // One for flow a, then one for b, and two more that a has used already.
    expect(order).toEqual(['a0', 'b0', 'b1', 'b2', 'a1', 'b3', 'b4', 'b5']);
  });

  it('delays retries by a configured limiter, too, and not those that ask for a time', async () => {
    const clock = new FakeClock();
    const queue = queueOf(clock, {
      failureBackoff: { delayMs: () => 10, forget: () => undefined },
      rateLimiter: { delayMs: () => 500, forget: () => undefined },
    });
    for (const [after, dueMs] of [
      ['backoff', 500],
      [20, 20],
    ] as const) {
      queue.add('k');
      await queue.take(newSignal());
      queue.done('k', { after });
      await clock.advance(dueMs - 1);
      expect(queue.depth).toBe(0);
      await clock.advance(1);
      expect(queue.depth).toBe(1);
      queue.drop('k');
    }
  });

  it('delays failures longer and longer, until a run succeeds', async () => {
    const clock = new FakeClock();
    const queue = queueOf(clock);
    const failAt: number[] = [];
    queue.add('a');
    for (let i = 0; i < 3; i += 1) {
      await take(queue);
      failAt.push(clock.monotonic());
      queue.done('a', { after: 'backoff' });
      await clock.advance(10_000);
      expect(queue.depth).toBe(1);
    }
    const waits: number[] = [];
    for (const again of [{ after: 'backoff' }, { after: 0 }, { after: 'backoff' }] as const) {
      const taken = await take(queue);
      waits.push(taken.waitedMs);
      queue.done('a', again);
      await clock.advance(10_000);
    }
    // The delays are 0.5, 1 and 2 s before the loop, then 4 s in it, none, and 0.5 s after the
    // reset. The rest of each 10 s was spent waiting to be taken.
    expect(waits).toEqual([8000, 6000, 10_000]);
    expect((await take(queue)).waitedMs).toBe(9500);
  });

  it('forgets failures and frees entries and timers on drop', async () => {
    const clock = new FakeClock();
    const queue = queueOf(clock);
    for (let i = 0; i < 5000; i += 1) queue.add(`key-${i}`, { delayMs: 1000 + (i % 7) * 100 });
    for (let i = 0; i < 5000; i += 1) queue.drop(`key-${(i * 3331) % 5000}`);
    expect(queue.delayed).toBe(0);
    expect(clock.pending).toBe(0);
    queue.add('a');
    await take(queue);
    queue.drop('a');
    queue.done('a', { after: 'backoff' });
    await clock.advance(1e6);
    expect([queue.depth, queue.delayed, queue.inFlight]).toEqual([0, 0, 0]);
  });

  it('treats a key that was dropped and added again as new', async () => {
    const clock = new FakeClock();
    const queue = queueOf(clock);
    queue.add('a');
    await take(queue);
    queue.done('a', { after: 'backoff' });
    queue.drop('a');
    queue.add('a', { payload: [1] });
    await take(queue);
    queue.drop('a');
    queue.add('a', { payload: [2] });
    queue.done('a', { after: 'backoff', payload: [9] });
    expect((await take(queue)).payload).toEqual([2]);
    // The drops forgot the first failure: this one is the first again.
    queue.done('a', { after: 'backoff', payload: [3] });
    await clock.advance(500);
    expect((await take(queue)).payload).toEqual([3]);
  });

  it('merges adds during processing, including their priority', async () => {
    const queue = queueOf(new FakeClock());
    queue.add('a', { priority: 'resync' });
    await take(queue);
    queue.add('a', { priority: 'resync', payload: [1] });
    queue.add('a', { priority: 'user', payload: [2] });
    queue.add('a', { priority: 'live', payload: [3] });
    queue.done('a');
    expect(await take(queue)).toEqual({ key: 'a', payload: [1, 2, 3], priority: 'user', waitedMs: 0 });
  });

  it('rejects an aborted take with its reason, and hands the key to the next one', async () => {
    const clock = new FakeClock();
    const queue = queueOf(clock);
    const gone = new AbortController();
    const reason = new Error('enough');
    const waiting = queue.take(gone.signal);
    const other = queue.take(newSignal());
    gone.abort(reason);
    queue.add('a');
    await expect(waiting).rejects.toBe(reason);
    await expect(queue.take(gone.signal)).rejects.toBe(reason);
    expect((await other)?.key).toBe('a');
  });

  it('leaves no listener on the signal of a take', async () => {
    const queue = queueOf(new FakeClock());
    const { signal } = new AbortController();
    for (let i = 0; i < 50; i += 1) {
      const waiting = queue.take(signal);
      queue.add('a');
      await waiting;
      queue.done('a');
    }
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('serves takes in their order', async () => {
    const queue = queueOf(new FakeClock());
    const order: string[] = [];
    const takers = ['first', 'second', 'third'].map((name) =>
      queue.take(newSignal()).then((taken) => order.push(`${name} ${taken?.key ?? ''}`)),
    );
    for (const name of ['a', 'b', 'c']) queue.add(name);
    await Promise.all(takers);
    expect(order).toEqual(['first a', 'second b', 'third c']);
  });

  it('tolerates timers that fire slightly early', async () => {
    const clock = new FakeClock(1.7e12);
    const queue = queueOf(clock);
    // At this origin a double carries a quarter of a microsecond: sums of such delays round down.
    for (let i = 0; i < 50; i += 1) queue.add(`key-${i}`, { delayMs: 1 / 3 + i / 7 });
    await clock.advance(100);
    expect(queue.depth).toBe(50);
    expect((await take(queue)).waitedMs).toBeGreaterThanOrEqual(0);
  });
});
