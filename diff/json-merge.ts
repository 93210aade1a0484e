import { deepEqual, isObject, own, setOwn } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { isList } from './values.ts';

/** How lists of custom resources compare. */
export type ListComparison =
  /** As they stand: what kubectl sends. */
  | 'exact'
  /** Without the fields of live items that neither the target nor what was applied last mentions: defaults of the CRD. */
  | 'trimmed';

/**
 * The JSON merge patch that kubectl apply would send for a kind without a known type: changes and additions from live to target, nulls for
 * what was applied last and is not wanted any more (k8s.io/apimachinery jsonmergepatch.CreateThreeWayJSONMergePatch). Undefined when there
 * is nothing to do. Lists are whole. Argo CD trims live by what was applied last before it compares (gitops-engine/pkg/diff
 * threeWayMergePatch); here also what the target mentions is kept, so that an addition inside an item is not lost.
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
    const change = patchValue(original && own(original, key), wanted, own(live, key), lists);
    if (change !== undefined) setOwn(patch, key, change as MutableJson);
  }
  for (const key of Object.keys(original ?? {}))
    if (own(target, key) === undefined && own(live, key) !== undefined) setOwn(patch, key, null);
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function patchValue(
  original: Json | undefined,
  wanted: Json,
  present: Json | undefined,
  lists: ListComparison,
): Json | undefined {
  if (wanted === present) return undefined;
  // A null that was applied before was taken out of the object then; it says nothing about what has grown there since.
  if (wanted === null) return present === undefined || original === null || original === undefined ? undefined : null;
  if (present === undefined) return withoutNullMembers(wanted);
  if (isObject(wanted) && isObject(present))
    return threeWayJsonPatch(isObject(original) ? original : undefined, wanted, present, lists);
  const compared = lists === 'trimmed' ? trim(present, original, wanted) : present;
  return deepEqual(wanted, compared) ? undefined : withoutNullMembers(wanted);
}

/** `live` without the members that neither template has, deep; extra items of lists stay. */
export function trim(live: Json, original: Json | undefined, target: Json | undefined): Json {
  if (isList(live)) {
    const [a, b] = [listOf(original), listOf(target)];
    return live.map((item, i) => (i < a.length || i < b.length ? trim(item, a[i], b[i]) : item));
  }
  if (!isObject(live) || !(isObject(original) || isObject(target))) return live;
  const result: MutableJsonObject = {};
  for (const key of Object.keys(live)) {
    const [a, b] = [
      isObject(original) ? own(original, key) : undefined,
      isObject(target) ? own(target, key) : undefined,
    ];
    const member = live[key];
    if (member !== undefined && (a !== undefined || b !== undefined))
      setOwn(result, key, trim(member, a, b) as MutableJson);
  }
  return result;
}

function listOf(value: Json | undefined): readonly Json[] {
  return isList(value) ? value : [];
}

/** In a merge patch a null member means deletion: an addition must not carry one. Inside lists nulls are values and stay. */
function withoutNullMembers(value: Json): Json {
  if (!isObject(value)) return value;
  const result: MutableJsonObject = {};
  for (const key of Object.keys(value)) {
    const member = value[key];
    if (member !== undefined && member !== null) setOwn(result, key, withoutNullMembers(member) as MutableJson);
  }
  return result;
}

/** Applies a merge patch and shares with `live` what it does not touch. */
export function applyJsonPatch(live: JsonObject, patch: JsonObject): JsonObject {
  const result: MutableJsonObject = {};
  for (const key of Object.keys(live)) setOwn(result, key, live[key] as MutableJson);
  for (const key of Object.keys(patch)) {
    const change = patch[key];
    if (change === undefined) continue;
    const present = own(result, key);
    if (change === null) Reflect.deleteProperty(result, key);
    else if (isObject(change))
      setOwn(result, key, applyJsonPatch(isObject(present) ? present : {}, change) as MutableJsonObject);
    else setOwn(result, key, change as MutableJson);
  }
  return result;
}
