import { clusterKey, partKey, rankClusters } from '#sharding';
import type { TableDocument, ClusterWeighting } from '#sharding';
import { counted } from '../process/output.ts';

/** A cluster from a file or a Secret. */
export interface ListedCluster {
  readonly id: string;
  readonly server: string;
  readonly name: string;
  /** The shard that the cluster is pinned to. */
  readonly shard?: number;
  readonly parts: number;
}

/** A fleet: the controller's inputs for its table, and the published table. */
export interface FleetSource {
  /** As listed; several may share a URL. */
  readonly clusters: readonly ListedCluster[];
  /** Number of Applications by part. */
  readonly applications: ReadonlyMap<string, number>;
  /** Destination namespaces of Applications by part; unknown for a file. */
  readonly namespaces: ReadonlyMap<string, ReadonlySet<string>>;
  /** Weight by part, for consistent hashing. */
  readonly weights: ReadonlyMap<string, number>;
  readonly weighting: ClusterWeighting;
  readonly published: TableDocument | undefined;
  /** Hub and namespace for messages; undefined for a file. */
  readonly hub: string | undefined;
  /** Defaults for flags that are not set. */
  readonly defaults: { readonly replicas: number; readonly algorithm: string };
  /** Notes for the user, one line each. */
  readonly notes: readonly string[];
}

/** A part of a cluster; a cluster that is not split has one. */
export interface ClusterPart {
  readonly cluster: ListedCluster;
  readonly key: string;
  /** Starts at 1. */
  readonly part: number;
  readonly parts: number;
}

/**
 * The deciding cluster of each URL: of several in a file the one with the lowest id; clusters of a
 * hub with one URL share an id.
 */
export function decidingClusters(clusters: readonly ListedCluster[]): ReadonlyMap<string, ListedCluster> {
  return new Map(rankClusters(clusters).map((cluster) => [clusterKey(cluster.server), cluster]));
}

/** Table lines in list order; clusters that share a URL repeat the same parts. */
export function listedParts(clusters: readonly ListedCluster[]): readonly ClusterPart[] {
  const ruling = decidingClusters(clusters);
  return clusters.flatMap((cluster) => partsOfOne(cluster, ruling.get(clusterKey(cluster.server))?.parts ?? 1));
}

/** Every part once, named after the deciding cluster of its URL. */
export function distinctParts(clusters: readonly ListedCluster[]): readonly ClusterPart[] {
  const ruling = new Set(decidingClusters(clusters).values());
  return clusters.filter((cluster) => ruling.has(cluster)).flatMap((cluster) => partsOfOne(cluster, cluster.parts));
}

function partsOfOne(cluster: ListedCluster, parts: number): readonly ClusterPart[] {
  const server = clusterKey(cluster.server);
  return Array.from({ length: parts }, (_, i) => ({ cluster, key: partKey(server, i, parts), part: i + 1, parts }));
}

/**
 * Notes on pins beyond the number of replicas (Argo CD warns about them, too) and on ids of several
 * clusters.
 */
export function pinNotes(clusters: readonly ListedCluster[], replicas: number): readonly string[] {
  const pinned = [...decidingClusters(clusters).values()].filter(({ shard }) => shard !== undefined);
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

/** Notes on ids that several URLs share, which puts them on the same shard. */
export function sharedIds(clusters: readonly ListedCluster[]): readonly string[] {
  const servers = new Map<string, Set<string>>();
  for (const { id, server } of clusters) servers.set(id, (servers.get(id) ?? new Set()).add(clusterKey(server)));
  return [...servers]
    .filter(([, urls]) => urls.size > 1)
    .map(
      ([id, urls]) => `the id "${id}" stands for ${urls.size} clusters: ${[...urls].join(', ')}; each needs its own`,
    );
}
