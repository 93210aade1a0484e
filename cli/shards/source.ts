import { clusterKey, partKey, rankClusters } from '#sharding';
import type { TableDocument, Weighting } from '#sharding';

/** A cluster as a file or a Secret describes it. */
export interface ListedCluster {
  readonly id: string;
  readonly server: string;
  readonly name: string;
  /** Where it is pinned. */
  readonly shard?: number;
  readonly parts: number;
}

/** What is known of a fleet: what the controller would build its table from, and the one that it has. */
export interface Source {
  /** As they were listed; several may have one URL. */
  readonly clusters: readonly ListedCluster[];
  /** By part. */
  readonly applications: ReadonlyMap<string, number>;
  /** By part: what consistent hashing goes by. */
  readonly weights: ReadonlyMap<string, number>;
  readonly weighting: Weighting;
  readonly published: TableDocument | undefined;
  /** The hub and namespace, for messages; undefined when a file was read. */
  readonly hub: string | undefined;
  /** What holds where the command line says nothing. */
  readonly defaults: { readonly replicas: number; readonly algorithm: string };
  /** What people should know, each in one line. */
  readonly notes: readonly string[];
}

/** One part of a cluster; a cluster that is not split has one. */
export interface Part {
  readonly cluster: ListedCluster;
  readonly key: string;
  /** From 1. */
  readonly part: number;
  readonly parts: number;
}

/** The cluster that speaks for each URL: of several the one with the lowest id, as in the controller. */
export function rulers(clusters: readonly ListedCluster[]): ReadonlyMap<string, ListedCluster> {
  return new Map(rankClusters(clusters).map((cluster) => [clusterKey(cluster.server), cluster]));
}

/** Lines of a table, in the order of the list: those of clusters that share a URL are the same parts again. */
export function listedParts(clusters: readonly ListedCluster[]): readonly Part[] {
  const ruling = rulers(clusters);
  return clusters.flatMap((cluster) => partsOfOne(cluster, ruling.get(clusterKey(cluster.server))?.parts ?? 1));
}

/** Every part once, under the name of the cluster that speaks for its URL. */
export function distinctParts(clusters: readonly ListedCluster[]): readonly Part[] {
  const ruling = new Set(rulers(clusters).values());
  return clusters.filter((cluster) => ruling.has(cluster)).flatMap((cluster) => partsOfOne(cluster, cluster.parts));
}

function partsOfOne(cluster: ListedCluster, parts: number): readonly Part[] {
  const server = clusterKey(cluster.server);
  return Array.from({ length: parts }, (_, i) => ({ cluster, key: partKey(server, i, parts), part: i + 1, parts }));
}

/** Pins that do not hold with so many replicas, and ids that stand for several clusters: Argo CD warns of the first, too. */
export function oddities(clusters: readonly ListedCluster[], replicas: number): readonly string[] {
  const pinned = [...rulers(clusters).values()].filter(({ shard }) => shard !== undefined);
  const named = (list: readonly ListedCluster[]): string =>
    list.map(({ name, server, shard }) => `${name === '' ? server : name} (${shard ?? ''})`).join(', ');
  const beyond = pinned.filter(({ shard = 0 }) => shard >= replicas);
  const negative = pinned.filter(({ shard = 0 }) => shard < 0);
  return [
    ...(beyond.length === 0
      ? []
      : [`pinned to a shard that is not there with ${counted(replicas, 'replica')}, so on shard 0: ${named(beyond)}`]),
    ...(negative.length === 0 ? [] : [`pinned to a negative shard, which counts as no pin: ${named(negative)}`]),
  ];
}

/** One id for several URLs: the shards that come from ids are the same then. A note for each id. */
export function sharedIds(clusters: readonly ListedCluster[]): readonly string[] {
  const servers = new Map<string, Set<string>>();
  for (const { id, server } of clusters) servers.set(id, (servers.get(id) ?? new Set()).add(clusterKey(server)));
  return [...servers]
    .filter(([, urls]) => urls.size > 1)
    .map(
      ([id, urls]) => `the id "${id}" stands for ${urls.size} clusters: ${[...urls].join(', ')}; each needs its own`,
    );
}

export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
