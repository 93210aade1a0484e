import { DriftlessError } from '#base';
import { apiResource, isAlreadyExists, isForbidden, isNotFound } from '#kube';
import type { KubeClient } from '#kube';
import { annotations } from '#model';
import type { KubeObject } from '#model';
import { recordNamespace } from './identity.ts';

const namespaces = apiResource('v1', 'Namespace', 'namespaces', 'cluster');
const keepOption = 'Prune=false';

/**
 * Creates the namespace of the records.
 * @throws DriftlessError with the command that creates it, without the right to do so.
 */
export async function createRecordNamespace(client: Pick<KubeClient, 'create'>, signal: AbortSignal): Promise<void> {
  const metadata = { name: recordNamespace, annotations: { [annotations.syncOptions]: keepOption } };
  try {
    await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata }, { signal });
  } catch (error) {
    if (isAlreadyExists(error)) return;
    if (!isForbidden(error)) throw error;
    throw new DriftlessError(
      'AGENT_RECORD',
      `namespace ${recordNamespace} of the agents' records does not exist, and this account may not create it; nothing was applied or pruned: kubectl create namespace ${recordNamespace}`,
      { retry: 'never', cause: error },
    );
  }
}

/**
 * Keeps a folder that once contained this Namespace from pruning it, and the records with it. An
 * account without the right to patch it does nothing here.
 */
export async function protectRecordNamespace(
  client: Pick<KubeClient, 'get' | 'patch'>,
  signal: AbortSignal,
): Promise<void> {
  const at = { namespace: '', name: recordNamespace };
  try {
    const before = optionsOf(await client.get(namespaces, at, { signal }));
    if (before.includes(keepOption)) return;
    const options = [...before.filter((option) => !option.startsWith('Prune=')), keepOption].join(',');
    const body = { metadata: { annotations: { [annotations.syncOptions]: options } } };
    await client.patch(namespaces, at, { type: 'merge', body }, { signal });
  } catch (error) {
    if (!isForbidden(error) && !isNotFound(error)) throw error;
  }
}

function optionsOf({ metadata }: KubeObject): readonly string[] {
  const text = metadata.annotations?.[annotations.syncOptions] ?? '';
  return text.split(',').flatMap((option) => (option.trim() === '' ? [] : [option.trim()]));
}

/** Identity of the cluster; "" without the right to read it. */
export async function clusterIdOf(client: Pick<KubeClient, 'get'>, signal: AbortSignal): Promise<string> {
  try {
    const { metadata } = await client.get(namespaces, { name: 'kube-system', namespace: '' }, { signal });
    return metadata.uid ?? '';
  } catch (error) {
    if (isNotFound(error) || isForbidden(error)) return '';
    throw error;
  }
}
