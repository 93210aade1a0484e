import { deepEqual, isObject, ownMember, setOwnMember } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { fieldOf, itemsOf } from '../schema/schema.ts';
import type { FieldSchema, TypeSchema } from '../schema/schema.ts';
import { twinFields } from '../schema/twins.ts';
import { isList, textOf, withoutNulls } from '../shared/values.ts';

const setElementOrder = '$setElementOrder/';
const deleteFromList = '$deleteFromPrimitiveList/';
const retainKeys = '$retainKeys';
const patchDirective = '$patch';

/** Three versions of one value. `original` is the last applied one, undefined if unknown. */
interface ThreeVersions<T> {
  readonly original: T | undefined;
  readonly target: T;
  readonly live: T;
}

/**
 * Returns the strategic merge patch that kubectl apply would send: changes and additions from live
 * to target, deletions from original to target (k8s.io/apimachinery
 * strategicpatch.CreateThreeWayMergePatch, overwrite). Undefined when nothing changes.
 *
 * Differences, both improvements: a list whose merge key is not unique (two ports 53, TCP and UDP)
 * is matched by key and protocol and replaced as a whole, where upstream mixes up the items;
 * deletions of fields that live does not have are left out.
 */
export function strategicPatch(versions: ThreeVersions<JsonObject>, type: TypeSchema): JsonObject | undefined {
  const patch = patchMap(versions, type, false);
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function patchMap(
  { original, target, live }: ThreeVersions<JsonObject>,
  type: TypeSchema | undefined,
  retains: boolean,
): JsonObject {
  const patch: MutableJsonObject = {};
  for (const key of Object.keys(target)) {
    const wanted = target[key];
    if (wanted === undefined) continue;
    const present = ownMember(live, key);
    if (present === undefined) {
      if (wanted !== null) setOwnMember(patch, key, wanted as MutableJson);
    } else
      patchField(patch, key, { original: original && ownMember(original, key), target: wanted, live: present }, type);
  }
  for (const key of Object.keys(original ?? {}))
    if (ownMember(target, key) === undefined && ownMember(live, key) !== undefined) setOwnMember(patch, key, null);
  addDroppedTwins(patch, target, type);
  if (retains) addRetained(patch, target, live);
  return patch;
}

/** The server would restore a removed field from its twin, so both are removed. */
function addDroppedTwins(patch: MutableJsonObject, target: JsonObject, type: TypeSchema | undefined): void {
  const twins = type?.form === 'struct' ? twinFields(type.name) : undefined;
  if (twins === undefined) return;
  const names = [twins.current, twins.deprecated];
  const isDropped = names.some((name) => patch[name] === null);
  if (isDropped && names.every((name) => (ownMember(target, name) ?? null) === null))
    for (const name of names) setOwnMember(patch, name, null);
}

function addRetained(patch: MutableJsonObject, target: JsonObject, live: JsonObject): void {
  const keys = Object.keys(target).filter((key) => target[key] !== undefined && target[key] !== null);
  const more = Object.keys(live).some((key) => live[key] !== undefined && ownMember(target, key) === undefined);
  if (keys.length > 0 && (more || Object.keys(patch).length > 0)) patch[retainKeys] = keys.sort();
}

function patchField(
  patch: MutableJsonObject,
  key: string,
  versions: ThreeVersions<Json>,
  type: TypeSchema | undefined,
): void {
  const { original, target, live } = versions;
  if (target === live) return;
  const field = fieldOf(type, key);
  if (isObject(target) && isObject(live) && field?.replaceWhole !== true) {
    const inner = { original: mapOrNothing(original), target, live };
    const change = patchMap(inner, field?.type, field?.retainKeys ?? false);
    if (Object.keys(change).length > 0) setOwnMember(patch, key, change as MutableJsonObject);
  } else if (isList(target) && isList(live) && field?.mergeKey !== undefined)
    patchList(patch, key, { original: isList(original) ? original : [], target, live }, field);
  else if (!deepEqual(target, live)) setOwnMember(patch, key, target as MutableJson);
}

function mapOrNothing(value: Json | undefined): JsonObject | undefined {
  return isObject(value) ? value : undefined;
}

function patchList(patch: MutableJsonObject, key: string, lists: ThreeLists, field: FieldSchema): void {
  const mergeKey = field.mergeKey ?? '';
  if (lists.live.length === 0) {
    if (lists.target.length > 0) setOwnMember(patch, key, lists.target as MutableJson);
  } else if (mergeKey === '') patchScalars(patch, key, lists);
  else if ([lists.target, lists.live, lists.original].every((list) => hasUniqueKeys(list, mergeKey)))
    patchItems(patch, key, lists, field);
  else replaceItems(patch, key, lists, field);
}

type ThreeLists = ThreeVersions<readonly Json[]> & { readonly original: readonly Json[] };

/** Patches a merged list of scalars, such as finalizers. */
function patchScalars(patch: MutableJsonObject, key: string, { original, target, live }: ThreeLists): void {
  if (deepEqual(target, live)) return;
  const added = target.filter((item) => !includes(live, item));
  const removed = original.filter((item) => !includes(target, item) && includes(live, item));
  if (added.length > 0) setOwnMember(patch, key, added as MutableJson);
  if (removed.length > 0) patch[deleteFromList + key] = removed as MutableJson;
  patch[setElementOrder + key] = target as MutableJson;
}

/** Patches a list of objects by its merge key. */
function patchItems(
  patch: MutableJsonObject,
  key: string,
  { original, target, live }: ThreeLists,
  field: FieldSchema,
): void {
  const mergeKey = field.mergeKey ?? '';
  const idOf = (item: Json): Json => (isObject(item) ? (ownMember(item, mergeKey) ?? null) : null);
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
  const displaced = live.filter((item) => isDisplaced(item, target, { mergeKey, type: itemsOf(field.type) }));
  for (const id of new Set([...original, ...displaced].map(idOf)))
    if (findBy(target, mergeKey, id) === undefined && findBy(live, mergeKey, id) !== undefined)
      items.push({ [patchDirective]: 'delete', [mergeKey]: id });
  if (items.length > 0) setOwnMember(patch, key, items as MutableJson);
  if (items.length > 0 || !deepEqual(live.map(idOf), target.map(idOf)))
    patch[setElementOrder + key] = target.map((item) => ({ [mergeKey]: idOf(item) })) as MutableJson;
}

/** Lists whose items have a unique name besides their merge key: "": also when they have none. */
const uniqueNames: Readonly<Record<string, 'named' | 'all'>> = { ContainerPort: 'named', ServicePort: 'all' };

interface ItemKey {
  readonly mergeKey: string;
  readonly type: TypeSchema | undefined;
  /** A server-side apply merges by number and protocol, a patch may merge by number alone. */
  readonly isApplied?: boolean;
}

/**
 * Whether a live item has the name of another item of the target, so that the two cannot coexist:
 * an item of ours whose number or protocol was edited in the cluster.
 */
export function isDisplaced(
  item: Json,
  target: readonly Json[],
  { mergeKey, type, isApplied = false }: ItemKey,
): boolean {
  const unique = type?.form === 'struct' ? uniqueNames[type.name] : undefined;
  if (unique === undefined || !isObject(item)) return false;
  const name = textOf(ownMember(item, 'name'));
  if (name === '' && unique === 'named') return false;
  const [id, idKey] = [identity(item, mergeKey), ownMember(item, mergeKey)];
  const others = target.filter((other): other is JsonObject => isObject(other));
  const isMerged = (other: JsonObject): boolean => !isApplied && ownMember(other, mergeKey) === idKey;
  if (others.some((other) => identity(other, mergeKey) === id || isMerged(other))) return false;
  return others.some((other) => textOf(ownMember(other, 'name')) === name);
}

/**
 * For a merge key that is not unique: matches items by key and protocol, and sends the whole list.
 */
function replaceItems(
  patch: MutableJsonObject,
  key: string,
  { original, target, live }: ThreeLists,
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
  const isOurs = (item: Json): boolean =>
    known.has(idOf(item)) || isDisplaced(item, target, { mergeKey: field.mergeKey ?? '', type });
  const all = [...merged, ...live.filter((item) => !isOurs(item))];
  if (!deepEqual(all, live)) setOwnMember(patch, key, [...all, { [patchDirective]: 'replace' }] as MutableJson);
}

function identity(item: Json, mergeKey: string): string {
  if (!isObject(item)) return textOf(item);
  return `${textOf(ownMember(item, mergeKey))}/${textOf(ownMember(item, 'protocol') ?? 'TCP')}`;
}

export function hasUniqueKeys(list: readonly Json[], mergeKey: string): boolean {
  const seen = new Set<Json>();
  for (const item of list) {
    const id = isObject(item) ? ownMember(item, mergeKey) : undefined;
    if (id === undefined || seen.has(id)) return false;
    seen.add(id);
  }
  return true;
}

function findBy(list: readonly Json[], mergeKey: string, id: Json): JsonObject | undefined {
  return list.find((item): item is JsonObject => isObject(item) && ownMember(item, mergeKey) === id);
}

function includes(list: readonly Json[], item: Json): boolean {
  return list.some((other) => deepEqual(other, item));
}

/**
 * Applies a patch of {@link strategicPatch}. Changes nothing in place; shares untouched parts with
 * `live`. Supports only the directives used here, with upstream's semantics
 * (strategicpatch.StrategicMergePatch).
 */
export function applyStrategic(live: JsonObject, patch: JsonObject, type: TypeSchema): JsonObject {
  return applyMap(live, patch, type);
}

function applyMap(live: JsonObject, patch: JsonObject, type: TypeSchema | undefined): JsonObject {
  const result: MutableJsonObject = {};
  const retained = ownMember(patch, retainKeys);
  for (const key of Object.keys(live))
    if (!isList(retained) || retained.includes(key)) setOwnMember(result, key, live[key] as MutableJson);
  const keys = Object.keys(patch).filter((key) => patch[key] !== undefined && key !== retainKeys);
  for (const key of keys.filter((name) => !isDirective(name))) {
    const change = patch[key] ?? null;
    if (change === null) Reflect.deleteProperty(result, key);
    else setOwnMember(result, key, applyValue(ownMember(result, key), change, fieldOf(type, key)) as MutableJson);
  }
  for (const key of keys.filter((name) => name.startsWith(deleteFromList)))
    deleteScalars(result, key.slice(deleteFromList.length), patch[key]);
  for (const key of keys.filter((name) => name.startsWith(setElementOrder))) {
    const name = key.slice(setElementOrder.length);
    const items = ownMember(result, name);
    const mergeKey = fieldOf(type, name)?.mergeKey ?? '';
    if (isList(items))
      setOwnMember(result, name, reordered(items, ownMember(live, name), patch[key] ?? null, mergeKey) as MutableJson);
  }
  return result;
}

function isDirective(key: string): boolean {
  return key.startsWith(setElementOrder) || key.startsWith(deleteFromList);
}

function applyValue(present: Json | undefined, change: Json, field: FieldSchema | undefined): Json {
  if (isObject(change)) {
    if (isObject(present) && field?.replaceWhole !== true) return applyMap(present, change, field?.type);
    return withoutNulls(change);
  }
  if (!isList(change)) return change;
  const items = change;
  if (field?.mergeKey === undefined) return withoutNulls(items);
  const last = items.at(-1);
  if (isObject(last) && last[patchDirective] === 'replace') return withoutNulls(items.slice(0, -1));
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
    const id = ownMember(item, mergeKey) ?? null;
    if (item[patchDirective] === 'delete')
      result = result.filter((other) => !(isObject(other) && ownMember(other, mergeKey) === id));
    else {
      const at = result.findIndex((other) => isObject(other) && ownMember(other, mergeKey) === id);
      const before = result[at];
      if (isObject(before)) result[at] = applyMap(before, item, itemsOf(field.type));
      else result.push(withoutNulls(item));
    }
  }
  return result;
}

function deleteScalars(result: MutableJsonObject, key: string, items: Json | undefined): void {
  const present = ownMember(result, key);
  if (!isList(present) || !isList(items)) return;
  setOwnMember(result, key, present.filter((item) => !includes(items, item)) as MutableJson);
}

/**
 * Puts the target's items in the target's order; the others stay before the items that they precede
 * in live (strategicpatch normalizeElementOrder and mergeSortedSlice).
 */
function reordered(items: readonly Json[], live: Json | undefined, order: Json, mergeKey: string): readonly Json[] {
  const idOf = (item: Json): Json => (mergeKey !== '' && isObject(item) ? (ownMember(item, mergeKey) ?? null) : item);
  const positionsIn = (list: Json | undefined): Map<Json, number> =>
    new Map((isList(list) ? list : []).map((item, i) => [idOf(item), i]));
  const [positions, livePositions] = [positionsIn(order), positionsIn(live)];
  const positionOf = (item: Json): number => positions.get(idOf(item)) ?? 0;
  const named = items.filter((item) => positions.has(idOf(item))).sort((a, b) => positionOf(a) - positionOf(b));
  const others = items.filter((item) => !positions.has(idOf(item)));
  const merged: Json[] = [];
  let at = 0;
  for (const item of named) {
    const stood = livePositions.get(idOf(item)) ?? -1;
    for (
      let other = others[at];
      other !== undefined && (livePositions.get(idOf(other)) ?? stood) < stood;
      other = others[at]
    ) {
      merged.push(other);
      at += 1;
    }
    merged.push(item);
  }
  return [...merged, ...others.slice(at)];
}
