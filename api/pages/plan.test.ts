import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { algorithms, distribute, partKey } from '#sharding';
import type { NextTableFacts } from '#sharding';
import { planOf } from './plan.ts';

const server = (i: number): string => `https://cluster-${i}`;

function fleet(
  count: number,
  replicas: number,
  algorithm: (typeof algorithms)[number] = 'round-robin',
): NextTableFacts {
  const clusters = Array.from({ length: count }, (_, i) => ({ id: `id-${i}`, server: server(i), name: `c${i}` }));
  const weights = new Map(clusters.map(({ server: url }, i) => [partKey(url, 0, 1), i + 1]));
  const shards = distribute(algorithm, clusters, weights, replicas);
  return { current: { replicas, algorithm, shards, movedAt: new Map() }, clusters, weights };
}

const planned = (next: NextTableFacts, change: Parameters<typeof planOf>[1]): ReturnType<typeof planOf> =>
  planOf({ ...next, applications: next.weights }, change, 0);

describe('a plan', () => {
  it('moves nothing if nothing changes', () => {
    expect(planned(fleet(6, 3), {})).toMatchObject({ moves: [], movedApplications: 0, parts: 6, applications: 21 });
  });

  it('names the clusters that a rescale moves, with their Applications', () => {
    const plan = planned(fleet(4, 2), { replicas: 4 });
    expect(plan.from).toEqual({ algorithm: 'round-robin', replicas: 2 });
    expect(plan.moves.map(({ name, from, to, applications }) => [name, from, to, applications])).toEqual([
      ['c2', 0, 2, 3],
      ['c3', 1, 3, 4],
    ]);
    expect([plan.loadBefore, plan.loadAfter]).toEqual([
      [4, 6],
      [1, 2, 3, 4],
    ]);
  });

  it('moves a pinned cluster, by name or by URL', () => {
    for (const cluster of ['c0', server(0)])
      expect(planned(fleet(2, 2), { pin: { cluster, shard: 1 } }).moves).toMatchObject([
        { name: 'c0', from: 0, to: 1 },
      ]);
    expect(() => planned(fleet(2, 2), { pin: { cluster: 'other', shard: 1 } })).toThrow('no cluster is named "other"');
  });

  it('moves between the table and the one that the controller builds next, under every algorithm', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 5 }),
        fc.constantFrom(...algorithms),
        (count, before, replicas, algorithm) => {
          const next = fleet(count, before);
          const plan = planned(next, { replicas, algorithm });
          const after = new Map(next.current.shards);
          for (const { server: url, part, parts, to } of plan.moves) after.set(partKey(url, part, parts), to);
          expect(Math.max(...after.values())).toBeLessThan(replicas);
          const loads = new Array<number>(replicas).fill(0);
          for (const [key, shard] of after) loads[shard] = (loads[shard] ?? 0) + (next.weights.get(key) ?? 0);
          expect(plan.loadAfter).toEqual(loads);
          expect(plan.algorithms.find((each) => each.algorithm === algorithm)?.moved).toBe(plan.moves.length);
        },
      ),
    );
  });
});
