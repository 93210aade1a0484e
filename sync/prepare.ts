import { isAbort, messageOf } from '#base';
import { findResource } from '#kube';
import { groupOf, versionOf } from '#model';
import type { KubeObject } from '#model';
import { isPrune, objectOf } from './plan.ts';
import type { SyncTask } from './plan.ts';
import { kindsToCome, mayBeMissing } from './step.ts';
import type { SyncRequest } from './types.ts';

/**
 * With CreateNamespace=true: the task that makes, or marks, the destination namespace. None when the sync brings that Namespace itself, or
 * when the namespace needs nothing (Argo CD: controller/sync_namespace.go).
 */
export async function namespaceTask(
  request: SyncRequest,
): Promise<{ readonly task: SyncTask | undefined } | { readonly error: string }> {
  const name = request.destinationNamespace;
  if (
    !request.options.createNamespace ||
    name === '' ||
    request.resources.some(({ target }) => isNamespace(target, name))
  ) {
    return { task: undefined };
  }
  try {
    const live = await request.writer.get({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }, request.signal);
    const target = request.namespaceModifier(live);
    if (target === null) return { task: undefined };
    const plain = { hook: false, modified: true, skipDryRun: false };
    return { task: { phase: 'PreSync', wave: 0, target, live, makesNamespace: true, ...plain } };
  } catch (error) {
    request.signal.throwIfAborted();
    if (isAbort(error)) throw error;
    return { error: messageOf(error) };
  }
}

function isNamespace(object: KubeObject | null, name: string): boolean {
  return object?.apiVersion === 'v1' && object.kind === 'Namespace' && object.metadata.name === name;
}

/** Tasks that must not run: kinds that the cluster does not know, and what the project does not permit. Nothing is applied when there are any. */
export function checkTasks(
  tasks: readonly SyncTask[],
  request: SyncRequest,
): { readonly task: SyncTask; readonly message: string }[] {
  const toCome = kindsToCome(tasks.flatMap((task) => task.target ?? []));
  return tasks.flatMap((task) => {
    const message = faultOf(task, request, toCome);
    return message === undefined ? [] : [{ task, message }];
  });
}

function faultOf(task: SyncTask, request: SyncRequest, toCome: ReadonlySet<string>): string | undefined {
  const object = objectOf(task);
  const group = groupOf(object.apiVersion);
  const resource = findResource(request.writer.discovery, { group, kind: object.kind }, versionOf(object.apiVersion));
  if (resource === undefined) {
    if (isPrune(task) || !mayBeMissing(object, request.options, toCome))
      return 'the server could not find the requested resource';
    task.skipDryRun = true;
    return undefined;
  }
  const namespaced = resource.namespaced && object.metadata.namespace === undefined;
  const placed = namespaced
    ? { ...object, metadata: { ...object.metadata, namespace: request.destinationNamespace } }
    : object;
  return request.writer.denied(placed, resource.namespaced);
}
