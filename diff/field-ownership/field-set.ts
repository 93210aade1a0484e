import { canonicalJson, isObject, JsonSyntaxError, parseJson } from '#base';
import type { Json, JsonObject } from '#base';

/**
 * A set of paths in an object, as in `metadata.managedFields` (sigs.k8s.io/structured-merge-diff
 * fieldpath.Set). A step is `f:name` for a field, `k:{…}` for a list item by its keys, `v:…` for an
 * item of a set, or `i:n` for a list index. Keys are in canonical form.
 */
export interface FieldSet {
  /** The path to this node is in the set. */
  member: boolean;
  readonly children: Map<string, FieldSet>;
}

export function emptySet(): FieldSet {
  return { member: false, children: new Map() };
}

/** Parses `fieldsV1`. Skips steps that cannot be parsed. */
export function parseFields(fields: JsonObject): FieldSet {
  const set = emptySet();
  addFields(set, fields);
  return set;
}

/** Parses `fieldsV1` and adds its paths. Returns whether there were any. */
export function addFields(set: FieldSet, fields: JsonObject): boolean {
  let isEmpty = true;
  for (const text of Object.keys(fields)) {
    const inner = fields[text];
    const step = text === '.' || !isObject(inner) ? undefined : canonicalStep(text);
    if (step === undefined || !isObject(inner)) continue;
    isEmpty = false;
    const child = childOf(set, step);
    if (!addFields(child, inner) || Object.hasOwn(inner, '.')) child.member = true;
  }
  return !isEmpty;
}

/** Cache: objects repeat the same few thousand keys. */
const canonicalSteps = new Map<string, string | undefined>();
const maxCachedSteps = 20_000;
/** Longer steps are rare, and caching them would leave the cache's memory unbounded. */
const maxCachedStepLength = 256;

/** Returns a step of `fieldsV1` in canonical form, undefined if it cannot be parsed. */
export function canonicalStep(text: string): string | undefined {
  const form = text.slice(0, 2);
  if (form !== 'k:' && form !== 'v:') return form === 'f:' || form === 'i:' ? text : undefined;
  const known = canonicalSteps.get(text);
  if (known !== undefined) return known;
  if (canonicalSteps.size >= maxCachedSteps) canonicalSteps.clear();
  const step = readStep(form, text);
  if (text.length <= maxCachedStepLength) canonicalSteps.set(text, step);
  return step;
}

function readStep(form: string, text: string): string | undefined {
  try {
    return form + canonicalJson(parseJson(text.slice(2)));
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

export function fieldStep(name: string): string {
  return `f:${name}`;
}

export function setItemStep(value: Json): string {
  return `v:${canonicalJson(value)}`;
}

/** Returns the child at a step, creating it if missing. */
export function childOf(set: FieldSet, step: string): FieldSet {
  let child = set.children.get(step);
  if (child === undefined) {
    child = emptySet();
    set.children.set(step, child);
  }
  return child;
}

export function addAll(set: FieldSet, other: FieldSet): void {
  set.member ||= other.member;
  for (const [step, child] of other.children) addAll(childOf(set, step), child);
}

/**
 * Returns the paths of `whole` that `keeps` accepts. It receives whether `left` and `right` have
 * the path.
 */
export function selectPaths(
  whole: FieldSet,
  [left, right]: readonly [FieldSet | undefined, FieldSet | undefined],
  keeps: (inLeft: boolean, inRight: boolean) => boolean,
): FieldSet {
  const member = whole.member && keeps(left?.member === true, right?.member === true);
  const result: FieldSet = { member, children: new Map() };
  for (const [step, inner] of whole.children) {
    const child = selectPaths(inner, [left?.children.get(step), right?.children.get(step)], keeps);
    if (child.member || child.children.size > 0) result.children.set(step, child);
  }
  return result;
}
