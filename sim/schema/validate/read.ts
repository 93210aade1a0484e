import { isObject, own } from '#base';
import type { Json, JsonObject } from '#base';

/** Readers that take a wrong or missing value for an empty one: types were checked when the object was decoded. */

export function obj(value: Json | undefined, key: string): JsonObject | undefined {
  const member = isObject(value) ? own(value, key) : undefined;
  return isObject(member) ? member : undefined;
}

export function str(value: Json | undefined, key: string): string {
  const member = isObject(value) ? own(value, key) : undefined;
  return typeof member === 'string' ? member : '';
}

export function num(value: Json | undefined, key: string): number | undefined {
  const member = isObject(value) ? own(value, key) : undefined;
  if (typeof member === 'bigint') return Number(member);
  return typeof member === 'number' ? member : undefined;
}

export function get(value: Json | undefined, key: string): Json | undefined {
  const member = isObject(value) ? own(value, key) : undefined;
  return member ?? undefined;
}

export function list(value: Json | undefined, key: string): readonly Json[] {
  const member = isObject(value) ? own(value, key) : undefined;
  return Array.isArray(member) ? (member as readonly Json[]) : [];
}

/** Members of a map as pairs. */
export function pairs(value: Json | undefined, key: string): readonly (readonly [string, Json])[] {
  return Object.entries(obj(value, key) ?? {}).flatMap(([name, member]) =>
    member === undefined ? [] : [[name, member] as const],
  );
}

/** Runs over a list of objects with the path of each. */
export function each(
  value: Json | undefined,
  key: string,
  path: string,
  visit: (item: JsonObject, path: string) => void,
): void {
  list(value, key).forEach((item, i) => {
    if (isObject(item)) visit(item, `${path}.${key}[${i}]`);
  });
}
