import type { Comparison } from '#compare';
import type { ResourceRef, ResourceStatus } from '#model';

const shownDifferences = 20;

/** What differs, without values: of the first of them, `<Kind>/<name>: <paths>`. */
export function differences(comparison: Comparison): readonly string[] {
  const lines: string[] = [];
  for (const { key, live, target, diff, hook, own, unread } of comparison.pairs) {
    if (hook || !own || unread === true || !(diff.modified || live === null || target === null)) continue;
    const what = live === null ? 'is missing' : target === null ? 'is not in the manifests' : diff.paths.join(', ');
    lines.push(`${key}: ${what}`);
  }
  return lines.sort().slice(0, shownDifferences);
}

/** By the list, which stays the same for as long as nothing in it is another. */
const prunable = new WeakMap<readonly ResourceStatus[], readonly ResourceRef[]>();

/** The resources that no manifest names any more. */
export function leftoversOf(resources: readonly ResourceStatus[]): readonly ResourceRef[] {
  const known = prunable.get(resources);
  if (known !== undefined) return known;
  const refs = resources
    .filter(({ requiresPruning }) => requiresPruning === true)
    .map(({ group = '', kind = '', namespace = '', name = '' }) => ({ group, kind, namespace, name }));
  prunable.set(resources, refs);
  return refs;
}
