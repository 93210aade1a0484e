import type { Comparison } from '#compare';
import { finalizers } from '#model';
import type { Application } from '#model';

export type DeleteHook = 'PreDelete' | 'PostDelete';

export const cleanupFinalizers: Readonly<Record<DeleteHook, string>> = {
  PreDelete: `${finalizers.preDelete}/cleanup`,
  PostDelete: `${finalizers.postDelete}/cleanup`,
};
export const cascadeNames: readonly string[] = [
  finalizers.resources,
  finalizers.resourcesForeground,
  finalizers.resourcesBackground,
];
const hookFinalizerNames: readonly string[] = [
  finalizers.preDelete,
  finalizers.postDelete,
  cleanupFinalizers.PreDelete,
  cleanupFinalizers.PostDelete,
];

/**
 * The finalizers for an Application with these delete hooks; undefined if nothing changes. A hook's
 * finalizer and cleanup finalizer come as a pair (Argo CD: appcontroller.go
 * processAppRefreshQueueItem).
 */
function hookFinalizers(app: Application, pre: boolean, post: boolean): readonly string[] | undefined {
  const before = app.metadata.finalizers ?? [];
  const wanted = (type: DeleteHook, plain: string, present: boolean): readonly string[] => {
    const names = [plain, cleanupFinalizers[type]];
    const there = names.some((name) => before.includes(name));
    if (present) return there ? names.filter((name) => before.includes(name)) : names;
    return [];
  };
  const names = [
    ...wanted('PreDelete', finalizers.preDelete, pre),
    ...wanted('PostDelete', finalizers.postDelete, post),
  ];
  const kept = before.filter((name) => !hookFinalizerNames.includes(name) || names.includes(name));
  const next = [...kept, ...names.filter((name) => !kept.includes(name))];
  return next.length === before.length && next.every((name, i) => name === before[i]) ? undefined : next;
}

/**
 * The finalizers that follow from a comparison; undefined if unchanged, while the Application is
 * being deleted, or when the comparison failed. Hooks that may be missing only because the sources
 * rendered too little keep their finalizers.
 */
export function finalizersOf(app: Application, comparison: Comparison): readonly string[] | undefined {
  if (app.metadata.deletionTimestamp !== undefined || comparison.failed) return undefined;
  const has = (type: DeleteHook, plain: string): boolean =>
    comparison.mayLack === true &&
    [plain, cleanupFinalizers[type]].some((name) => app.metadata.finalizers?.includes(name));
  return hookFinalizers(
    app,
    comparison.hasPreDeleteHooks || has('PreDelete', finalizers.preDelete),
    comparison.hasPostDeleteHooks || has('PostDelete', finalizers.postDelete),
  );
}

/** Those of the Application's finalizers that its deletion removes itself. */
export function ownFinalizers(app: Application): readonly string[] {
  return (app.metadata.finalizers ?? []).filter(
    (name) => cascadeNames.includes(name) || hookFinalizerNames.includes(name),
  );
}
