import { finalizers } from '#model';
import type { Application } from '#model';

export type DeleteHook = 'PreDelete' | 'PostDelete';

export const cleanupOf: Readonly<Record<DeleteHook, string>> = {
  PreDelete: `${finalizers.preDelete}/cleanup`,
  PostDelete: `${finalizers.postDelete}/cleanup`,
};
export const hookNames: readonly string[] = [
  finalizers.preDelete,
  finalizers.postDelete,
  cleanupOf.PreDelete,
  cleanupOf.PostDelete,
];

/**
 * The finalizers that an application with these delete hooks should have; undefined when it has them. Both stages come and go together
 * (Argo CD: appcontroller.go processAppRefreshQueueItem).
 */
export function hookFinalizers(app: Application, pre: boolean, post: boolean): readonly string[] | undefined {
  const before = app.metadata.finalizers ?? [];
  const wanted = (type: DeleteHook, plain: string, present: boolean): readonly string[] => {
    const names = [plain, cleanupOf[type]];
    const there = names.some((name) => before.includes(name));
    if (present) return there ? names.filter((name) => before.includes(name)) : names;
    return [];
  };
  const names = [
    ...wanted('PreDelete', finalizers.preDelete, pre),
    ...wanted('PostDelete', finalizers.postDelete, post),
  ];
  const kept = before.filter((name) => !hookNames.includes(name) || names.includes(name));
  const next = [...kept, ...names.filter((name) => !kept.includes(name))];
  return next.length === before.length && next.every((name, i) => name === before[i]) ? undefined : next;
}
