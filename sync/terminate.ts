import { defined, messageOf } from '#base';
import { apiVersionOf, isCompleted, isHook } from '#model';
import type { KubeObject, OperationPhase, ResourceResult } from '#model';
import { deletePolicies, hookPhase } from './hooks.ts';
import { isOfAttempt, keyOfResult, objectOf, resultKey } from './plan.ts';
import type { SyncTask } from './plan.ts';
import { deleteLive, removeHookFinalizer } from './release.ts';
import type { TaskObservation } from './step.ts';
import { rethrowPostponed } from './task.ts';
import type { SyncRequest } from './types.ts';

/** How a terminated hook ended. `clean`: nothing went wrong on the way. */
export interface TerminatedHook extends TaskObservation {
  readonly clean: boolean;
}

/**
 * The recorded hooks that no task is for, because the sources cannot be read, or no longer have
 * them: they must not run on. Argo CD says that such an operation is terminated, and they run on.
 */
export function unplannedHooks(tasks: readonly SyncTask[], request: SyncRequest): SyncTask[] {
  const planned = new Set(tasks.map((task) => resultKey(task, request.destinationNamespace)));
  return request.results.flatMap((result) => {
    const { hookType, syncPhase: phase, hookPhase: operationPhase, status, message } = result;
    if (hookType === undefined || phase === undefined || planned.has(keyOfResult(result))) return [];
    const facts = { wave: 0, live: null, isHook: true, modified: true, skipDryRun: false };
    return [{ phase, target: recordedObject(result), ...facts, ...defined({ operationPhase, status, message }) }];
  });
}

/** Results can be written by hand, so they alone do not show whose hook it is. */
export function isOwnHook(live: KubeObject, { attempt, liveHooks }: SyncRequest): boolean {
  if (isOfAttempt(live, attempt)) return isHook(live);
  return liveHooks.some(({ metadata }) => metadata.uid === live.metadata.uid);
}

function recordedObject({ group, version, kind, namespace, name }: ResourceResult): KubeObject {
  return { apiVersion: apiVersionOf(group, version), kind, metadata: { namespace, name } };
}

/**
 * Ends a running hook: removes its finalizer, and deletes it if it still runs, if its health is
 * unknown, or if its policy is HookFailed. A hook that has ended by itself keeps its own result,
 * deleted or not. Source: gitops-engine terminateHooksPreemptively.
 */
export async function terminateHook(task: SyncTask, request: SyncRequest): Promise<TerminatedHook> {
  let doing = 'Failed to get live resource: failed to get resource';
  let failedPhase: OperationPhase = 'Error';
  try {
    task.live = await request.writer.get(task.live ?? objectOf(task), request.signal);
    if (task.live === null || !isOwnHook(task.live, request))
      return { clean: true, phase: 'Succeeded', message: 'Terminated' };
    const seen = observeHook(task, request);
    doing = 'Failed to remove hook finalizer: failed to update resource';
    task.live = await removeHookFinalizer(task.live, request);
    doing = 'Failed to delete: failed to delete resource';
    failedPhase = 'Failed';
    if (task.live === null) return { clean: true, ...endOf(seen) };
    if (!isCompleted(seen.phase) || !seen.known || deletePolicies(task.live).includes('HookFailed'))
      await deleteLive(task.live, request);
    return { clean: true, ...endOf(seen) };
  } catch (error) {
    rethrowPostponed(error, request);
    return { clean: false, phase: failedPhase, message: `${doing}: ${messageOf(error)}` };
  }
}

interface HookObservation extends TaskObservation {
  /** False: its health could not be determined. */
  readonly known: boolean;
}

function observeHook({ live }: SyncTask, { health }: SyncRequest): HookObservation {
  if (live === null) throw new TypeError('a hook without a live object has no health');
  try {
    return { known: true, ...hookPhase(live, health(live)) };
  } catch (error) {
    const message = `Failed to get hook health: failed to get resource health: ${messageOf(error)}`;
    return { known: false, phase: 'Error', message };
  }
}

function endOf({ phase, message }: HookObservation): TaskObservation {
  return isCompleted(phase) ? { phase, message } : { phase: 'Failed', message: 'Terminated' };
}
