import { canonicalJson, isObject, own, setOwn } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { itemMatcher } from './managed-fields.ts';
import { prune } from './remove.ts';
import type { Marks } from './remove.ts';
import { fieldOf, itemsOf } from './schema.ts';
import type { TypeSchema } from './schema.ts';
import { identifies } from './strategic.ts';
import { isList } from './values.ts';

/** How an object will be sent: kubectl's client-side apply, server-side apply, or as a whole (replaced, or deleted and made anew). */
export type ApplyMethod = 'client' | 'server' | 'whole';

/** What is known about a place in the two objects, besides their values there. */
export interface Place {
  readonly method: ApplyMethod;
  readonly type: TypeSchema | undefined;
  /** By what the items of this list are told apart when it is sent; undefined when it is sent as a whole. */
  readonly mergeKey: string | undefined;
  /** Part of something that is sent as a whole: what is left out is gone. */
  readonly whole: boolean;
  /** What was applied last. */
  readonly applied: Json | undefined;
  /** Entries of managed fields here: of the managers that we write as, and of the others. */
  readonly ours: readonly JsonObject[];
  readonly theirs: readonly JsonObject[];
}

/** Something of both sides: values, or marks on what is ignored in them. */
interface Pair<T> {
  readonly target: T;
  readonly live: T;
}
type MarksPair = Pair<Marks | undefined>;

/** The target with live's values where something is marked (see respectIgnored). */
export function mergeMaps({ target, live }: Pair<JsonObject>, marks: MarksPair, place: Place): JsonObject {
  const merged: MutableJsonObject = {};
  for (const [key, wanted] of Object.entries(target)) {
    if (wanted === undefined) continue;
    const inner = { target: marks.target?.children.get(key), live: marks.live?.children.get(key) };
    const value = mergeValues({ target: wanted, live: own(live, key) }, inner, below(place, key));
    if (value !== undefined) setOwn(merged, key, value as MutableJson);
  }
  for (const [key, inner] of marks.live?.children ?? []) {
    if (typeof key !== 'string' || own(target, key) !== undefined) continue;
    const value = onlyIgnored(own(live, key), inner, below(place, key));
    if (value !== undefined) setOwn(merged, key, value as MutableJson);
  }
  return merged;
}

function mergeValues(
  { target, live }: { readonly target: Json; readonly live: Json | undefined },
  marks: MarksPair,
  place: Place,
): Json | undefined {
  if (marks.target?.remove === true) return live !== undefined && mustSend(live, place) ? live : undefined;
  if (live === undefined) return withoutIgnored(target, marks.target);
  if ((marks.target?.children.size ?? 0) + (marks.live?.children.size ?? 0) === 0) return target;
  if (isObject(target) && isObject(live)) return mergeMaps({ target, live }, marks, place);
  return isList(target) && isList(live) ? mergeLists({ target, live }, marks, place) : target;
}

/** Of something that live does not have: what is ignored stays away, but a new item of a list is wanted as it is. */
function withoutIgnored(value: Json, marks: Marks | undefined): Json {
  if (marks === undefined) return value;
  if (isList(value)) return value.filter((_item, i) => marks.children.get(i)?.remove !== true);
  if (!isObject(value)) return value;
  const kept: MutableJsonObject = {};
  for (const [key, member] of Object.entries(value)) {
    const inner = marks.children.get(key);
    if (member !== undefined && inner?.remove !== true) setOwn(kept, key, withoutIgnored(member, inner) as MutableJson);
  }
  return kept;
}

/**
 * Of something that the target does not have: only what is ignored, undefined when nothing of that has to be sent. What was applied and is
 * not wanted any more would be deleted with all that is in it.
 */
function onlyIgnored(value: Json | undefined, marks: Marks, place: Place): Json | undefined {
  if (value === undefined) return undefined;
  if (marks.remove) return mustSend(value, place) ? value : undefined;
  const here = { ...place, whole: place.whole || (place.method === 'client' && place.applied !== undefined) };
  if (isList(value)) {
    const at = listPlace(here, [value]);
    const isWanted = (item: Json, i: number): boolean =>
      marks.children.get(i)?.remove === true && mustSend(item, itemPlace(at, item));
    const items = value.filter(isWanted);
    return items.length === 0 ? undefined : items;
  }
  if (!isObject(value)) return undefined;
  const merged = mergeMaps({ target: {}, live: value }, { target: undefined, live: marks }, here);
  return Object.keys(merged).length === 0 ? undefined : merged;
}

/** Lists that merge by a key are matched by it, others by what their items are without the ignored parts. */
function mergeLists(lists: Pair<readonly Json[]>, marks: MarksPair, place: Place): Json {
  const at = listPlace(place, [lists.target, lists.live]);
  const partners = at.mergeKey === undefined ? likePartners(lists, marks) : keyedPartners(lists, at.mergeKey);
  const merged: Slot[] = [];
  for (const [i, wanted] of lists.target.entries()) {
    const partner = partners.get(i);
    const inner = { target: marks.target?.children.get(i), live: undefined as Marks | undefined };
    if (partner === undefined) {
      if (inner.target?.remove !== true) merged.push({ value: wanted, partner });
      continue;
    }
    inner.live = marks.live?.children.get(partner);
    const present = lists.live[partner] ?? null;
    const value = mergeValues({ target: wanted, live: present }, inner, itemPlace(at, present));
    if (value !== undefined) merged.push({ value, partner });
  }
  const taken = new Set(partners.values());
  for (const [j, present] of lists.live.entries())
    if (marks.live?.children.get(j)?.remove === true && !taken.has(j) && mustSend(present, itemPlace(at, present)))
      insert(merged, { value: present, partner: j });
  return merged.map((slot) => slot.value);
}

interface Slot {
  readonly value: Json;
  /** Which item of live it comes from, or belongs to. */
  readonly partner: number | undefined;
}

/** Behind the item that it follows in live. */
function insert(slots: Slot[], slot: Slot): void {
  const place = slot.partner ?? 0;
  const before = slots.reduce((best, { partner }, i) => {
    const nearest = slots[best]?.partner ?? -1;
    return partner !== undefined && partner < place && partner > nearest ? i : best;
  }, -1);
  slots.splice(before + 1, 0, slot);
}

/** For each item of the target the item of live that it is. */
type Partners = ReadonlyMap<number, number>;

function keyedPartners({ target, live }: Pair<readonly Json[]>, mergeKey: string): Partners {
  const places = new Map(live.map((item, j) => [idOf(item, mergeKey), j]));
  const partners = new Map<number, number>();
  for (const [i, item] of target.entries()) {
    const j = places.get(idOf(item, mergeKey));
    if (j !== undefined) partners.set(i, j);
  }
  return partners;
}

function idOf(item: Json, mergeKey: string): string {
  return canonicalJson(mergeKey !== '' && isObject(item) ? (own(item, mergeKey) ?? null) : item);
}

/** Items that are equal but for what is ignored; of the rest those of one name; then, when as many are left on both sides, in order. */
function likePartners(lists: Pair<readonly Json[]>, marks: MarksPair): Partners {
  const partners = new Map<number, number>();
  const open = { target: openItems(lists.target, marks.target), live: openItems(lists.live, marks.live) };
  const pairBy = (id: (item: Json) => string | undefined, unique: boolean): void => {
    const [left, right] = [grouped(open.target, id), grouped(open.live, id)];
    for (const [text, places] of left) {
      const others = right.get(text) ?? [];
      if (unique && (places.length > 1 || others.length > 1)) continue;
      for (const [n, i] of places.entries()) {
        const j = others[n];
        if (j === undefined) break;
        partners.set(i, j);
        open.target.delete(i);
        open.live.delete(j);
      }
    }
  };
  pairBy(canonicalJson, false);
  for (const field of ['name', 'id', 'key']) pairBy((item) => nameOf(item, field), true);
  if (open.target.size === open.live.size) pairBy(() => '', false);
  return partners;
}

function nameOf(item: Json, field: string): string | undefined {
  const name = isObject(item) ? own(item, field) : undefined;
  return typeof name === 'string' ? name : undefined;
}

/** What is not ignored as a whole, without its ignored parts. */
function openItems(list: readonly Json[], marks: Marks | undefined): Map<number, Json> {
  const open = new Map<number, Json>();
  for (const [i, item] of list.entries()) {
    const inner = marks?.children.get(i);
    if (inner?.remove !== true) open.set(i, inner === undefined ? item : prune(item, inner));
  }
  return open;
}

function grouped(items: ReadonlyMap<number, Json>, id: (item: Json) => string | undefined): Map<string, number[]> {
  const groups = new Map<string, number[]>();
  for (const [i, item] of items) {
    const text = id(item);
    if (text !== undefined) groups.set(text, [...(groups.get(text) ?? []), i]);
  }
  return groups;
}

/** False: live keeps this value although it is not sent. */
function mustSend(value: Json, { method, whole, applied, ours, theirs }: Place): boolean {
  if (method === 'whole' || whole) return true;
  return method === 'client' ? applied !== undefined : ours.length > 0 && !covers(theirs, value);
}

/** Do these entries own all of the value? */
function covers(fields: readonly JsonObject[], value: Json): boolean {
  if (fields.length === 0) return false;
  if (fields.some(isLeaf)) return true;
  if (isObject(value))
    return Object.entries(value).every(([key, member]) => covers(fieldsBelow(fields, key), member ?? null));
  return isList(value) && value.every((item) => covers(fieldsOfItem(fields, item), item));
}

function isLeaf(fields: JsonObject): boolean {
  return Object.keys(fields).length === 0;
}

/** What is owned as a whole is owned in each of its parts. */
function fieldsBelow(fields: readonly JsonObject[], key: string): readonly JsonObject[] {
  return fields.flatMap((entry) => (isLeaf(entry) ? [entry] : [own(entry, `f:${key}`)].filter(isObject)));
}

function fieldsOfItem(fields: readonly JsonObject[], item: Json): readonly JsonObject[] {
  return fields.flatMap((entry) => {
    if (isLeaf(entry)) return [entry];
    const keys = Object.keys(entry).filter((key) => /^[kv]:/.test(key) && itemMatcher(key)?.(item, -1) === true);
    return keys.map((key) => own(entry, key)).filter(isObject);
  });
}

function below(place: Place, key: string): Place {
  const field = fieldOf(place.type, key);
  const { method, applied } = place;
  const strategicWhole = method === 'client' && (field?.retainKeys === true || field?.replace === true);
  const atomic = method === 'server' && [...place.ours, ...place.theirs].some(isLeaf);
  return {
    method,
    type: field?.type,
    mergeKey: field?.mergeKey,
    whole: place.whole || strategicWhole || atomic,
    applied: isObject(applied) ? own(applied, key) : undefined,
    ours: fieldsBelow(place.ours, key),
    theirs: fieldsBelow(place.theirs, key),
  };
}

/** A list whose key does not tell its items apart is sent as a whole, like one that has no key. */
function listPlace(place: Place, lists: readonly (readonly Json[])[]): Place {
  const { mergeKey, applied } = place;
  const all = isList(applied) ? [...lists, applied] : lists;
  const keyed = mergeKey !== undefined && all.every((list) => mergeKey === '' || identifies(list, mergeKey));
  return keyed ? place : { ...place, mergeKey: undefined, whole: true };
}

function itemPlace(place: Place, item: Json): Place {
  const { mergeKey, applied } = place;
  const before =
    mergeKey === undefined || !isList(applied)
      ? undefined
      : applied.find((other) => idOf(other, mergeKey) === idOf(item, mergeKey));
  return {
    ...place,
    type: itemsOf(place.type),
    mergeKey: undefined,
    applied: before,
    ours: fieldsOfItem(place.ours, item),
    theirs: fieldsOfItem(place.theirs, item),
  };
}
