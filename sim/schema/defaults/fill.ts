import { isObject, own } from '#base';
import type { Json, MutableJson, MutableJsonObject } from '#base';

/** Sets a member that is absent or null. */
export function fill(object: MutableJsonObject, key: string, value: MutableJson): void {
  const here = own(object, key);
  if (here === undefined || here === null) object[key] = value;
}

/** Sets a member that is absent, null, "" or 0: what Go calls the zero value. */
export function fillZero(object: MutableJsonObject, key: string, value: MutableJson): void {
  const here = own(object, key);
  if (here === undefined || here === null || here === '' || here === 0) object[key] = value;
}

/** A member that is an object, undefined when it is not. */
export function child(object: MutableJsonObject | undefined, key: string): MutableJsonObject | undefined {
  const here = object === undefined ? undefined : own(object, key);
  return isObject(here) ? (here as MutableJsonObject) : undefined;
}

/** A member that is an object, made when it is absent. */
export function childOrNew(object: MutableJsonObject, key: string): MutableJsonObject {
  const here = child(object, key);
  if (here !== undefined) return here;
  const made: MutableJsonObject = {};
  object[key] = made;
  return made;
}

/** The objects in a member that is a list; empty when there is none. */
export function children(object: MutableJsonObject | undefined, key: string): MutableJsonObject[] {
  const here: Json | undefined = object === undefined ? undefined : own(object, key);
  return Array.isArray(here) ? (here.filter((item: unknown) => isObject(item)) as MutableJsonObject[]) : [];
}
