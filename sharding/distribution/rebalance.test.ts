import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { seededRandom } from '#base';
import { algorithms, distribute } from './distribution.ts';
import type { ShardedCluster } from './distribution.ts';
import { rebalance } from './rebalance.ts';
import type { BalancedTable, BalanceInputs } from './rebalance.ts';

const minute = 60_000;

function fleet(count: number): readonly ShardedCluster[] {
  return Array.from({ length: count }, (_, i) => ({ id: `id-${i}`, server: `https://c${i}` }));
}

function loads({ shards, replicas }: BalancedTable, weights: ReadonlyMap<string, number>): number[] {
  const result = new Array<number>(replicas).fill(0);
  for (const [key, shard] of shards) result[shard]! += 1 + (weights.get(key) ?? 0);
  return result;
}

function moved(a: BalancedTable, b: BalancedTable): string[] {
  return [...b.shards].filter(([key, shard]) => a.shards.get(key) !== shard).map(([key]) => key);
}

function inputs(
  clusters: readonly ShardedCluster[],
  weights: ReadonlyMap<string, number>,
  replicas = 5,
): BalanceInputs {
  return { algorithm: 'consistent-hashing', replicas, clusters, weights };
}

describe('rebalance', () => {
  const clusters = fleet(100);
  const even = new Map(clusters.map(({ server }) => [server, 10]));
  const start = rebalance(undefined, inputs(clusters, even), 0);
  /** Multiplies the weights of the most loaded shard by five. */
  const heavier = (): Map<string, number> => {
    const full = loads(start, even).indexOf(Math.max(...loads(start, even)));
    return new Map(clusters.map(({ server }) => [server, start.shards.get(server) === full ? 50 : 10]));
  };

  it('stays within the bound at every scale, and moves little more than necessary', () => {
    const many = fleet(1000);
    const weights = new Map(many.map(({ server }, i) => [server, Math.floor(2000 / (i + 1) ** 0.8)]));
    let table = rebalance(undefined, inputs(many, weights, 10), 0);
    const next = rebalance(table, inputs(many, weights, 11), minute);
    expect(moved(table, next).length / 1000).toBeLessThan(1.4 / 11);
    for (const replicas of [11, 12, 9, 3, 2, 10]) {
      table = rebalance(table, inputs(many, weights, replicas), minute);
      const all = loads(table, weights);
      const bound = Math.ceil((1.25 * all.reduce((a, b) => a + b, 0)) / replicas);
      expect(Math.max(...all)).toBeLessThanOrEqual(Math.max(bound, 2001));
    }
  });

  it('stays below 1.6 times the average, and a cluster more, while clusters are removed one by one', () => {
    const random = seededRandom(5);
    let worst = 0;
    for (const replicas of [3, 5, 10]) {
      let left = fleet(200);
      const weights = new Map(left.map(({ server }) => [server, 0]));
      let table = rebalance(undefined, inputs(left, weights, replicas), 0);
      for (let at = 1; left.length > 4 * replicas; at += 1) {
        const gone = Math.floor(random.next() * left.length);
        left = left.filter((_cluster, i) => i !== gone);
        table = rebalance(table, inputs(left, weights, replicas), at * 60 * minute);
        const fullest = Math.max(...loads(table, weights));
        const average = left.length / replicas;
        worst = Math.max(worst, fullest / average);
        expect(fullest).toBeLessThanOrEqual((1.25 * average) / 0.8 + 1);
      }
    }
    expect(worst).toBeGreaterThan(1.25);
  });

  it('equals the table built from scratch at first, and after a change of algorithm', () => {
    expect(start.shards).toEqual(distribute('consistent-hashing', clusters, even, 5));
    const other = rebalance(start, { ...inputs(clusters, even), algorithm: 'legacy' }, minute);
    expect(other.shards).toEqual(distribute('legacy', clusters, even, 5));
  });

  it('moves nothing while weights fluctuate', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 8, max: 12 }), { minLength: 100, maxLength: 100 }), (noise) => {
        const weights = new Map(clusters.map(({ server }, i) => [server, noise[i]!]));
        expect(moved(start, rebalance(start, inputs(clusters, weights), minute))).toEqual([]);
      }),
    );
  });

  it('moves parts when the maximum load drops by more than 20 %, then rests for ten minutes', () => {
    const weights = heavier();
    const after = rebalance(start, inputs(clusters, weights), minute);
    expect(moved(start, after).length).toBeGreaterThan(0);
    expect(Math.max(...loads(after, weights))).toBeLessThan(0.8 * Math.max(...loads(start, weights)));
    const back = new Map(clusters.map(({ server }) => [server, moved(start, after).includes(server) ? 500 : 1]));
    const soon = rebalance(after, inputs(clusters, back), 10 * minute);
    expect(moved(after, soon).filter((key) => moved(start, after).includes(key))).toEqual([]);
    const later = rebalance(after, inputs(clusters, back), 11 * minute + 1);
    expect(moved(after, later).some((key) => moved(start, after).includes(key))).toBe(true);
  });

  it('is not blocked by a timestamp in the future', () => {
    const weights = heavier();
    const stuck: BalancedTable = { ...start, movedAt: new Map(clusters.map(({ server }) => [server, 99 * minute])) };
    expect(moved(start, rebalance(stuck, inputs(clusters, weights), minute)).length).toBeGreaterThan(0);
  });

  it('assigns a new cluster, forgets a removed one, and moves no other', () => {
    const [, ...fewer] = clusters;
    const less = rebalance(start, inputs(fewer, even), minute);
    expect(less.shards.has('https://c0')).toBe(false);
    expect(moved(start, less)).toEqual([]);
    const again = rebalance(less, inputs(clusters, even), minute);
    expect(moved(less, again)).toEqual(['https://c0']);
  });

  it('assigns each part to a shard, whatever the history', () => {
    const step = fc.record({
      count: fc.integer({ min: 0, max: 20 }),
      replicas: fc.integer({ min: 0, max: 8 }),
      algorithm: fc.constantFrom(...algorithms),
      parts: fc.integer({ min: 1, max: 4 }),
      weight: fc.nat(50),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 6 }), (steps) => {
        let table: BalancedTable | undefined;
        steps.forEach(({ count, replicas, algorithm, parts, weight }, i) => {
          const list = fleet(count).map((cluster) => ({ ...cluster, parts }));
          const weights = new Map(list.map(({ server }, n) => [server, (n * weight) % 37]));
          table = rebalance(table, { algorithm, replicas, clusters: list, weights }, i * minute);
          const want = distribute(algorithm, list, weights, replicas);
          expect([...table.shards.keys()].sort()).toEqual([...want.keys()].sort());
          for (const shard of table.shards.values()) expect(shard >= 0 && shard < Math.max(1, replicas)).toBe(true);
        });
      }),
    );
  });
});
