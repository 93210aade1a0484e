import { describe, expect, it } from '@jest/globals';
import { newAbortController, Shutdown } from '#base';
import { FakeClock } from '#support';
import { silentLogger } from '#telemetry';
import { Processors } from './processors.ts';
import { createWorkQueue } from './work-queue.ts';
import type { WorkerSlot } from './worker-slots.ts';

describe('a handler whose wait fails', () => {
  it('gets its slot back like any other, and no slot is lost', async () => {
    const clock = new FakeClock();
    const queue = createWorkQueue<string>({ clock, name: '' });
    let running = 0;
    let most = 0;
    let fail: (error: Error) => void = () => undefined;
    const gate = new Promise<void>((_resolve, reject) => (fail = reject));
    const handler = async (
      { key }: { readonly key: string },
      _signal: AbortSignal,
      slot: WorkerSlot,
    ): Promise<'done'> => {
      if (key.startsWith('away')) await slot.releaseWhile(gate).catch(() => undefined);
      running += 1;
      most = Math.max(most, running);
      await clock.sleep(10);
      running -= 1;
      return 'done';
    };
    const pool = new Processors<string, undefined>(
      { queue, handler, clock, logger: silentLogger },
      { workers: 2, graceMs: 10 },
    );
    const stop = newAbortController();
    const ended = pool.run(stop.signal);
    for (let i = 0; i < 3; i += 1) queue.add(`away-${i}`);
    await clock.settle();
    expect(pool.progress().running).toBe(0);
    fail(new Error('the cluster is gone'));
    for (let i = 0; i < 6; i += 1) queue.add(`keys-${i}`);
    await clock.advance(1000);
    expect([most, pool.progress().running, queue.depth]).toEqual([2, 0, 0]);
    for (let i = 0; i < 4; i += 1) queue.add(`more-${i}`);
    await clock.advance(5);
    expect(pool.progress().running).toBe(2);
    stop.abort(new Shutdown());
    await clock.advance(100);
    await ended;
    queue.shutDown();
    expect(clock.pending).toBe(0);
  });
});

describe('returning handlers', () => {
  it('leave every second free worker to waiting keys', async () => {
    const clock = new FakeClock();
    const queue = createWorkQueue<string>({ clock, name: '' });
    const order: string[] = [];
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const handler = async (
      { key }: { readonly key: string },
      _signal: AbortSignal,
      slot: WorkerSlot,
    ): Promise<'done'> => {
      if (key.startsWith('away')) await slot.releaseWhile(gate);
      order.push(key.slice(0, 4));
      await clock.sleep(10);
      return 'done';
    };
    const pool = new Processors<string, undefined>(
      { queue, handler, clock, logger: silentLogger },
      { workers: 1, graceMs: 10 },
    );
    const stop = newAbortController();
    const ended = pool.run(stop.signal);
    for (let i = 0; i < 10; i += 1) queue.add(`away-${i}`);
    await clock.settle();
    release();
    for (let i = 0; i < 10; i += 1) queue.add(`keys-${i}`);
    await clock.advance(1000);
    expect(order).toHaveLength(20);
    // Neither side starves the other: any four consecutive runs contain both.
    for (let i = 0; i + 4 <= 16; i += 1) expect(new Set(order.slice(i, i + 4)).size).toBe(2);
    stop.abort(new Shutdown());
    await clock.advance(100);
    await ended;
    queue.shutDown();
    expect(clock.pending).toBe(0);
  });
});
