import { deepEqual, isObject, own, setOwn } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { addAll, canonicalStep, emptySet, fieldStep, parseFields, select } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { fieldsOwned } from './managed-fields.ts';
import { fieldSetOf, stepOf } from './shape.ts';
import type { Shape } from './shape.ts';
import { withoutNulls } from './strategic.ts';
import { isList, textOf } from './values.ts';

/** Who owns what in a live object: field sets as they stand in `metadata.managedFields`. */
export interface Ownership {
  /** What our manager applied last, by each version that it did. */
  readonly last: readonly JsonObject[];
  /** What all others own. */
  readonly others: readonly JsonObject[];
}

/** Reads the managed fields of a live object. Our entry is the one that server-side apply wrote, whatever its version. */
export function ownershipOf(live: JsonObject, manager: string): Ownership {
  const isOurs = (entry: JsonObject): boolean =>
    own(entry, 'manager') === manager &&
    own(entry, 'operation') === 'Apply' &&
    textOf(own(entry, 'subresource')) === '';
  return { last: fieldsOwned(live, isOurs), others: fieldsOwned(live, (entry) => !isOurs(entry)) };
}

/** All that anybody owns: what the API server's schema made of it shows in it. */
export function allOf({ last, others }: Ownership): FieldSet {
  return unionOf([...last, ...others]);
}

/** All paths of some field sets together. */
export function unionOf(sets: readonly JsonObject[]): FieldSet {
  const all = emptySet();
  for (const fields of sets) addAll(all, parseFields(fields));
  return all;
}

/**
 * What `live` would be after a forced server-side apply of `target` by our manager: merged, and without what we applied last, do not want
 * any more, and nobody else owns (sigs.k8s.io/structured-merge-diff merge.Updater.Apply; Argo CD: gitops-engine/pkg/diff
 * structuredMergeDiff). The same reference when it would change nothing. Neither argument is changed.
 *
 * Difference: entries of managed fields at another version of the kind count as if they were at the target's, where upstream converts the
 * object to that version.
 */
export function structuredMerge(target: JsonObject, live: JsonObject, ownership: Ownership, shape: Shape): JsonObject {
  const merged = merge(live, target, shape) as JsonObject;
  const pruned = prune(merged, target, ownership, shape);
  return pruned === live || deepEqual(pruned, live) ? live : pruned;
}

function prune(merged: JsonObject, target: JsonObject, { last, others }: Ownership, shape: Shape): JsonObject {
  if (last.every((fields) => isCovered(fields, target, shape))) return merged;
  const before = unionOf(last);
  const wanted = fieldSetOf(target, shape);
  addAll(wanted, unionOf(others));
  return pruneBelow(merged, before, { wanted, shape }) as JsonObject;
}

/** What stays in a place: by whom it is wanted, and how it is owned. */
interface Kept {
  readonly wanted: FieldSet;
  readonly shape: Shape;
}

/**
 * {@link pruneHere}, as deep down as something goes: most of a big object stays as it is, and what goes in one of its members does not depend on the
 * others. Null when nothing is left.
 */
export function pruneBelow(merged: Json, before: FieldSet, { wanted, shape }: Kept): Json {
  const lost = lostOf(before, wanted);
  return lost === undefined ? merged : pruneLost(merged, lost, shape);
}

/** A place where something of ours is wanted by nobody any more, with those below it where that is so. */
interface Lost {
  readonly before: FieldSet;
  readonly wanted: FieldSet | undefined;
  readonly children: ReadonlyMap<string, Lost>;
}

/** Undefined where all that we applied last is still wanted, or owned by others. */
function lostOf(before: FieldSet, wanted: FieldSet | undefined): Lost | undefined {
  let children: Map<string, Lost> | undefined;
  for (const [step, child] of before.children) {
    const lost = lostOf(child, wanted?.children.get(step));
    if (lost !== undefined) (children ??= new Map<string, Lost>()).set(step, lost);
  }
  if (children === undefined && (!before.member || wanted?.member === true)) return undefined;
  return { before, wanted, children: children ?? new Map<string, Lost>() };
}

function pruneLost(merged: Json, lost: Lost, shape: Shape): Json {
  const { children } = lost;
  if (children.size === 0) return merged;
  const kept = { wanted: lost.wanted ?? emptySet(), shape };
  const members = membersOf(merged, shape);
  if (members === undefined) return pruneHere(merged, lost.before, kept);
  const after = new Map<string, Json>();
  for (const [step, child] of children) {
    const value = members(step);
    if (value === undefined || !staysItself(step, child, shape)) return pruneMembers(merged, lost, { shape, members });
    const left = pruneLost(value, child, belowOf(step, shape));
    // Whatever holds nothing any more goes with it, and what that means is seen from here.
    if (left === null) return pruneMembers(merged, lost, { shape, members });
    after.set(step, left);
  }
  return withChildren(merged as JsonObject | readonly Json[], after, shape);
}

/** Is a member wanted that has lost something? Then nothing goes but in it. */
function staysItself(step: string, { before, wanted }: Lost, shape: Shape): boolean {
  if (wanted === undefined || (before.member && !wanted.member)) return false;
  return wanted.member || (step.startsWith('f:') && shape.named(step.slice(2)));
}

function belowOf(step: string, shape: Shape): Shape {
  return step.startsWith('f:') ? shape.member(step.slice(2)) : shape.items();
}

/** What is at a step; undefined where nothing is, or more than one item is meant. */
type Members = (step: string) => Json | undefined;

/** Undefined where all is owned as one. */
function membersOf(value: Json, shape: Shape): Members | undefined {
  if (isObject(value))
    return shape.atomicMap ? undefined : (step) => (step.startsWith('f:') ? own(value, step.slice(2)) : undefined);
  if (!isList(value) || shape.listKeys === undefined) return undefined;
  const items = new Map<string, Json | undefined>();
  for (const item of value) {
    const step = stepOf(item, shape);
    items.set(step, items.has(step) ? undefined : item);
  }
  return (step) => items.get(step);
}

function withChildren(value: JsonObject | readonly Json[], after: ReadonlyMap<string, Json>, shape: Shape): Json {
  if (!isObject(value)) return value.map((item) => after.get(stepOf(item, shape)) ?? item);
  const copy: MutableJsonObject = { ...(value as MutableJsonObject) };
  for (const [step, member] of after) setOwn(copy, step.slice(2), member as MutableJson);
  return copy;
}

/** {@link pruneHere} of those members that lose something; the others stay, whatever becomes of these. */
function pruneMembers(
  merged: Json,
  lost: Lost,
  { shape, members }: { readonly shape: Shape; readonly members: Members },
): Json {
  const here = { wanted: lost.wanted ?? emptySet(), shape };
  // Items that cannot be told apart depend on each other.
  const isSplit = [...lost.children.keys()].every((step) => members(step) !== undefined);
  if (!isSplit || !othersStay(lost, shape)) return pruneHere(merged, lost.before, here);
  const left = (part: Json, step: string): Json =>
    pruned(part, onlyAt(lost.before, step), { wanted: onlyAt(here.wanted, step), shape });
  if (isList(merged)) {
    const items = merged.flatMap((item): readonly Json[] => {
      const step = stepOf(item, shape);
      const after = lost.children.has(step) ? left([item], step) : [item];
      return isList(after) ? after : [];
    });
    return items.length === 0 ? null : withoutNulls(items);
  }
  const copy: MutableJsonObject = {};
  for (const [key, value] of Object.entries(merged as JsonObject)) {
    const step = fieldStep(key);
    const after = lost.children.has(step) ? left({ [key]: value }, step) : merged;
    const member = isObject(after) ? own(after, key) : undefined;
    if (member !== undefined) setOwn(copy, key, member as MutableJson);
  }
  return Object.keys(copy).length === 0 ? null : withoutNulls(copy);
}

/** Do all members stay as they are that lose nothing? Not a list item of which nobody owns the keys: without them it is none. */
function othersStay({ before, children }: Lost, shape: Shape): boolean {
  for (const [step, child] of before.children) if (!children.has(step) && !staysWhole(step, child, shape)) return false;
  return true;
}

function staysWhole(step: string, set: FieldSet, parent: Shape): boolean {
  const shape = belowOf(step, parent);
  if (step.startsWith('k:') && !ownsKeys(set, parent)) return false;
  if (step.startsWith('v:{') || step.startsWith('v:[')) return false;
  for (const [inner, child] of set.children) if (!staysWhole(inner, child, shape)) return false;
  return true;
}

function ownsKeys(item: FieldSet, list: Shape): boolean {
  const { listKeys = [] } = list;
  const owns = (key: string): boolean => item.children.has(fieldStep(key));
  return listKeys.some(owns) && listKeys.every((key) => owns(key) || list.items().keyDefault(key) !== undefined);
}

function onlyAt(set: FieldSet, step: string): FieldSet {
  const child = set.children.get(step);
  return { member: set.member, children: new Map(child === undefined ? [] : [[step, child]]) };
}

/** What goes in a place: all that was ours, is wanted by nobody, and has nothing in it that is somebody's. */
export function pruneHere(merged: Json, before: FieldSet, kept: Kept): Json {
  return withoutNulls(pruned(merged, before, kept));
}

function pruned(merged: Json, before: FieldSet, { wanted, shape }: Kept): Json {
  const [was, kept, whole] = [withNamed(before, shape), withNamed(wanted, shape), fieldSetOf(merged, shape, 'structs')];
  const first = fieldSetOf(remove(merged, was, shape), shape, 'structs');
  // What was in something that went, and is not ours to take, stays.
  const notOurs = select(whole, [first, kept], (left, isKept) => !left && !isKept);
  const owned = fieldSetOf(remove(merged, notOurs, shape), shape, 'structs');
  const gone = select(whole, [owned, was], (left, isOurs) => !left && isOurs);
  return remove(merged, gone, shape);
}

/** Does a value have every path of a field set? The answer for nearly every object, found without making sets of both. */
function isCovered(fields: JsonObject, value: Json, shape: Shape): boolean {
  const items = isList(value) && shape.listKeys !== undefined ? indexed(value, shape).byStep : undefined;
  const childAt = (step: string): Json | undefined => {
    if (!step.startsWith('f:')) return items?.get(step);
    return isObject(value) && !shape.atomicMap ? own(value, step.slice(2)) : undefined;
  };
  for (const text of Object.keys(fields)) {
    const inner = own(fields, text);
    const step = text === '.' ? undefined : canonicalStep(text);
    if (step === undefined || !isObject(inner)) continue;
    const child = childAt(step);
    if (child === undefined || !isOwnedAt(step, inner, child, shape)) return false;
  }
  return true;
}

/** The same below one step. Items and keys of maps are always owned themselves, fields of structs only when nothing is in them. */
function isOwnedAt(step: string, fields: JsonObject, value: Json, parent: Shape): boolean {
  const name = step.startsWith('f:') ? step.slice(2) : undefined;
  const shape = name === undefined ? parent.items() : parent.member(name);
  const isMember = name === undefined || !parent.named(name) || isLeaf(value, shape);
  return (isMember || !isOwnedItself(fields)) && isCovered(fields, value, shape);
}

function isOwnedItself(fields: JsonObject): boolean {
  for (const text of Object.keys(fields)) if (text !== '.') return Object.hasOwn(fields, '.');
  return true;
}

/** Is a value owned as one? */
function isLeaf(value: Json, shape: Shape): boolean {
  if (isList(value)) return shape.listKeys === undefined;
  return !isObject(value) || shape.atomicMap || Object.keys(value).length === 0;
}

/** A set with the fields of structs on the way to its paths (fieldpath.Set.EnsureNamedFieldsAreMembers). */
function withNamed(set: FieldSet, shape: Shape): FieldSet {
  const result: FieldSet = { member: set.member, children: new Map() };
  for (const [step, child] of set.children) {
    const name = step.startsWith('f:') ? step.slice(2) : undefined;
    const inner = withNamed(child, name === undefined ? shape.items() : shape.member(name));
    if (name !== undefined && shape.named(name)) inner.member = true;
    result.children.set(step, inner);
  }
  return result;
}

export function merge(live: Json | undefined, target: Json | undefined, shape: Shape): Json {
  if (target === undefined) return live ?? null;
  if (live === undefined || live === target) return target;
  if (isList(target) && isList(live) && shape.listKeys !== undefined) return mergeLists(live, target, shape);
  if (!isObject(target) || !isObject(live) || shape.atomicMap) return target;
  let merged: MutableJsonObject | undefined;
  for (const key of Object.keys(target)) {
    const wanted = target[key];
    if (wanted === undefined) continue;
    const after = merge(own(live, key), wanted, shape.member(key));
    if (after === own(live, key)) continue;
    merged ??= { ...(live as MutableJsonObject) };
    setOwn(merged, key, after as MutableJson);
  }
  return merged ?? live;
}

/**
 * Items of both: those that the target names in its order, the others of live where they stood among them (typed.mergingWalker
 * visitListItems).
 */
function mergeLists(live: readonly Json[], target: readonly Json[], shape: Shape): Json {
  const out = alike(live, target, shape) ?? new ListMerge(live, target, shape).run();
  return out.length === live.length && out.every((item, i) => item === live[i]) ? live : out;
}

/** The merge of two lists that have the same items in the same order, nearly all of them. */
function alike(live: readonly Json[], target: readonly Json[], shape: Shape): readonly Json[] | undefined {
  if (live.length !== target.length) return undefined;
  const seen = new Set<string>();
  const items = shape.items();
  const out: Json[] = [];
  for (const [i, item] of target.entries()) {
    const step = stepOf(item, shape);
    if (seen.has(step) || stepOf(live[i] ?? null, shape) !== step) return undefined;
    seen.add(step);
    out.push(merge(live[i], item, items));
  }
  return out;
}

class ListMerge {
  readonly #shape: Shape;
  readonly #live: Indexed;
  readonly #target: Indexed;
  readonly #out: Json[] = [];
  readonly #done = new Set<string>();
  /** Items of both sides that are still to come, in the target's order. */
  readonly #shared: string[];

  constructor(live: readonly Json[], target: readonly Json[], shape: Shape) {
    this.#shape = shape;
    this.#live = indexed(live, shape);
    this.#target = indexed(target, shape);
    this.#shared = this.#target.steps.filter((step) => this.#live.byStep.has(step));
  }

  run(): readonly Json[] {
    let next = 0;
    for (const [i, step] of this.#live.steps.entries()) {
      if (!this.#target.byStep.has(step)) this.#out.push(this.#live.list[i] ?? null);
      // Else it comes when it is the turn of it in the target's order.
      else if (this.#shared[0] === step) next = this.#takeUntil(step, next);
    }
    for (const step of this.#target.steps.slice(next)) this.#take(step);
    return this.#out;
  }

  /** Gives the place in the target behind the step. */
  #takeUntil(step: string, from: number): number {
    const end = this.#target.steps.indexOf(step, from) + 1;
    for (const other of this.#target.steps.slice(from, end)) this.#take(other);
    return Math.max(end, from);
  }

  #take(step: string): void {
    if (this.#done.has(step)) return;
    this.#done.add(step);
    this.#out.push(merge(this.#live.byStep.get(step), this.#target.byStep.get(step), this.#shape.items()));
    if (this.#shared[0] === step) this.#shared.shift();
  }
}

interface Indexed {
  readonly list: readonly Json[];
  readonly steps: readonly string[];
  readonly byStep: ReadonlyMap<string, Json>;
}

function indexed(list: readonly Json[], shape: Shape): Indexed {
  const steps = list.map((item) => stepOf(item, shape));
  return { list, steps, byStep: new Map(list.map((item, i) => [steps[i] ?? '', item])) };
}

/**
 * The value without the paths of a set; null when nothing is left of it. What is owned as a whole goes when something in it shall go
 * (typed.removeItemsWithSchema).
 */
export function remove(value: Json, set: FieldSet, shape: Shape): Json {
  if (set.children.size === 0) return value;
  if (isList(value)) {
    if (shape.listKeys === undefined) return null;
    const items = value.flatMap((item) => kept(item, set.children.get(stepOf(item, shape)), shape.items()));
    return items.length === 0 ? null : items;
  }
  if (!isObject(value)) return value;
  if (shape.atomicMap) return null;
  const left: MutableJsonObject = {};
  for (const key of Object.keys(value)) {
    const member = value[key];
    if (member === undefined) continue;
    const [after] = kept(member, set.children.get(fieldStep(key)), shape.member(key));
    if (after !== undefined) setOwn(left, key, after as MutableJson);
  }
  return Object.keys(left).length === 0 ? null : left;
}

function kept(value: Json, set: FieldSet | undefined, shape: Shape): readonly Json[] {
  if (set === undefined) return [value];
  return set.member ? [] : [remove(value, set, shape)];
}
