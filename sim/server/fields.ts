import { at, isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject, ObjectMeta } from '#model';

/** An object's fields as plain JSON: KubeObject types its metadata, paths do not care. */
export function asJson(object: KubeObject | ObjectMeta): JsonObject {
  return object as unknown as JsonObject;
}

export function asObject(value: Json): KubeObject {
  return value as unknown as KubeObject;
}

/** The value at a path of an object, undefined where the path ends early. */
export function field(object: KubeObject, ...path: readonly (string | number)[]): Json | undefined {
  return at(asJson(object), ...path);
}

/** A string at a path; "" when it is missing or something else. */
export function text(object: KubeObject, ...path: readonly (string | number)[]): string {
  const value = field(object, ...path);
  return typeof value === 'string' ? value : '';
}

/** A number at a path, `otherwise` when it is missing or something else. */
export function count(object: KubeObject, path: readonly (string | number)[], otherwise = 0): number {
  const value = field(object, ...path);
  return typeof value === 'number' ? value : otherwise;
}

/** A list of objects at a path; empty when it is missing. */
export function items(object: KubeObject, ...path: readonly (string | number)[]): readonly JsonObject[] {
  return itemsOf(field(object, ...path));
}

export function itemsOf(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly Json[]).filter(isObject) : [];
}

/** The string, or "" for everything else. */
export function str(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** A copy with another metadata; members that are undefined are left out. */
export function withMeta(object: KubeObject, change: Readonly<Record<string, unknown>>): KubeObject {
  const metadata: Record<string, unknown> = { ...object.metadata, ...change };
  for (const [key, value] of Object.entries(metadata)) if (value === undefined) Reflect.deleteProperty(metadata, key);
  return { ...object, metadata };
}

/** A copy without some top-level fields. */
export function without(object: KubeObject, ...names: readonly string[]): KubeObject {
  const rest: Record<string, unknown> = { ...object };
  for (const name of names) Reflect.deleteProperty(rest, name);
  return rest as unknown as KubeObject;
}

/** A copy with a top-level field, or without it when the value is undefined. */
export function withField(object: KubeObject, name: string, value: Json | undefined): KubeObject {
  return value === undefined ? without(object, name) : { ...object, [name]: value };
}

/** RFC 3339 in seconds, as metav1.Time is written. */
export function timestamp(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
}
