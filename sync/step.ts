import { finalizers, groupOf } from '#model';
import type { GroupKind, HealthStatus, KubeObject, OperationPhase } from '#model';
import { hookPhase } from './hooks.ts';
import { hasResourceOption, resourceOption } from './options.ts';
import { crdGroupKind, groupKindText, isDone, isPending, isPrune, isRunning, objectOf } from './plan.ts';
import type { SyncTask } from './plan.ts';
import type { SyncOptions } from './types.ts';

/** What observation says about a running task: its new phase, and a message that replaces the old one when it is not empty. */
export interface Observation {
  readonly phase: OperationPhase;
  readonly message: string;
}

/**
 * Where a running task that has a live object stands now. A hook lives by its own health; an ordinary resource is finished when it is
 * healthy, or has no health, and fails when it is degraded.
 */
export function observe(task: SyncTask, live: KubeObject, health: HealthStatus | null): Observation {
  if (task.hook) return hookPhase(live, health);
  const message = health?.message ?? '';
  if (health === null) return { phase: 'Succeeded', message: '' };
  if (health.status === 'Healthy') return { phase: 'Succeeded', message };
  return { phase: health.status === 'Degraded' ? 'Failed' : 'Running', message };
}

/** How long after its start an operation does not take a status for granted that is older than its object's spec. */
const staleMs = 180_000;

/**
 * Whether the status of an ordinary resource is still that of an earlier spec, by its own word (`status.observedGeneration`). Many checks of health do
 * not look at that, and would find what was applied a moment ago Healthy, or Degraded, by what was before. Some controllers never say that they have
 * seen a spec: after three minutes the check is believed. Argo CD always believes it.
 */
export function isOutdated({ hook }: SyncTask, live: KubeObject, ageMs: number): boolean {
  const { generation } = live.metadata;
  const status = live['status'] as { readonly observedGeneration?: unknown } | null | undefined;
  const seen = status?.observedGeneration;
  return !hook && ageMs < staleMs && typeof generation === 'number' && typeof seen === 'number' && seen < generation;
}

/** More than one phase or wave: then resources must become healthy before the next begins. */
export function isMultiStep(tasks: readonly SyncTask[]): boolean {
  const first = tasks[0];
  const last = tasks.at(-1);
  return first !== undefined && last !== undefined && (first.phase !== last.phase || first.wave !== last.wave);
}

/** Running tasks that the operation has to wait for. */
export function awaited(tasks: readonly SyncTask[]): SyncTask[] {
  const multiStep = isMultiStep(tasks);
  return tasks.filter((task) => isRunning(task) && (multiStep || task.hook));
}

/** A task of the operation proper (not of its failure handling) that ended badly. */
export function hasFailed(task: SyncTask): boolean {
  return isDone(task) && task.operationPhase !== 'Succeeded';
}

export function isBeingDeleted(object: KubeObject | null): boolean {
  return object?.metadata.deletionTimestamp !== undefined;
}

/** Pruned, but the object still has to go. */
export function isLeaving(task: SyncTask): boolean {
  return task.status === 'Pruned' && isBeingDeleted(task.live);
}

export function hasHookFinalizer(object: KubeObject | null): boolean {
  return object?.metadata.finalizers?.includes(finalizers.hook) ?? false;
}

/** The first wave of the pending tasks, and whether any wave follows. Tasks must be in order of execution and not empty. */
export function nextWave(pending: readonly SyncTask[]): {
  readonly current: SyncTask[];
  readonly remaining: SyncTask[];
} {
  const first = pending[0];
  const isCurrent = (task: SyncTask): boolean => task.phase === first?.phase && task.wave === first.wave;
  return { current: pending.filter(isCurrent), remaining: pending.filter((task) => !isCurrent(task)) };
}

/** With ApplyOutOfSyncOnly: leaves out resources that are there and do not differ. Hooks always stay. */
export function withoutSynced(tasks: readonly SyncTask[], options: SyncOptions): SyncTask[] {
  if (!options.applyOutOfSyncOnly) return [...tasks];
  return tasks.filter((task) => task.hook || task.modified || task.live === null || task.target === null);
}

export type PruneDecision = { readonly delete: true } | { readonly delete: false; readonly message: string };

/** Whether a prune task may delete, by the operation and the resource's own option (gitops-engine: pruneObject). */
export function decidePrune(task: SyncTask, options: SyncOptions): PruneDecision {
  if (!options.prune) return { delete: false, message: 'ignored (requires pruning)' };
  const own = resourceOption(task.live, 'Prune') ?? options.defaultPrune;
  return own === 'false' ? { delete: false, message: 'ignored (no prune)' } : { delete: true };
}

/** True if a prune waits for a person's consent that the operation does not have. */
export function lacksConfirmation(task: SyncTask, options: SyncOptions): boolean {
  if (options.pruneConfirmed || !isPrune(task)) return false;
  return (resourceOption(task.live, 'Prune') ?? options.defaultPrune) === 'confirm';
}

/** Kinds that CRDs of this very sync define: they need not be known yet. */
export function kindsToCome(objects: readonly KubeObject[]): ReadonlySet<string> {
  return new Set(objects.flatMap((object) => crdGroupKind(object) ?? []));
}

/** The cluster may not know this kind yet, and that is all right. */
export function mayBeMissing(target: KubeObject, options: SyncOptions, toCome: ReadonlySet<string>): boolean {
  const gk: GroupKind = { group: groupOf(target.apiVersion), kind: target.kind };
  return (
    options.skipDryRunOnMissing ||
    hasResourceOption(target, 'SkipDryRunOnMissingResource=true') ||
    toCome.has(groupKindText(gk))
  );
}

/**
 * "waiting for healthy state of apps/Deployment/web and 2 more resources": what an unfinished step waits for. Words and choice of
 * the subject are Argo CD's: clients show and match this text.
 */
export function waitingMessage(tasks: readonly SyncTask[], options: SyncOptions): string {
  const unconfirmed = tasks.filter((task) => isPending(task) && lacksConfirmation(task, options));
  if (unconfirmed.length > 0) return waitingFor('pruning confirmation of', unconfirmed);
  const hooks = tasks.some((task) => task.hook);
  const deletion = tasks.some((task) => isPending(task) && task.live !== null) || tasks.some(isLeaving);
  if (deletion && tasks.every((task) => !isRunning(task)))
    return waitingFor(hooks ? 'deletion of hook' : 'deletion of', tasks);
  return waitingFor(hooks ? 'completion of hook' : 'healthy state of', tasks);
}

/** The first hook is named before any resource; the rest is counted. */
export function waitingFor(reason: string, tasks: readonly SyncTask[]): string {
  const subject = tasks.find((task) => task.hook) ?? tasks[0];
  if (subject === undefined) return '';
  const object = objectOf(subject);
  const text = `waiting for ${reason} ${groupOf(object.apiVersion)}/${object.kind}/${object.metadata.name ?? ''}`;
  if (tasks.length === 1) return text;
  const unit = tasks.every((task) => task.hook) ? 'hooks' : 'resources';
  return `${text} and ${tasks.length - 1} more ${unit}`;
}

/** The end of an operation that failed: message, then the distinct reasons (upstream orders them by chance, we by task). */
export function failureMessage(message: string, failed: readonly SyncTask[]): string {
  const reasons = [
    ...new Set(failed.flatMap((task) => (task.message === undefined || task.message === '' ? [] : [task.message]))),
  ];
  return reasons.length > 0 ? `${message}, reason: ${reasons.join(',')}` : message;
}
