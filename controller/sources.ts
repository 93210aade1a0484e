import { deepEqual, isObject } from '#base';
import type { Json } from '#base';
import { hasMultipleSources, jsonOf, sourceOf } from '#model';
import type { ApplicationSource, ApplicationSpec, ComparedTo } from '#model';

// Free-form values: an empty member of theirs means something, so it is compared as it is.
const literal = new Set(['valuesObject', 'plugin', 'commonLabels', 'commonAnnotations', 'patches']);

/**
 * Whether two sources mean the same: an empty, false or zero member equals an absent one, as for Go's structs. So a spec that was written by
 * hand equals its copy in a status that Argo CD wrote.
 */
export function equalSources(a: ApplicationSource, b: ApplicationSource): boolean {
  return deepEqual(withoutZeros(jsonOf(a)), withoutZeros(jsonOf(b)));
}

/** Equal length, and each source equal to its counterpart. */
export function equalSourceLists(
  a: readonly ApplicationSource[] | undefined,
  b: readonly ApplicationSource[] | undefined,
): boolean {
  const [left, right] = [a ?? [], b ?? []];
  return left.length === right.length && left.every((source, i) => equalSources(source, right[i] ?? { repoURL: '' }));
}

/** Deep equality where an absent member equals an empty one: for destinations, ignore rules and namespace metadata. */
export function equalLoosely(a: unknown, b: unknown): boolean {
  return deepEqual(withoutZeros(jsonOf(a)), withoutZeros(jsonOf(b)));
}

function withoutZeros(value: Json): Json | undefined {
  if (value === null || value === '' || value === false || value === 0) return undefined;
  if (Array.isArray(value)) {
    return value.length === 0 ? undefined : value.map((item: Json) => withoutZeros(item) ?? null);
  }
  if (!isObject(value)) return value;
  const members = Object.entries(value)
    .map(([key, member]) => [key, literal.has(key) ? member : withoutZeros(member ?? null)] as const)
    .filter(([, member]) => member !== undefined && !isEmpty(member));
  return members.length === 0 ? undefined : Object.fromEntries(members);
}

function isEmpty(value: Json): boolean {
  return isObject(value) && Object.keys(value).length === 0;
}

/** What a comparison was made against, to be stored in `status.sync.comparedTo`. */
export function comparedToOf(spec: ApplicationSpec): ComparedTo {
  return {
    source: hasMultipleSources(spec) ? { repoURL: '' } : sourceOf(spec),
    ...(hasMultipleSources(spec) ? { sources: spec.sources ?? [] } : {}),
    destination: spec.destination,
    ...((spec.ignoreDifferences?.length ?? 0) > 0 ? { ignoreDifferences: spec.ignoreDifferences ?? [] } : {}),
  };
}
