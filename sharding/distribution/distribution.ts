import fnv from 'fnv-plus';
import { appKeyOf, partIndex } from '#model';
import type { Application, Cluster } from '#model';
import { byWeight, capacityOf, chooseShard, compareBytes, shedOverload } from './bounded-load.ts';
import type { UnassignedPart } from './bounded-load.ts';
import { shardPreferences } from './hash-ring.ts';
import { clusterKey, partKey } from './parts.ts';

/** How clusters are spread over replicas (flag `--sharding-method`). */
export const algorithms = ['legacy', 'round-robin', 'consistent-hashing'] as const;
export type ShardingAlgorithm = (typeof algorithms)[number];

/** Properties of a cluster that decide its shard. */
export type ShardedCluster = Pick<Cluster, 'id' | 'server' | 'shard'> & {
  /** Number of parts that its Applications are split into; 1 when missing. */
  readonly parts?: number;
  /** Names of other Secrets with its URL. */
  readonly aliases?: readonly string[];
};

/** Parses an algorithm name; any other text means `legacy`, as in Argo CD. */
export function parseAlgorithm(text: string): { readonly algorithm: ShardingAlgorithm; readonly known: boolean } {
  const found = algorithms.find((name) => name === text);
  return { algorithm: found ?? 'legacy', known: found !== undefined };
}

/**
 * Assigns every part ({@link partKey}) to exactly one shard. Pure, and independent of the order of
 * its arguments, so replicas with equal inputs build equal tables. Source of `legacy` and
 * `round-robin`: Argo CD `controller/sharding`. Deliberate differences, where replicas of Argo CD
 * disagree or leave a cluster without an owner: clusters with the same URL count as one, and the
 * lowest ID wins (there: the last event); a negative pin is ignored (there: no owner). As there, a
 * pin at or above `replicas` means shard 0. Parts of a split cluster take consecutive shards,
 * starting at the shard of the whole cluster; a pin applies to all parts.
 */
export function distribute(
  algorithm: ShardingAlgorithm,
  clusters: readonly ShardedCluster[],
  weights: ReadonlyMap<string, number>,
  replicas: number,
): ReadonlyMap<string, number> {
  const ranked = rankClusters(clusters);
  if (replicas <= 1) return assign(ranked, 1, () => 0);
  switch (algorithm) {
    case 'legacy':
      return assign(ranked, replicas, (cluster) => legacyShard(cluster.id, replicas));
    case 'round-robin':
      return assign(ranked, replicas, (_cluster, index) => index);
    case 'consistent-hashing':
      return new Map(
        weightedParts(ranked, weights, replicas).flatMap((placings) => [...boundedLoads(placings, replicas)]),
      );
  }
}

/**
 * Shard of an id under `legacy`: FNV-1a of its UTF-8 bytes modulo replicas. The implicit cluster
 * (no id) is on shard 0.
 */
export function legacyShard(id: string, replicas: number): number {
  return id === '' || replicas <= 1 ? 0 : fnv.fast1a32utf(id) % replicas;
}

/**
 * Returns one shard for a text without a cluster, such as an Application without a resolvable
 * destination.
 */
export function shardOfText(text: string, replicas: number): number {
  return replicas <= 1 ? 0 : fnv.fast1a32utf(text) % replicas;
}

/**
 * Counts Applications of all namespaces per part; a destination may be a server or a name. Counts
 * before any ownership filter, so that all replicas agree (in Argo CD they may not). Unresolvable
 * destinations are ignored. `weigh` replaces the count of 1 per Application.
 */
export function countApplications(
  clusters: readonly NamedCluster[],
  apps: Iterable<Application>,
  weigh: (app: Application) => number = () => 1,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { server, parts = 1 } of rankClusters(clusters))
    for (let i = 0; i < parts; i += 1) counts.set(partKey(clusterKey(server), i, parts), 0);
  const partOf = partFinder(clusters);
  for (const app of apps) {
    const part = partOf(app);
    if (part !== undefined) counts.set(part, (counts.get(part) ?? 0) + weigh(app));
  }
  return counts;
}

type NamedCluster = ShardedCluster & { readonly name: string };

/** Returns the part of an Application; undefined: its destination cannot be resolved. */
export function partFinder(clusters: readonly NamedCluster[]): (app: Application) => string | undefined {
  const byName = new Map<string, string | undefined>();
  const partsOf = new Map<string, number>();
  for (const { server, name, aliases = [] } of clusters) {
    const key = clusterKey(server);
    for (const each of [name, ...aliases])
      byName.set(each, byName.has(each) && byName.get(each) !== key ? undefined : key);
  }
  for (const { server, parts = 1 } of rankClusters(clusters)) partsOf.set(clusterKey(server), parts);
  return (app) => {
    const { server = '', name = '' } = app.spec.destination;
    const key = server === '' ? byName.get(name) : clusterKey(server);
    const parts = key === undefined ? undefined : partsOf.get(key);
    if (key === undefined || parts === undefined) return undefined;
    return parts <= 1 ? key : partKey(key, partIndex(appKeyOf(app), parts), parts);
  };
}

/**
 * One entry per URL in byte order of the ids, which is the round-robin rank. The lowest id wins.
 */
export function rankClusters<T extends ShardedCluster>(clusters: readonly T[]): readonly T[] {
  const sorted = [...clusters].sort(
    (a, b) =>
      compareBytes(a.id, b.id) ||
      compareBytes(a.server, b.server) ||
      (a.shard ?? -1) - (b.shard ?? -1) ||
      (a.parts ?? 1) - (b.parts ?? 1),
  );
  const seen = new Set<string>();
  return sorted.filter((cluster) => {
    const key = clusterKey(cluster.server);
    const first = !seen.has(key);
    seen.add(key);
    return first;
  });
}

/** Shard that a cluster is pinned to; undefined when it is not pinned. */
function pinOf(cluster: ShardedCluster, replicas: number): number | undefined {
  if (cluster.shard === undefined || cluster.shard < 0) return undefined;
  return cluster.shard < replicas ? cluster.shard : 0;
}

function assign(
  ranked: readonly ShardedCluster[],
  replicas: number,
  choose: (cluster: ShardedCluster, index: number) => number,
): ReadonlyMap<string, number> {
  const table = new Map<string, number>();
  ranked.forEach((cluster, index) => {
    const { parts = 1 } = cluster;
    const pin = pinOf(cluster, replicas);
    const first = pin ?? choose(cluster, index);
    const key = clusterKey(cluster.server);
    for (let i = 0; i < parts; i += 1) table.set(partKey(key, i, parts), pin ?? (first + i) % replicas);
  });
  return table;
}

/**
 * Returns two groups: parts of clusters with a weight, and parts of clusters without Applications.
 * A part without Applications weighs one. The load bound applies to each group separately, so many
 * empty clusters spread too and do not hide the full ones. The parts of one cluster spread before
 * they fill.
 */
export function weightedParts(
  ranked: readonly ShardedCluster[],
  weights: ReadonlyMap<string, number>,
  replicas: number,
): readonly (readonly UnassignedPart[])[] {
  const [loaded, empty]: [UnassignedPart[], UnassignedPart[]] = [[], []];
  for (const cluster of ranked) {
    const { id, server, parts = 1 } = cluster;
    const whole = clusterKey(server);
    const pin = pinOf(cluster, replicas);
    const own = Array.from({ length: parts }, (_, i) => weights.get(partKey(whole, i, parts)) ?? 0);
    const group = own.some((weight) => weight > 0) ? loaded : empty;
    own.forEach((weight, i) => {
      const ring = i === 0 ? id : `${id}#${i}`;
      group.push({ key: partKey(whole, i, parts), ring, weight: weight > 0 ? weight : 1, pin });
    });
  }
  return [loaded, empty];
}

/**
 * Consistent hashing with bounded loads. Pinned parts go first. Heavy parts follow, heaviest first,
 * each to the first shard in ring order that stays within 1.25 times the average, or else to the
 * least loaded shard. Light parts go to their ring shard; overloaded shards then give away as
 * little as possible. This way, adding or removing a shard moves few other parts; assigning all
 * parts by weight would move a third more.
 */
function boundedLoads(placings: readonly UnassignedPart[], replicas: number): ReadonlyMap<string, number> {
  const capacity = capacityOf(placings, replicas);
  const preferences = shardPreferences(replicas);
  const loads = new Array<number>(replicas).fill(0);
  const shards = new Map<string, number>();
  for (const { key } of placings) shards.set(key, 0);
  const place = ({ key, weight }: UnassignedPart, shard: number): void => {
    loads[shard] = (loads[shard] ?? 0) + weight;
    shards.set(key, shard);
  };
  // A part lighter than the free capacity of an average shard always fits somewhere.
  const heavy = capacity / 5;
  const free = placings.filter(({ pin }) => pin === undefined);
  for (const placing of placings) if (placing.pin !== undefined) place(placing, placing.pin);
  for (const placing of free.filter(({ weight }) => weight > heavy).sort(byWeight))
    place(placing, chooseShard(placing, loads, capacity));
  for (const placing of free) if (placing.weight <= heavy) place(placing, preferences.nth(placing.ring, 0) ?? 0);
  return shedOverload(placings, { shards, loads }, { capacity, resting: new Map() }).shards;
}
