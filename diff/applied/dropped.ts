import { deepEqual, isObject, ownMember, setOwnMember } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { fieldStep } from '../field-ownership/field-set.ts';
import type { FieldSet } from '../field-ownership/field-set.ts';
import { listItemStep } from '../field-ownership/shape.ts';
import type { OwnershipShape } from '../field-ownership/shape.ts';
import { isList } from '../shared/values.ts';

/** A value of live, what the target has there, and who owns what in it. */
export interface OwnedPosition {
  readonly live: Json;
  readonly target: Json | undefined;
  /** The target as the API server would store it: its defaults are no removals. */
  readonly stored: Json | undefined;
  readonly ours: FieldSet;
  readonly others: FieldSet | undefined;
  readonly shape: OwnershipShape;
  /** Lists are sent whole (custom resources): items are compared by their index. */
  readonly wholeLists: boolean;
  /** Whether `stored` has the defaults, so that those inside lists can be told apart. */
  readonly knowsDefaults: boolean;
}

/** The part of live that we applied and the target dropped. */
export interface DroppedPart {
  readonly gone: Json;
  /**
   * The target with an empty map, or the remaining items, where it lacks a value of which others
   * own a part: a merge then removes our part only. Undefined: the whole value is ours to remove.
   */
  readonly target: Json | undefined;
}

/** Undefined when the target dropped nothing of ours. Never contains what others own too. */
export function droppedAt(here: OwnedPosition): DroppedPart | undefined {
  const { live, shape } = here;
  if (isObject(live)) return shape.atomicMap ? undefined : droppedMembers(here, live);
  return isList(live) && shape.listKeys !== undefined ? droppedItems(here, live) : undefined;
}

function droppedMembers(here: OwnedPosition, live: JsonObject): DroppedPart | undefined {
  const wanted = isObject(here.target) ? here.target : undefined;
  const [gone, target]: [MutableJsonObject, MutableJsonObject] = [{}, { ...(wanted as MutableJsonObject | undefined) }];
  let isWhole = true;
  for (const name of Object.keys(live)) {
    const part = droppedMember(here, name);
    if (part === undefined) isWhole = false;
    else {
      setOwnMember(gone, name, part.gone as MutableJson);
      if (part.target !== undefined) {
        isWhole = false;
        setOwnMember(target, name, part.target as MutableJson);
      }
    }
  }
  if (Object.keys(gone).length === 0) return undefined;
  return { gone, target: wanted === undefined && isWhole ? undefined : target };
}

function droppedMember(here: OwnedPosition, name: string): DroppedPart | undefined {
  const step = fieldStep(name);
  const ours = here.ours.children.get(step);
  const live = isObject(here.live) ? ownMember(here.live, name) : undefined;
  if (ours === undefined || live === undefined) return undefined;
  const below = {
    ...here,
    live,
    target: memberOf(here.target, name),
    stored: memberOf(here.stored, name),
    ours,
    others: here.others?.children.get(step),
    shape: here.shape.member(name),
  };
  return isOneValue(below) ? droppedWhole(below) : droppedAt(below);
}

/** Whether the value is owned as a whole, here or in the schema that the owner applied it with. */
function isOneValue({ live, ours, shape }: OwnedPosition): boolean {
  if (isList(live)) return shape.listKeys === undefined || ours.children.size === 0;
  return !isObject(live) || shape.atomicMap || ours.children.size === 0;
}

function droppedWhole(here: OwnedPosition): DroppedPart | undefined {
  const { live, target, stored, ours, others, wholeLists } = here;
  const isDefault = stored !== undefined && deepEqual(stored, live);
  // A value that became atomic may have been applied by its members.
  const isOurs = ours.member || ours.children.size > 0;
  if (isDefault || others !== undefined || !isOurs) return undefined;
  if ((target ?? null) === null) return { gone: live, target: undefined };
  // Atomic for server-side apply, but a patch would merge it: all of it was ours.
  if (isObject(live)) return isObject(target) ? { gone: live, target } : undefined;
  if (!isList(live) || !isList(target)) return undefined;
  if (!wholeLists) return { gone: live, target };
  const sent = here.knowsDefaults ? withoutDefaults(live, target, stored) : target;
  return deepEqual(sent, target) ? undefined : { gone: sent, target };
}

/** Live without members that only the defaults add: what we sent. */
function withoutDefaults(live: Json, target: Json | undefined, stored: Json | undefined): Json {
  if (isList(live)) {
    const [wanted, filled] = [target, stored].map((list) => (isList(list) ? list : []));
    return live.map((item, i) => withoutDefaults(item, wanted?.[i], filled?.[i]));
  }
  if (!isObject(live)) return live;
  const sent: MutableJsonObject = {};
  for (const key of Object.keys(live)) {
    const [member, wanted, filled] = [ownMember(live, key), memberOf(target, key), memberOf(stored, key)];
    if (member === undefined || (wanted === undefined && filled !== undefined && deepEqual(member, filled))) continue;
    setOwnMember(sent, key, withoutDefaults(member, wanted, filled) as MutableJson);
  }
  return sent;
}

function droppedItems(here: OwnedPosition, live: readonly Json[]): DroppedPart | undefined {
  const [gone, rest]: [Json[], Json[]] = [[], []];
  const [wanted, stored] = [itemsByStep(here.target, here.shape), itemsByStep(here.stored, here.shape)];
  const target = isList(here.target) ? [...here.target] : undefined;
  let isAny = false;
  for (const item of live) {
    const step = listItemStep(item, here.shape);
    const part = droppedItem(here, item, { step, wanted, stored });
    if (part === undefined) {
      rest.push(item);
      if (here.wholeLists) gone.push({});
      continue;
    }
    isAny = true;
    gone.push(part.gone);
    if (part.target === undefined) continue;
    rest.push(withoutGone(item, part.gone, here.shape));
    const at = target?.findIndex((other) => listItemStep(other, here.shape) === step) ?? -1;
    if (at >= 0) target?.splice(at, 1, part.target);
  }
  if (!isAny) return undefined;
  return { gone, target: target ?? (rest.length === 0 ? undefined : rest) };
}

interface ItemSides {
  readonly step: string;
  readonly wanted: ReadonlyMap<string, Json>;
  readonly stored: ReadonlyMap<string, Json>;
}

function droppedItem(here: OwnedPosition, item: Json, { step, wanted, stored }: ItemSides): DroppedPart | undefined {
  const ours = here.ours.children.get(step);
  if (ours === undefined) return undefined;
  const others = here.others?.children.get(step);
  const target = wanted.get(step) ?? stored.get(step);
  if (target === undefined && ours.member)
    return others?.member === true ? undefined : { gone: item, target: undefined };
  const below = { live: item, target, stored: stored.get(step), ours, others, shape: here.shape.items() };
  const part = droppedAt({ ...here, ...below });
  if (part === undefined || !isObject(part.gone)) return undefined;
  return { gone: { ...keysOf(item, here.shape), ...part.gone }, target: part.target ?? target ?? {} };
}

function keysOf(item: Json, { listKeys = [] }: OwnershipShape): JsonObject {
  if (!isObject(item)) return {};
  return Object.fromEntries(listKeys.flatMap((key) => (Object.hasOwn(item, key) ? [[key, item[key] ?? null]] : [])));
}

function itemsByStep(list: Json | undefined, shape: OwnershipShape): ReadonlyMap<string, Json> {
  return new Map(isList(list) ? list.map((item) => [listItemStep(item, shape), item]) : []);
}

/** The item with its keys. The top level is enough: the rest only has to stay as it is. */
function withoutGone(item: Json, gone: Json, shape: OwnershipShape): Json {
  if (!isObject(item) || !isObject(gone)) return item;
  const kept = Object.entries(item).filter(([key, value]) => ownMember(gone, key) !== value);
  return { ...keysOf(item, shape), ...Object.fromEntries(kept) };
}

function memberOf(value: Json | undefined, name: string): Json | undefined {
  return isObject(value) ? ownMember(value, name) : undefined;
}
