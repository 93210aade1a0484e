import type { ShardedCluster, ShardingAlgorithm } from './distribution.ts';
import { byWeight, capacityOf, chooseShard, shedOverload } from './bounded-load.ts';
import type { LoadedShards, UnassignedPart } from './bounded-load.ts';
import { distribute, weightedParts, rankClusters } from './distribution.ts';
import { shardPreferences } from './hash-ring.ts';

/** A table with the history needed to change it gently. */
export interface BalancedTable {
  readonly replicas: number;
  readonly algorithm: ShardingAlgorithm;
  readonly shards: ReadonlyMap<string, number>;
  /** When a part was last moved to balance weights, in milliseconds. */
  readonly movedAt: ReadonlyMap<string, number>;
}

export interface BalanceInputs {
  readonly algorithm: ShardingAlgorithm;
  readonly replicas: number;
  readonly clusters: readonly ShardedCluster[];
  /** By part. */
  readonly weights: ReadonlyMap<string, number>;
}

/** Parts move for balance only if the maximum load drops by more than this share. */
const minLoadGain = 0.2;
/** Minimum time between two moves of the same part for balance. */
const minRestMs = 600_000;

/**
 * Returns the table that follows `current`. Under `legacy` and `round-robin`, or after a change of
 * algorithm, it is built from scratch. Under `consistent-hashing`, clusters keep their shard and
 * the ring places new clusters. New shards get the clusters that the ring assigns to them, and
 * overloaded shards give away the minimum. If only weights changed, parts move only if the maximum
 * load drops by more than 20 %, and a part that moved in the last ten minutes stays, so that
 * fluctuating weights cause no churn.
 */
export function rebalance(current: BalancedTable | undefined, inputs: BalanceInputs, now: number): BalancedTable {
  const { algorithm, replicas, clusters, weights } = inputs;
  if (algorithm !== 'consistent-hashing' || replicas <= 1 || current?.algorithm !== algorithm)
    return { replicas, algorithm, shards: distribute(algorithm, clusters, weights, replicas), movedAt: new Map() };
  const steps = weightedParts(rankClusters(clusters), weights, replicas).map((placings) =>
    balanceParts(placings, current, { replicas, now }),
  );
  const shards = new Map(steps.flatMap((step) => [...step.shards]));
  return { replicas, algorithm, shards, movedAt: new Map(steps.flatMap((step) => [...step.movedAt])) };
}

/** Balances one group of {@link weightedParts}. */
function balanceParts(
  placings: readonly UnassignedPart[],
  current: BalancedTable,
  { replicas, now }: { readonly replicas: number; readonly now: number },
): Pick<BalancedTable, 'shards' | 'movedAt'> {
  const capacity = capacityOf(placings, replicas);
  const kept = keepAssignments(placings, current, { replicas, capacity });
  const movedAt = new Map([...current.movedAt].filter(([key, at]) => kept.shards.has(key) && isResting(at, now)));
  const rescaled = current.replicas !== replicas;
  const better = shedOverload(placings, kept, { capacity, resting: rescaled ? new Map() : movedAt });
  if (rescaled) return { shards: better.shards, movedAt };
  if (Math.max(...better.loads) >= (1 - minLoadGain) * Math.max(...kept.loads)) return { shards: kept.shards, movedAt };
  for (const [key, shard] of better.shards) if (kept.shards.get(key) !== shard) movedAt.set(key, now);
  return { shards: better.shards, movedAt };
}

/** Ignores a time in the future: a wrong clock must not pin a part for ever. */
function isResting(at: number, now: number): boolean {
  return at <= now && now - at < minRestMs;
}

/**
 * Keeps parts on their shard and follows pins. The ring places new parts, and those that it assigns
 * to a new shard.
 */
function keepAssignments(
  placings: readonly UnassignedPart[],
  current: BalancedTable,
  { replicas, capacity }: { readonly replicas: number; readonly capacity: number },
): LoadedShards {
  const shards = new Map<string, number>();
  const loads = new Array<number>(replicas).fill(0);
  const place = ({ key, weight }: UnassignedPart, shard: number): void => {
    loads[shard] = (loads[shard] ?? 0) + weight;
    shards.set(key, shard);
  };
  const goesToNewShard = ({ ring }: UnassignedPart): boolean =>
    replicas > current.replicas && (shardPreferences(replicas).nth(ring, 0) ?? 0) >= current.replicas;
  const fresh: UnassignedPart[] = [];
  for (const placing of placings) {
    const known = placing.pin ?? current.shards.get(placing.key);
    const stays = placing.pin !== undefined || (known !== undefined && known < replicas && !goesToNewShard(placing));
    if (stays && known !== undefined) place(placing, known);
    else fresh.push(placing);
  }
  for (const placing of fresh.sort(byWeight)) place(placing, chooseShard(placing, loads, capacity));
  return { shards, loads };
}
