import { isObject } from '#base';
import type { Json, JsonObject } from '#base';

/** The path to a value inside an object. */
export type ValuePath = readonly (string | number)[];

/** Paths of all leaves. Empty lists and maps are leaves. */
export function leavesOf(value: Json, path: ValuePath = []): readonly ValuePath[] {
  const inner = childrenOf(value).flatMap(([step, member]) => leavesOf(member, [...path, step]));
  return inner.length === 0 ? [path] : inner;
}

/** Paths of all lists and maps that are not empty. */
export function holdersOf(value: Json, path: ValuePath = []): readonly ValuePath[] {
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

export function valueAtPath(value: Json, path: ValuePath): Json | undefined {
  let here: Json | undefined = value;
  for (const step of path)
    here = isList(here) ? here[Number(step)] : isObject(here) && Object.hasOwn(here, step) ? here[step] : undefined;
  return here;
}

/** Replaces the value at a path; undefined removes it. */
export function changedAt(value: Json, path: ValuePath, after: Json | undefined): Json {
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

/**
 * Other values of the same type, likely valid ones first. `known` are the enum values of the
 * schema.
 */
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
