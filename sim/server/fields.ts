import { valueAt, isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject, ObjectMeta } from '#model';

/** An object as plain JSON: KubeObject types its metadata, which paths ignore. */
export function asJsonObject(object: KubeObject | ObjectMeta): JsonObject {
  return object as unknown as JsonObject;
}

export function asKubeObject(value: Json): KubeObject {
  return value as unknown as KubeObject;
}

/** The value at a path of an object, undefined if the path does not exist. */
export function fieldAt(object: KubeObject, ...path: readonly (string | number)[]): Json | undefined {
  return valueAt(asJsonObject(object), ...path);
}

/** A string at a path; "" if it is missing or not a string. */
export function stringAt(object: KubeObject, ...path: readonly (string | number)[]): string {
  const value = fieldAt(object, ...path);
  return typeof value === 'string' ? value : '';
}

/** A number at a path; `otherwise` if it is missing or not a number. */
export function numberAt(object: KubeObject, path: readonly (string | number)[], otherwise = 0): number {
  const value = fieldAt(object, ...path);
  return typeof value === 'number' ? value : otherwise;
}

/** A list of objects at a path; empty if it is missing. */
export function itemsAt(object: KubeObject, ...path: readonly (string | number)[]): readonly JsonObject[] {
  return objectItemsOf(fieldAt(object, ...path));
}

export function objectItemsOf(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly Json[]).filter(isObject) : [];
}

/** The string, or "" for everything else. */
export function stringOrEmpty(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** A copy with changed metadata; undefined members are dropped. */
export function withMeta(object: KubeObject, change: Readonly<Record<string, unknown>>): KubeObject {
  const metadata: Record<string, unknown> = { ...object.metadata, ...change };
  for (const [key, value] of Object.entries(metadata)) if (value === undefined) Reflect.deleteProperty(metadata, key);
  return { ...object, metadata };
}

/** A copy without some top-level fields. */
export function withoutFields(object: KubeObject, ...names: readonly string[]): KubeObject {
  const rest: Record<string, unknown> = { ...object };
  for (const name of names) Reflect.deleteProperty(rest, name);
  return rest as unknown as KubeObject;
}

/** A copy with a top-level field, or without it if the value is undefined. */
export function withField(object: KubeObject, name: string, value: Json | undefined): KubeObject {
  return value === undefined ? withoutFields(object, name) : { ...object, [name]: value };
}

/** RFC 3339 with seconds, the form of metav1.Time. */
export function timestamp(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
}
