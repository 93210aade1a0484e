import { inClusterServer } from '#model';
import type { Cluster } from '#model';

/**
 * Clusters by URL and by name. Each URL has one cluster: the one that {@link chooseClusters}
 * selects.
 */
export interface ClusterIndex {
  readonly list: readonly Cluster[];
  readonly byServer: ReadonlyMap<string, Cluster>;
  readonly byName: ReadonlyMap<string, readonly Cluster[]>;
}

/** Why a cluster Secret cannot be used, and what is readable of its cluster ("": nothing). */
export interface ClusterFault {
  readonly error: string;
  readonly server: string;
  readonly name: string;
  /** With an unreadable `server`: the last readable one; "": it never had one; absent: unknown. */
  readonly lastServer?: string;
  readonly id: string;
  readonly createdAt: string | undefined;
  readonly project: string | undefined;
}

/** Whether an unreadable Secret may be that of the in-cluster for all projects. */
export function mayBeInCluster({ server, lastServer, project }: ClusterFault): boolean {
  return !isScoped({ project }) && (server === '' ? (lastServer ?? inClusterServer) : server) === inClusterServer;
}

/**
 * Leaves out the clusters that an unreadable Secret with the same URL precedes: if it were
 * readable, none of them would be used.
 */
export function withoutStopped(list: readonly Cluster[], faults: readonly ClusterFault[]): readonly Cluster[] {
  const first = new Map<string, Precedence>();
  for (const fault of faults) {
    const server = fault.server === '' ? fault.lastServer : fault.server;
    if (server === undefined) continue;
    const own = { ...fault, server };
    const other = first.get(server);
    if (other === undefined || byPrecedence(own, other) < 0) first.set(server, own);
  }
  const readable = new Map<string, Cluster>();
  for (const cluster of list) {
    const other = readable.get(cluster.server);
    if (other === undefined || byPrecedence(cluster, other) < 0) readable.set(cluster.server, cluster);
  }
  return list.filter(({ server }) => {
    const [fault, cluster] = [first.get(server), readable.get(server)];
    return fault === undefined || cluster === undefined || byPrecedence(cluster, fault) < 0;
  });
}

export function indexClusters(listed: readonly Cluster[]): ClusterIndex {
  const list = chooseClusters(listed);
  const byServer = new Map(list.map((cluster) => [cluster.server, cluster]));
  const byName = new Map<string, Cluster[]>();
  for (const cluster of list)
    for (const name of new Set([cluster.name, ...(cluster.aliases ?? [])]))
      byName.set(name, [...(byName.get(name) ?? []), cluster]);
  return { list, byServer, byName };
}

/**
 * Selects one cluster for each URL: everything kept by server (cache, client, shard, pins and
 * annotations) comes from one Secret. The oldest unscoped Secret wins (by creationTimestamp, then
 * UID), or the oldest one if all are scoped to projects. So a Secret added later never takes a
 * cluster over, and a scoped Secret serves only its own project. The others lend the cluster only
 * their names, and give their project no right to the cluster.
 *
 * Keeps the order of the list.
 */
export function chooseClusters(listed: readonly Cluster[]): readonly Cluster[] {
  const byServer = new Map<string, Cluster[]>();
  for (const cluster of listed) byServer.set(cluster.server, [...(byServer.get(cluster.server) ?? []), cluster]);
  if (byServer.size === listed.length) return listed;
  const chosen = new Map<Cluster, readonly Cluster[]>();
  for (const same of byServer.values()) {
    const [first, ...others] = [...same].sort(byPrecedence);
    if (first !== undefined) chosen.set(first, others);
  }
  const names = new Set([...chosen.keys()].map(({ name }) => name));
  return listed.flatMap((cluster) => {
    const others = chosen.get(cluster);
    if (others === undefined) return [];
    if (others.length === 0) return [cluster];
    return [{ ...cluster, aliases: aliasesOf(cluster, others, names), conflict: conflictOf(cluster, others) }];
  });
}

export function isScoped({ project = '' }: { readonly project?: string | undefined }): boolean {
  return project !== '';
}

/** `Secret cluster-a`, or a text for the in-cluster address without a Secret. */
export function secretText({ secretName }: Pick<Cluster, 'secretName'>): string {
  return secretName === undefined ? 'the controller itself' : `Secret ${secretName}`;
}

export function byId(a: Pick<Cluster, 'id' | 'server'>, b: Pick<Cluster, 'id' | 'server'>): number {
  return compareText(a.id, b.id) || compareText(a.server, b.server);
}

interface Precedence {
  readonly id: string;
  readonly server: string;
  readonly createdAt?: string | undefined;
  readonly project?: string | undefined;
}

/** The implicit cluster has no creation time, so it precedes every scoped Secret. */
function byPrecedence(a: Precedence, b: Precedence): number {
  return Number(isScoped(a)) - Number(isScoped(b)) || compareText(a.createdAt ?? '', b.createdAt ?? '') || byId(a, b);
}

/** Names of the other Secrets. A scoped Secret must not make another cluster's name ambiguous. */
function aliasesOf({ name: own }: Cluster, others: readonly Cluster[], chosen: ReadonlySet<string>): readonly string[] {
  const usable = others.filter((other) => !isScoped(other) || !chosen.has(other.name));
  return [...new Set(usable.map(({ name }) => name))].filter((name) => name !== '' && name !== own).sort();
}

function conflictOf(cluster: Cluster, others: readonly Cluster[]): string {
  const named = (one: Cluster): string => `${secretText(one)}${isScoped(one) ? ` (project ${one.project ?? ''})` : ''}`;
  const shown = others.slice(0, maxShownSecrets).map(named);
  const more = others.length > shown.length ? ` and ${others.length - shown.length} more` : '';
  const rule = isScoped(cluster) ? 'the oldest one' : 'the oldest one without a project';
  return (
    `several cluster Secrets have the URL ${cluster.server}: ${named(cluster)} is used, ${rule}, ` +
    `and ${shown.join(', ')}${more} ${others.length === 1 ? 'is' : 'are'} not; delete all but one of them`
  );
}

/** Limits the message: any user with the right to create Secrets decides how many there are. */
const maxShownSecrets = 5;

function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
