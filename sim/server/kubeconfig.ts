import { formatYaml } from '#base';
import type { SimCluster } from '../types.ts';

/**
 * A kubeconfig with one context per cluster, named as the clusters are; the first one is current. It holds no tokens: kubectl does not send
 * any over plain HTTP.
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
