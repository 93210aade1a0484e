import { describe, expect, it } from '@jest/globals';
import { automated, configMap, FakeWorld, server } from '../testing/fake-world.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage();

const first = 'a'.repeat(40);

// T-CONC-1
describe('more processors', () => {
  /**
   * The time to compare and sync everything when the API server serves `capacity` requests at a
   * time and queues the others.
   */
  async function timeWith(processors: number, capacity: number): Promise<number> {
    const one = new FakeWorld(at.clock);
    at.worlds.push(one);
    one.git.push(first, [configMap('one')]);
    const all = Array.from({ length: 8 }, (_, i) => `app-${String(i)}`);
    for (const name of all)
      one.application(
        { ...automated, destination: { server, namespace: name } },
        { metadata: { name, namespace: 'argocd' } },
      );
    const queue: (() => void)[] = [];
    let free = capacity;
    const before = async (): Promise<void> => {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => void queue.push(resolve));
      await at.clock.sleep(50, new AbortController().signal);
      const next = queue.shift();
      if (next === undefined) free += 1;
      else next();
    };
    const begin = at.clock.now();
    const replica = one.replica({
      hub: { before: (call) => (call.includes(' Application ') ? before() : undefined) },
      config: { statusProcessors: processors, operationProcessors: processors },
    });
    const isDone = (name: string): boolean => one.applicationOf(name).status?.sync?.status === 'Synced';
    for (let turn = 0; turn < 600 && !all.every(isDone); turn += 1) await at.clock.advance(50);
    expect(all.filter((name) => !isDone(name))).toEqual([]);
    const took = at.clock.now() - begin;
    const ended = replica.stop();
    await at.clock.advance(2000);
    await ended;
    return took;
  }

  // T-CONC-1
  it.each([1, 100])('never make it slower, on a server that works on %i requests at a time', async (capacity) => {
    const times: number[] = [];
    for (const processors of [1, 2, 4, 8]) times.push(await timeWith(processors, capacity));
    for (const [i, time] of times.entries())
      // A tolerance of two requests: progress is sampled every 50 ms.
      expect(time).toBeLessThanOrEqual((times[i - 1] ?? Number.POSITIVE_INFINITY) + 100);
    if (capacity === 100) expect(times[3]).toBeLessThan((times[0] ?? 0) / 2);
  });
});
