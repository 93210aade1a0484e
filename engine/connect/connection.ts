import { isObject } from '#base';
import { connectionFromConfig, connectionFromKubeconfig, inClusterConnection } from '#kube';
import type { KubeConfigReader, LoadedConnection } from '#kube';
import { check, isNonEmptyText } from '../options/checks.ts';

export interface ClusterAddress {
  /**
   * A path as in $KUBECONFIG, a KubeConfig of `@kubernetes/client-node`, or an object of its shape.
   * Default: the service account of the pod.
   */
  readonly kubeConfig?: KubeConfigReader | string | undefined;
  /** Default: the current context. */
  readonly context?: string | undefined;
}

const readers = ['getCurrentContext', 'getContextObject', 'getCluster', 'getUser'];

/** For the table of the options that extend {@link ClusterAddress}. */
export const addressChecks = {
  kubeConfig: check(
    `a path, a KubeConfig of @kubernetes/client-node or an object with ${readers.join(', ')}`,
    (value) =>
      typeof value === 'string' ||
      (isObject(value) && readers.every((name) => typeof Reflect.get(value, name) === 'function')),
  ),
  context: isNonEmptyText,
};

/** @throws an error with `code` `USAGE` in one line, for what cannot be read */
export function connectionOf({ kubeConfig, context }: ClusterAddress): Promise<LoadedConnection> {
  if (kubeConfig === undefined) return inClusterConnection('', {}, 'name the KubeConfig by the option kubeConfig');
  return typeof kubeConfig === 'string'
    ? connectionFromKubeconfig(kubeConfig, context)
    : connectionFromConfig(kubeConfig, context);
}
