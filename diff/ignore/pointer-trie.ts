import { isObject, ownMember, setOwnMember } from '#base';
import type { Json, MutableJson, MutableJsonObject } from '#base';
import type { RemovalMarks } from '../shared/removal.ts';
import { copyOf } from '../shared/values.ts';

/** JSON pointers into maps, merged so that one walk over an object removes them all. */
export interface PointerTrie {
  remove: boolean;
  readonly children: Map<string, PointerTrie>;
}

export function emptyTrie(): PointerTrie {
  return { remove: false, children: new Map() };
}

/** Not worth counting the names of a map. */
const few = 8;

/**
 * A step that may be a list index. Removing an item shifts the others, so such pointers run one
 * after the other.
 */
const maybeIndex = /^-?(?:0|[1-9][0-9]*)$/;

/** Whether a pointer can be merged: then neither order nor repetition matters. */
export function isMergeable(steps: readonly string[]): boolean {
  return steps.every((step) => !maybeIndex.test(step));
}

export function addPointer(trie: PointerTrie, steps: readonly string[]): void {
  let here = trie;
  for (const step of steps) {
    let next = here.children.get(step);
    if (next === undefined) {
      next = emptyTrie();
      here.children.set(step, next);
    }
    here = next;
  }
  here.remove = true;
}

/**
 * Removes what the pointers select; returns the same reference when that is nothing. The cost is
 * that of the smaller of both trees.
 */
export function removePointers(value: Json, trie: PointerTrie): Json {
  if (!isObject(value)) return value;
  let changed: MutableJsonObject | undefined;
  for (const step of sharedSteps(value, trie)) {
    const [child, before] = [trie.children.get(step), ownMember(value, step)];
    if (child === undefined || before === undefined) continue;
    const after = child.remove ? undefined : removePointers(before, child);
    if (after === before) continue;
    changed ??= copyOf(value);
    if (after === undefined) Reflect.deleteProperty(changed, step);
    else setOwnMember(changed, step, after as MutableJson);
  }
  return changed ?? value;
}

/** Marks what {@link removePointers} would remove. */
export function markPointers(value: Json, trie: PointerTrie, marks: RemovalMarks): void {
  if (marks.remove || !isObject(value)) return;
  for (const step of sharedSteps(value, trie)) {
    const [child, before] = [trie.children.get(step), ownMember(value, step)];
    if (child === undefined || before === undefined) continue;
    let inner = marks.children.get(step);
    if (inner === undefined) {
      if (!child.remove && removePointers(before, child) === before) continue;
      inner = { remove: false, children: new Map() };
      marks.children.set(step, inner);
    }
    if (child.remove) inner.remove = true;
    else markPointers(before, child, inner);
  }
}

/** The fewer: the names of a map, or those of a trie. All that both share are among them. */
function sharedSteps(value: Readonly<Record<string, Json | undefined>>, { children }: PointerTrie): Iterable<string> {
  if (children.size <= few) return children.keys();
  const names = Object.keys(value);
  return names.length < children.size ? names : children.keys();
}
