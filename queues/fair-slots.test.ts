import { describe, expect, it } from '@jest/globals';
import { Shutdown } from '#base';
import { FairSlots, FlowFull } from './fair-slots.ts';

const never = new AbortController().signal;
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function slotsOf(options: { slots: number; slotsOfOne: number; waitingOfOne: number }) {
  const slots = new FairSlots(options);
  const began: string[] = [];
  const ends: (() => void)[] = [];
  const start = (flow: string, signal = never): Promise<true | undefined> =>
    slots.run(flow, signal, async () => {
      began.push(flow);
      await new Promise<void>((resolve) => ends.push(resolve));
      return true as const;
    });
  return { began, start, end: () => ends.shift()?.() };
}

describe('fair slots', () => {
  it('give flows turns, whatever one of them has queued', async () => {
    const { began, start, end } = slotsOf({ slots: 1, slotsOfOne: 1, waitingOfOne: 100 });
    for (let i = 0; i < 50; i += 1) void start('a');
    void start('b');
    void start('c');
    for (let i = 0; i < 4; i += 1) {
      await settled();
      end();
    }
    await settled();
    expect(began.slice(0, 4).toSorted()).toEqual(['a', 'a', 'b', 'c']);
  });

  it('keep slots that one flow may not take', async () => {
    const { began, start } = slotsOf({ slots: 4, slotsOfOne: 2, waitingOfOne: 100 });
    for (let i = 0; i < 10; i += 1) void start('slow');
    await settled();
    void start('other');
    await settled();
    expect(began).toEqual(['slow', 'slow', 'other']);
  });

  it('refuse more than a flow may queue, and no other flow', async () => {
    const { start } = slotsOf({ slots: 1, slotsOfOne: 1, waitingOfOne: 2 });
    void start('a');
    await settled();
    void start('a');
    void start('a');
    await expect(start('a')).rejects.toBeInstanceOf(FlowFull);
    expect(await Promise.race([start('b'), settled()])).toBeUndefined();
  });

  it('pass on the turn of one that leaves', async () => {
    const { began, start, end } = slotsOf({ slots: 1, slotsOfOne: 1, waitingOfOne: 9 });
    const leaves = new AbortController();
    void start('a');
    await settled();
    const left = start('a', leaves.signal).catch(() => 'left');
    void start('b');
    leaves.abort(new Shutdown());
    expect(await left).toBe('left');
    end();
    await settled();
    expect(began).toEqual(['a', 'b']);
  });

  it('count none that has left against what its flow may queue', async () => {
    const { began, start, end } = slotsOf({ slots: 1, slotsOfOne: 1, waitingOfOne: 1 });
    void start('a');
    await settled();
    for (let i = 0; i < 3; i += 1) {
      const leaves = new AbortController();
      const left = start('a', leaves.signal).catch(() => 'left');
      leaves.abort(new Shutdown());
      expect(await left).toBe('left');
    }
    void start('a');
    await expect(start('a')).rejects.toBeInstanceOf(FlowFull);
    end();
    await settled();
    expect(began).toEqual(['a', 'a']);
  });

  it('are free again after a failure', async () => {
    const slots = new FairSlots({ slots: 1, slotsOfOne: 1, waitingOfOne: 1 });
    await expect(slots.run('a', never, () => Promise.reject(new Error('x')))).rejects.toThrow('x');
    expect(await slots.run('b', never, () => Promise.resolve(1))).toBe(1);
  });
});
