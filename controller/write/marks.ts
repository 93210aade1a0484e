import { deepEqual } from '#base';
import type { Json } from '#base';
import { jsonOf } from '#model';
import type { KubeObject } from '#model';

/** The Application that an object is tracked by. */
export type TrackedAppLookup = (object: KubeObject) => string | undefined;

/** Annotations that control how a sync, prune or deletion treats an object. */
const directivePrefixes = ['argocd.argoproj.io/', 'helm.sh/'] as const;

/**
 * The parts of an object that a deletion decision was based on, and that can be read again without
 * a comparison: tracking, presence of owners, and annotations such as `Prune=false`, `keep` or a
 * hook. Everything else may change at any time.
 */
function marksOf(object: KubeObject, appOf: TrackedAppLookup): Json {
  const { annotations = {}, ownerReferences = [] } = object.metadata;
  const said = Object.entries(annotations).filter(([name]) =>
    directivePrefixes.some((prefix) => name.startsWith(prefix)),
  );
  return [appOf(object) ?? null, ownerReferences.length > 0, jsonOf(Object.fromEntries(said))];
}

/** Whether the markings of an object changed since it was read. */
export function hasChangedMarks(before: KubeObject, now: KubeObject, appOf: TrackedAppLookup): boolean {
  return !deepEqual(marksOf(before, appOf), marksOf(now, appOf));
}
