import { formatYaml } from '#base';
import type { SimCluster } from '../types.ts';

/**
 * A kubeconfig with one context per cluster, named like the cluster; the first one is current. It
 * has no tokens: kubectl sends none over plain HTTP.
 */
export function kubeconfigFor(clusters: readonly SimCluster[]): string {
  return formatYaml({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': clusters[0]?.name ?? '',
    preferences: {},
    clusters: clusters.map(({ name, url }) => ({ name, cluster: { server: url } })),
    contexts: clusters.map(({ name }) => ({ name, context: { cluster: name, user: name, namespace: 'default' } })),
    users: clusters.map(({ name }) => ({ name, user: {} })),
  });
}
