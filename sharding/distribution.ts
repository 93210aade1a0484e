import fnv from 'fnv-plus';
import type { Application, Cluster } from '#model';
import { shardPreferences } from './hash-ring.ts';

/** How clusters are spread over replicas (flag `--sharding-method`). */
export const algorithms = ['legacy', 'round-robin', 'consistent-hashing'] as const;
export type ShardingAlgorithm = (typeof algorithms)[number];

/** What a cluster contributes to the table. */
export type ShardedCluster = Pick<Cluster, 'id' | 'server' | 'shard'>;

/** The algorithm of that name; `legacy` for any other text, as Argo CD has it. */
export function parseAlgorithm(text: string): { readonly algorithm: ShardingAlgorithm; readonly known: boolean } {
  const found = algorithms.find((name) => name === text);
  return { algorithm: found ?? 'legacy', known: found !== undefined };
}

/** A cluster's key in the table: its API URL without trailing slashes. */
export function clusterKey(server: string): string {
  return server.replace(/\/+$/, '');
}

/**
 * The shard of every cluster, by {@link clusterKey}. A pure function of its arguments, whatever their order: replicas that see the same
 * clusters (and, for consistent hashing, the same counts) build the same table, so each cluster has exactly one owner.
 *
 * Source of the results: Argo CD `controller/sharding`, for `legacy` and `round-robin`. Deliberate differences, each where Argo CD's own
 * replicas disagree or nobody would own a cluster: clusters that share a URL are one, known by the lowest id (Argo CD: the last event
 * wins); a negative pin is no pin (Argo CD: owned by nobody). A pin that is not below `replicas` goes to shard 0, as in Argo CD.
 */
export function distribute(
  algorithm: ShardingAlgorithm,
  clusters: readonly ShardedCluster[],
  appCounts: ReadonlyMap<string, number>,
  replicas: number,
): ReadonlyMap<string, number> {
  const ranked = rank(clusters);
  if (replicas <= 1) return new Map(ranked.map((cluster) => [clusterKey(cluster.server), 0]));
  switch (algorithm) {
    case 'legacy':
      return assign(ranked, replicas, (cluster) => legacyShard(cluster.id, replicas));
    case 'round-robin':
      return assign(ranked, replicas, (_cluster, index) => index % replicas);
    case 'consistent-hashing':
      return boundedLoads(ranked, appCounts, replicas);
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
 * Applications per cluster key, by server or by name, of every namespace. Counted before any ownership filter, or replicas would weigh
 * differently (Argo CD does, and then disagrees with itself). Destinations that do not resolve count nowhere.
 */
export function countApplications(
  clusters: readonly Pick<Cluster, 'server' | 'name'>[],
  apps: Iterable<Application>,
): ReadonlyMap<string, number> {
  const byName = new Map<string, string | undefined>();
  for (const cluster of clusters) {
    const key = clusterKey(cluster.server);
    byName.set(cluster.name, byName.has(cluster.name) && byName.get(cluster.name) !== key ? undefined : key);
  }
  const counts = new Map(clusters.map((cluster) => [clusterKey(cluster.server), 0]));
  for (const app of apps) {
    const { server = '', name = '' } = app.spec.destination;
    const key = server === '' ? byName.get(name) : clusterKey(server);
    const count = key === undefined ? undefined : counts.get(key);
    if (key !== undefined && count !== undefined) counts.set(key, count + 1);
  }
  return counts;
}

/** One entry per URL, in byte order of the ids: the ranks of round-robin. */
function rank(clusters: readonly ShardedCluster[]): readonly ShardedCluster[] {
  const sorted = [...clusters].sort(
    (a, b) => compareBytes(a.id, b.id) || compareBytes(a.server, b.server) || (a.shard ?? -1) - (b.shard ?? -1),
  );
  const seen = new Set<string>();
  return sorted.filter((cluster) => {
    const key = clusterKey(cluster.server);
    const first = !seen.has(key);
    seen.add(key);
    return first;
  });
}

/** Order of UTF-8 bytes, as Go compares strings; UTF-16 order differs above U+FFFF. */
function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function pinOf(cluster: ShardedCluster, replicas: number): number | undefined {
  if (cluster.shard === undefined || cluster.shard < 0) return undefined;
  return cluster.shard < replicas ? cluster.shard : 0;
}

function assign(
  ranked: readonly ShardedCluster[],
  replicas: number,
  choose: (cluster: ShardedCluster, index: number) => number,
): ReadonlyMap<string, number> {
  return new Map(
    ranked.map((cluster, index) => [clusterKey(cluster.server), pinOf(cluster, replicas) ?? choose(cluster, index)]),
  );
}

/**
 * Consistent hashing with bounded loads: clusters from the heaviest to the lightest, each to the first shard of its ring order that stays
 * within 1.25 times the average, else to the least loaded. Pins are booked first, on the shard that has them. A cluster without
 * Applications still weighs one, so that empty clusters spread too.
 */
function boundedLoads(
  ranked: readonly ShardedCluster[],
  appCounts: ReadonlyMap<string, number>,
  replicas: number,
): ReadonlyMap<string, number> {
  const weightOf = (cluster: ShardedCluster): number => 1 + (appCounts.get(clusterKey(cluster.server)) ?? 0);
  const total = ranked.reduce((sum, cluster) => sum + weightOf(cluster), 0);
  const capacity = Math.ceil((1.25 * total) / replicas);
  const loads = new Array<number>(replicas).fill(0);
  const table = new Map<string, number>();
  const place = (cluster: ShardedCluster, shard: number): void => {
    loads[shard] = (loads[shard] ?? 0) + weightOf(cluster);
    table.set(clusterKey(cluster.server), shard);
  };
  const free: ShardedCluster[] = [];
  for (const cluster of ranked) {
    const pin = pinOf(cluster, replicas);
    if (pin === undefined) free.push(cluster);
    else place(cluster, pin);
  }
  const preferences = shardPreferences(replicas);
  free.sort((a, b) => weightOf(b) - weightOf(a) || compareBytes(a.id, b.id));
  for (const cluster of free) {
    const weight = weightOf(cluster);
    const fitting = preferences(cluster.id).find((shard) => (loads[shard] ?? 0) + weight <= capacity);
    place(cluster, fitting ?? loads.indexOf(Math.min(...loads)));
  }
  return new Map(ranked.map((cluster) => [clusterKey(cluster.server), table.get(clusterKey(cluster.server)) ?? 0]));
}
