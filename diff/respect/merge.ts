import { canonicalJson, deepEqual, isObject, JsonSyntaxError, ownMember, parseJson, setOwnMember } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { hasUniqueKeys } from '../patch/strategic.ts';
import { fieldOf, itemsOf } from '../schema/schema.ts';
import type { TypeSchema } from '../schema/schema.ts';
import { removeMarked } from '../shared/removal.ts';
import type { RemovalMarks } from '../shared/removal.ts';
import { isList } from '../shared/values.ts';
import type { SidePair } from '../shared/values.ts';

/**
 * How an object is sent: by kubectl's client-side apply, by server-side apply, or whole (replaced,
 * or deleted and recreated).
 */
export type RespectMethod = 'client' | 'server' | 'whole';

/** The context of a value in both objects. */
export interface MergePosition {
  readonly method: RespectMethod;
  readonly type: TypeSchema | undefined;
  /** The merge key of this list in the request; undefined when the list is sent whole. */
  readonly mergeKey: string | undefined;
  /** Part of a value that is sent whole: anything left out is removed. */
  readonly whole: boolean;
  /** The value in last-applied. */
  readonly lastApplied: Json | undefined;
  /** Managed fields at this position: of the managers that we write as, and of all others. */
  readonly ours: readonly JsonObject[];
  readonly theirs: readonly JsonObject[];
}

type MarksPair = SidePair<RemovalMarks | undefined>;

/** Returns the target with live's values at the marked paths (see respectIgnored). */
export function mergeIgnored(
  { target, live }: SidePair<JsonObject>,
  marks: MarksPair,
  position: MergePosition,
): JsonObject {
  const merged: MutableJsonObject = {};
  for (const [key, wanted] of Object.entries(target)) {
    if (wanted === undefined) continue;
    const inner = { target: marks.target?.children.get(key), live: marks.live?.children.get(key) };
    const value = mergeValues({ target: wanted, live: ownMember(live, key) }, inner, positionAtField(position, key));
    if (value !== undefined) setOwnMember(merged, key, value as MutableJson);
  }
  for (const [key, inner] of marks.live?.children ?? []) {
    if (typeof key !== 'string' || ownMember(target, key) !== undefined) continue;
    const value = onlyIgnored(ownMember(live, key), inner, positionAtField(position, key));
    if (value !== undefined) setOwnMember(merged, key, value as MutableJson);
  }
  return merged;
}

function mergeValues(
  { target, live }: { readonly target: Json; readonly live: Json | undefined },
  marks: MarksPair,
  position: MergePosition,
): Json | undefined {
  if (marks.target?.remove === true) return live !== undefined && mustSend(live, position) ? live : undefined;
  if (live === undefined) return withoutIgnored(target, marks.target);
  if ((marks.target?.children.size ?? 0) + (marks.live?.children.size ?? 0) === 0) return target;
  if (isObject(target) && isObject(live)) return mergeIgnored({ target, live }, marks, position);
  return isList(target) && isList(live) ? mergeLists({ target, live }, marks, position) : target;
}

/** For a value that live lacks: drops ignored fields, but keeps new list items as they are. */
function withoutIgnored(value: Json, marks: RemovalMarks | undefined): Json {
  if (marks === undefined) return value;
  if (isList(value)) return value.filter((_item, i) => marks.children.get(i)?.remove !== true);
  if (!isObject(value)) return value;
  const kept: MutableJsonObject = {};
  for (const [key, member] of Object.entries(value)) {
    const inner = marks.children.get(key);
    if (member !== undefined && inner?.remove !== true)
      setOwnMember(kept, key, withoutIgnored(member, inner) as MutableJson);
  }
  return kept;
}

/**
 * For a value that the target lacks: returns only the ignored parts that must be sent. A
 * client-side apply would delete an applied value that is dropped now, with everything in it.
 */
function onlyIgnored(value: Json | undefined, marks: RemovalMarks, position: MergePosition): Json | undefined {
  if (value === undefined) return undefined;
  if (marks.remove) return mustSend(value, position) ? value : undefined;
  const here = {
    ...position,
    whole: position.whole || (position.method === 'client' && position.lastApplied !== undefined),
  };
  if (isList(value)) {
    const at = listPosition(here, [value]);
    const isWanted = (item: Json, i: number): boolean =>
      marks.children.get(i)?.remove === true && mustSend(item, itemPosition(at, item));
    const items = value.filter(isWanted);
    return items.length === 0 ? undefined : items;
  }
  if (!isObject(value)) return undefined;
  const merged = mergeIgnored({ target: {}, live: value }, { target: undefined, live: marks }, here);
  return Object.keys(merged).length === 0 ? undefined : merged;
}

/** Matches items by merge key; without one, by their content except the ignored parts. */
function mergeLists(lists: SidePair<readonly Json[]>, marks: MarksPair, position: MergePosition): Json {
  const at = listPosition(position, [lists.target, lists.live]);
  const partners = at.mergeKey === undefined ? similarPartners(lists, marks) : keyedPartners(lists, at.mergeKey);
  const merged: MergedItem[] = [];
  for (const [i, wanted] of lists.target.entries()) {
    const partner = partners.get(i);
    const inner = { target: marks.target?.children.get(i), live: undefined as RemovalMarks | undefined };
    if (partner === undefined) {
      if (inner.target?.remove !== true) merged.push({ value: wanted, partner });
      continue;
    }
    inner.live = marks.live?.children.get(partner);
    const present = lists.live[partner] ?? null;
    const value = mergeValues({ target: wanted, live: present }, inner, itemPosition(at, present));
    if (value !== undefined) merged.push({ value, partner });
  }
  const taken = new Set(partners.values());
  for (const [j, present] of lists.live.entries())
    if (marks.live?.children.get(j)?.remove === true && !taken.has(j) && mustSend(present, itemPosition(at, present)))
      insert(merged, { value: present, partner: j });
  return merged.map((slot) => slot.value);
}

interface MergedItem {
  readonly value: Json;
  /** The index of the live item that it comes from or matches. */
  readonly partner: number | undefined;
}

/** Inserts the item after its predecessor in live. */
function insert(slots: MergedItem[], slot: MergedItem): void {
  const index = slot.partner ?? 0;
  const before = slots.reduce((best, { partner }, i) => {
    const nearest = slots[best]?.partner ?? -1;
    return partner !== undefined && partner < index && partner > nearest ? i : best;
  }, -1);
  slots.splice(before + 1, 0, slot);
}

/** Indices of target items to indices of the matching live items. */
type ItemMatches = ReadonlyMap<number, number>;

function keyedPartners({ target, live }: SidePair<readonly Json[]>, mergeKey: string): ItemMatches {
  const indices = new Map(live.map((item, j) => [idOf(item, mergeKey), j]));
  const partners = new Map<number, number>();
  for (const [i, item] of target.entries()) {
    const j = indices.get(idOf(item, mergeKey));
    if (j !== undefined) partners.set(i, j);
  }
  return partners;
}

function idOf(item: Json, mergeKey: string): string {
  return canonicalJson(mergeKey !== '' && isObject(item) ? (ownMember(item, mergeKey) ?? null) : item);
}

/**
 * Matches items that are equal except for ignored parts, then items with the same name, then, if
 * both sides have equally many left, by order.
 */
function similarPartners(lists: SidePair<readonly Json[]>, marks: MarksPair): ItemMatches {
  const partners = new Map<number, number>();
  const open = { target: openItems(lists.target, marks.target), live: openItems(lists.live, marks.live) };
  const pairBy = (id: (item: Json) => string | undefined, unique: boolean): void => {
    const [left, right] = [grouped(open.target, id), grouped(open.live, id)];
    for (const [text, indices] of left) {
      const others = right.get(text) ?? [];
      if (unique && (indices.length > 1 || others.length > 1)) continue;
      for (const [n, i] of indices.entries()) {
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
  const name = isObject(item) ? ownMember(item, field) : undefined;
  return typeof name === 'string' ? name : undefined;
}

/** The items that are not ignored as a whole, without their ignored parts. */
function openItems(list: readonly Json[], marks: RemovalMarks | undefined): Map<number, Json> {
  const open = new Map<number, Json>();
  for (const [i, item] of list.entries()) {
    const inner = marks?.children.get(i);
    if (inner?.remove !== true) open.set(i, inner === undefined ? item : removeMarked(item, inner));
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

/** Whether live would lose this value if it were not sent. */
function mustSend(value: Json, { method, whole, lastApplied, ours, theirs }: MergePosition): boolean {
  if (method === 'whole' || whole) return true;
  return method === 'client' ? lastApplied !== undefined : ours.length > 0 && !covers(theirs, value);
}

/** Whether these entries own the entire value. */
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

/** An owner of an atomic value owns each of its parts. */
function fieldsBelow(fields: readonly JsonObject[], key: string): readonly JsonObject[] {
  return fields.flatMap((entry) => (isLeaf(entry) ? [entry] : [ownMember(entry, `f:${key}`)].filter(isObject)));
}

function fieldsOfItem(fields: readonly JsonObject[], item: Json): readonly JsonObject[] {
  return fields.flatMap((entry) => {
    if (isLeaf(entry)) return [entry];
    const keys = Object.keys(entry).filter((key) => selectsItem(key, item));
    return keys.map((key) => ownMember(entry, key)).filter(isObject);
  });
}

/**
 * Whether a step of managed fields selects the list item. A defaulted key (protocol TCP of ports)
 * is part of the step, but may be missing in the target.
 */
function selectsItem(step: string, item: Json): boolean {
  if (!/^[kv]:/.test(step)) return false;
  const wanted = jsonIn(step.slice(2));
  if (wanted === undefined) return false;
  if (step.startsWith('v:') || !isObject(wanted)) return deepEqual(item, wanted);
  return (
    isObject(item) &&
    Object.entries(wanted).every(([name, value]) => {
      const present = ownMember(item, name);
      return present === undefined ? name === 'protocol' && value === 'TCP' : deepEqual(present, value);
    })
  );
}

function jsonIn(text: string): Json | undefined {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

function positionAtField(position: MergePosition, key: string): MergePosition {
  const field = fieldOf(position.type, key);
  const { method, lastApplied } = position;
  const strategicWhole = method === 'client' && (field?.retainKeys === true || field?.replaceWhole === true);
  const atomic = method === 'server' && [...position.ours, ...position.theirs].some(isLeaf);
  return {
    method,
    type: field?.type,
    mergeKey: field?.mergeKey,
    whole: position.whole || strategicWhole || atomic,
    lastApplied: isObject(lastApplied) ? ownMember(lastApplied, key) : undefined,
    ours: fieldsBelow(position.ours, key),
    theirs: fieldsBelow(position.theirs, key),
  };
}

/** A list whose merge key is not unique is sent whole, like one without a key. */
function listPosition(position: MergePosition, lists: readonly (readonly Json[])[]): MergePosition {
  const { mergeKey, lastApplied } = position;
  const all = isList(lastApplied) ? [...lists, lastApplied] : lists;
  const keyed = mergeKey !== undefined && all.every((list) => mergeKey === '' || hasUniqueKeys(list, mergeKey));
  return keyed ? position : { ...position, mergeKey: undefined, whole: true };
}

function itemPosition(position: MergePosition, item: Json): MergePosition {
  const { mergeKey, lastApplied } = position;
  const before =
    mergeKey === undefined || !isList(lastApplied)
      ? undefined
      : lastApplied.find((other) => idOf(other, mergeKey) === idOf(item, mergeKey));
  return {
    ...position,
    type: itemsOf(position.type),
    mergeKey: undefined,
    lastApplied: before,
    ours: fieldsOfItem(position.ours, item),
    theirs: fieldsOfItem(position.theirs, item),
  };
}
