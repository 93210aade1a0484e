import fnv from 'fnv-plus';
import { appKeyOf, partIndex } from '#model';
import type { Application, Cluster } from '#model';
import { byWeight, capacityOf, chooseShard, compareBytes, shed } from './bounded-load.ts';
import type { Placing } from './bounded-load.ts';
import { shardPreferences } from './hash-ring.ts';
import { clusterKey, partKey } from './parts.ts';

/** How clusters are spread over replicas (flag `--sharding-method`). */
export const algorithms = ['legacy', 'round-robin', 'consistent-hashing'] as const;
export type ShardingAlgorithm = (typeof algorithms)[number];

/** What a cluster contributes to the table. */
export type ShardedCluster = Pick<Cluster, 'id' | 'server' | 'shard'> & {
  /** Into how many parts its Applications are split; 1 when missing. */
  readonly parts?: number;
};

/** The algorithm of that name; `legacy` for any other text, as Argo CD has it. */
export function parseAlgorithm(text: string): { readonly algorithm: ShardingAlgorithm; readonly known: boolean } {
  const found = algorithms.find((name) => name === text);
  return { algorithm: found ?? 'legacy', known: found !== undefined };
}

/**
 * The shard of every part of every cluster, by {@link partKey}; for a cluster that is not split that is its {@link clusterKey}. A pure
 * function of its arguments, whatever their order: whoever sees the same clusters (and, for consistent hashing, the same weights) builds the
 * same table, and each part has exactly one shard.
 *
 * Source of the results: Argo CD `controller/sharding`, for `legacy` and `round-robin`. Deliberate differences, each where Argo CD's own
 * replicas disagree or nobody would own a cluster: clusters that share a URL are one, known by the lowest id (Argo CD: the last event
 * wins); a negative pin is no pin (Argo CD: owned by nobody). A pin that is not below `replicas` goes to shard 0, as in Argo CD. The parts
 * of a split cluster lie on consecutive shards under `legacy` and `round-robin`, beginning with the shard of the whole; a pin holds for all
 * parts.
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
        placingsOf(ranked, weights, replicas).flatMap((placings) => [...boundedLoads(placings, replicas)]),
      );
  }
}

/** The shard of an id under `legacy`: FNV-1a of its UTF-8 bytes modulo the replicas; the implicit cluster (no id) is on shard 0. */
export function legacyShard(id: string, replicas: number): number {
  return id === '' || replicas <= 1 ? 0 : fnv.fast1a32utf(id) % replicas;
}

/** One shard for a text that no cluster stands for (an Application whose destination cannot be resolved). */
export function shardOfText(text: string, replicas: number): number {
  return replicas <= 1 ? 0 : fnv.fast1a32utf(text) % replicas;
}

/**
 * Applications per part, by server or by name, of every namespace. Counted before any ownership filter, or replicas would weigh
 * differently (Argo CD does, and then disagrees with itself). Destinations that do not resolve count nowhere. `weigh` says what each counts
 * for, instead of 1.
 */
export function countApplications(
  clusters: readonly (ShardedCluster & { readonly name: string })[],
  apps: Iterable<Application>,
  weigh: (app: Application) => number = () => 1,
): ReadonlyMap<string, number> {
  const byName = new Map<string, string | undefined>();
  const partsOf = new Map<string, number>();
  const counts = new Map<string, number>();
  for (const { server, name } of clusters) {
    const key = clusterKey(server);
    byName.set(name, byName.has(name) && byName.get(name) !== key ? undefined : key);
  }
  for (const { server, parts = 1 } of rankClusters(clusters)) {
    const key = clusterKey(server);
    partsOf.set(key, parts);
    for (let i = 0; i < parts; i += 1) counts.set(partKey(key, i, parts), 0);
  }
  const partOf = (app: Application): string | undefined => {
    const { server = '', name = '' } = app.spec.destination;
    const key = server === '' ? byName.get(name) : clusterKey(server);
    const parts = key === undefined ? undefined : partsOf.get(key);
    if (key === undefined || parts === undefined) return undefined;
    return parts <= 1 ? key : partKey(key, partIndex(appKeyOf(app), parts), parts);
  };
  for (const app of apps) {
    const part = partOf(app);
    if (part !== undefined) counts.set(part, (counts.get(part) ?? 0) + weigh(app));
  }
  return counts;
}

/** One entry per URL, in byte order of the ids: the ranks of round-robin. Of several with one URL the lowest id speaks. */
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

/** Where a cluster is pinned; undefined when it is free. */
export function pinOf(cluster: ShardedCluster, replicas: number): number | undefined {
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
 * The parts of clusters with their weights, those that weigh something first; then those without Applications, by themselves and weighing one
 * each. The bound holds for each of the two: many empty clusters must not hide the full ones, and spread too.
 */
export function placingsOf(
  ranked: readonly ShardedCluster[],
  weights: ReadonlyMap<string, number>,
  replicas: number,
): readonly (readonly Placing[])[] {
  const [loaded, empty]: [Placing[], Placing[]] = [[], []];
  for (const cluster of ranked) {
    const { id, server, parts = 1 } = cluster;
    const whole = clusterKey(server);
    const pin = pinOf(cluster, replicas);
    for (let i = 0; i < parts; i += 1) {
      const key = partKey(whole, i, parts);
      const weight = weights.get(key) ?? 0;
      const placing = { key, ring: i === 0 ? id : `${id}#${i}`, weight: weight > 0 ? weight : 1, pin };
      (weight > 0 ? loaded : empty).push(placing);
    }
  }
  return [loaded, empty];
}

/**
 * Consistent hashing with bounded loads. Pins where they say. Then the heavy parts, from the heaviest down, each on the first shard of its
 * ring order that stays within 1.25 times the average, else on the least loaded. All others on the shard that their place on the ring gives
 * them, and what shards then carry over the bound goes on to where there is room: as little as must. So a shard more or less moves little
 * beyond what is its own (placing all parts by weight, each where there is room, moves a third more).
 */
function boundedLoads(placings: readonly Placing[], replicas: number): ReadonlyMap<string, number> {
  const capacity = capacityOf(placings, replicas);
  const preferences = shardPreferences(replicas);
  const loads = new Array<number>(replicas).fill(0);
  const shards = new Map<string, number>();
  for (const { key } of placings) shards.set(key, 0);
  const place = ({ key, weight }: Placing, shard: number): void => {
    loads[shard] = (loads[shard] ?? 0) + weight;
    shards.set(key, shard);
  };
  // What is lighter than the slack of an average shard has room somewhere whatever the rest does.
  const heavy = capacity / 5;
  const free = placings.filter(({ pin }) => pin === undefined);
  for (const placing of placings) if (placing.pin !== undefined) place(placing, placing.pin);
  for (const placing of free.filter(({ weight }) => weight > heavy).sort(byWeight))
    place(placing, chooseShard(placing, loads, capacity));
  for (const placing of free) if (placing.weight <= heavy) place(placing, preferences.nth(placing.ring, 0) ?? 0);
  return shed(placings, { shards, loads }, { capacity, resting: new Map() }).shards;
}
