import { setOwn } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';

/** As Array.isArray, for values that are not changed. */
export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** A shallow copy that may be changed; its members are shared. */
export function copyOf(object: JsonObject): MutableJsonObject {
  const copy: MutableJsonObject = {};
  for (const key of Object.keys(object)) setOwn(copy, key, object[key] as MutableJson | undefined);
  return copy;
}

/** A shallow copy with one member changed. */
export function withMember(object: JsonObject, key: string, value: Json): JsonObject {
  const copy = copyOf(object);
  setOwn(copy, key, value as MutableJson);
  return copy;
}

/** The text of a scalar, "" for anything else. */
export function textOf(value: Json | undefined): string {
  return value === undefined || value === null || typeof value === 'object' ? '' : String(value);
}

/** A shallow copy that lacks some members. */
export function without(object: JsonObject, keys: readonly string[]): JsonObject {
  const copy = copyOf(object);
  for (const key of keys) Reflect.deleteProperty(copy, key);
  return copy;
}
