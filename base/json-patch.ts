import { cloneJson, deepEqual, isObject, own, setOwn } from './json.ts';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from './json.ts';

/** Applies an RFC 7386 merge patch and returns the result; neither argument is changed. */
export function applyMergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return cloneJson(patch);
  const result: MutableJsonObject = isObject(target) ? (cloneJson(target) as MutableJsonObject) : {};
  for (const [key, member] of Object.entries(patch)) {
    if (member === undefined) continue;
    if (member === null) Reflect.deleteProperty(result, key);
    else setOwn(result, key, applyMergePatch(own(result, key), member) as MutableJson);
  }
  return result;
}

/**
 * The RFC 7386 patch that turns `from` into `to`, undefined when they are equal: arrays whole, removed members null.
 * A member that should become null cannot be expressed (RFC 7386); Kubernetes drops nulls, so this loses nothing there.
 */
export function createMergePatch(from: JsonObject, to: JsonObject): JsonObject | undefined {
  const patch: MutableJsonObject = {};
  for (const key of Object.keys(from))
    if (from[key] !== undefined && own(to, key) === undefined) setOwn(patch, key, null);
  for (const key of Object.keys(to)) {
    const before = own(from, key);
    const after = to[key];
    if (after === undefined || deepEqual(before, after)) continue;
    const change = isObject(before) && isObject(after) ? createMergePatch(before, after) : after;
    if (change !== undefined) setOwn(patch, key, cloneJson(change) as MutableJson);
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** RFC 6901: the steps of a pointer such as `/metadata/annotations/a~1b`. Undefined when it is not a pointer. */
export function parsePointer(pointer: string): string[] | undefined {
  if (pointer === '') return [];
  if (!pointer.startsWith('/')) return undefined;
  return pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** RFC 6901: the pointer of some steps. */
export function formatPointer(steps: readonly string[]): string {
  return steps.map((step) => `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** Removes what a pointer names, in place; false when there is nothing there. */
export function removeAt(root: MutableJson, steps: readonly string[]): boolean {
  const last = steps.at(-1);
  if (last === undefined) return false;
  let here: MutableJson | undefined = root;
  for (const step of steps.slice(0, -1)) here = child(here, step);
  if (Array.isArray(here)) {
    const index = arrayIndex(last, here.length - 1);
    if (index === undefined) return false;
    here.splice(index, 1);
    return true;
  }
  if (!isObject(here) || !Object.hasOwn(here, last)) return false;
  return Reflect.deleteProperty(here, last);
}

function child(value: MutableJson | undefined, step: string): MutableJson | undefined {
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
