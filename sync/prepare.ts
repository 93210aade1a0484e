import { messageOf } from '#base';
import { findResource } from '#kube';
import type { ApiDiscovery } from '#kube';
import { groupOf, versionOf } from '#model';
import type { KubeObject } from '#model';
import { hasResourceOption } from './options.ts';
import { isPrune, objectOf } from './plan.ts';
import type { SyncTask } from './plan.ts';
import { kindsDefinedBySync, canKindBeMissing } from './step.ts';
import { rethrowPostponed } from './task.ts';
import type { SyncRequest } from './types.ts';

/**
 * With CreateNamespace=true: the task that creates or labels the destination namespace. There is
 * none if the sync contains that Namespace, or if it needs no change (Argo CD:
 * controller/sync_namespace.go).
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
    const plain = { isHook: false, modified: true, skipDryRun: false };
    return { task: { phase: 'PreSync', wave: 0, target, live, makesNamespace: true, ...plain } };
  } catch (error) {
    rethrowPostponed(error, request);
    return { error: messageOf(error) };
  }
}

function isNamespace(object: KubeObject | null, name: string): boolean {
  return object?.apiVersion === 'v1' && object.kind === 'Namespace' && object.metadata.name === name;
}

/**
 * Invalid tasks: unknown kinds, and objects that the project denies. Any of them fails the sync.
 */
export function checkTasks(
  tasks: readonly SyncTask[],
  request: SyncRequest,
): { readonly task: SyncTask; readonly message: string }[] {
  // A partial sync may name only the object of a definition that is applied, but not served yet.
  const targets = [...tasks, ...request.resources].flatMap(({ target }) => target ?? []);
  const expectedKinds = kindsDefinedBySync(targets);
  return tasks.flatMap((task) => {
    const message = whyInvalid(task, request, expectedKinds);
    return message === undefined ? [] : [{ task, message }];
  });
}

/**
 * Ordinary targets without a name. Argo CD's dry run refuses them before the sync applies anything,
 * unless they are replaced: then they are created, and the server answers.
 */
export function namelessTasks(
  tasks: readonly SyncTask[],
  request: SyncRequest,
): { readonly task: SyncTask; readonly message: string }[] {
  return tasks.flatMap((task) => {
    if (task.target === null || task.skipDryRun) return [];
    if (request.options.replace || hasResourceOption(task.target, 'Replace=true')) return [];
    const message = missingNameMessage(task.target);
    return message === undefined ? [] : [{ task, message }];
  });
}

/** Why kubectl apply refuses an object without a name; undefined if it has one. */
export function missingNameMessage({ metadata }: KubeObject): string | undefined {
  if ((metadata.name ?? '') !== '') return undefined;
  const prefix = metadata.generateName ?? '';
  return prefix === '' ? 'resource name may not be empty' : `from ${prefix}: cannot use generate name with apply`;
}

/** The API server's answer for a group version that it does not serve, or one without the kind. */
function missingKindMessage({ apiVersion, kind }: KubeObject, { served }: Pick<ApiDiscovery, 'served'>): string {
  const [group, version] = [groupOf(apiVersion), versionOf(apiVersion)];
  if (served.some((resource) => resource.group === group && resource.version === version))
    return `${group === '' ? kind : `${kind}.${group}`} "" not found`;
  return `failed to discover server resources for group version ${apiVersion}: the server could not find the requested resource`;
}

function whyInvalid(task: SyncTask, request: SyncRequest, expectedKinds: ReadonlySet<string>): string | undefined {
  const object = objectOf(task);
  const group = groupOf(object.apiVersion);
  const resource = findResource(request.writer.discovery, { group, kind: object.kind }, versionOf(object.apiVersion));
  if (resource === undefined) {
    if (isPrune(task) || !canKindBeMissing(object, request.options, expectedKinds))
      return missingKindMessage(object, request.writer.discovery);
    task.skipDryRun = true;
    return undefined;
  }
  const namespaced = resource.namespaced && object.metadata.namespace === undefined;
  const placed = namespaced
    ? { ...object, metadata: { ...object.metadata, namespace: request.destinationNamespace } }
    : object;
  return request.writer.denied(placed, resource.namespaced);
}
