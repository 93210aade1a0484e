import { setOwn } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import type { TypeSchema } from './schema.ts';

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

/** What came of parts of an object, by the type that they were read as: two states of one object share most of theirs. */
export class Known {
  readonly #results = new Map<Json, { readonly type: TypeSchema; readonly result: Json }>();

  of(value: Json, type: TypeSchema): Json | undefined {
    const known = this.#results.get(value);
    return known?.type === type ? known.result : undefined;
  }

  keep(value: Json, type: TypeSchema, result: Json): void {
    this.#results.set(value, { type, result });
  }
}
