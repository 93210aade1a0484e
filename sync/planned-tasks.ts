import { asCount, DriftlessError } from '#base';
import { findResource } from '#kube';
import { groupOf } from '#model';
import type { ResourceRef, SyncPhase } from '#model';
import { isPrune, objectOf, planTasks } from './plan.ts';
import type { SyncTask } from './plan.ts';
import { checkTasks, namelessTasks, namespaceTask } from './prepare.ts';
import { whyNotPruned } from './task.ts';
import type { SyncRequest } from './types.ts';

/** A task of a sync, before it runs. */
export interface PlannedTask extends ResourceRef {
  readonly phase: SyncPhase;
  readonly wave: number;
  /** `keep`: without a target, but not pruned. */
  readonly action: 'create' | 'update' | 'unchanged' | 'hook' | 'prune' | 'keep';
  /** Why the sync refuses to start: unknown kind, denied, or without a name. */
  readonly problem?: string;
}

/**
 * The tasks of an operation that has not begun, in execution order. Only reads.
 * @throws DriftlessError if the destination namespace cannot be read.
 */
export async function planSync(request: SyncRequest): Promise<readonly PlannedTask[]> {
  const created = await namespaceTask(request);
  if ('error' in created)
    throw new DriftlessError('LIVE_STATE', `cannot read the destination namespace: ${created.error}`);
  const tasks = planTasks(request, created.task);
  const problems = new Map(checkTasks(tasks, request).map(({ task, message }) => [task, message]));
  for (const { task, message } of namelessTasks(tasks, request)) problems.set(task, problems.get(task) ?? message);
  return tasks.map((task) => plannedTask(task, request, problems.get(task)));
}

function plannedTask(task: SyncTask, request: SyncRequest, problem: string | undefined): PlannedTask {
  const { apiVersion, kind, metadata } = objectOf(task);
  const group = groupOf(apiVersion);
  const isNamespaced = findResource(request.writer.discovery, { group, kind })?.namespaced ?? true;
  return {
    phase: task.phase,
    wave: asCount(task.wave, 0),
    action: actionOf(task, request),
    group,
    kind,
    namespace: isNamespaced ? (metadata.namespace ?? request.destinationNamespace) : '',
    name: metadata.name ?? '',
    ...(problem === undefined ? {} : { problem }),
  };
}

function actionOf(task: SyncTask, request: SyncRequest): PlannedTask['action'] {
  if (isPrune(task)) return whyNotPruned(task, request) === undefined ? 'prune' : 'keep';
  if (task.isHook) return 'hook';
  if (task.live === null) return 'create';
  return task.modified ? 'update' : 'unchanged';
}
