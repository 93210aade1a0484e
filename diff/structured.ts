import { deepEqual, isObject, own, setOwn } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { addAll, emptySet, fieldStep, parseFields, select } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { fieldSetOf, stepOf } from './shape.ts';
import type { Shape } from './shape.ts';
import { withoutNulls } from './strategic.ts';
import { isList, textOf } from './values.ts';

/** An entry of `metadata.managedFields`, read. */
interface Entry {
  readonly isOurs: boolean;
  readonly fields: FieldSet;
}

/** Who owns what in a live object. */
export interface Ownership {
  /** What our manager applied last. */
  readonly last: FieldSet;
  /** What all others own. */
  readonly others: FieldSet;
  /** All of it: what the API server's schema made of it shows in it. */
  readonly all: FieldSet;
}

/** Reads the managed fields of a live object. Our entry is the one that server-side apply wrote, whatever its version. */
export function ownershipOf(live: JsonObject, manager: string): Ownership {
  const [last, others, all] = [emptySet(), emptySet(), emptySet()];
  for (const { isOurs, fields } of entriesOf(live, manager)) {
    addAll(isOurs ? last : others, fields);
    addAll(all, fields);
  }
  return { last, others, all };
}

function entriesOf(live: JsonObject, manager: string): readonly Entry[] {
  const metadata = own(live, 'metadata');
  const entries = isObject(metadata) ? own(metadata, 'managedFields') : undefined;
  if (!isList(entries)) return [];
  return entries.filter(isObject).flatMap((entry) => {
    const fields = own(entry, 'fieldsV1');
    const isOurs =
      own(entry, 'manager') === manager &&
      own(entry, 'operation') === 'Apply' &&
      textOf(own(entry, 'subresource')) === '';
    return isObject(fields) ? [{ isOurs, fields: parseFields(fields) }] : [];
  });
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
  return deepEqual(pruned, live) ? live : pruned;
}

function prune(merged: JsonObject, target: JsonObject, { last, others }: Ownership, shape: Shape): JsonObject {
  if (last.children.size === 0) return merged;
  const ours = fieldSetOf(target, shape);
  addAll(ours, others);
  if (isWithin(last, ours)) return merged;
  const [before, kept, whole] = [withNamed(last, shape), withNamed(ours, shape), setOf(merged, shape)];
  const first = remove(merged, before, shape);
  const owned = remove(
    merged,
    select([whole, setOf(first, shape), kept], ([here, left, wanted]) => here === true && !left && !wanted),
    shape,
  );
  const gone = select(
    [whole, setOf(owned, shape), before],
    ([here, left, was]) => here === true && !left && was === true,
  );
  return withoutNulls(remove(merged, gone, shape)) as JsonObject;
}

/** Is all that we applied last still wanted, or owned by others? Then nothing goes. */
function isWithin(set: FieldSet, wanted: FieldSet | undefined): boolean {
  if (set.member && wanted?.member !== true) return false;
  for (const [step, child] of set.children) if (!isWithin(child, wanted?.children.get(step))) return false;
  return true;
}

function setOf(value: Json | undefined, shape: Shape): FieldSet {
  return withNamed(fieldSetOf(value, shape), shape);
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

function merge(live: Json | undefined, target: Json | undefined, shape: Shape): Json {
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
  const out = new ListMerge(live, target, shape).run();
  return out.length === live.length && out.every((item, i) => item === live[i]) ? live : out;
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
function remove(value: Json, set: FieldSet, shape: Shape): Json {
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
