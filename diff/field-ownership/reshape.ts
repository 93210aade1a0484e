import { deepEqual, isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import { isList } from '../shared/values.ts';
import { canonicalStep, fieldStep, selectPaths } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { fieldSetOf, listItemStep, unknownShape } from './shape.ts';
import type { OwnershipShape } from './shape.ts';

/** A live object, what is applied to it now, and the current list and map types of its kind. */
interface ReshapedSides {
  readonly live: Json;
  readonly target: Json;
  readonly shape: OwnershipShape;
  /** Maps of built-in types do not change; those without owned members were applied empty. */
  readonly isBuiltIn: boolean;
}

/**
 * Returns our fields as the current schema owns them, and `ours` itself if that is the same. When a
 * list or map becomes granular, or a list gets other keys, the API server keeps the entries of its
 * owners as they are: the next apply would forget which items we applied, and leave them. All that
 * lies in a list that we owned as a whole was ours, except for what other managers own.
 */
export function reshapedFields(ours: FieldSet, others: () => FieldSet, sides: ReshapedSides): FieldSet {
  const { live, shape } = sides;
  const expandsMap = sides.isBuiltIn ? () => false : hasAppliedMember;
  const here = { live, target: () => sides.target, shape, expandsMap };
  if (reshaped(ours, { ...here, others: undefined }) === ours) return ours;
  const theirs = others();
  const after = reshaped(ours, { ...here, others: theirs });
  if (after === ours) return ours;
  const expanded = { live, target: () => live, shape, others: undefined, expandsMap: () => true };
  const kept = reshaped(theirs, expanded);
  return selectPaths(after, [ours, kept], (wasOurs, isTheirs) => wasOurs || !isTheirs);
}

/**
 * Whether `fieldsV1` has the lists and map keys of a built-in type as the type does. Then nothing
 * is reshaped, whatever the objects hold. Parses nothing: almost every entry is such a one.
 */
export function isOwnedAs(shape: OwnershipShape, fields: JsonObject): boolean {
  if (shape.atomicMap) return true;
  const { listKeys } = shape;
  let isWhole = true;
  for (const step of Object.keys(fields)) {
    if (step === '.') continue;
    isWhole = false;
    const inner = fields[step];
    if (!isObject(inner)) continue;
    const isLeaf = Object.keys(inner).length === 0;
    if (!step.startsWith('f:')) {
      if (listKeys !== undefined && !hasKeys(step, listKeys)) return false;
      if (!isLeaf && !isOwnedAs(shape.items(), inner)) return false;
      continue;
    }
    const name = step.slice(2);
    if (!isLeaf && !Object.hasOwn(inner, '.') && shape.isMapKey(name)) return false;
    if (!isOwnedAs(shape.member(name), inner)) return false;
  }
  return !isWhole || listKeys === undefined;
}

function hasKeys(step: string, listKeys: readonly string[]): boolean {
  const [only] = listKeys;
  // Fast path: almost all items have one key, with a text without quotes.
  if (only !== undefined && listKeys.length === 1) {
    const begin = `k:{"${only}":"`;
    if (step.startsWith(begin) && step.indexOf('"', begin.length) === step.length - 2) return true;
  }
  const canonical = canonicalStep(step);
  if (canonical === undefined) return false;
  if (listKeys.length === 0) return canonical.startsWith('v:');
  const keys = keysOf(canonical);
  return keys.length === listKeys.length && listKeys.every((key) => keys.includes(key));
}

/**
 * Whether an apply of `target` may drop a part of a list or map of which the set has the whole, or
 * the items by keys. Needs no schema: only then it matters how the current one owns them.
 */
export function dropsParts(set: FieldSet, live: Json | undefined, target: Json | undefined): boolean {
  if (isList(live) && isList(target)) {
    if (isOwnedWhole(set)) return live.length > 0 && !deepEqual(live, target);
    const [before, after] = [new ItemFinder(live, unknownShape), new ItemFinder(target, unknownShape)];
    return [...set.children].some(([step, child]) => {
      const [item, wanted] = [before.find(step)[0], after.find(step)[0]];
      return item !== undefined && (wanted === undefined || dropsParts(child, item, wanted));
    });
  }
  if (!isObject(live) || !isObject(target)) return false;
  if (isOwnedWhole(set)) return hasAppliedMember(target, live) && !deepEqual(live, target);
  return [...set.children].some(([step, child]) => {
    const name = step.slice(2);
    const [before, after] = [live, target].map((side) => ownMember(side, name));
    if (!step.startsWith('f:') || before === undefined) return false;
    return after === undefined ? !child.member : dropsParts(child, before, after);
  });
}

/** A value of live, with what is applied there and who owns it. */
interface ReshapedPosition {
  readonly live: Json;
  readonly target: () => Json | undefined;
  readonly shape: OwnershipShape;
  readonly others: FieldSet | undefined;
  /** Whether a map owned without its members was atomic. It may have been applied empty, too. */
  readonly expandsMap: (target: Json | undefined, live: Json, others: FieldSet | undefined) => boolean;
}

/**
 * Whether the map was applied with members: the manifest and the live object share one that no
 * other manager owns. Otherwise it may have been applied empty, and a webhook has added members.
 */
function hasAppliedMember(target: Json | undefined, live: Json, others?: FieldSet): boolean {
  if (!isObject(target) || !isObject(live)) return false;
  return Object.keys(target).some((key) => Object.hasOwn(live, key) && others?.children.has(fieldStep(key)) !== true);
}

function reshaped(set: FieldSet, here: ReshapedPosition): FieldSet {
  const { live, target, shape, others } = here;
  if (isList(live)) return shape.listKeys === undefined ? set : reshapedList(set, live, here);
  if (!isObject(live) || shape.atomicMap) return set;
  if (isOwnedWhole(set)) return here.expandsMap(target(), live, others) ? fieldSetOf(live, shape) : set;
  return withMembers(set, (step, child) => {
    const name = step.slice(2);
    const value = step.startsWith('f:') ? ownMember(live, name) : undefined;
    if (value === undefined || (isScalar(value) && child.member)) return undefined;
    const inner = (): Json | undefined => {
      const wanted = target();
      return isObject(wanted) ? ownMember(wanted, name) : undefined;
    };
    const below = { live: value, target: inner, shape: shape.member(name), others: others?.children.get(step) };
    const after = reshaped(child, { ...below, expandsMap: here.expandsMap });
    // A key of a map that was a field of a struct.
    return [[step, after.member || !shape.isMapKey(name) ? after : { ...after, member: true }]];
  });
}

function isScalar(value: Json): boolean {
  return typeof value !== 'object' || value === null;
}

function isOwnedWhole({ member, children }: FieldSet): boolean {
  return member && children.size === 0;
}

function reshapedList(set: FieldSet, live: readonly Json[], here: ReshapedPosition): FieldSet {
  const { target, shape, others } = here;
  if (isOwnedWhole(set)) return live.length > 0 && isList(target()) ? fieldSetOf(live, shape) : set;
  const present = new ItemFinder(live, shape);
  let wanted: ItemFinder | undefined;
  const wantedItem = (step: string): Json | undefined => {
    const list = target();
    wanted ??= new ItemFinder(isList(list) ? list : [], shape);
    return wanted.find(step)[0];
  };
  return withMembers(set, (step, child) => {
    const items = present.find(step);
    if (items.length === 0) return undefined;
    return items.map((item) => {
      const now = listItemStep(item, shape);
      if (step === now && isScalar(item)) return [step, child];
      const below = { live: item, target: () => wantedItem(now), shape: shape.items() };
      const inner = { ...below, others: others?.children.get(step), expandsMap: here.expandsMap };
      if (step === now) return [step, reshaped(child, inner)];
      const { children } = isOwnedWhole(child) ? fieldSetOf(item, shape.items()) : child;
      return [now, { member: true, children: shape.listKeys?.length === 0 ? new Map() : children }];
    });
  });
}

/** Finds the items of a list by steps of any form: of a set, or of a list with other keys. */
class ItemFinder {
  readonly #list: readonly Json[];
  readonly #shape: OwnershipShape;
  readonly #byForm = new Map<string, ReadonlyMap<string, readonly Json[]>>();

  constructor(list: readonly Json[], shape: OwnershipShape) {
    this.#list = list;
    this.#shape = shape;
  }

  find(step: string): readonly Json[] {
    const keys = keysOf(step);
    const form = keys.join('\n');
    const items = this.#byForm.get(form) ?? this.#itemsBy(keys);
    this.#byForm.set(form, items);
    return items.get(step) ?? [];
  }

  #itemsBy(listKeys: readonly string[]): ReadonlyMap<string, readonly Json[]> {
    const shape = { ...unknownShape, listKeys, items: () => this.#shape.items() };
    const items = new Map<string, Json[]>();
    for (const item of this.#list) {
      const step = listItemStep(item, shape);
      const found = items.get(step);
      if (found === undefined) items.set(step, [item]);
      else found.push(item);
    }
    return items;
  }
}

/** The key fields in a step. */
function keysOf(step: string): readonly string[] {
  // Fast path: almost all items.
  const only = /^k:\{"([^"\\]+)":"[^"\\]*"\}$/.exec(step)?.[1];
  if (only !== undefined) return [only];
  return step.startsWith('k:') ? Object.keys(JSON.parse(step.slice(2)) as object) : [];
}

type SetMember = readonly [step: string, child: FieldSet];

/** The set with other members (undefined: as it is); the set itself if all are the same. */
function withMembers(
  set: FieldSet,
  replace: (step: string, child: FieldSet) => readonly SetMember[] | undefined,
): FieldSet {
  const changed = new Map<string, readonly SetMember[]>();
  for (const [step, child] of set.children) {
    const after = replace(step, child);
    const isSame = after === undefined || (after.length === 1 && after[0]?.[0] === step && after[0][1] === child);
    if (!isSame) changed.set(step, after);
  }
  if (changed.size === 0) return set;
  const members = [...set.children].flatMap((member) => changed.get(member[0]) ?? [member]);
  return { member: set.member, children: new Map(members) };
}
