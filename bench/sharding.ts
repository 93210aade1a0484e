import { algorithms, distribute, rebalance } from '#sharding';
import type { ShardedCluster, ShardingAlgorithm } from '#sharding';
import { handOverTimes } from './handover.ts';
import { medianSeconds } from './harness.ts';
import type { BenchContext, Benchmark } from './harness.ts';

type ClusterWeights = ReadonlyMap<string, number>;

function randomFleet({ random }: BenchContext, count: number): readonly ShardedCluster[] {
  return Array.from({ length: count }, (_, i) => ({ id: random.uuid(), server: `https://cluster-${i}.example.com` }));
}

/** The order of the settings. */
function sortedById(clusters: readonly ShardedCluster[]): readonly ShardedCluster[] {
  return [...clusters].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Zipf: the cluster of rank r has weight (r + 1)^-skew, about 50 Applications on average. */
function zipfWeights(clusters: readonly ShardedCluster[], skew: number): ClusterWeights {
  const raw = clusters.map((_, rank) => (rank + 1) ** -skew);
  const scale = (50 * clusters.length) / raw.reduce((a, b) => a + b, 0);
  return new Map(clusters.map(({ server }, rank) => [server, Math.round((raw[rank] ?? 0) * scale)]));
}

/** Milliseconds of a table from scratch, and after adding one cluster to a known fleet. */
async function tableTimes(context: BenchContext, algorithm: ShardingAlgorithm): Promise<Record<string, number>> {
  const [count, replicas] = context.smoke ? [200, 7] : [10_000, 50];
  const rounds = context.smoke ? 1 : 5;
  let cold = Number.POSITIVE_INFINITY;
  const coldTimes: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    // New ids, so that nothing is cached; another replica count invalidates the ring.
    const drawn = randomFleet(context, count);
    const weights = zipfWeights(drawn, 0.8);
    const clusters = sortedById(drawn);
    const start = process.hrtime.bigint();
    distribute(algorithm, clusters, weights, replicas + round);
    coldTimes.push(Number(process.hrtime.bigint() - start) / 1e6);
  }
  cold = coldTimes.sort((a, b) => a - b)[Math.floor(rounds / 2)] ?? cold;
  const drawn = randomFleet(context, count);
  const weights = zipfWeights(drawn, 0.8);
  const clusters = sortedById(drawn);
  let table = rebalance(undefined, { algorithm, replicas, clusters, weights }, 0);
  const bigger = Array.from({ length: rounds * 3 + 1 }, () => sortedById([...clusters, ...randomFleet(context, 1)]));
  let next = 0;
  const change = await medianSeconds(rounds * 3, () => {
    table = rebalance(table, { algorithm, replicas, clusters: bigger[next] ?? clusters, weights }, 0);
    next += 1;
  });
  const name = algorithm.replace('-', '_');
  return {
    [`${name}_table_cold_10k_x_50_ms`]: cold,
    [`${name}_table_one_cluster_more_ms`]: change * 1000,
  };
}

interface ClusterMovement {
  readonly byCount: number;
  readonly byWeight: number;
  readonly balance: number;
}

type TablePair = readonly [ReadonlyMap<string, number>, ReadonlyMap<string, number>];

function movementBetween(
  [before, after]: TablePair,
  clusters: readonly ShardedCluster[],
  weights: ClusterWeights,
): ClusterMovement {
  const weightOf = (server: string): number => 1 + (weights.get(server) ?? 0);
  const total = clusters.reduce((sum, { server }) => sum + weightOf(server), 0);
  const moved = clusters.filter(({ server }) => before.get(server) !== after.get(server));
  const loads = new Array<number>(11).fill(0);
  for (const [server, shard] of after) loads[shard] = (loads[shard] ?? 0) + weightOf(server);
  return {
    byCount: moved.length / clusters.length,
    byWeight: moved.reduce((sum, { server }) => sum + weightOf(server), 0) / total,
    balance: (Math.max(...loads) * 11) / total,
  };
}

/**
 * Mean over several fleets of 1,000 clusters: the share that moves from 10 to 11 replicas, as a
 * multiple of the unavoidable eleventh.
 */
function measureMovements(context: BenchContext): Record<string, number> {
  const [count, fleets] = context.smoke ? [100, 1] : [1000, 10];
  const metrics: Record<string, number> = {};
  const all = Array.from({ length: fleets }, () => randomFleet(context, count));
  const note = (
    name: string,
    tables: (clusters: readonly ShardedCluster[], weights: ClusterWeights) => TablePair,
  ): void => {
    const results = all.map((clusters) => {
      const weights = zipfWeights(clusters, 0.8);
      return movementBetween(tables(clusters, weights), clusters, weights);
    });
    const mean = (pick: (m: ClusterMovement) => number): number =>
      results.reduce((sum, m) => sum + pick(m), 0) / fleets;
    metrics[`${name}_10_to_11_moved_count_to_unavoidable_ratio`] = 11 * mean((m) => m.byCount);
    metrics[`${name}_10_to_11_moved_weight_to_unavoidable_ratio`] = 11 * mean((m) => m.byWeight);
    metrics[`${name}_11_fullest_to_average_ratio`] = mean((m) => m.balance);
  };
  for (const algorithm of algorithms) {
    const name = algorithm.replace('-', '_');
    // As in the controller: the table of 11 is derived from that of 10.
    note(name, (clusters, weights) => {
      const inputs = { algorithm, clusters, weights };
      const ten = rebalance(undefined, { ...inputs, replicas: 10 }, 0);
      return [ten.shards, rebalance(ten, { ...inputs, replicas: 11 }, 0).shards];
    });
  }
  note('consistent_hashing_from_nothing', (clusters, weights) => {
    const at = (replicas: number): TablePair[0] => distribute('consistent-hashing', clusters, weights, replicas);
    return [at(10), at(11)];
  });
  return metrics;
}

/** The tables of sharding: time, movement and balance. */
export const shardingBenchmark: Benchmark = {
  name: 'sharding',
  about:
    'cluster tables: 10,000 clusters on 50 replicas; the share that moves from 10 to 11 replicas with Zipf(0.8) weights, relative to 1/11',
  async run(context) {
    const metrics: Record<string, number> = {};
    for (const algorithm of algorithms) Object.assign(metrics, await tableTimes(context, algorithm));
    return { ...metrics, ...measureMovements(context), ...(await handOverTimes(context)) };
  },
};
