import { annotationOf, annotations, csvAnnotation, hookTypes, isHook, isSkipped } from '#model';
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

/** A hook whose type means nothing here (a garbage value, or only pre/post-delete): left out of syncs. */
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

/** Phases in which an object is applied: its hook types, or `Sync` for an ordinary resource. */
export function phasesOf(object: KubeObject): readonly SyncPhase[] {
  if (isSkipped(object)) return [];
  if (!isHook(object)) return ['Sync'];
  return hookTypes(object).filter((type): type is SyncPhase => type !== 'Skip');
}

/** Declared delete policies of both spellings, `BeforeHookCreation` when there is none. */
export function deletePolicies(object: KubeObject): readonly HookDeletePolicy[] {
  const argo = csvAnnotation(object, annotations.hookDeletePolicy).filter((p) =>
    argoPolicies.has(p),
  ) as HookDeletePolicy[];
  const helm = csvAnnotation(object, annotations.helmHookDeletePolicy).flatMap((p) => helmPolicies[p] ?? []);
  const all = [...new Set([...argo, ...helm])];
  return all.length > 0 ? all : ['BeforeHookCreation'];
}

/** Sync wave: Argo CD's annotation, else Helm's weight, else 0; a value that is no integer falls through. */
export function waveOf(object: KubeObject): number {
  for (const name of [annotations.syncWave, annotations.helmHookWeight]) {
    const text = annotationOf(object, name);
    if (text !== undefined && /^[+-]?[0-9]+$/.test(text)) return Number(text);
  }
  return 0;
}

/** Where a live hook stands, from its health (gitops-engine: getOperationPhase). */
export function hookPhase(
  object: KubeObject,
  health: HealthStatus | null,
): { readonly phase: OperationPhase; readonly message: string } {
  if (health === null) return { phase: 'Succeeded', message: `${object.metadata.name ?? ''} created` };
  const message = health.message ?? '';
  switch (health.status) {
    case 'Unknown':
    case 'Degraded':
      return { phase: 'Failed', message };
    case 'Progressing':
    case 'Suspended':
      return { phase: 'Running', message };
    case 'Healthy':
    case 'Missing':
      return { phase: 'Succeeded', message };
  }
}
