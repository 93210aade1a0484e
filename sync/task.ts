import { DriftlessError, isAbort, messageOf } from '#base';
import { findResource } from '#kube';
import { groupOf, refOf } from '#model';
import type { KubeObject, ResultCode } from '#model';
import { containsTarget, hasResourceOption, resourceOption } from './options.ts';
import { crdGroupKind, groupKindText, objectOf } from './plan.ts';
import type { SyncTask } from './plan.ts';
import { decidePrune, isBeingDeleted, lacksConfirmation } from './step.ts';
import type { ApplyOptions, ApplyResult, SyncRequest } from './types.ts';

export interface TaskResult {
  readonly status: ResultCode;
  readonly message: string;
  /** The object returned by the server. */
  readonly object?: KubeObject;
}

/** Maximum wait for a new CustomResourceDefinition to be established, and the poll interval. */
const crdReadyTimeoutMs = 3000;
const crdReadyPollMs = 100;
/** Maximum wait until its kind is served, if the same sync has objects of it; the poll interval. */
const kindServedTimeoutMs = 15_000;
const kindServedPollMs = 500;

/**
 * Applies one target with the options of the operation and of the object. Cluster errors become the
 * result. Rejects after an abort or lost ownership, or if the cluster is not ready.
 */
export async function applyTask(task: SyncTask, request: SyncRequest): Promise<TaskResult> {
  const { dryRun } = request.options;
  const target = inNamespace(objectOf(task), request);
  try {
    const result = await applyWhenServed(target, task, request);
    const isNew = result.object !== task.live || !isEstablished(task.live);
    if (!dryRun && isNew && crdGroupKind(target) !== undefined)
      await request.releaseSlotWhile(waitUntilEstablished(target, request));
    return { status: 'Synced', message: result.message, object: result.object };
  } catch (error) {
    rethrowPostponed(error, request);
    return { status: 'SyncFailed', message: messageOf(error) };
  }
}

/** When a step stops waiting for kinds: once for all of its objects. */
const servedUntil = new WeakMap<SyncRequest, number>();

/** Applies an object, and again while the server does not serve a kind that this sync defines. */
async function applyWhenServed(target: KubeObject, task: SyncTask, request: SyncRequest): Promise<ApplyResult> {
  const { clock, signal, writer, options } = request;
  for (;;) {
    try {
      return await writer.apply(target, task.live, applyOptionsOf(task, request), signal);
    } catch (error) {
      const mayAppear = isUnknownKind(error) && !options.dryRun && isDefinedBySync(target, request);
      if (!mayAppear) throw error;
      const until = servedUntil.get(request) ?? clock.monotonic() + kindServedTimeoutMs;
      servedUntil.set(request, until);
      if (clock.monotonic() >= until) throw error;
      await request.releaseSlotWhile(clock.sleep(kindServedPollMs, signal));
    }
  }
}

function isUnknownKind(error: unknown): boolean {
  return error instanceof DriftlessError && error.code === 'UNKNOWN_KIND';
}

function isDefinedBySync({ apiVersion, kind }: KubeObject, { resources }: SyncRequest): boolean {
  const name = groupKindText({ group: groupOf(apiVersion), kind });
  return resources.some(({ target }) => target !== null && crdGroupKind(target) === name);
}

/** Dry-run result of an object whose kind is not served yet: the server cannot check it. */
export function dryRunSkipped(task: SyncTask): TaskResult {
  const { kind, metadata } = objectOf(task);
  const name = metadata.name ?? metadata.generateName ?? '';
  return { status: 'Synced', message: `${kind}/${name} skipped: the cluster does not serve its kind yet (dry run)` };
}

/** Why an object without a target is not pruned; undefined if it is. */
export function whyNotPruned(task: SyncTask, request: SyncRequest): string | undefined {
  const live = objectOf(task);
  const decision = decidePrune(task, request.options);
  if (!decision.delete) return decision.message;
  if (containsTarget(live, targetsOf(request))) return 'ignored (objects of this application are in it)';
  if (crdGroupKind(live) !== undefined && request.prunesDefinitions !== true)
    return 'ignored (all objects of its kind would be deleted, those of others too)';
  if (definesTarget(live, targetsOf(request))) return 'ignored (objects of its kind are among the targets)';
  if (!request.canPrune(refOf(live))) return `ignored (the live state of ${live.kind} is not fresh)`;
  if (request.pruneBlocked !== undefined) return `ignored (${request.pruneBlocked})`;
  const other = request.otherOwner(live);
  return other === undefined ? undefined : `ignored (${other})`;
}

/** Whether the object is the definition of a target's kind: its deletion would delete that, too. */
function definesTarget(live: KubeObject, targets: Iterable<KubeObject>): boolean {
  const defined = crdGroupKind(live);
  if (defined === undefined) return false;
  for (const { apiVersion, kind } of targets)
    if (groupKindText({ group: groupOf(apiVersion), kind }) === defined) return true;
  return false;
}

function* targetsOf({ resources }: SyncRequest): Iterable<KubeObject> {
  for (const { target } of resources) if (target !== null) yield target;
}

/** Deletes one object without a target, if all prune rules permit it. */
export async function pruneTask(task: SyncTask, request: SyncRequest): Promise<TaskResult> {
  const live = objectOf(task);
  const skipped = whyNotPruned(task, request);
  if (skipped !== undefined) return { status: 'PruneSkipped', message: skipped };
  if (request.options.dryRun)
    return lacksConfirmation(task, request.options)
      ? { status: 'PruneSkipped', message: 'ignored (requires confirmation)' }
      : { status: 'Pruned', message: 'pruned (dry run)' };
  if (isBeingDeleted(live)) return { status: 'Pruned', message: 'pruned' };
  try {
    const deletion = await request.writer.delete(live, request.options.prunePropagationPolicy, request.signal);
    return deletion === 'changed'
      ? {
          status: 'PruneSkipped',
          message: 'ignored (its tracking, owners or annotations changed since it was compared)',
        }
      : { status: 'Pruned', message: 'pruned' };
  } catch (error) {
    rethrowPostponed(error, request);
    if ((error as { readonly status?: unknown }).status === 404) return { status: 'Pruned', message: 'pruned' };
    return { status: 'SyncFailed', message: messageOf(error) };
  }
}

function applyOptionsOf(task: SyncTask, request: SyncRequest): ApplyOptions {
  const { options } = request;
  const { target, live } = task;
  const hasOption = (option: string): boolean => hasResourceOption(target, option) || hasResourceOption(live, option);
  const ownServerSide = resourceOption(target, 'ServerSideApply');
  const { migrationManager } = options;
  return {
    serverSide: ownServerSide === undefined ? options.serverSideApply : ownServerSide === 'true',
    ...(migrationManager === undefined ? {} : { adoptFrom: migrationManager }),
    force: options.force || hasOption('Force=true'),
    replace: options.replace || hasOption('Replace=true'),
    validate: options.validate && !hasResourceOption(target, 'Validate=false'),
  };
}

/** Adds the destination namespace to a namespaced object without one. */
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
 * Waits until the CRD is established: later tasks of the same sync need its kinds. A timeout or a
 * failed read is only a warning, because the CRD itself was applied (Argo CD: ensureCRDReady).
 */
async function waitUntilEstablished(crd: KubeObject, request: SyncRequest): Promise<void> {
  const { clock, writer, signal } = request;
  const end = clock.monotonic() + crdReadyTimeoutMs;
  try {
    while (clock.monotonic() < end) {
      if (isEstablished(await writer.get(crd, signal))) return;
      await clock.sleep(crdReadyPollMs, signal);
    }
    request.warn(`failed to ensure that CRD ${crd.metadata.name ?? ''} is ready`, 'it is not established yet');
  } catch (error) {
    rethrowPostponed(error, request);
    request.warn(`failed to ensure that CRD ${crd.metadata.name ?? ''} is ready`, error);
  }
}

function isEstablished(crd: KubeObject | null): boolean {
  const status = crd?.['status'] as { readonly conditions?: readonly { type?: string; status?: string }[] } | undefined;
  return status?.conditions?.some((c) => c.type === 'Established' && c.status === 'True') === true;
}

/** Rethrows errors that end the step: aborts, lost ownership and CLUSTER_NOT_READY. */
export function rethrowPostponed(error: unknown, request: SyncRequest): void {
  request.signal.throwIfAborted();
  if (isAbort(error) || (error instanceof DriftlessError && error.code === 'CLUSTER_NOT_READY')) throw error;
}
