import { deepEqual, isObject, ownMember, setOwnMember } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { isList } from '../shared/values.ts';
import { unionOf } from './field-owners.ts';
import type { FieldOwners } from './field-owners.ts';
import { addAll } from './field-set.ts';
import { isCovered, pruneBelow } from './prune.ts';
import { fieldSetOf, indexItems, listItemStep } from './shape.ts';
import type { IndexedList, OwnershipShape } from './shape.ts';

/**
 * Predicts a forced server-side apply of `target` by our manager: merges it into live, and removes
 * what we applied last, no longer want, and no other manager owns
 * (sigs.k8s.io/structured-merge-diff merge.Updater.Apply; Argo CD: gitops-engine/pkg/diff
 * structuredMergeDiff). Returns `live` itself when nothing changes. Changes neither argument.
 *
 * Difference: managed fields at another API version count as if they were at the target's; upstream
 * converts the object to that version.
 */
export function structuredMerge(
  target: JsonObject,
  live: JsonObject,
  owners: FieldOwners,
  shape: OwnershipShape,
): JsonObject {
  const merged = mergeValues(live, target, shape) as JsonObject;
  const pruned = pruneUnwanted(merged, target, owners, shape);
  return pruned === live || deepEqual(pruned, live) ? live : pruned;
}

function pruneUnwanted(
  merged: JsonObject,
  target: JsonObject,
  { ours, others }: FieldOwners,
  shape: OwnershipShape,
): JsonObject {
  if (ours.every((fields) => isCovered(fields, target, shape))) return merged;
  const before = unionOf(ours);
  const wanted = fieldSetOf(target, shape);
  addAll(wanted, unionOf(others));
  return pruneBelow(merged, before, { wanted, shape }) as JsonObject;
}

export function mergeValues(live: Json | undefined, target: Json | undefined, shape: OwnershipShape): Json {
  if (target === undefined) return live ?? null;
  if (live === undefined || live === target) return target;
  if (isList(target) && isList(live) && shape.listKeys !== undefined) return mergeLists(live, target, shape);
  if (!isObject(target) || !isObject(live) || shape.atomicMap) return target;
  let merged: MutableJsonObject | undefined;
  for (const key of Object.keys(target)) {
    const wanted = target[key];
    if (wanted === undefined) continue;
    const after = mergeValues(ownMember(live, key), wanted, shape.member(key));
    if (after === ownMember(live, key)) continue;
    merged ??= { ...(live as MutableJsonObject) };
    setOwnMember(merged, key, after as MutableJson);
  }
  return merged ?? live;
}

/**
 * Merges granular lists: items of the target in its order, live's other items at their positions
 * among them (typed.mergingWalker visitListItems).
 */
function mergeLists(live: readonly Json[], target: readonly Json[], shape: OwnershipShape): Json {
  const out = mergeAligned(live, target, shape) ?? new ListMerge(live, target, shape).run();
  return out.length === live.length && out.every((item, i) => item === live[i]) ? live : out;
}

/** Fast path for two lists with the same items in the same order, which almost all are. */
function mergeAligned(
  live: readonly Json[],
  target: readonly Json[],
  shape: OwnershipShape,
): readonly Json[] | undefined {
  if (live.length !== target.length) return undefined;
  const seen = new Set<string>();
  const items = shape.items();
  const out: Json[] = [];
  for (const [i, item] of target.entries()) {
    const step = listItemStep(item, shape);
    if (seen.has(step) || listItemStep(live[i] ?? null, shape) !== step) return undefined;
    seen.add(step);
    out.push(mergeValues(live[i], item, items));
  }
  return out;
}

class ListMerge {
  readonly #shape: OwnershipShape;
  readonly #live: IndexedList;
  readonly #target: IndexedList;
  readonly #out: Json[] = [];
  readonly #done = new Set<string>();
  /** Items of both sides not emitted yet, in the target's order. */
  readonly #shared: string[];

  constructor(live: readonly Json[], target: readonly Json[], shape: OwnershipShape) {
    this.#shape = shape;
    this.#live = indexItems(live, shape);
    this.#target = indexItems(target, shape);
    this.#shared = this.#target.steps.filter((step) => this.#live.byStep.has(step));
  }

  run(): readonly Json[] {
    let next = 0;
    for (const [i, step] of this.#live.steps.entries()) {
      if (!this.#target.byStep.has(step)) this.#out.push(this.#live.list[i] ?? null);
      // Otherwise it is emitted at its turn in the target's order.
      else if (this.#shared[0] === step) next = this.#takeUntil(step, next);
    }
    for (const step of this.#target.steps.slice(next)) this.#take(step);
    return this.#out;
  }

  /** Emits the target's items up to the step. Returns the index after it. */
  #takeUntil(step: string, from: number): number {
    const end = this.#target.steps.indexOf(step, from) + 1;
    for (const other of this.#target.steps.slice(from, end)) this.#take(other);
    return Math.max(end, from);
  }

  #take(step: string): void {
    if (this.#done.has(step)) return;
    this.#done.add(step);
    this.#out.push(mergeValues(this.#live.byStep.get(step), this.#target.byStep.get(step), this.#shape.items()));
    if (this.#shared[0] === step) this.#shared.shift();
  }
}
