import { isObject, ownMember } from '#base';
import type { Json } from '#base';
import type { ValuePath } from '../shared/removal.ts';
import { isList } from '../shared/values.ts';

/**
 * Converts a path that jq printed to paths in the value. Steps are names, numbers (negative: from
 * the end) and slices. Undefined when it is no path, or selects the value itself, which cannot be
 * removed.
 */
export function pathsOfAnswer(path: Json, value: Json): readonly ValuePath[] | undefined {
  if (!isList(path) || path.length === 0) return undefined;
  let here: Json | undefined = value;
  let parent: ValuePath | undefined;
  let slice: { readonly from: number; readonly end: number } | undefined;
  for (const step of path) {
    if (slice !== undefined && typeof step !== 'number' && !isObject(step)) return undefined;
    if (typeof step === 'string') {
      parent = { parent, step };
      here = isObject(here) ? ownMember(here, step) : undefined;
      continue;
    }
    const list: readonly Json[] = isList(here) ? here : [];
    const [first, end] = slice === undefined ? [0, list.length] : [slice.from, slice.end];
    if (isObject(step)) {
      const [from, to] = boundsOf(step, end - first);
      slice = { from: first + from, end: first + to };
      continue;
    }
    if (typeof step !== 'number') return undefined;
    const index = Math.floor(step);
    const at = index < 0 ? end + index : first + index;
    parent = { parent, step: at };
    here = list[at];
    slice = undefined;
  }
  if (slice === undefined) return parent === undefined ? undefined : [parent];
  const { from, end } = slice;
  return Array.from({ length: Math.max(0, end - from) }, (_item, i) => ({ parent, step: from + i }));
}

function boundsOf(step: Json, length: number): readonly [from: number, to: number] {
  const bound = (name: string, absent: number, round: (value: number) => number): number => {
    const value = isObject(step) ? ownMember(step, name) : undefined;
    if (typeof value !== 'number') return absent;
    const at = round(value);
    return Math.min(length, Math.max(0, at < 0 ? length + at : at));
  };
  return [bound('start', 0, Math.floor), bound('end', length, Math.ceil)];
}
