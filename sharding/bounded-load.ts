import { shardPreferences } from './hash-ring.ts';

/** Order of UTF-8 bytes, as Go compares strings: that of code points. UTF-16 order differs above U+FFFF. */
export function compareBytes(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i += 1) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x !== y) return codePointRank(x) - codePointRank(y);
  }
  return a.length - b.length;
}

/** Puts the halves of pairs, which stand for code points above U+FFFF, behind all other units. */
function codePointRank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** A part on its way onto a shard. */
export interface Placing {
  readonly key: string;
  /** Its key on the ring: the cluster's id, with the number of the part. */
  readonly ring: string;
  readonly weight: number;
  readonly pin: number | undefined;
}

/** The most that a shard may carry: 1.25 times the average, rounded up. */
export function capacityOf(placings: readonly Pick<Placing, 'weight'>[], replicas: number): number {
  const total = placings.reduce((sum, { weight }) => sum + weight, 0);
  return Math.ceil((1.25 * total) / replicas);
}

/** The first shard of a part's ring order that has room for it. */
export function shardWithRoom(
  { ring, weight }: Pick<Placing, 'ring' | 'weight'>,
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

export function leastLoaded(loads: readonly number[]): number {
  return loads.indexOf(Math.min(...loads));
}

/** The shard that takes a part: the first of its ring order that has room, else the least loaded. */
export function chooseShard(
  placing: Pick<Placing, 'ring' | 'weight'>,
  loads: readonly number[],
  capacity: number,
): number {
  return shardWithRoom(placing, loads, capacity) ?? leastLoaded(loads);
}

/** Heaviest first; among equals by ring key: the order in which parts are placed. */
export function byWeight(a: Placing, b: Placing): number {
  return b.weight - a.weight || compareBytes(a.ring, b.ring) || compareBytes(a.key, b.key);
}

/** Parts on shards, and what each shard then carries. */
export interface Loaded {
  readonly shards: ReadonlyMap<string, number>;
  readonly loads: readonly number[];
}

/**
 * Takes parts off shards that are over the bound, as few and as light as will do: the lightest one that makes up for the excess, else the
 * heaviest, again and again, each to where there is room. What has room nowhere goes to the least loaded shard, if that makes the fuller of
 * the two lighter.
 */
export function shed(
  placings: readonly Placing[],
  from: Loaded,
  { capacity, resting }: { readonly capacity: number; readonly resting: ReadonlyMap<string, number> },
): Loaded {
  const loads = [...from.loads];
  if (Math.max(...loads) <= capacity) return from;
  const shards = new Map(from.shards);
  for (const [source, movable] of movableOf(placings, from, { capacity, resting })) {
    const unplaced: Placing[] = [];
    const move = (placing: Placing, target: number): void => {
      loads[source] = (loads[source] ?? 0) - placing.weight;
      loads[target] = (loads[target] ?? 0) + placing.weight;
      shards.set(placing.key, target);
    };
    while (movable.length > 0 && (loads[source] ?? 0) > capacity) {
      const placing = takeFor(movable, (loads[source] ?? 0) - capacity);
      const target = shardWithRoom(placing, loads, capacity);
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

/** Of every shard over the bound what may leave it, heaviest first. */
function movableOf(
  placings: readonly Placing[],
  { shards, loads }: Loaded,
  { capacity, resting }: { readonly capacity: number; readonly resting: ReadonlyMap<string, number> },
): ReadonlyMap<number, Placing[]> {
  const movable = new Map<number, Placing[]>();
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

/** Removes from a list, heaviest first, the lightest that weighs at least `excess`, else the heaviest. */
function takeFor(candidates: Placing[], excess: number): Placing {
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
