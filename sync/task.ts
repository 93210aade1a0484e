import { isAbort, messageOf } from '#base';
import { findResource } from '#kube';
import { groupOf } from '#model';
import type { KubeObject, ResultCode } from '#model';
import { hasResourceOption, resourceOption } from './options.ts';
import { crdGroupKind, objectOf } from './plan.ts';
import type { SyncTask } from './plan.ts';
import { decidePrune, isBeingDeleted, lacksConfirmation } from './step.ts';
import type { ApplyHow, SyncRequest } from './types.ts';

export interface TaskResult {
  readonly status: ResultCode;
  readonly message: string;
  /** What the server returned. */
  readonly object?: KubeObject;
}

/** How long a new CustomResourceDefinition may take until its kinds are served, and how often to look. */
const establishMs = 3000;
const establishPollMs = 100;

/** Applies one target, the way the operation and the object's own options say. Cluster errors become the result; abort and loss of ownership reject. */
export async function applyTask(task: SyncTask, request: SyncRequest): Promise<TaskResult> {
  const { dryRun } = request.options;
  const target = inNamespace(objectOf(task), request);
  try {
    const result = await request.writer.apply(target, task.live, howToApply(task, request), request.signal);
    const isNew = result.object !== task.live || !isEstablished(task.live);
    if (!dryRun && isNew && crdGroupKind(target) !== undefined) await untilEstablished(target, request);
    return { status: 'Synced', message: result.message, object: result.object };
  } catch (error) {
    rethrowAbort(error, request);
    return { status: 'SyncFailed', message: messageOf(error) };
  }
}

/** What a dry run says of an object whose kind is still to come: nobody can be asked about it. */
export function notTried(task: SyncTask): TaskResult {
  const { kind, metadata } = objectOf(task);
  const name = metadata.name ?? metadata.generateName ?? '';
  return { status: 'Synced', message: `${kind}/${name} not tried: its kind is not known yet (dry run)` };
}

/** Deletes one object that is no longer wanted, if it may. */
export async function pruneTask(task: SyncTask, request: SyncRequest): Promise<TaskResult> {
  const live = objectOf(task);
  const decision = decidePrune(task, request.options);
  if (!decision.delete) return { status: 'PruneSkipped', message: decision.message };
  const gk = { group: groupOf(live.apiVersion), kind: live.kind };
  if (!request.mayPrune(gk)) {
    return { status: 'PruneSkipped', message: `ignored (the live state of ${gk.kind} is not fresh)` };
  }
  const claimant = request.claimant(live);
  if (claimant !== undefined)
    return { status: 'PruneSkipped', message: `ignored (application ${claimant} has it, too)` };
  if (request.options.dryRun)
    return lacksConfirmation(task, request.options)
      ? { status: 'PruneSkipped', message: 'ignored (requires confirmation)' }
      : { status: 'Pruned', message: 'pruned (dry run)' };
  if (isBeingDeleted(live)) return { status: 'Pruned', message: 'pruned' };
  try {
    const deletion = await request.writer.delete(live, request.options.prunePropagationPolicy, request.signal);
    return deletion === 'changed'
      ? { status: 'PruneSkipped', message: 'ignored (it has been marked otherwise since it was compared)' }
      : { status: 'Pruned', message: 'pruned' };
  } catch (error) {
    rethrowAbort(error, request);
    if ((error as { readonly status?: unknown }).status === 404) return { status: 'Pruned', message: 'pruned' };
    return { status: 'SyncFailed', message: messageOf(error) };
  }
}

function howToApply(task: SyncTask, request: SyncRequest): ApplyHow {
  const { options } = request;
  const { target, live } = task;
  const says = (option: string): boolean => hasResourceOption(target, option) || hasResourceOption(live, option);
  const ownServerSide = resourceOption(target, 'ServerSideApply');
  const { migrationManager } = options;
  return {
    dryRun: options.dryRun,
    serverSide: ownServerSide === undefined ? options.serverSideApply : ownServerSide === 'true',
    ...(migrationManager === undefined ? {} : { adoptFrom: migrationManager }),
    force: options.force || says('Force=true'),
    replace: options.replace || says('Replace=true'),
    validate: options.validate && !hasResourceOption(target, 'Validate=false'),
  };
}

/** A namespaced object without a namespace goes where the Application goes. */
function inNamespace(target: KubeObject, request: SyncRequest): KubeObject {
  const resource = findResource(request.writer.discovery, {
    group: groupOf(target.apiVersion),
    kind: target.kind,
  });
  const namespaced = resource?.namespaced ?? true;
  if (!namespaced || target.metadata.namespace !== undefined) return target;
  return { ...target, metadata: { ...target.metadata, namespace: request.destinationNamespace } };
}

/**
 * Waits a little for the CRD's kinds to be served: what follows in the same sync needs them. Giving up is no failure, and neither is a read
 * that fails: the CRD itself was applied, and what follows will find out (Argo CD: ensureCRDReady).
 */
async function untilEstablished(crd: KubeObject, request: SyncRequest): Promise<void> {
  const { clock, writer, signal } = request;
  const end = clock.monotonic() + establishMs;
  try {
    while (clock.monotonic() < end) {
      if (isEstablished(await writer.get(crd, signal))) return;
      await clock.sleep(establishPollMs, signal);
    }
    request.warn(`failed to ensure that CRD ${crd.metadata.name ?? ''} is ready`, 'it is not established yet');
  } catch (error) {
    rethrowAbort(error, request);
    request.warn(`failed to ensure that CRD ${crd.metadata.name ?? ''} is ready`, error);
  }
}

function isEstablished(crd: KubeObject | null): boolean {
  const status = crd?.['status'] as { readonly conditions?: readonly { type?: string; status?: string }[] } | undefined;
  return status?.conditions?.some((c) => c.type === 'Established' && c.status === 'True') === true;
}

function rethrowAbort(error: unknown, request: SyncRequest): void {
  request.signal.throwIfAborted();
  if (isAbort(error)) throw error;
}
