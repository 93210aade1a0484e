import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DeadlineExceeded, defined, systemClock, systemRandom } from '#base';
import {
  apiResource,
  connectionFromKubeconfig,
  createKubeClient,
  inClusterConnection,
  KubeApiError,
  KubeConnectionError,
} from '#kube';
import type { KubeClient, ListOptions, LoadedConnection } from '#kube';
import type { ApiResource, ClusterConnection, KubeObject } from '#model';
import { silentLogger } from '#telemetry';

/** Kinds of a hub that commands read. */
export const hubKinds = {
  applications: apiResource('argoproj.io/v1alpha1', 'Application', 'applications', 'namespaced'),
  configMaps: apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced'),
  deployments: apiResource('apps/v1', 'Deployment', 'deployments', 'namespaced'),
  projects: apiResource('argoproj.io/v1alpha1', 'AppProject', 'appprojects', 'namespaced'),
  secrets: apiResource('v1', 'Secret', 'secrets', 'namespaced'),
  statefulSets: apiResource('apps/v1', 'StatefulSet', 'statefulsets', 'namespaced'),
};

/** From a kubeconfig; in a pod, with an empty path, from its ServiceAccount. */
export function loadConnection(path: string, context: string): Promise<LoadedConnection> {
  return path === ''
    ? inClusterConnection('', {}, 'give --kubeconfig')
    : connectionFromKubeconfig(path, context === '' ? undefined : context);
}

/** kubectl's default path below a home directory; empty if there is no such file. */
export function kubeconfigIn(home: string | undefined): string {
  const path = join(home ?? '', '.kube', 'config');
  return (home ?? '') !== '' && existsSync(path) ? path : '';
}

/** A client of a command that only reads. */
export function readOnlyClient(connection: ClusterConnection, userAgent: string): KubeClient {
  const surroundings = { clock: systemClock, random: systemRandom, logger: silentLogger };
  return createKubeClient(connection, { ...surroundings, userAgent, readOnly: true });
}

/** Reads all objects of a list and drops its pages as they arrive: a fleet needs much memory. */
export async function listAll<T>(
  client: Pick<KubeClient, 'list'>,
  resource: ApiResource,
  options: ListOptions,
  read: (object: KubeObject) => T,
): Promise<T[]> {
  const found: T[] = [];
  let token: string | undefined;
  do {
    const page = await client.list(resource, { ...options, limit: 500, ...defined({ continue: token }) });
    for (const item of page.items) found.push(read(item));
    token = page.continue;
  } while (token !== undefined);
  return found;
}

/** Whether another attempt may succeed: an outage, and no refusal. */
export function isPassing(error: unknown): boolean {
  if (error instanceof KubeApiError) return error.status >= 500 || error.status === 429 || error.status === 410;
  return (error instanceof KubeConnectionError && !error.permanent) || error instanceof DeadlineExceeded;
}

/** The texts in `data` of a ConfigMap. */
export function textData(object: KubeObject | undefined): Readonly<Record<string, string>> {
  const members = Object.entries(object?.['data'] ?? {});
  return Object.fromEntries(members.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
