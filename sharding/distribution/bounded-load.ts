import { shardPreferences } from './hash-ring.ts';

/**
 * Compares by UTF-8 bytes, as Go does: code point order, which differs from UTF-16 above U+FFFF.
 */
export function compareBytes(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i += 1) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x !== y) return codePointRank(x) - codePointRank(y);
  }
  return a.length - b.length;
}

/** Sorts surrogates, which stand for code points above U+FFFF, behind all other units. */
function codePointRank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** A part to be assigned to a shard. */
export interface UnassignedPart {
  readonly key: string;
  /** Key on the hash ring: the cluster's id with the part number. */
  readonly ring: string;
  readonly weight: number;
  readonly pin: number | undefined;
}

/** Maximum load of a shard: 1.25 times the average, rounded up. */
export function capacityOf(placings: readonly Pick<UnassignedPart, 'weight'>[], replicas: number): number {
  const total = placings.reduce((sum, { weight }) => sum + weight, 0);
  return Math.ceil((1.25 * total) / replicas);
}

/** Returns the first shard in the part's ring order with enough capacity left. */
function shardWithCapacity(
  { ring, weight }: Pick<UnassignedPart, 'ring' | 'weight'>,
  loads: readonly number[],
  capacity: number,
): number | undefined {
  const preferences = shardPreferences(loads.length);
  for (let n = 0; n < loads.length; n += 1) {
    const shard = preferences.nth(ring, n) ?? 0;
    if ((loads[shard] ?? 0) + weight <= capacity) return shard;
  }
  return undefined;
}

function leastLoaded(loads: readonly number[]): number {
  return loads.indexOf(Math.min(...loads));
}

/** Chooses the first shard in ring order with enough capacity, else the least loaded one. */
export function chooseShard(
  placing: Pick<UnassignedPart, 'ring' | 'weight'>,
  loads: readonly number[],
  capacity: number,
): number {
  return shardWithCapacity(placing, loads, capacity) ?? leastLoaded(loads);
}

/** Orders parts for assignment: heaviest first, ties by ring key. */
export function byWeight(a: UnassignedPart, b: UnassignedPart): number {
  return b.weight - a.weight || compareBytes(a.ring, b.ring) || compareBytes(a.key, b.key);
}

/** Assigned parts, and the resulting load of each shard. */
export interface LoadedShards {
  readonly shards: ReadonlyMap<string, number>;
  readonly loads: readonly number[];
}

/**
 * Moves as little as possible off overloaded shards. Repeatedly takes the lightest part that covers
 * the excess, or the heaviest if none does, and moves it to a shard with enough capacity. If no
 * shard has that, the part moves to the least loaded shard, but only if the higher of the two loads
 * drops.
 */
export function shedOverload(
  placings: readonly UnassignedPart[],
  from: LoadedShards,
  { capacity, resting }: { readonly capacity: number; readonly resting: ReadonlyMap<string, number> },
): LoadedShards {
  const loads = [...from.loads];
  if (Math.max(...loads) <= capacity) return from;
  const shards = new Map(from.shards);
  for (const [source, movable] of movableOf(placings, from, { capacity, resting })) {
    const unplaced: UnassignedPart[] = [];
    const move = (placing: UnassignedPart, target: number): void => {
      loads[source] = (loads[source] ?? 0) - placing.weight;
      loads[target] = (loads[target] ?? 0) + placing.weight;
      shards.set(placing.key, target);
    };
    while (movable.length > 0 && (loads[source] ?? 0) > capacity) {
      const placing = takeFor(movable, (loads[source] ?? 0) - capacity);
      const target = shardWithCapacity(placing, loads, capacity);
      if (target === undefined) unplaced.push(placing);
      else move(placing, target);
    }
    for (const placing of unplaced.sort(byWeight)) {
      const target = leastLoaded(loads);
      const load = loads[source] ?? 0;
      if (load > capacity && (loads[target] ?? 0) + placing.weight < load) move(placing, target);
    }
  }
  return { shards, loads };
}

/** Movable parts of each overloaded shard, heaviest first. */
function movableOf(
  placings: readonly UnassignedPart[],
  { shards, loads }: LoadedShards,
  { capacity, resting }: { readonly capacity: number; readonly resting: ReadonlyMap<string, number> },
): ReadonlyMap<number, UnassignedPart[]> {
  const movable = new Map<number, UnassignedPart[]>();
  for (const placing of placings) {
    const shard = shards.get(placing.key) ?? 0;
    if (placing.pin !== undefined || (loads[shard] ?? 0) <= capacity || resting.has(placing.key)) continue;
    const list = movable.get(shard);
    if (list === undefined) movable.set(shard, [placing]);
    else list.push(placing);
  }
  for (const list of movable.values()) list.sort(byWeight);
  return new Map([...movable].sort(([a], [b]) => a - b));
}

/**
 * Removes the lightest part that weighs at least `excess`, else the heaviest. Sorted heaviest
 * first.
 */
function takeFor(candidates: UnassignedPart[], excess: number): UnassignedPart {
  let low = 0;
  let high = candidates.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((candidates[middle]?.weight ?? 0) >= excess) low = middle + 1;
    else high = middle;
  }
  const [taken] = candidates.splice(Math.max(0, low - 1), 1);
  return taken ?? { key: '', ring: '', weight: 0, pin: undefined };
}
