import { finalizers, groupOf } from '#model';
import type { GroupKind, HealthStatus, KubeObject, OperationPhase } from '#model';
import { hookPhase, isLostHook, lostHookMessage } from './hooks.ts';
import { hasResourceOption, resourceOption } from './options.ts';
import { crdGroupKind, groupKindText, isDone, isPending, isPrune, isRunning, objectOf } from './plan.ts';
import type { SyncTask } from './plan.ts';
import type { SyncOptions } from './types.ts';

/** New phase of a running task. A message that is not empty replaces the old one. */
export interface TaskObservation {
  readonly phase: OperationPhase;
  readonly message: string;
}

/**
 * Observes a running task with a live object. A hook ends according to its own health; any other
 * resource succeeds when it is healthy or has no health check, and fails when it is degraded. Other
 * states of it are not recorded: its result keeps what the apply reported. Undefined: nothing to
 * record.
 */
export function observeTask(
  task: SyncTask,
  live: KubeObject,
  health: HealthStatus | null,
  now: number,
): TaskObservation | undefined {
  if (task.isHook) {
    const seen = hookPhase(live, health);
    const isLost = seen.phase === 'Running' && isLostHook(live, now);
    return isLost ? { phase: 'Failed', message: lostHookMessage(live) } : seen;
  }
  if (health === null) return { phase: 'Succeeded', message: '' };
  const message = health.message ?? '';
  if (health.status === 'Healthy') return { phase: 'Succeeded', message };
  return health.status === 'Degraded' ? { phase: 'Failed', message } : undefined;
}

/** From this age of the operation on, a status that is older than the spec is accepted. */
const outdatedStatusLimitMs = 180_000;

/**
 * Whether the status describes an earlier spec (`status.observedGeneration`). Many health checks
 * ignore that field and would judge a resource just applied by its old state. Some controllers
 * never update it, so three minutes into the operation the health check is trusted anyway. Argo CD
 * always trusts it.
 */
export function isStatusOutdated({ isHook }: SyncTask, live: KubeObject, ageMs: number): boolean {
  const { generation } = live.metadata;
  const status = live['status'] as { readonly observedGeneration?: unknown } | null | undefined;
  const seen = status?.observedGeneration;
  return (
    !isHook &&
    ageMs < outdatedStatusLimitMs &&
    typeof generation === 'number' &&
    typeof seen === 'number' &&
    seen < generation
  );
}

/** Whether the tasks span several phases or waves: each must be healthy before the next begins. */
export function isMultiStep(tasks: readonly SyncTask[]): boolean {
  const first = tasks[0];
  const last = tasks.at(-1);
  return first !== undefined && last !== undefined && (first.phase !== last.phase || first.wave !== last.wave);
}

/** Running tasks that the operation must wait for. */
export function blockingTasks(tasks: readonly SyncTask[]): SyncTask[] {
  const multiStep = isMultiStep(tasks);
  return tasks.filter((task) => isRunning(task) && (multiStep || task.isHook));
}

/** Whether the task ended without success. */
export function hasFailed(task: SyncTask): boolean {
  return isDone(task) && task.operationPhase !== 'Succeeded';
}

export function isBeingDeleted(object: KubeObject | null): boolean {
  return object?.metadata.deletionTimestamp !== undefined;
}

/** Whether the object was pruned but still exists. */
export function isDeletionPending(task: SyncTask): boolean {
  return task.status === 'Pruned' && isBeingDeleted(task.live);
}

export function hasHookFinalizer(object: KubeObject | null): boolean {
  return object?.metadata.finalizers?.includes(finalizers.hook) ?? false;
}

/** Splits pending tasks (not empty, in execution order) into the next wave and the rest. */
export function nextWave(pending: readonly SyncTask[]): {
  readonly current: SyncTask[];
  readonly remaining: SyncTask[];
} {
  const first = pending[0];
  const isCurrent = (task: SyncTask): boolean => task.phase === first?.phase && task.wave === first.wave;
  return { current: pending.filter(isCurrent), remaining: pending.filter((task) => !isCurrent(task)) };
}

/**
 * With ApplyOutOfSyncOnly: leaves out existing resources without a difference, but no hooks and no
 * prunes.
 */
export function withoutSynced(tasks: readonly SyncTask[], options: SyncOptions): SyncTask[] {
  if (!options.applyOutOfSyncOnly) return [...tasks];
  return tasks.filter((task) => task.isHook || task.modified || task.live === null || task.target === null);
}

export type PruneDecision = { readonly delete: true } | { readonly delete: false; readonly message: string };

/** Decides a prune by the options of operation and resource (gitops-engine: pruneObject). */
export function decidePrune(task: SyncTask, options: SyncOptions): PruneDecision {
  if (!options.prune) return { delete: false, message: 'ignored (requires pruning)' };
  const own = resourceOption(task.live, 'Prune') ?? options.defaultPrune;
  if (own === 'false') return { delete: false, message: 'ignored (no prune)' };
  if (own === undefined || own === 'true' || own === 'confirm') return { delete: true };
  return { delete: false, message: `ignored (Prune=${own} is none of true, false and confirm)` };
}

/** Whether a prune needs a confirmation that the operation does not have. */
export function lacksConfirmation(task: SyncTask, options: SyncOptions): boolean {
  if (options.pruneConfirmed || !isPrune(task)) return false;
  return (resourceOption(task.live, 'Prune') ?? options.defaultPrune) === 'confirm';
}

/** Kinds defined by CRDs of the same sync. */
export function kindsDefinedBySync(objects: readonly KubeObject[]): ReadonlySet<string> {
  return new Set(objects.flatMap((object) => crdGroupKind(object) ?? []));
}

/** Whether the sync may start although the cluster does not serve this kind yet. */
export function canKindBeMissing(
  target: KubeObject,
  options: SyncOptions,
  expectedKinds: ReadonlySet<string>,
): boolean {
  const gk: GroupKind = { group: groupOf(target.apiVersion), kind: target.kind };
  return (
    options.skipDryRunOnMissing ||
    hasResourceOption(target, 'SkipDryRunOnMissingResource=true') ||
    expectedKinds.has(groupKindText(gk))
  );
}

/**
 * Describes what an unfinished step waits for: "waiting for healthy state of apps/Deployment/web
 * and 2 more resources". The words and the choice of the named object are Argo CD's, because
 * clients show and match this text.
 */
export function waitingMessage(tasks: readonly SyncTask[], options: SyncOptions): string {
  const reason = tasks.some((task) => task.isHook) ? 'completion of hook' : 'healthy state of';
  return confirmationMessage(tasks, options) ?? waitingForText(reason, tasks);
}

/** As {@link waitingMessage}, for objects that must be gone before the step can go on. */
export function deletionMessage(tasks: readonly SyncTask[], options: SyncOptions): string {
  const reason = tasks.some((task) => task.isHook) ? 'deletion of hook' : 'deletion of';
  return confirmationMessage(tasks, options) ?? waitingForText(reason, tasks);
}

function confirmationMessage(tasks: readonly SyncTask[], options: SyncOptions): string | undefined {
  const unconfirmed = tasks.filter((task) => isPending(task) && lacksConfirmation(task, options));
  return unconfirmed.length > 0 ? waitingForText('pruning confirmation of', unconfirmed) : undefined;
}

/** Names the first hook, or else the first resource, and counts the others. */
export function waitingForText(reason: string, tasks: readonly SyncTask[]): string {
  const subject = tasks.find((task) => task.isHook) ?? tasks[0];
  if (subject === undefined) return '';
  const object = objectOf(subject);
  const text = `waiting for ${reason} ${groupOf(object.apiVersion)}/${object.kind}/${object.metadata.name ?? ''}`;
  if (tasks.length === 1) return text;
  const unit = tasks.every((task) => task.isHook) ? 'hooks' : 'resources';
  return `${text} and ${tasks.length - 1} more ${unit}`;
}

/** Final message with the distinct reasons, in task order (upstream: in random order). */
export function failureMessage(message: string, failed: readonly SyncTask[]): string {
  const reasons = [
    ...new Set(failed.flatMap((task) => (task.message === undefined || task.message === '' ? [] : [task.message]))),
  ];
  return reasons.length > 0 ? `${message}, reason: ${reasons.join(',')}` : message;
}
