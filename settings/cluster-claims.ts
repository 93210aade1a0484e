import { inClusterName, inClusterServer, labels } from '#model';
import type { Cluster } from '#model';
import { mayBeInCluster, secretText } from './cluster-index.ts';
import type { ClusterFault, ClusterIndex } from './cluster-index.ts';

/** A cluster Secret that cannot be used, with what is readable of its cluster. */
export interface UnreadableCluster {
  /** `Secret argocd/cluster-a`. */
  readonly object: string;
  /** The fault and the key that has it. */
  readonly error: string;
  /** "": unreadable, so it may be any. */
  readonly server: string;
  /** Names of its cluster; "": unreadable, so it may be any. */
  readonly names: readonly string[];
}

/** The server and name that a cluster Secret had before it was changed or deleted. */
export interface FormerCluster {
  readonly server: string;
  readonly name: string;
  /** False: it was deleted, or lost its label. */
  readonly isThere: boolean;
}

/** Cluster Secrets that cannot be used, and those that have changed, by name. */
export interface ClusterClaims {
  readonly unreadable: readonly UnreadableCluster[];
  readonly former: ReadonlyMap<string, FormerCluster>;
}

/** A destination; `server` in the form that names clusters. */
export interface NamedDestination {
  readonly name: string;
  readonly server: string;
}

/** The unreadable Secrets that may be those of the destination; undefined if there are none. */
export function unreadableClaim({ name, server }: NamedDestination, { unreadable }: ClusterClaims): string | undefined {
  const isPossible = (own: string, wanted: string): boolean => wanted !== '' && (own === '' || own === wanted);
  const found = unreadable.filter(
    (one) => isPossible(one.server, server) || one.names.some((own) => isPossible(own, name)),
  );
  if (found.length === 0) return undefined;
  const shown = found.slice(0, maxShownSecrets).map(({ object, error }) => `${object} cannot be read: ${error}`);
  const more = found.length - shown.length;
  return `${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}

/** The names that are lost while a Secret is unreadable: its own, and those of its URL. */
export function unreadableNames(fault: ClusterFault, readable: readonly Cluster[]): readonly string[] {
  const own = fault.server === '' ? fault.lastServer : fault.server;
  const others = readable.filter(({ server }) => server === own).map(({ name }) => name);
  const names = [fault.name, ...others.filter((name) => name !== '')];
  return mayBeInCluster(fault) ? [...names, inClusterName] : names;
}

/** A setting or a mistake in the destination that hides a cluster; undefined if there is none. */
export function hiddenCluster(
  { name, server }: NamedDestination,
  clusters: ClusterIndex,
  inClusterEnabled: boolean,
): string | undefined {
  if (!inClusterEnabled && (server === inClusterServer || name === inClusterName))
    return 'the key "cluster.inClusterEnabled" of ConfigMap argocd-cm is "false"';
  // In other letters too: the destination or the Secret may have been edited by hand.
  const isNamed = (cluster: Cluster): boolean =>
    (server !== '' && isSameText(cluster.server, server)) ||
    (name !== '' && [cluster.name, ...(cluster.aliases ?? [])].some((own) => isSameText(own, name)));
  const found = clusters.list.filter(isNamed);
  if (found.length === 0) return undefined;
  const shown = found
    .slice(0, maxShownSecrets)
    .map((cluster) => `cluster "${cluster.server}" with the name "${cluster.name}" (${secretText(cluster)})`);
  return `the destination may mean ${shown.join(' or ')}`;
}

/** The Secret that had this cluster before; undefined: none since this process started. */
export function formerClaim({ name, server }: NamedDestination, { former }: ClusterClaims): string | undefined {
  for (const [object, own] of former) {
    if (!(server !== '' && own.server === server) && !(name !== '' && own.name === name)) continue;
    const what = own.isThere
      ? 'now has another server or name'
      : `was deleted, or lost its label ${labels.secretType}: cluster`;
    return `${object}, which had this cluster, ${what}`;
  }
  return undefined;
}

function isSameText(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

/** Limits the message: any user with the right to create Secrets decides how many there are. */
const maxShownSecrets = 3;
