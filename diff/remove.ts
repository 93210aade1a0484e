import { isObject, own, setOwn } from '#base';
import type { Json, MutableJson, MutableJsonObject } from '#base';
import { copyOf, isList } from './values.ts';

/** Where a value is, from the inside out. */
export interface Path {
  readonly parent: Path | undefined;
  readonly step: string | number;
}

interface Trie {
  remove: boolean;
  readonly children: Map<string | number, Trie>;
}

/** All at once, so that removing one item of a list does not move the others. */
export function removeAll(value: Json, paths: readonly Path[]): Json {
  const root: Trie = { remove: false, children: new Map() };
  for (const path of paths) {
    const steps: (string | number)[] = [];
    for (let here: Path | undefined = path; here !== undefined; here = here.parent) steps.push(here.step);
    let node = root;
    for (const step of steps.reverse()) {
      let child = node.children.get(step);
      if (child === undefined) {
        child = { remove: false, children: new Map() };
        node.children.set(step, child);
      }
      node = child;
    }
    node.remove = true;
  }
  return prune(value, root);
}

function prune(value: Json, trie: Trie): Json {
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

/** As the JSON Patch `remove` of a rule's JSON pointer: nothing happens when there is nothing. */
export function removeSteps(value: Json, steps: readonly string[]): Json {
  const [step, ...rest] = steps;
  if (step === undefined) return value;
  if (isList(value)) {
    const list = value;
    const index = /^-?(?:0|[1-9][0-9]*)$/.test(step) ? Number(step) : Number.NaN;
    const at = index < 0 ? list.length + index : index;
    const item = list[at];
    if (item === undefined) return value;
    if (rest.length === 0) return list.filter((_item, i) => i !== at);
    const after = removeSteps(item, rest);
    return after === item ? value : list.map((other, i) => (i === at ? after : other));
  }
  if (!isObject(value)) return value;
  const member = own(value, step);
  if (member === undefined) return value;
  const after = rest.length === 0 ? undefined : removeSteps(member, rest);
  if (after === member) return value;
  const copy = copyOf(value);
  if (after === undefined) Reflect.deleteProperty(copy, step);
  else setOwn(copy, step, after as MutableJson);
  return copy;
}
