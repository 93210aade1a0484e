import type { ApiSurface } from '#kube';
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
  surface: ApiSurface,
  cluster: Pick<Cluster, 'server' | 'namespaces' | 'clusterResources'>,
  settings: Settings,
): ReadonlyMap<string, WatchPlan> {
  const plan = new Map<string, WatchPlan>();
  const seen = new Set<string>();
  for (const resource of surface.preferred) {
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

/** Kubernetes' version without vendor suffix: "v1.30.11+IKS" is "v1.30.11". */
export function plainVersion(gitVersion: string): string {
  const match = /^v?([0-9]+\.[0-9]+(?:\.[0-9]+)?)/.exec(gitVersion);
  return match === null ? gitVersion : `v${match[1] ?? ''}`;
}
