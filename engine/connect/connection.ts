import { UsageError } from '#base';
import { connectionFromConfig, connectionFromKubeconfig, inClusterConnection } from '#kube';
import type { KubeConfigReader, LoadedConnection } from '#kube';

export interface ClusterAddress {
  /**
   * A path as in $KUBECONFIG, a KubeConfig of `@kubernetes/client-node`, or an object of its shape.
   * Default: the service account of the pod.
   */
  readonly kubeConfig?: KubeConfigReader | string | undefined;
  /** Default: the current context. */
  readonly context?: string | undefined;
}

/** @throws an error with `code` `USAGE` in one line, for what cannot be read */
export async function connectionOf({ kubeConfig, context }: ClusterAddress): Promise<LoadedConnection> {
  if (kubeConfig === undefined) return inClusterConnection('', {}, 'name the KubeConfig by the option kubeConfig');
  if (typeof kubeConfig === 'string' && kubeConfig.includes('\n'))
    throw new UsageError('options.kubeConfig must be the path of a KubeConfig, not its text: write it to a file');
  return typeof kubeConfig === 'string'
    ? connectionFromKubeconfig(kubeConfig, context)
    : connectionFromConfig(kubeConfig, context);
}
