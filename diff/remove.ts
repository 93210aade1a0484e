import { isObject, own, setOwn } from '#base';
import type { Json, MutableJson, MutableJsonObject } from '#base';
import { copyOf, isList } from './values.ts';

/** Where a value is, from the inside out. */
export interface Path {
  readonly parent: Path | undefined;
  readonly step: string | number;
}

/** Marks on a value: what goes, and where inside something goes. */
export interface Marks {
  remove: boolean;
  readonly children: Map<string | number, Marks>;
}

export function noMarks(): Marks {
  return { remove: false, children: new Map() };
}

/** All at once, so that removing one item of a list does not move the others. */
export function removeAll(value: Json, paths: readonly Path[]): Json {
  const root = noMarks();
  for (const path of paths) mark(root, stepsOf(path));
  return prune(value, root);
}

/**
 * Marks in a value what paths name in the value that is left of it: where items of a list are marked already, the indices of the paths do not
 * count them.
 */
export function markAll(root: Marks, paths: readonly Path[]): void {
  for (const steps of paths.map((path) => original(root, stepsOf(path)))) mark(root, steps);
}

/** From the outside in. */
export function stepsOf(path: Path | undefined): (string | number)[] {
  const steps: (string | number)[] = [];
  for (let here = path; here !== undefined; here = here.parent) steps.push(here.step);
  return steps.reverse();
}

function original(root: Marks, steps: readonly (string | number)[]): readonly (string | number)[] {
  let node: Marks | undefined = root;
  return steps.map((step) => {
    let place = step;
    if (typeof place === 'number')
      for (let i = 0; i <= place; i += 1) if (node?.children.get(i)?.remove === true) place += 1;
    node = node?.children.get(place);
    return place;
  });
}

function mark(root: Marks, steps: readonly (string | number)[]): void {
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

/** The value without what is marked; the same reference when nothing of it is there. */
export function prune(value: Json, trie: Marks): Json {
  if (isList(value)) {
    const list = value;
    const after = list.flatMap((item, i) => {
      const child = trie.children.get(i);
      if (child === undefined) return [item];
      return child.remove ? [] : [prune(item, child)];
    });
    return after.length === list.length && after.every((item, i) => item === list[i]) ? value : after;
  }
  if (!isObject(value)) return value;
  let changed: MutableJsonObject | undefined;
  for (const [step, child] of trie.children) {
    const before = typeof step === 'string' ? own(value, step) : undefined;
    if (before === undefined || typeof step !== 'string') continue;
    const after = child.remove ? undefined : prune(before, child);
    if (after === before) continue;
    changed ??= copyOf(value);
    if (after === undefined) Reflect.deleteProperty(changed, step);
    else setOwn(changed, step, after as MutableJson);
  }
  return changed ?? value;
}

/** As the JSON Patch `remove` of a rule's JSON pointer: the path of what is there, nothing when there is nothing. */
export function pathOf(value: Json, steps: readonly string[]): Path | undefined {
  let [here, path]: [Json, Path | undefined] = [value, undefined];
  for (const step of steps) {
    let next: Json | undefined;
    if (isList(here)) {
      const index = /^-?(?:0|[1-9][0-9]*)$/.test(step) ? Number(step) : Number.NaN;
      const at = index < 0 ? here.length + index : index;
      next = here[at];
      path = { parent: path, step: at };
    } else {
      next = isObject(here) ? own(here, step) : undefined;
      path = { parent: path, step };
    }
    if (next === undefined) return undefined;
    here = next;
  }
  return path;
}

export function removeSteps(value: Json, steps: readonly string[]): Json {
  const path = pathOf(value, steps);
  return path === undefined ? value : removeAll(value, [path]);
}
