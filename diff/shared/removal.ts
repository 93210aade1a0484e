import { isObject, ownMember, setOwnMember } from '#base';
import type { Json, MutableJson, MutableJsonObject } from '#base';
import { copyOf, isList } from './values.ts';

/** The path of a value, linked from the last step to the first. */
export interface ValuePath {
  readonly parent: ValuePath | undefined;
  readonly step: string | number;
}

/** Marks values for removal, at and below a value. */
export interface RemovalMarks {
  remove: boolean;
  readonly children: Map<string | number, RemovalMarks>;
}

export function noMarks(): RemovalMarks {
  return { remove: false, children: new Map() };
}

/** Removes all paths at once, so that removing a list item does not shift the others. */
export function removePaths(value: Json, paths: readonly ValuePath[]): Json {
  const root = noMarks();
  for (const path of paths) mark(root, stepsToPath(path));
  return removeMarked(value, root);
}

/**
 * Adds marks for paths in the already pruned value: their list indices do not count items marked
 * before.
 */
export function markPaths(root: RemovalMarks, paths: readonly ValuePath[]): void {
  for (const steps of paths.map((path) => unshiftedSteps(root, stepsToPath(path)))) mark(root, steps);
}

/** The steps from the root to the value. */
export function stepsToPath(path: ValuePath | undefined): (string | number)[] {
  const steps: (string | number)[] = [];
  for (let here = path; here !== undefined; here = here.parent) steps.push(here.step);
  return steps.reverse();
}

function unshiftedSteps(root: RemovalMarks, steps: readonly (string | number)[]): readonly (string | number)[] {
  let node: RemovalMarks | undefined = root;
  return steps.map((step) => {
    let shifted = step;
    if (typeof shifted === 'number')
      for (let i = 0; i <= shifted; i += 1) if (node?.children.get(i)?.remove === true) shifted += 1;
    node = node?.children.get(shifted);
    return shifted;
  });
}

function mark(root: RemovalMarks, steps: readonly (string | number)[]): void {
  let node = root;
  for (const step of steps) {
    let child = node.children.get(step);
    if (child === undefined) {
      child = noMarks();
      node.children.set(step, child);
    }
    node = child;
  }
  node.remove = true;
}

/** Removes the marked values; returns the same reference when none of them exists. */
export function removeMarked(value: Json, trie: RemovalMarks): Json {
  if (isList(value)) {
    const list = value;
    const after = list.flatMap((item, i) => {
      const child = trie.children.get(i);
      if (child === undefined) return [item];
      return child.remove ? [] : [removeMarked(item, child)];
    });
    return after.length === list.length && after.every((item, i) => item === list[i]) ? value : after;
  }
  if (!isObject(value)) return value;
  let changed: MutableJsonObject | undefined;
  for (const [step, child] of trie.children) {
    const before = typeof step === 'string' ? ownMember(value, step) : undefined;
    if (before === undefined || typeof step !== 'string') continue;
    const after = child.remove ? undefined : removeMarked(before, child);
    if (after === before) continue;
    changed ??= copyOf(value);
    if (after === undefined) Reflect.deleteProperty(changed, step);
    else setOwnMember(changed, step, after as MutableJson);
  }
  return changed ?? value;
}

/**
 * Finds the path of a rule's JSON pointer as a JSON Patch `remove` would; undefined if no value is
 * there.
 */
export function findPath(value: Json, steps: readonly string[]): ValuePath | undefined {
  let [here, path]: [Json, ValuePath | undefined] = [value, undefined];
  for (const step of steps) {
    let next: Json | undefined;
    if (isList(here)) {
      const index = /^-?(?:0|[1-9][0-9]*)$/.test(step) ? Number(step) : Number.NaN;
      const at = index < 0 ? here.length + index : index;
      next = here[at];
      path = { parent: path, step: at };
    } else {
      next = isObject(here) ? ownMember(here, step) : undefined;
      path = { parent: path, step };
    }
    if (next === undefined) return undefined;
    here = next;
  }
  return path;
}

export function removeSteps(value: Json, steps: readonly string[]): Json {
  const path = findPath(value, steps);
  return path === undefined ? value : removePaths(value, [path]);
}
