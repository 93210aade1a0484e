import { isObject } from '#base';
import type { Json, JsonObject } from '#base';

/** How to get from an object to a place in it. */
export type Steps = readonly (string | number)[];

/** All places of values; lists and maps that are empty count as one. */
export function leavesOf(value: Json, path: Steps = []): readonly Steps[] {
  const inner = childrenOf(value).flatMap(([step, member]) => leavesOf(member, [...path, step]));
  return inner.length === 0 ? [path] : inner;
}

/** All lists and maps that are not empty. */
export function holdersOf(value: Json, path: Steps = []): readonly Steps[] {
  const children = childrenOf(value);
  if (children.length === 0) return [];
  return [path, ...children.flatMap(([step, member]) => holdersOf(member, [...path, step]))];
}

function childrenOf(value: Json): readonly (readonly [string | number, Json])[] {
  if (isList(value)) return [...value.entries()];
  return isObject(value) ? Object.entries(value).map(([key, member]) => [key, member ?? null] as const) : [];
}

export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

export function valueAt(value: Json, path: Steps): Json | undefined {
  let here: Json | undefined = value;
  for (const step of path)
    here = isList(here) ? here[Number(step)] : isObject(here) && Object.hasOwn(here, step) ? here[step] : undefined;
  return here;
}

/** With another value in a place; undefined: without it. */
export function changedAt(value: Json, path: Steps, after: Json | undefined): Json {
  const [step, ...rest] = path;
  if (step === undefined) return after ?? null;
  const isGone = rest.length === 0 && after === undefined;
  if (isList(value)) {
    const list = value.flatMap((item, i) => (i !== step ? [item] : isGone ? [] : [changedAt(item, rest, after)]));
    return step === value.length && after !== undefined ? [...list, after] : list;
  }
  const { [String(step)]: member = null, ...others } = value as JsonObject;
  return isGone ? others : { ...(value as JsonObject), [String(step)]: changedAt(member, rest, after) };
}

/** Other values of the same form, those first that an API server may take; `known` are the words that it publishes for the place. */
export function othersFor(value: Json, known: readonly string[] = []): readonly Json[] {
  if (typeof value === 'boolean') return [!value];
  if (typeof value === 'number') return [value + 1, value - 1, value * 2];
  if (typeof value !== 'string') return [{ other: 'x' }];
  const words = known.filter((word) => word !== value && word !== '');
  const digits = /^(.*?)(\d+)(\D*)$/s.exec(value);
  const counted =
    digits === null
      ? []
      : [`${digits[1] ?? ''}${String(Number(digits[2]) + 1).padStart(digits[2]?.length ?? 0, '0')}${digits[3] ?? ''}`];
  return [...words.slice(0, 3), ...counted, `${value}z`, `z${value}`];
}
