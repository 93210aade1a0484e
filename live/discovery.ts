import type { ApiDiscovery } from '#kube';
import { apiVersionOf } from '#model';
import type { ApiResource, Cluster, GroupKind, Settings } from '#model';
import { isExcluded } from './filter.ts';

/** One kind to watch, and where: undefined stands for all namespaces (or a cluster-scoped kind). */
export interface WatchPlan {
  readonly resource: ApiResource;
  readonly namespace: string | undefined;
}

export function kindText(gk: GroupKind): string {
  return `${gk.group}/${gk.kind}`;
}

/**
 * What to watch on a server, by a key that changes when the watch must be another one. Every preferred kind that can be listed and watched
 * and is not excluded; in namespaced mode each namespace by itself, cluster-scoped kinds only when the cluster allows them (Argo CD:
 * gitops-engine/pkg/cache processApi).
 */
export function planWatches(
  discovery: ApiDiscovery,
  cluster: Pick<Cluster, 'server' | 'namespaces' | 'clusterResources'>,
  settings: Settings,
): ReadonlyMap<string, WatchPlan> {
  const plan = new Map<string, WatchPlan>();
  const seen = new Set<string>();
  for (const resource of discovery.preferred) {
    const kind = kindText(resource);
    if (seen.has(kind) || !isWatchable(resource) || isExcluded(settings, resource, cluster.server)) continue;
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

function isWatchable(resource: ApiResource): boolean {
  return resource.verbs.includes('list') && resource.verbs.includes('watch');
}

/**
 * What a server serves, over time. A group that discovery cannot read for once is as it was when it could: an aggregated API that is down
 * has not been removed, and forgetting its kinds would make cluster-scoped objects namespaced and existing ones missing. Where only some versions
 * of a group can be read (each is one request on an older server), those speak for themselves, and the others are as they were.
 */
export class DiscoveryMemory {
  /** The discovery before this one, completed. */
  #last: ApiDiscovery | undefined;

  /** The discovery, completed by what is remembered of its failed groups. */
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
  // The version that was preferred stays so: to watch another one for as long would be to list the kind twice.
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

/** Why a discovery says nothing of a group; undefined: what it says of the group is complete. "*" stands for all groups but core. */
export function failureOf({ failedGroups }: Pick<ApiDiscovery, 'failedGroups'>, group: string): string | undefined {
  return failedGroups.get(group) ?? (group === '' ? undefined : failedGroups.get('*'));
}

/** Kubernetes' version without vendor suffix: "v1.30.11+IKS" is "v1.30.11". */
export function plainVersion(gitVersion: string): string {
  const match = /^v?([0-9]+\.[0-9]+(?:\.[0-9]+)?)/.exec(gitVersion);
  return match === null ? gitVersion : `v${match[1] ?? ''}`;
}
