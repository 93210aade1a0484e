import type { Cluster } from '#model';

/** On a cluster Secret: into how many parts the Applications of the cluster are split, each placed like a cluster of its own. */
export const splitAnnotation = 'driftless.io/split';

/** More parts than this help nobody: every owner of a part watches the cluster. */
export const mostParts = 64;

/** A cluster's key in the table: its API URL without trailing slashes. */
export function clusterKey(server: string): string {
  let end = server.length;
  while (end > 0 && server.charCodeAt(end - 1) === 47) end -= 1;
  return end === server.length ? server : server.slice(0, end);
}

/** The key of one part of a cluster: the cluster's own key when it is whole. */
export function partKey(cluster: string, index: number, parts: number): string {
  return parts <= 1 ? cluster : `${cluster}#${index}/${parts}`;
}

/**
 * Into how many parts a cluster is split: its annotation, else `fallback` (the flag for all). What is not a whole number from 1 to
 * {@link mostParts} counts as not said; `problem` then says so, for a condition.
 */
export function partsOf(
  cluster: Pick<Cluster, 'annotations' | 'name'>,
  fallback: number,
): { readonly parts: number; readonly problem?: string } {
  const text = cluster.annotations[splitAnnotation];
  if (text === undefined) return { parts: clampParts(fallback) };
  const parts = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0;
  if (parts >= 1 && parts <= mostParts) return { parts };
  const problem = `cluster "${cluster.name}": annotation ${splitAnnotation}: "${text}" is not a number from 1 to ${mostParts}`;
  return { parts: clampParts(fallback), problem };
}

function clampParts(parts: number): number {
  return Number.isInteger(parts) ? Math.min(Math.max(parts, 1), mostParts) : 1;
}
