import { formatYaml } from '#base';
import type { SimCluster } from '../types.ts';

export interface KubeconfigOptions {
  /** The namespace of the first context; `default` if absent. */
  readonly namespace?: string;
  /** For programs that pass it on to pods: kubectl sends none over plain HTTP. */
  readonly token?: string;
}

/** A kubeconfig with one context per cluster, named like the cluster; the first one is current. */
export function kubeconfigFor(
  clusters: readonly SimCluster[],
  { namespace = 'default', token }: KubeconfigOptions = {},
): string {
  return formatYaml({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': clusters[0]?.name ?? '',
    preferences: {},
    clusters: clusters.map(({ name, url }) => ({ name, cluster: { server: url } })),
    contexts: clusters.map(({ name }, i) => ({
      name,
      context: { cluster: name, user: name, namespace: i === 0 ? namespace : 'default' },
    })),
    users: clusters.map(({ name }) => ({ name, user: token === undefined ? {} : { token } })),
  });
}
