import type { ApiDiscovery } from '#kube';
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
 * has not been removed, and forgetting its kinds would make cluster-scoped objects namespaced and existing ones missing.
 */
export class DiscoveryMemory {
  readonly #known = new Map<string, ApiDiscovery>();

  /** The discovery, completed by what is remembered of its failed groups. */
  complete(discovery: ApiDiscovery): ApiDiscovery {
    for (const { group } of discovery.preferred) this.#known.set(group, discovery);
    const lost = [...discovery.failedGroups.keys()].filter(
      (group) => !discovery.preferred.some((r) => r.group === group),
    );
    const before = (group: string): ApiDiscovery | undefined =>
      lost.includes(group) ? this.#known.get(group) : undefined;
    const remembered = lost.flatMap((group) => before(group)?.preferred.filter((r) => r.group === group) ?? []);
    if (remembered.length === 0) return discovery;
    const apiVersions = lost.flatMap(
      (group) => before(group)?.apiVersions.filter((text) => text.startsWith(`${group}/`)) ?? [],
    );
    const served = lost.flatMap((group) => before(group)?.served.filter((r) => r.group === group) ?? []);
    return {
      preferred: [...discovery.preferred, ...remembered],
      served: [...discovery.served, ...served],
      apiVersions: [...new Set([...discovery.apiVersions, ...apiVersions])].sort(),
      failedGroups: discovery.failedGroups,
    };
  }
}

/** Kubernetes' version without vendor suffix: "v1.30.11+IKS" is "v1.30.11". */
export function plainVersion(gitVersion: string): string {
  const match = /^v?([0-9]+\.[0-9]+(?:\.[0-9]+)?)/.exec(gitVersion);
  return match === null ? gitVersion : `v${match[1] ?? ''}`;
}
