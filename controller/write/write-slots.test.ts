import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DeadlineExceeded, newAbortController } from '#base';
import { KubeApiError } from '#kube';
import { FakeClock } from '#support';
import { ClusterStalled } from '../shared/errors.ts';
import { WriteSlots } from './write-slots.ts';

const never = newAbortController().signal;
const answer = (): Promise<string> => Promise.resolve('ok');

/** Writes that the test answers on demand. */
class ControlledWrites {
  readonly clock = new FakeClock();
  readonly slots: WriteSlots;
  /** `cluster number` of the writes in flight, in start order. */
  readonly inFlight: string[] = [];
  readonly #ends = new Map<string, (error?: Error) => void>();
  readonly #results: Promise<unknown>[] = [];
  #count = 0;

  constructor(limit: number) {
    this.slots = new WriteSlots(this.clock, limit);
  }

  start(cluster: string, signal = never): string {
    this.#count += 1;
    const id = `${cluster} ${this.#count}`;
    const run = this.slots.run(cluster, signal, () => {
      this.inFlight.push(id);
      return new Promise<void>((resolve, reject) =>
        this.#ends.set(id, (error) => (error === undefined ? resolve() : reject(error))),
      );
    });
    this.#results.push(run.catch(() => undefined));
    return id;
  }

  async end(id: string | undefined, error?: Error): Promise<void> {
    if (id === undefined) return;
    const at = this.inFlight.indexOf(id);
    if (at < 0) throw new Error(`${id} is not in flight`);
    this.inFlight.splice(at, 1);
    this.#ends.get(id)?.(error);
    await this.clock.settle(2);
  }

  of(cluster: string): readonly string[] {
    return this.inFlight.filter((id) => id.startsWith(`${cluster} `));
  }

  /** Lets a cluster answer this many writes, so that its window grows to the whole limit. */
  async learn(cluster: string, count = 30): Promise<void> {
    for (let i = 0; i < count; i += 1) await this.slots.run(cluster, never, answer);
  }

  async close(): Promise<void> {
    while (this.inFlight.length > 0) await this.end(this.inFlight[0]);
    await Promise.all(this.#results);
    expect(this.clock.pending).toBe(0);
  }
}

describe('WriteSlots', () => {
  it('never exceeds the limit, except for writes that wait too long for a response', async () => {
    const action = fc.record({
      do: fc.constantFrom('start', 'start', 'end', 'wait'),
      cluster: fc.nat(3),
      pick: fc.nat(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 120 }), async (actions) => {
        const limit = 6;
        const writes = new ControlledWrites(limit);
        const begunAt = new Map<string, number>();
        const asked = new Map<string, number>();
        for (const { do: what, cluster, pick } of actions) {
          const name = `c${cluster}`;
          if (what === 'start') {
            asked.set(name, (asked.get(name) ?? 0) + 1);
            writes.start(name);
          } else if (what === 'end') await writes.end(writes.inFlight[pick % Math.max(1, writes.inFlight.length)]);
          else await writes.clock.advance(pick % 130);
          await writes.clock.settle(1);
          const now = writes.clock.monotonic();
          for (const id of writes.inFlight) if (!begunAt.has(id)) begunAt.set(id, now);
          const young = writes.inFlight.filter((id) => now - (begunAt.get(id) ?? now) < 100);
          expect(young.length).toBeLessThanOrEqual(limit);
          for (const c of ['c0', 'c1', 'c2', 'c3']) expect(writes.of(c).length).toBeLessThanOrEqual(limit);
        }
        await writes.close();
      }),
      { numRuns: 60 },
    );
  });

  it('gives one busy cluster the whole limit, and every other slot to a second one', async () => {
    const writes = new ControlledWrites(8);
    await writes.learn('a');
    for (let i = 0; i < 40; i += 1) writes.start('a');
    await writes.clock.settle();
    expect(writes.of('a')).toHaveLength(8);
    for (let i = 0; i < 40; i += 1) writes.start('b');
    // b has not answered yet: it gets the next four slots that a frees, then one more per answer.
    for (let i = 0; i < 4; i += 1) await writes.end(writes.of('a')[0]);
    expect([writes.of('a').length, writes.of('b').length]).toEqual([4, 4]);
    for (let i = 0; i < 6; i += 1) await writes.end(writes.inFlight[0]);
    expect([writes.of('a').length, writes.of('b').length]).toEqual([4, 4]);
    await writes.close();
  });

  it('delays no other cluster by more than 0.1 s, however many clusters hang', async () => {
    const writes = new ControlledWrites(6);
    const hanging = ['a', 'b', 'c', 'd', 'e'];
    for (const hung of hanging) await writes.learn(hung);
    for (const hung of hanging) for (let i = 0; i < 20; i += 1) writes.start(hung);
    await writes.clock.settle();
    for (let i = 0; i < 10; i += 1) {
      const id = writes.start('works');
      await writes.clock.advance(100);
      expect(writes.inFlight).toContain(id);
      await writes.end(id);
    }
    // A hanging cluster has no more than its window in flight.
    await writes.clock.advance(10_000);
    for (const hung of hanging) expect(writes.of(hung).length).toBeLessThanOrEqual(6);
    await writes.close();
  });

  it('gives four slots to a cluster that has never answered, and two to one that leaves writes unanswered', async () => {
    const writes = new ControlledWrites(20);
    for (let i = 0; i < 40; i += 1) writes.start('a');
    await writes.clock.settle();
    expect(writes.of('a')).toHaveLength(4);
    for (const id of writes.of('a')) await writes.end(id, new DeadlineExceeded('a write', 30_000));
    expect(writes.of('a')).toHaveLength(2);
    await writes.close();
  });

  it('counts a refusal as an answer', async () => {
    const writes = new ControlledWrites(20);
    const refusal = new KubeApiError({ code: 500, reason: 'InternalError', message: 'failed calling webhook' }, 'fake');
    for (let i = 0; i < 40; i += 1) writes.start('a');
    await writes.clock.settle();
    for (let i = 0; i < 4; i += 1) await writes.end(writes.of('a')[0], refusal);
    expect(writes.of('a')).toHaveLength(8);
    await writes.close();
  });

  it('is unlimited below 1', async () => {
    const writes = new ControlledWrites(0);
    for (let i = 0; i < 100; i += 1) writes.start('a');
    await writes.clock.settle();
    expect(writes.inFlight).toHaveLength(100);
    await writes.close();
  });

  it('leaves nothing behind when a waiting write is aborted', async () => {
    const writes = new ControlledWrites(1);
    const stop = newAbortController();
    const first = writes.start('a');
    writes.start('a', stop.signal);
    await writes.clock.settle();
    stop.abort(new Error('stopped'));
    await writes.clock.settle();
    await writes.end(first);
    expect(writes.inFlight).toEqual([]);
    const next = writes.start('a');
    await writes.clock.settle();
    expect(writes.inFlight).toEqual([next]);
    await writes.close();
  });

  it('gives clusters that hold the same number of slots their turns one after the other', async () => {
    const writes = new ControlledWrites(1);
    for (const name of ['a', 'b', 'c']) for (let i = 0; i < 3; i += 1) writes.start(name);
    await writes.clock.settle();
    const order: string[] = [];
    for (let i = 0; i < 6; i += 1) {
      const [id = ''] = writes.inFlight;
      order.push(id.slice(0, 1));
      await writes.end(id);
    }
    // The first write of a was granted before b and c had any, so a precedes them once more.
    expect(order).toEqual(['a', 'a', 'b', 'c', 'a', 'b']);
    await writes.close();
  });

  it('gives the slot of a write that is aborted as it gets one to the next', async () => {
    const writes = new ControlledWrites(1);
    const stop = newAbortController();
    const first = writes.start('a');
    await writes.clock.settle();
    writes.start('a', stop.signal);
    const next = writes.start('a');
    await writes.clock.settle();
    const ended = writes.end(first);
    // The second write of a has been granted the slot, but has not resumed yet.
    await Promise.resolve();
    stop.abort(new Error('stopped'));
    await ended;
    await writes.clock.settle();
    expect(writes.inFlight).toEqual([next]);
    await writes.close();
  });

  it('learns nothing from a write that its own side aborts', async () => {
    const writes = new ControlledWrites(20);
    const stop = newAbortController();
    await writes.learn('a');
    const id = writes.start('a', stop.signal);
    await writes.clock.settle();
    stop.abort(new Error('stopped'));
    await writes.end(id, new Error('stopped'));
    for (let i = 0; i < 40; i += 1) writes.start('a');
    await writes.clock.settle();
    expect(writes.of('a')).toHaveLength(20);
    await writes.close();
  });

  it('does not count the time in which nothing was asked of a cluster as its silence', async () => {
    const writes = new ControlledWrites(20);
    await writes.learn('a');
    await writes.clock.advance(600_000);
    writes.start('a');
    await writes.clock.settle();
    expect([writes.slots.isStalled('a'), writes.slots.silentMs('a')]).toEqual([false, 0]);
    await writes.close();
  });

  it('rejects writes that wait behind a cluster that has not answered for two seconds', async () => {
    const writes = new ControlledWrites(20);
    for (let i = 0; i < 4; i += 1) writes.start('a');
    const waits = writes.slots.run('a', never, answer);
    waits.catch(() => undefined);
    await writes.clock.advance(2100);
    await expect(waits).rejects.toThrow(ClusterStalled);
    expect(writes.of('a')).toHaveLength(4);
    await writes.close();
  });

  it('calls a cluster stalled after two silent seconds, until it answers or nothing waits', async () => {
    const writes = new ControlledWrites(20);
    const [one, two] = [writes.start('a'), writes.start('a')];
    await writes.clock.advance(1900);
    expect([writes.slots.isStalled('a'), writes.slots.silentMs('a')]).toEqual([false, 1900]);
    await writes.clock.advance(200);
    expect([writes.slots.isStalled('a'), writes.slots.isStalled('b')]).toEqual([true, false]);
    await writes.end(one);
    expect(writes.slots.isStalled('a')).toBe(false);
    await writes.clock.advance(2100);
    expect(writes.slots.isStalled('a')).toBe(true);
    await writes.end(two, new DeadlineExceeded('a write', 1));
    expect(writes.slots.isStalled('a')).toBe(false);
    await writes.close();
  });
});
