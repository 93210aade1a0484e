import type { ApiDiscovery } from '#kube';
import { apiVersionOf } from '#model';
import type { ApiResource, Cluster, GroupKind, Settings } from '#model';
import { isExcluded } from './exclusions.ts';

/** A kind to watch; without `namespace`, in all namespaces or cluster-scoped. */
export interface WatchPlan {
  readonly resource: ApiResource;
  readonly namespace: string | undefined;
  /** Only objects that an Application tracks are kept. */
  readonly onlyTracked?: boolean;
}

export function kindText(gk: GroupKind): string {
  return `${gk.group}/${gk.kind}`;
}

/**
 * The watches for a server, by a key that changes if the watch must be replaced: one for every
 * preferred kind that can be listed and watched and is not excluded. In namespaced mode there is
 * one watch per namespace, and cluster-scoped kinds are watched only if the cluster allows it (Argo
 * CD: gitops-engine/pkg/cache processApi).
 * @param polled kinds without the verb watch that are listed all the same
 */
export function planWatches(
  discovery: ApiDiscovery,
  cluster: Pick<Cluster, 'server' | 'namespaces' | 'clusterResources'>,
  settings: Settings,
  polled: ReadonlySet<string> = new Set(),
): ReadonlyMap<string, WatchPlan> {
  const plan = new Map<string, WatchPlan>();
  const seen = new Set<string>();
  for (const resource of discovery.preferred) {
    const kind = kindText(resource);
    const isPlanned = isWatchable(resource) || (polled.has(kind) && isPollable(resource));
    if (seen.has(kind) || !isPlanned || isExcluded(settings, resource, cluster.server)) continue;
    seen.add(kind);
    for (const namespace of namespacesOf(resource, cluster))
      plan.set(`${kind} ${resource.version} ${resource.resource} ${namespace ?? '*'}`, { resource, namespace });
  }
  return plan;
}

function namespacesOf(
  resource: ApiResource,
  cluster: Pick<Cluster, 'namespaces' | 'clusterResources'>,
): readonly (string | undefined)[] {
  if (cluster.namespaces.length === 0) return [undefined];
  if (resource.namespaced) return [...new Set(cluster.namespaces)];
  return cluster.clusterResources ? [undefined] : [];
}

/** Without the verb watch. Such a kind is listed only if an Application has objects of it. */
export function isPollable({ verbs }: ApiResource): boolean {
  return verbs.includes('list') && !verbs.includes('watch');
}

function isWatchable(resource: ApiResource): boolean {
  return resource.verbs.includes('list') && resource.verbs.includes('watch');
}

/**
 * Completes discoveries with earlier results for groups that cannot be read. An unavailable
 * aggregated API was not removed: without its kinds, cluster-scoped objects would count as
 * namespaced and existing objects as missing. If only some versions of a group can be read (older
 * servers have one request per version), the other versions are taken from before.
 */
export class DiscoveryMemory {
  /** The previous discovery, completed. */
  #last: ApiDiscovery | undefined;

  /** Adds earlier results for failed groups. */
  complete(discovery: ApiDiscovery): ApiDiscovery {
    this.#last = completed(discovery, this.#last);
    return this.#last;
  }
}

function completed(discovery: ApiDiscovery, before: ApiDiscovery | undefined): ApiDiscovery {
  const read = new Set(discovery.served.map(apiVersionText));
  const isLost = (resource: ApiResource): boolean =>
    failureOf(discovery, resource.group) !== undefined && !read.has(apiVersionText(resource));
  const served = before?.served.filter(isLost) ?? [];
  if (before === undefined || served.length === 0) return discovery;
  const preferred = before.preferred.filter(isLost);
  const lost = new Set(served.map(apiVersionText));
  const apiVersions = before.apiVersions.filter(
    (text) => lost.has(text) || lost.has(text.slice(0, text.lastIndexOf('/'))),
  );
  // Keep the preferred version, because watching another version would relist the kind.
  const names = new Set(preferred.map(kindText));
  return {
    preferred: [...discovery.preferred.filter((resource) => !names.has(kindText(resource))), ...preferred],
    served: [...discovery.served, ...served],
    apiVersions: [...new Set([...discovery.apiVersions, ...apiVersions])].sort(),
    failedGroups: discovery.failedGroups,
  };
}

function apiVersionText({ group, version }: ApiResource): string {
  return apiVersionOf(group, version);
}

/**
 * Why a discovery is incomplete for a group; undefined if it is complete. "*" stands for all groups
 * but core.
 */
export function failureOf({ failedGroups }: Pick<ApiDiscovery, 'failedGroups'>, group: string): string | undefined {
  return failedGroups.get(group) ?? (group === '' ? undefined : failedGroups.get('*'));
}

/** Strips the vendor suffix: "v1.30.11+IKS" becomes "v1.30.11". */
export function plainVersion(gitVersion: string): string {
  const match = /^v?([0-9]+\.[0-9]+(?:\.[0-9]+)?)/.exec(gitVersion);
  return match === null ? gitVersion : `v${match[1] ?? ''}`;
}
