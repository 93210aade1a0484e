import { deepEqual, isObject, own, setOwn } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { fieldOf, itemsOf } from './schema.ts';
import type { FieldSchema, TypeSchema } from './schema.ts';
import { isList, textOf } from './values.ts';

const setOrder = '$setElementOrder/';
const deleteFrom = '$deleteFromPrimitiveList/';
const retain = '$retainKeys';
const directive = '$patch';

/** The three versions of one value. `original` is what was applied last; undefined when that is not known. */
interface Versions<T> {
  readonly original: T | undefined;
  readonly target: T;
  readonly live: T;
}

/**
 * The strategic merge patch that kubectl apply would send: changes and additions from live to target, deletions from original to target
 * (k8s.io/apimachinery strategicpatch.CreateThreeWayMergePatch, overwrite). Undefined when there is nothing to do.
 *
 * Differences, each for the better: a list whose merge key does not identify its items (two ports 53, TCP and UDP) is matched by key and
 * protocol and replaced as a whole, where upstream mixes the items up; deletions of what live does not have are left out.
 */
export function strategicPatch(versions: Versions<JsonObject>, type: TypeSchema): JsonObject | undefined {
  const patch = patchMap(versions, type, false);
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function patchMap(
  { original, target, live }: Versions<JsonObject>,
  type: TypeSchema | undefined,
  retains: boolean,
): JsonObject {
  const patch: MutableJsonObject = {};
  for (const key of Object.keys(target)) {
    const wanted = target[key];
    if (wanted === undefined) continue;
    const present = own(live, key);
    if (present === undefined) {
      if (wanted !== null) setOwn(patch, key, wanted as MutableJson);
    } else patchField(patch, key, { original: original && own(original, key), target: wanted, live: present }, type);
  }
  for (const key of Object.keys(original ?? {}))
    if (own(target, key) === undefined && own(live, key) !== undefined) setOwn(patch, key, null);
  if (retains) addRetained(patch, target, live);
  return patch;
}

function addRetained(patch: MutableJsonObject, target: JsonObject, live: JsonObject): void {
  const keys = Object.keys(target).filter((key) => target[key] !== undefined && target[key] !== null);
  const more = Object.keys(live).some((key) => live[key] !== undefined && own(target, key) === undefined);
  if (keys.length > 0 && (more || Object.keys(patch).length > 0)) patch[retain] = keys.sort();
}

function patchField(
  patch: MutableJsonObject,
  key: string,
  versions: Versions<Json>,
  type: TypeSchema | undefined,
): void {
  const { original, target, live } = versions;
  if (target === live) return;
  const field = fieldOf(type, key);
  if (isObject(target) && isObject(live) && field?.replace !== true) {
    const inner = { original: mapOrNothing(original), target, live };
    const change = patchMap(inner, field?.type, field?.retainKeys ?? false);
    if (Object.keys(change).length > 0) setOwn(patch, key, change as MutableJsonObject);
  } else if (isList(target) && isList(live) && field?.mergeKey !== undefined)
    patchList(patch, key, { original: isList(original) ? original : [], target, live }, field);
  else if (!deepEqual(target, live)) setOwn(patch, key, target as MutableJson);
}

function mapOrNothing(value: Json | undefined): JsonObject | undefined {
  return isObject(value) ? value : undefined;
}

function patchList(patch: MutableJsonObject, key: string, lists: Lists, field: FieldSchema): void {
  const mergeKey = field.mergeKey ?? '';
  if (lists.live.length === 0) {
    if (lists.target.length > 0) setOwn(patch, key, lists.target as MutableJson);
  } else if (mergeKey === '') patchScalars(patch, key, lists);
  else if ([lists.target, lists.live, lists.original].every((list) => identifies(list, mergeKey)))
    patchItems(patch, key, lists, field);
  else replaceItems(patch, key, lists, field);
}

type Lists = Versions<readonly Json[]> & { readonly original: readonly Json[] };

/** A list of scalars that merges, such as finalizers. */
function patchScalars(patch: MutableJsonObject, key: string, { original, target, live }: Lists): void {
  if (deepEqual(target, live)) return;
  const added = target.filter((item) => !includes(live, item));
  const removed = original.filter((item) => !includes(target, item) && includes(live, item));
  if (added.length > 0) setOwn(patch, key, added as MutableJson);
  if (removed.length > 0) patch[deleteFrom + key] = removed as MutableJson;
  patch[setOrder + key] = target as MutableJson;
}

/** A list of objects that merges by a key. */
function patchItems(
  patch: MutableJsonObject,
  key: string,
  { original, target, live }: Lists,
  field: FieldSchema,
): void {
  const mergeKey = field.mergeKey ?? '';
  const idOf = (item: Json): Json => (isObject(item) ? (own(item, mergeKey) ?? null) : null);
  const items: Json[] = [];
  for (const wanted of target) {
    const id = idOf(wanted);
    const present = findBy(live, mergeKey, id);
    if (present === undefined) items.push(wanted);
    else if (isObject(wanted)) {
      const versions = { original: findBy(original, mergeKey, id), target: wanted, live: present };
      const change = patchMap(versions, itemsOf(field.type), field.retainKeys);
      if (Object.keys(change).length > 0) items.push({ ...change, [mergeKey]: id });
    }
  }
  for (const id of original.map(idOf))
    if (findBy(target, mergeKey, id) === undefined && findBy(live, mergeKey, id) !== undefined)
      items.push({ [directive]: 'delete', [mergeKey]: id });
  if (items.length > 0) setOwn(patch, key, items as MutableJson);
  if (items.length > 0 || !deepEqual(live.map(idOf), target.map(idOf)))
    patch[setOrder + key] = target.map((item) => ({ [mergeKey]: idOf(item) })) as MutableJson;
}

/** The merge key is not unique: match by key and protocol, and send the whole list as it shall be. */
function replaceItems(
  patch: MutableJsonObject,
  key: string,
  { original, target, live }: Lists,
  field: FieldSchema,
): void {
  const idOf = (item: Json): string => identity(item, field.mergeKey ?? '');
  const find = (list: readonly Json[], id: string): JsonObject | undefined => {
    const found = list.filter((item) => idOf(item) === id);
    return found.length === 1 && isObject(found[0]) ? found[0] : undefined;
  };
  const type = itemsOf(field.type);
  const merged = target.map((wanted) => {
    const present = find(live, idOf(wanted));
    if (present === undefined || !isObject(wanted)) return wanted;
    const versions = { original: find(original, idOf(wanted)), target: wanted, live: present };
    return applyMap(present, patchMap(versions, type, field.retainKeys), type);
  });
  const known = new Set([...target, ...original].map(idOf));
  const all = [...merged, ...live.filter((item) => !known.has(idOf(item)))];
  if (!deepEqual(all, live)) setOwn(patch, key, [...all, { [directive]: 'replace' }] as MutableJson);
}

function identity(item: Json, mergeKey: string): string {
  if (!isObject(item)) return textOf(item);
  return `${textOf(own(item, mergeKey))}/${textOf(own(item, 'protocol') ?? 'TCP')}`;
}

export function identifies(list: readonly Json[], mergeKey: string): boolean {
  const seen = new Set<Json>();
  for (const item of list) {
    const id = isObject(item) ? own(item, mergeKey) : undefined;
    if (id === undefined || seen.has(id)) return false;
    seen.add(id);
  }
  return true;
}

function findBy(list: readonly Json[], mergeKey: string, id: Json): JsonObject | undefined {
  return list.find((item): item is JsonObject => isObject(item) && own(item, mergeKey) === id);
}

function includes(list: readonly Json[], item: Json): boolean {
  return list.some((other) => deepEqual(other, item));
}

/**
 * Applies a patch that {@link strategicPatch} made. Nothing is changed in place; what the patch does not touch is shared with `live`. Knows
 * exactly the directives that are made here, in upstream's meaning (strategicpatch.StrategicMergePatch).
 */
export function applyStrategic(live: JsonObject, patch: JsonObject, type: TypeSchema): JsonObject {
  return applyMap(live, patch, type);
}

function applyMap(live: JsonObject, patch: JsonObject, type: TypeSchema | undefined): JsonObject {
  const result: MutableJsonObject = {};
  const retained = own(patch, retain);
  for (const key of Object.keys(live))
    if (!isList(retained) || retained.includes(key)) setOwn(result, key, live[key] as MutableJson);
  const keys = Object.keys(patch).filter((key) => patch[key] !== undefined && key !== retain);
  for (const key of keys.filter((name) => !isDirective(name))) {
    const change = patch[key] ?? null;
    if (change === null) Reflect.deleteProperty(result, key);
    else setOwn(result, key, applyValue(own(result, key), change, fieldOf(type, key)) as MutableJson);
  }
  for (const key of keys.filter((name) => name.startsWith(deleteFrom)))
    deleteScalars(result, key.slice(deleteFrom.length), patch[key]);
  for (const key of keys.filter((name) => name.startsWith(setOrder))) {
    const name = key.slice(setOrder.length);
    const items = own(result, name);
    const mergeKey = fieldOf(type, name)?.mergeKey ?? '';
    if (isList(items))
      setOwn(result, name, reordered(items, own(live, name), patch[key] ?? null, mergeKey) as MutableJson);
  }
  return result;
}

function isDirective(key: string): boolean {
  return key.startsWith(setOrder) || key.startsWith(deleteFrom);
}

function applyValue(present: Json | undefined, change: Json, field: FieldSchema | undefined): Json {
  if (isObject(change)) {
    if (isObject(present) && field?.replace !== true) return applyMap(present, change, field?.type);
    return withoutNulls(change);
  }
  if (!isList(change)) return change;
  const items = change;
  if (field?.mergeKey === undefined) return withoutNulls(items);
  const last = items.at(-1);
  if (isObject(last) && last[directive] === 'replace') return withoutNulls(items.slice(0, -1));
  if (!isList(present)) return withoutNulls(items);
  const here = present;
  if (field.mergeKey === '') return [...here, ...items.filter((item) => !includes(here, item))];
  return mergeItems(here, items, field);
}

function mergeItems(present: readonly Json[], items: readonly Json[], field: FieldSchema): Json {
  const mergeKey = field.mergeKey ?? '';
  let result = [...present];
  for (const item of items) {
    if (!isObject(item)) continue;
    const id = own(item, mergeKey) ?? null;
    if (item[directive] === 'delete')
      result = result.filter((other) => !(isObject(other) && own(other, mergeKey) === id));
    else {
      const at = result.findIndex((other) => isObject(other) && own(other, mergeKey) === id);
      const before = result[at];
      if (isObject(before)) result[at] = applyMap(before, item, itemsOf(field.type));
      else result.push(withoutNulls(item));
    }
  }
  return result;
}

function deleteScalars(result: MutableJsonObject, key: string, items: Json | undefined): void {
  const present = own(result, key);
  if (!isList(present) || !isList(items)) return;
  setOwn(result, key, present.filter((item) => !includes(items, item)) as MutableJson);
}

/**
 * Items that the target names stand in the target's order; the others keep their place among those that they stood before in live
 * (strategicpatch normalizeElementOrder and mergeSortedSlice).
 */
function reordered(items: readonly Json[], live: Json | undefined, order: Json, mergeKey: string): readonly Json[] {
  const idOf = (item: Json): Json => (mergeKey !== '' && isObject(item) ? (own(item, mergeKey) ?? null) : item);
  const placesIn = (list: Json | undefined): Map<Json, number> =>
    new Map((isList(list) ? list : []).map((item, i) => [idOf(item), i]));
  const [places, livePlaces] = [placesIn(order), placesIn(live)];
  const place = (item: Json): number => places.get(idOf(item)) ?? 0;
  const named = items.filter((item) => places.has(idOf(item))).sort((a, b) => place(a) - place(b));
  const others = items.filter((item) => !places.has(idOf(item)));
  const merged: Json[] = [];
  let at = 0;
  for (const item of named) {
    const stood = livePlaces.get(idOf(item)) ?? -1;
    for (
      let other = others[at];
      other !== undefined && (livePlaces.get(idOf(other)) ?? stood) < stood;
      other = others[at]
    ) {
      merged.push(other);
      at += 1;
    }
    merged.push(item);
  }
  return [...merged, ...others.slice(at)];
}

/** New parts of an object hold no nulls: kubectl and the API server drop them. */
export function withoutNulls(value: Json): Json {
  if (isList(value)) {
    const items = value.map(withoutNulls);
    return items.every((item, i) => item === value[i]) ? value : items;
  }
  if (!isObject(value)) return value;
  let changed = false;
  const result: MutableJsonObject = {};
  for (const key of Object.keys(value)) {
    const member = value[key];
    const after = member === undefined || member === null ? undefined : withoutNulls(member);
    if (after !== member) changed = true;
    if (after !== undefined) setOwn(result, key, after as MutableJson);
  }
  return changed ? result : value;
}
