import type { ClusterConnection } from '#model';
import type { KubeClientDeps } from './client-types.ts';
import type { KubeClient } from './types.ts';

export function createKubeClient(connection: ClusterConnection, deps: KubeClientDeps): KubeClient {
  throw new Error(`${connection.server} ${deps.userAgent}`);
}
