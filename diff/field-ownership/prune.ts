import { isObject, ownMember, setOwnMember } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { isList, withoutNulls } from '../shared/values.ts';
import { canonicalStep, emptySet, fieldStep, selectPaths } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { fieldSetOf, indexItems, listItemStep } from './shape.ts';
import type { OwnershipShape } from './shape.ts';

/** The fields that must stay (we apply them or others own them), and the shape of the value. */
interface WantedFields {
  readonly wanted: FieldSet;
  readonly shape: OwnershipShape;
}

/**
 * Removes what we applied last, no longer want, and no other manager owns. Same result as
 * {@link pruneWhole}, but descends only where something is removed: most of a big object stays, and
 * members are independent of each other. Returns null when nothing is left.
 */
export function pruneBelow(merged: Json, before: FieldSet, { wanted, shape }: WantedFields): Json {
  const lost = lostFields(before, wanted);
  return lost === undefined ? merged : pruneLost(merged, lost, shape);
}

/**
 * A node of our last apply with fields to remove at or below it. `children` holds only the children
 * with such fields.
 */
interface LostFields {
  readonly before: FieldSet;
  readonly wanted: FieldSet | undefined;
  readonly children: ReadonlyMap<string, LostFields>;
}

/** Undefined when everything that we applied last is still wanted or owned by others. */
function lostFields(before: FieldSet, wanted: FieldSet | undefined): LostFields | undefined {
  let children: Map<string, LostFields> | undefined;
  for (const [step, child] of before.children) {
    const lost = lostFields(child, wanted?.children.get(step));
    if (lost !== undefined) (children ??= new Map<string, LostFields>()).set(step, lost);
  }
  if (children === undefined && (!before.member || wanted?.member === true)) return undefined;
  return { before, wanted, children: children ?? new Map<string, LostFields>() };
}

function pruneLost(merged: Json, lost: LostFields, shape: OwnershipShape): Json {
  const { children } = lost;
  if (children.size === 0) return merged;
  const kept = { wanted: lost.wanted ?? emptySet(), shape };
  const members = membersOf(merged, shape);
  if (members === undefined) return pruneWhole(merged, lost.before, kept);
  const after = new Map<string, Json>();
  for (const [step, child] of children) {
    const value = members(step);
    if (value === undefined || !staysItself(step, child, shape)) return pruneMembers(merged, lost, { shape, members });
    const left = pruneLost(value, child, shapeAtStep(step, shape));
    // An emptied value is removed with its parent's rules, so decide one level up.
    if (left === null) return pruneMembers(merged, lost, { shape, members });
    after.set(step, left);
  }
  return withChildren(merged as JsonObject | readonly Json[], after, shape);
}

/** Whether a member that loses fields stays itself, so that only its content changes. */
function staysItself(step: string, { before, wanted }: LostFields, shape: OwnershipShape): boolean {
  if (wanted === undefined || (before.member && !wanted.member)) return false;
  return wanted.member || (step.startsWith('f:') && shape.isStructField(step.slice(2)));
}

function shapeAtStep(step: string, shape: OwnershipShape): OwnershipShape {
  return step.startsWith('f:') ? shape.member(step.slice(2)) : shape.items();
}

/**
 * Returns the value at a step; undefined when there is none, or when several items share the step.
 */
type MemberLookup = (step: string) => Json | undefined;

/** Undefined for values without separately owned members. */
function membersOf(value: Json, shape: OwnershipShape): MemberLookup | undefined {
  if (isObject(value))
    return shape.atomicMap
      ? undefined
      : (step) => (step.startsWith('f:') ? ownMember(value, step.slice(2)) : undefined);
  if (!isList(value) || shape.listKeys === undefined) return undefined;
  const items = new Map<string, Json | undefined>();
  for (const item of value) {
    const step = listItemStep(item, shape);
    items.set(step, items.has(step) ? undefined : item);
  }
  return (step) => items.get(step);
}

function withChildren(
  value: JsonObject | readonly Json[],
  after: ReadonlyMap<string, Json>,
  shape: OwnershipShape,
): Json {
  if (!isObject(value)) return value.map((item) => after.get(listItemStep(item, shape)) ?? item);
  const copy: MutableJsonObject = { ...(value as MutableJsonObject) };
  for (const [step, member] of after) setOwnMember(copy, step.slice(2), member as MutableJson);
  return copy;
}

/** Applies {@link pruneWhole} to the members that lose fields, if the others are unaffected. */
function pruneMembers(
  merged: Json,
  lost: LostFields,
  { shape, members }: { readonly shape: OwnershipShape; readonly members: MemberLookup },
): Json {
  const here = { wanted: lost.wanted ?? emptySet(), shape };
  // Items with equal keys depend on each other.
  const isSplit = [...lost.children.keys()].every((step) => members(step) !== undefined);
  if (!isSplit || !othersStay(lost, shape)) return pruneWhole(merged, lost.before, here);
  const left = (part: Json, step: string): Json =>
    prunedValue(part, onlyAt(lost.before, step), { wanted: onlyAt(here.wanted, step), shape });
  if (isList(merged)) {
    const items = merged.flatMap((item): readonly Json[] => {
      const step = listItemStep(item, shape);
      const after = lost.children.has(step) ? left([item], step) : [item];
      return isList(after) ? after : [];
    });
    return items.length === 0 ? null : withoutNulls(items);
  }
  const copy: MutableJsonObject = {};
  for (const [key, value] of Object.entries(merged as JsonObject)) {
    const step = fieldStep(key);
    const after = lost.children.has(step) ? left({ [key]: value }, step) : merged;
    const member = isObject(after) ? ownMember(after, key) : undefined;
    if (member !== undefined) setOwnMember(copy, key, member as MutableJson);
  }
  return Object.keys(copy).length === 0 ? null : withoutNulls(copy);
}

/**
 * Whether pruning leaves all members that lose nothing unchanged. This fails for a list item whose
 * key fields our last apply does not own: without them, the item has no identity.
 */
function othersStay({ before, children }: LostFields, shape: OwnershipShape): boolean {
  for (const [step, child] of before.children) if (!children.has(step) && !staysWhole(step, child, shape)) return false;
  return true;
}

function staysWhole(step: string, set: FieldSet, parent: OwnershipShape): boolean {
  const shape = shapeAtStep(step, parent);
  if (step.startsWith('k:') && !ownsKeys(set, parent)) return false;
  if (step.startsWith('v:{') || step.startsWith('v:[')) return false;
  for (const [inner, child] of set.children) if (!staysWhole(inner, child, shape)) return false;
  return true;
}

function ownsKeys(item: FieldSet, list: OwnershipShape): boolean {
  const { listKeys = [] } = list;
  const owns = (key: string): boolean => item.children.has(fieldStep(key));
  return listKeys.some(owns) && listKeys.every((key) => owns(key) || list.items().keyDefault(key) !== undefined);
}

function onlyAt(set: FieldSet, step: string): FieldSet {
  const child = set.children.get(step);
  return { member: set.member, children: new Map(child === undefined ? [] : [[step, child]]) };
}

/** Removes what was ours, is no longer wanted, and contains nothing that others own. */
export function pruneWhole(merged: Json, before: FieldSet, kept: WantedFields): Json {
  return withoutNulls(prunedValue(merged, before, kept));
}

function prunedValue(merged: Json, before: FieldSet, { wanted, shape }: WantedFields): Json {
  const [was, kept, whole] = [
    withStructFields(before, shape),
    withStructFields(wanted, shape),
    fieldSetOf(merged, shape, 'structs'),
  ];
  const first = fieldSetOf(removeFields(merged, was, shape), shape, 'structs');
  // Keep nested fields that we do not own.
  const notOurs = selectPaths(whole, [first, kept], (left, isKept) => !left && !isKept);
  const owned = fieldSetOf(removeFields(merged, notOurs, shape), shape, 'structs');
  const gone = selectPaths(whole, [owned, was], (left, isOurs) => !left && isOurs);
  return removeFields(merged, gone, shape);
}

/**
 * Whether the value has every path of a field set. This is true for almost every object, and the
 * check builds no sets.
 */
export function isCovered(fields: JsonObject, value: Json, shape: OwnershipShape): boolean {
  const items = isList(value) && shape.listKeys !== undefined ? indexItems(value, shape).byStep : undefined;
  const childAt = (step: string): Json | undefined => {
    if (!step.startsWith('f:')) return items?.get(step);
    return isObject(value) && !shape.atomicMap ? ownMember(value, step.slice(2)) : undefined;
  };
  for (const text of Object.keys(fields)) {
    const inner = ownMember(fields, text);
    const step = text === '.' ? undefined : canonicalStep(text);
    if (step === undefined || !isObject(inner)) continue;
    const child = childAt(step);
    if (child === undefined || !isOwnedAt(step, inner, child, shape)) return false;
  }
  return true;
}

/**
 * Like {@link isCovered}, for the value at one step. List items and map keys can be owned
 * themselves, struct fields only when they have no owned content.
 */
function isOwnedAt(step: string, fields: JsonObject, value: Json, parent: OwnershipShape): boolean {
  const name = step.startsWith('f:') ? step.slice(2) : undefined;
  const shape = name === undefined ? parent.items() : parent.member(name);
  const isMember = name === undefined || !parent.isStructField(name) || isLeaf(value, shape);
  return (isMember || !isOwnedItself(fields)) && isCovered(fields, value, shape);
}

function isOwnedItself(fields: JsonObject): boolean {
  for (const text of Object.keys(fields)) if (text !== '.') return Object.hasOwn(fields, '.');
  return true;
}

/** Whether the value is owned as a whole. */
function isLeaf(value: Json, shape: OwnershipShape): boolean {
  if (isList(value)) return shape.listKeys === undefined;
  return !isObject(value) || shape.atomicMap || Object.keys(value).length === 0;
}

/** Adds the struct fields on the way to each path (fieldpath.Set.EnsureNamedFieldsAreMembers). */
function withStructFields(set: FieldSet, shape: OwnershipShape): FieldSet {
  const result: FieldSet = { member: set.member, children: new Map() };
  for (const [step, child] of set.children) {
    const name = step.startsWith('f:') ? step.slice(2) : undefined;
    const inner = withStructFields(child, name === undefined ? shape.items() : shape.member(name));
    if (name !== undefined && shape.isStructField(name)) inner.member = true;
    result.children.set(step, inner);
  }
  return result;
}

/**
 * Returns the value without the paths of a set; null when nothing is left. An atomic value is
 * removed entirely when the set has a path in it (typed.removeItemsWithSchema).
 */
export function removeFields(value: Json, set: FieldSet, shape: OwnershipShape): Json {
  if (set.children.size === 0) return value;
  if (isList(value)) {
    if (shape.listKeys === undefined) return null;
    const items = value.flatMap((item) =>
      remainderOf(item, set.children.get(listItemStep(item, shape)), shape.items()),
    );
    return items.length === 0 ? null : items;
  }
  if (!isObject(value)) return value;
  if (shape.atomicMap) return null;
  const left: MutableJsonObject = {};
  for (const key of Object.keys(value)) {
    const member = value[key];
    if (member === undefined) continue;
    const [after] = remainderOf(member, set.children.get(fieldStep(key)), shape.member(key));
    if (after !== undefined) setOwnMember(left, key, after as MutableJson);
  }
  return Object.keys(left).length === 0 ? null : left;
}

function remainderOf(value: Json, set: FieldSet | undefined, shape: OwnershipShape): readonly Json[] {
  if (set === undefined) return [value];
  return set.member ? [] : [removeFields(value, set, shape)];
}
