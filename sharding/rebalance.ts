import type { ShardedCluster, ShardingAlgorithm } from './distribution.ts';
import { byWeight, capacityOf, chooseShard, shed } from './bounded-load.ts';
import type { Loaded, Placing } from './bounded-load.ts';
import { distribute, placingsOf, rankClusters } from './distribution.ts';
import { shardPreferences } from './hash-ring.ts';

/** A table with what is needed to change it gently. */
export interface Balanced {
  readonly replicas: number;
  readonly algorithm: ShardingAlgorithm;
  readonly shards: ReadonlyMap<string, number>;
  /** When a part was moved because of weights, in milliseconds. */
  readonly movedAt: ReadonlyMap<string, number>;
}

export interface BalanceInputs {
  readonly algorithm: ShardingAlgorithm;
  readonly replicas: number;
  readonly clusters: readonly ShardedCluster[];
  /** By part. */
  readonly weights: ReadonlyMap<string, number>;
}

/** Moves for balance happen only when the fullest shard gets lighter by more than this. */
const worthwhile = 0.2;
/** A part that was moved for balance stays at least this long. */
const restMs = 600_000;

/**
 * The next table after `current`. Under `legacy` and `round-robin`, or when the algorithm changed: the table as it would be built from
 * nothing. Under `consistent-hashing` otherwise: clusters stay where they are, and new ones are placed as on the ring.
 *
 * When replicas are added, the new shards get those clusters whose place on the ring they are, and shards over the bound give away as much
 * as they must: less moves than between two tables built from nothing. When only weights changed, what overflows the bound is moved only if
 * the fullest shard then carries more than 20 % less, and never a part that moved less than ten minutes ago: weights may waver as they
 * like.
 */
export function rebalance(current: Balanced | undefined, inputs: BalanceInputs, now: number): Balanced {
  const { algorithm, replicas, clusters, weights } = inputs;
  if (algorithm !== 'consistent-hashing' || replicas <= 1 || current?.algorithm !== algorithm)
    return { replicas, algorithm, shards: distribute(algorithm, clusters, weights, replicas), movedAt: new Map() };
  const steps = placingsOf(rankClusters(clusters), weights, replicas).map((placings) =>
    balance(placings, current, { replicas, now }),
  );
  const shards = new Map(steps.flatMap((step) => [...step.shards]));
  return { replicas, algorithm, shards, movedAt: new Map(steps.flatMap((step) => [...step.movedAt])) };
}

/** The same for some of the parts. */
function balance(
  placings: readonly Placing[],
  current: Balanced,
  { replicas, now }: { readonly replicas: number; readonly now: number },
): Pick<Balanced, 'shards' | 'movedAt'> {
  const capacity = capacityOf(placings, replicas);
  const kept = keep(placings, current, { replicas, capacity });
  const movedAt = new Map([...current.movedAt].filter(([key, at]) => kept.shards.has(key) && isResting(at, now)));
  const rescaled = current.replicas !== replicas;
  const better = shed(placings, kept, { capacity, resting: rescaled ? new Map() : movedAt });
  if (rescaled) return { shards: better.shards, movedAt };
  if (Math.max(...better.loads) >= (1 - worthwhile) * Math.max(...kept.loads)) return { shards: kept.shards, movedAt };
  for (const [key, shard] of better.shards) if (kept.shards.get(key) !== shard) movedAt.set(key, now);
  return { shards: better.shards, movedAt };
}

/** A time in the future is that of a wrong clock: it must not hold a part for ever. */
function isResting(at: number, now: number): boolean {
  return at <= now && now - at < restMs;
}

/** Everything where it is; pins where they say; what is new, and what the ring gives to a new shard, as on the ring. */
function keep(
  placings: readonly Placing[],
  current: Balanced,
  { replicas, capacity }: { readonly replicas: number; readonly capacity: number },
): Loaded {
  const shards = new Map<string, number>();
  const loads = new Array<number>(replicas).fill(0);
  const place = ({ key, weight }: Placing, shard: number): void => {
    loads[shard] = (loads[shard] ?? 0) + weight;
    shards.set(key, shard);
  };
  const goesToNewShard = ({ ring }: Placing): boolean =>
    replicas > current.replicas && (shardPreferences(replicas).nth(ring, 0) ?? 0) >= current.replicas;
  const fresh: Placing[] = [];
  for (const placing of placings) {
    const known = placing.pin ?? current.shards.get(placing.key);
    const stays = placing.pin !== undefined || (known !== undefined && known < replicas && !goesToNewShard(placing));
    if (stays && known !== undefined) place(placing, known);
    else fresh.push(placing);
  }
  for (const placing of fresh.sort(byWeight)) place(placing, chooseShard(placing, loads, capacity));
  return { shards, loads };
}
