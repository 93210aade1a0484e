import { isObject, ownMember, setOwnMember } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import type { KubeObject } from '#model';

/** A value for each side of a comparison. */
export interface SidePair<T> {
  readonly target: T;
  readonly live: T;
}

/** `Array.isArray` for readonly JSON. */
export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** A mutable shallow copy. */
export function copyOf(object: JsonObject): MutableJsonObject {
  const copy: MutableJsonObject = {};
  for (const key of Object.keys(object)) setOwnMember(copy, key, object[key] as MutableJson | undefined);
  return copy;
}

/** A shallow copy with one member set. */
export function withMember(object: JsonObject, key: string, value: Json): JsonObject {
  const copy = copyOf(object);
  setOwnMember(copy, key, value as MutableJson);
  return copy;
}

/** The text of a scalar; "" for anything else. */
export function textOf(value: Json | undefined): string {
  return value === undefined || value === null || typeof value === 'object' ? '' : String(value);
}

/** A shallow copy without some members. */
export function withoutMembers(object: JsonObject, keys: readonly string[]): JsonObject {
  const copy = copyOf(object);
  for (const key of keys) Reflect.deleteProperty(copy, key);
  return copy;
}

/** Drops null members: kubectl and the API server drop them from new parts of an object. */
export function withoutNulls(value: Json): Json {
  if (isList(value)) {
    const items = value.map(withoutNulls);
    return items.every((item, i) => item === value[i]) ? value : items;
  }
  if (!isObject(value)) return value;
  let changed = false;
  const result: MutableJsonObject = {};
  for (const key of Object.keys(value)) {
    const member = value[key];
    const after = member === undefined || member === null ? undefined : withoutNulls(member);
    if (after !== member) changed = true;
    if (after !== undefined) setOwnMember(result, key, after as MutableJson);
  }
  return changed ? result : value;
}

/**
 * Drops null members of list items that live lacks: a server stores a null in an item only where
 * its schema permits it.
 */
export function withoutUnsetNulls(wanted: Json, live: Json | undefined, isInList = false): Json {
  if (isList(wanted)) {
    const present = isList(live) ? live : [];
    const items = wanted.map((item, i) => withoutUnsetNulls(item, present[i], true));
    return items.every((item, i) => item === wanted[i]) ? wanted : items;
  }
  if (!isObject(wanted)) return wanted;
  const present = isObject(live) ? live : {};
  let result = wanted;
  for (const key of Object.keys(wanted)) {
    const [member, there] = [wanted[key] ?? null, ownMember(present, key)];
    const isUnset = isInList && member === null && there === undefined;
    const after = isUnset ? undefined : withoutUnsetNulls(member, there, isInList);
    if (after === undefined) result = withoutMembers(result, [key]);
    else if (after !== member) result = withMember(result, key, after);
  }
  return result;
}

/** A Kubernetes object is a JSON object; the two differ only in their static types. */
export function asJson(object: KubeObject): JsonObject {
  return object as unknown as JsonObject;
}

export function asKube(object: JsonObject): KubeObject {
  return object as unknown as KubeObject;
}
