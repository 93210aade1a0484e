import { annotations } from './annotations.ts';
import { annotationOf, csvAnnotation } from './object.ts';
import type { KubeObject } from './object.ts';
import type { HookType } from './status.ts';

const argoTypes: ReadonlySet<string> = new Set<HookType>(['PreSync', 'Sync', 'PostSync', 'SyncFail', 'Skip']);
const helmTypes: Readonly<Record<string, HookType>> = {
  'pre-install': 'PreSync',
  'pre-upgrade': 'PreSync',
  'post-install': 'PostSync',
  'post-upgrade': 'PostSync',
};
/** Hook types of an object: Argo CD's annotation, and only if it names none, Helm's (gitops-engine/pkg/sync/hook). */
export function hookTypes(object: KubeObject): readonly HookType[] {
  const argo = csvAnnotation(object, annotations.hook).filter((type) => argoTypes.has(type)) as HookType[];
  if (argo.length > 0) return argo;
  const helm = csvAnnotation(object, annotations.helmHook).flatMap((type) => helmTypes[type] ?? []);
  return [...new Set(helm)];
}

/** An object that is rendered but never synced: its one hook type is `Skip`. */
export function isSkipped(object: KubeObject): boolean {
  const types = hookTypes(object);
  return types.length === 1 && types[0] === 'Skip';
}

/** Whether an object runs as a hook: Argo CD's annotation says so unless it names `Skip` alone, Helm's unless it is `crd-install`. */
export function isHook(object: KubeObject): boolean {
  if (annotationOf(object, annotations.hook) !== undefined) return !isSkipped(object);
  const helm = annotationOf(object, annotations.helmHook);
  return helm !== undefined && helm !== 'crd-install';
}
