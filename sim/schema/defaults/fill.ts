import { isObject, ownMember } from '#base';
import type { Json, MutableJson, MutableJsonObject } from '#base';

/** Sets a member that is absent or null. */
export function fillMissing(object: MutableJsonObject, key: string, value: MutableJson): void {
  const here = ownMember(object, key);
  if (here === undefined || here === null) object[key] = value;
}

/** Sets a member that is absent, null, "" or 0, Go's zero value. */
export function fillZeroValue(object: MutableJsonObject, key: string, value: MutableJson): void {
  const here = ownMember(object, key);
  if (here === undefined || here === null || here === '' || here === 0) object[key] = value;
}

/** A member that is an object; undefined otherwise. */
export function objectChild(object: MutableJsonObject | undefined, key: string): MutableJsonObject | undefined {
  const here = object === undefined ? undefined : ownMember(object, key);
  return isObject(here) ? (here as MutableJsonObject) : undefined;
}

/** A member that is an object, created if it is absent. */
export function childOrNew(object: MutableJsonObject, key: string): MutableJsonObject {
  const here = objectChild(object, key);
  if (here !== undefined) return here;
  const made: MutableJsonObject = {};
  object[key] = made;
  return made;
}

/** The objects in a list member; empty if there is none. */
export function objectChildren(object: MutableJsonObject | undefined, key: string): MutableJsonObject[] {
  const here: Json | undefined = object === undefined ? undefined : ownMember(object, key);
  return Array.isArray(here) ? (here.filter((item: unknown) => isObject(item)) as MutableJsonObject[]) : [];
}
