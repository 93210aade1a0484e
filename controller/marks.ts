import { deepEqual } from '#base';
import type { Json } from '#base';
import { jsonOf } from '#model';
import type { KubeObject } from '#model';

/** The Application that an object says it belongs to. */
export type AppOf = (object: KubeObject) => string | undefined;

/** Annotations that say what a sync, a prune or a deletion may do with an object. */
const prefixes = ['argocd.argoproj.io/', 'helm.sh/'] as const;

/**
 * What a decision to delete an object was made by, but for what only a new comparison can tell: the Application that it says it belongs to, whether it
 * is of another object's, and what it says of itself (`Prune=false`, `keep`, a hook). Everything else may change all the time, by those who work with it.
 */
function marksOf(object: KubeObject, appOf: AppOf): Json {
  const { annotations = {}, ownerReferences = [] } = object.metadata;
  const said = Object.entries(annotations).filter(([name]) => prefixes.some((prefix) => name.startsWith(prefix)));
  return [appOf(object) ?? null, ownerReferences.length > 0, jsonOf(Object.fromEntries(said))];
}

/** Whether somebody has marked an object otherwise since it was looked at. */
export function isMarkedOtherwise(before: KubeObject, now: KubeObject, appOf: AppOf): boolean {
  return !deepEqual(marksOf(before, appOf), marksOf(now, appOf));
}
