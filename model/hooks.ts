import { annotations } from './annotations.ts';
import { annotationOf, csvAnnotation } from './object.ts';
import type { KubeObject } from './object.ts';
import type { HookType } from './status.ts';

const argoHookTypes: ReadonlySet<string> = new Set<HookType>(['PreSync', 'Sync', 'PostSync', 'SyncFail', 'Skip']);
const helmHookTypes: Readonly<Record<string, HookType>> = {
  'pre-install': 'PreSync',
  'pre-upgrade': 'PreSync',
  'post-install': 'PostSync',
  'post-upgrade': 'PostSync',
};
/**
 * Hook types of an object: from Argo CD's annotation, or from Helm's if that names none
 * (gitops-engine/pkg/sync/hook).
 */
export function hookTypes(object: KubeObject): readonly HookType[] {
  const argo = csvAnnotation(object, annotations.hook).filter((type) => argoHookTypes.has(type)) as HookType[];
  if (argo.length > 0) return argo;
  const helm = csvAnnotation(object, annotations.helmHook).flatMap((type) => helmHookTypes[type] ?? []);
  return [...new Set(helm)];
}

/** True if the object is rendered but never synced: its only hook type is `Skip`. */
export function isSkipped(object: KubeObject): boolean {
  const types = hookTypes(object);
  return types.length === 1 && types[0] === 'Skip';
}

/**
 * True if the object runs as a hook: Argo CD's annotation is set and not `Skip` alone, or Helm's is
 * set and not `crd-install`.
 */
export function isHook(object: KubeObject): boolean {
  if (annotationOf(object, annotations.hook) !== undefined) return !isSkipped(object);
  const helm = annotationOf(object, annotations.helmHook);
  return helm !== undefined && helm !== 'crd-install';
}
