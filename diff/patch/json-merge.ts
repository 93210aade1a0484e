import { deepEqual, isObject, ownMember, setOwnMember } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { isList } from '../shared/values.ts';

/** How to compare lists of custom resources. */
export type ListComparison =
  /** As they are, as kubectl does. */
  | 'exact'
  /**
   * Without fields of live's items that neither the target nor last-applied has: defaults of the
   * CRD.
   */
  | 'trimmed';

/**
 * Returns the JSON merge patch that kubectl apply would send for a kind without a known type:
 * changes and additions from live to target, and nulls for what was applied last and is dropped now
 * (k8s.io/apimachinery jsonmergepatch.CreateThreeWayJSONMergePatch). Lists are sent whole.
 * Undefined when nothing changes.
 *
 * Difference: Argo CD trims live to what was applied last before it compares
 * (gitops-engine/pkg/diff threeWayMergePatch). We also keep what the target has, so that an
 * addition inside an item counts.
 */
export function threeWayJsonPatch(
  original: JsonObject | undefined,
  target: JsonObject,
  live: JsonObject,
  lists: ListComparison,
): JsonObject | undefined {
  const patch: MutableJsonObject = {};
  for (const key of Object.keys(target)) {
    const wanted = target[key];
    if (wanted === undefined) continue;
    const change = patchValue(original && ownMember(original, key), wanted, ownMember(live, key), lists);
    if (change !== undefined) setOwnMember(patch, key, change as MutableJson);
  }
  for (const key of Object.keys(original ?? {}))
    if (ownMember(target, key) === undefined && ownMember(live, key) !== undefined) setOwnMember(patch, key, null);
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function patchValue(
  original: Json | undefined,
  wanted: Json,
  present: Json | undefined,
  lists: ListComparison,
): Json | undefined {
  if (wanted === present) return undefined;
  // A null that was applied before has already removed the field; a value there now is not ours.
  if (wanted === null) return present === undefined || original === null || original === undefined ? undefined : null;
  if (present === undefined) return withoutNullMembers(wanted);
  if (isObject(wanted) && isObject(present))
    return threeWayJsonPatch(isObject(original) ? original : undefined, wanted, present, lists);
  const compared = lists === 'trimmed' ? trimToMentioned(present, original, wanted) : present;
  return deepEqual(wanted, compared) ? undefined : withoutNullMembers(wanted);
}

/** Drops members of live that neither other version has, recursively; extra list items stay. */
export function trimToMentioned(live: Json, original: Json | undefined, target: Json | undefined): Json {
  if (isList(live)) {
    const [a, b] = [listOf(original), listOf(target)];
    return live.map((item, i) => (i < a.length || i < b.length ? trimToMentioned(item, a[i], b[i]) : item));
  }
  if (!isObject(live) || !(isObject(original) || isObject(target))) return live;
  const result: MutableJsonObject = {};
  for (const key of Object.keys(live)) {
    const [a, b] = [
      isObject(original) ? ownMember(original, key) : undefined,
      isObject(target) ? ownMember(target, key) : undefined,
    ];
    const member = live[key];
    if (member !== undefined && (a !== undefined || b !== undefined))
      setOwnMember(result, key, trimToMentioned(member, a, b) as MutableJson);
  }
  return result;
}

function listOf(value: Json | undefined): readonly Json[] {
  return isList(value) ? value : [];
}

/**
 * Drops null members of an addition: in a merge patch they would mean deletion. Nulls inside lists
 * are values and stay.
 */
function withoutNullMembers(value: Json): Json {
  if (!isObject(value)) return value;
  const result: MutableJsonObject = {};
  for (const key of Object.keys(value)) {
    const member = value[key];
    if (member !== undefined && member !== null) setOwnMember(result, key, withoutNullMembers(member) as MutableJson);
  }
  return result;
}

/** Applies a merge patch; shares untouched parts with `live`. */
export function applyJsonPatch(live: JsonObject, patch: JsonObject): JsonObject {
  const result: MutableJsonObject = {};
  for (const key of Object.keys(live)) setOwnMember(result, key, live[key] as MutableJson);
  for (const key of Object.keys(patch)) {
    const change = patch[key];
    if (change === undefined) continue;
    const present = ownMember(result, key);
    if (change === null) Reflect.deleteProperty(result, key);
    else if (isObject(change))
      setOwnMember(result, key, applyJsonPatch(isObject(present) ? present : {}, change) as MutableJsonObject);
    else setOwnMember(result, key, change as MutableJson);
  }
  return result;
}
