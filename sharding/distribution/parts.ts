import fnv from 'fnv-plus';
import type { Cluster } from '#model';

/**
 * Annotation of a cluster Secret: number of parts that its Applications are split into. Each part
 * is assigned like a cluster of its own.
 */
export const splitAnnotation = 'driftless.io/split';

/** Upper bound on parts: every owner of a part watches the whole cluster. */
export const maxParts = 64;

/** Number of parts of clusters without the annotation; `auto`: {@link automaticParts}. */
export type DefaultParts = number | 'auto';

/** Twelve parts divide evenly, or nearly so, among up to this many replicas. */
const mostForTwelve = 7;
const [fewParts, manyParts] = [12, 60] as const;

interface FleetSize {
  /** Clusters that the annotation does not split. */
  readonly clusters: number;
  readonly replicas: number;
  /** The number of parts in the present table; 1: they are not split. */
  readonly current: number;
}

/**
 * Number of parts, so that each replica has a share although there are more replicas than clusters.
 * One or two clusters are always split: then a rescale moves parts, and splits nothing. Clusters
 * stay split until there are twice as many as replicas, and parts do not become fewer meanwhile.
 */
export function automaticParts({ clusters, replicas, current }: FleetSize): number {
  const isWanted = clusters <= 2 || replicas > clusters || (current > 1 && 2 * replicas > clusters);
  if (!isWanted) return 1;
  return replicas > mostForTwelve || current > fewParts ? manyParts : fewParts;
}

/**
 * Whether each part of the earlier split is a union of parts of the later one: every Application of
 * part `i` was in part `i` modulo `before` then (`partIndex`).
 */
export function isFinerSplit(before: number, after: number): boolean {
  return before > 0 && after > before && after % before === 0;
}

/** Key of a cluster in the table: its API URL without trailing slashes. */
export function clusterKey(server: string): string {
  let end = server.length;
  while (end > 0 && server.charCodeAt(end - 1) === 47) end -= 1;
  return end === server.length ? server : server.slice(0, end);
}

/** Short form of a {@link clusterKey} for long lists in records: equal ones are harmless there. */
export function clusterDigest(cluster: string): string {
  return fnv.fast1a32utf(cluster).toString(36);
}

/** Key of one part of a cluster; the cluster's own key when it is not split. */
export function partKey(cluster: string, index: number, parts: number): string {
  return parts <= 1 ? cluster : `${cluster}#${index}/${parts}`;
}

/**
 * Number of parts of a cluster: its annotation, else `fallback` (the flag for all). An invalid
 * annotation is ignored and reported in `problem`.
 */
export function partsOf(
  cluster: Pick<Cluster, 'annotations' | 'name'>,
  fallback: number,
): { readonly parts: number; readonly problem?: string } {
  const text = cluster.annotations[splitAnnotation];
  if (text === undefined) return { parts: clampParts(fallback) };
  const parts = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0;
  if (parts >= 1 && parts <= maxParts) return { parts };
  const problem = `cluster "${cluster.name}": annotation ${splitAnnotation}: "${text}" is not a number from 1 to ${maxParts}`;
  return { parts: clampParts(fallback), problem };
}

function clampParts(parts: number): number {
  return Number.isInteger(parts) ? Math.min(Math.max(parts, 1), maxParts) : 1;
}
