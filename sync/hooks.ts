import { parseGoAtoi } from '#base';
import type { ExactInteger } from '#base';
import { annotationOf, annotations, csvAnnotation, finalizers, gkOf, hookTypes, isHook, isSkipped } from '#model';
import type { HealthStatus, KubeObject, OperationPhase, SyncPhase } from '#model';

/** When a hook is deleted. */
export type HookDeletePolicy = 'HookSucceeded' | 'HookFailed' | 'BeforeHookCreation';

const argoPolicies: ReadonlySet<string> = new Set<HookDeletePolicy>([
  'HookSucceeded',
  'HookFailed',
  'BeforeHookCreation',
]);
const helmPolicies: Readonly<Record<string, HookDeletePolicy>> = {
  'hook-succeeded': 'HookSucceeded',
  'hook-failed': 'HookFailed',
  'before-hook-creation': 'BeforeHookCreation',
};

/** Whether syncs ignore this hook: its types are invalid, or only pre-delete or post-delete. */
export function isIgnored(object: KubeObject): boolean {
  return isHook(object) && hookTypes(object).length === 0;
}

export function isPreDeleteHook(object: KubeObject): boolean {
  return (
    csvAnnotation(object, annotations.hook).includes('PreDelete') ||
    csvAnnotation(object, annotations.helmHook).includes('pre-delete')
  );
}

export function isPostDeleteHook(object: KubeObject): boolean {
  return (
    csvAnnotation(object, annotations.hook).includes('PostDelete') ||
    csvAnnotation(object, annotations.helmHook).includes('post-delete')
  );
}

/** The phases in which an object is applied: its hook types, or `Sync` if it is no hook. */
export function phasesOf(object: KubeObject): readonly SyncPhase[] {
  if (isSkipped(object)) return [];
  if (!isHook(object)) return ['Sync'];
  return hookTypes(object).filter((type): type is SyncPhase => type !== 'Skip');
}

/** Delete policies from the annotations of Argo CD and Helm. Default: `BeforeHookCreation`. */
export function deletePolicies(object: KubeObject): readonly HookDeletePolicy[] {
  const argo = csvAnnotation(object, annotations.hookDeletePolicy).filter((p) =>
    argoPolicies.has(p),
  ) as HookDeletePolicy[];
  const helm = csvAnnotation(object, annotations.helmHookDeletePolicy).flatMap((p) => helmPolicies[p] ?? []);
  const all = [...new Set([...argo, ...helm])];
  return all.length > 0 ? all : ['BeforeHookCreation'];
}

const waveAnnotations = [annotations.syncWave, annotations.helmHookWeight] as const;

/**
 * Sync wave: Argo CD's annotation, else Helm's weight, else 0. What Go's Atoi refuses counts as
 * absent: other text, and numbers out of the range of 64 bits.
 */
export function waveOf(object: KubeObject): ExactInteger {
  for (const name of waveAnnotations) {
    const text = annotationOf(object, name);
    const wave = text === undefined ? undefined : parseGoAtoi(text);
    if (wave !== undefined) return wave;
  }
  return 0;
}

/** The first annotation of a sync wave that counts as absent, with its value. */
export function unreadableWave(object: KubeObject): { readonly name: string; readonly value: string } | undefined {
  for (const name of waveAnnotations) {
    const value = annotationOf(object, name);
    if (value !== undefined && parseGoAtoi(value) === undefined) return { name, value };
  }
  return undefined;
}

/** The hook with the finalizer that keeps it, if it is deleted, until we have seen how it ended. */
export function withHookFinalizer(hook: KubeObject): KubeObject {
  const kept = hook.metadata.finalizers ?? [];
  if (kept.includes(finalizers.hook)) return hook;
  return { ...hook, metadata: { ...hook.metadata, finalizers: [...kept, finalizers.hook] } };
}

/** The time that its controller has to record how a deleted hook ended. */
const deletedHookGraceMs = 60_000;

/**
 * Whether a hook that has not ended never will: a Job that is being deleted starts no pods, and
 * another object has no controller left that holds it. Our finalizer keeps it, and with it its
 * namespace. Argo CD waits for its end for ever.
 */
export function isLostHook(hook: KubeObject, now: number): boolean {
  const deletedAt = Date.parse(hook.metadata.deletionTimestamp ?? '');
  return now - deletedAt >= deletedHookGraceMs && !isHeldByOthers(hook);
}

/** Pods of a Job run on while it is kept; for another object, its own finalizers show work. */
function isHeldByOthers(hook: KubeObject): boolean {
  const { group, kind } = gkOf(hook);
  if (group !== 'batch' || kind !== 'Job')
    return hook.metadata.finalizers?.some((name) => name !== finalizers.hook) === true;
  const { active } = (hook['status'] ?? {}) as { readonly active?: unknown };
  return (active ?? 0) !== 0;
}

export function lostHookMessage({ kind }: KubeObject): string {
  return `the ${kind} was deleted before it ended`;
}

/** Phase of a live hook, from its health (gitops-engine: getOperationPhase). */
export function hookPhase(
  object: KubeObject,
  health: HealthStatus | null,
): { readonly phase: OperationPhase; readonly message: string } {
  const created = `${object.metadata.name ?? ''} created`;
  if (health === null) return { phase: 'Succeeded', message: created };
  const message = health.message ?? '';
  switch (health.status) {
    case 'Unknown':
    case 'Degraded':
      return { phase: 'Failed', message };
    case 'Progressing':
    case 'Suspended':
      return { phase: 'Running', message };
    case 'Healthy':
      return { phase: 'Succeeded', message };
    case 'Missing':
      return { phase: 'Succeeded', message: created };
  }
}
