import { cloneJson, deepEqual, isObject, ownMember, setOwnMember } from './json.ts';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from './json.ts';

/** Applies an RFC 7386 merge patch and returns the result; neither argument is changed. */
export function applyMergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return cloneJson(patch);
  const result: MutableJsonObject = {};
  const set = (key: string, member: Json): void => setOwnMember(result, key, member as MutableJson);
  const before = isObject(target) ? target : {};
  for (const [key, member] of Object.entries(before)) {
    if (member === undefined) continue;
    const change = ownMember(patch, key);
    if (change === undefined) set(key, cloneJson(member));
    else if (change !== null) set(key, applyMergePatch(member, change));
  }
  for (const [key, member] of Object.entries(patch))
    if (member !== undefined && member !== null && ownMember(before, key) === undefined)
      set(key, applyMergePatch(undefined, member));
  return result;
}

/**
 * The RFC 7386 patch from `from` to `to`, undefined if they are equal. RFC 7386 cannot set a member
 * to null; Kubernetes drops nulls, so nothing is lost there.
 */
export function createMergePatch(from: JsonObject, to: JsonObject): JsonObject | undefined {
  const patch: MutableJsonObject = {};
  for (const key of Object.keys(from))
    if (from[key] !== undefined && ownMember(to, key) === undefined) setOwnMember(patch, key, null);
  for (const key of Object.keys(to)) {
    const before = ownMember(from, key);
    const after = to[key];
    if (after === undefined || deepEqual(before, after)) continue;
    const change = isObject(before) && isObject(after) ? createMergePatch(before, after) : after;
    if (change !== undefined) setOwnMember(patch, key, cloneJson(change) as MutableJson);
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/**
 * The steps of an RFC 6901 pointer such as `/metadata/annotations/a~1b`; undefined if it is
 * malformed.
 */
export function parsePointer(pointer: string): string[] | undefined {
  if (pointer === '') return [];
  if (!pointer.startsWith('/')) return undefined;
  return pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The RFC 6901 pointer of the given steps. */
export function formatPointer(steps: readonly string[]): string {
  return steps.map((step) => `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** Removes the value at a pointer in place; false if there is none. */
export function removeAt(root: MutableJson, steps: readonly string[]): boolean {
  const last = steps.at(-1);
  if (last === undefined) return false;
  let here: MutableJson | undefined = root;
  for (const step of steps.slice(0, -1)) here = childAt(here, step);
  if (Array.isArray(here)) {
    const index = arrayIndex(last, here.length - 1);
    if (index === undefined) return false;
    here.splice(index, 1);
    return true;
  }
  if (!isObject(here) || !Object.hasOwn(here, last)) return false;
  return Reflect.deleteProperty(here, last);
}

function childAt(value: MutableJson | undefined, step: string): MutableJson | undefined {
  if (Array.isArray(value)) {
    const index = arrayIndex(step, value.length - 1);
    return index === undefined ? undefined : value[index];
  }
  return isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
}

function arrayIndex(step: string, max: number): number | undefined {
  if (!/^(?:0|[1-9][0-9]*)$/.test(step)) return undefined;
  const index = Number(step);
  return index <= max ? index : undefined;
}
