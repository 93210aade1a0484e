import { canonicalJson, isObject, JsonSyntaxError, parseJson } from '#base';
import type { Json, JsonObject } from '#base';

/**
 * A set of paths of an object, as `metadata.managedFields` holds them (sigs.k8s.io/structured-merge-diff fieldpath.Set). A step is `f:name`,
 * `k:{…}` for an item of a list by its keys, `v:…` for an item of a set, `i:n` for a place in a list; keys in canonical form.
 */
export interface FieldSet {
  /** The path that leads here is in the set. */
  member: boolean;
  readonly children: Map<string, FieldSet>;
}

export function emptySet(): FieldSet {
  return { member: false, children: new Map() };
}

/** Reads `fieldsV1`. A step that cannot be read is left out. */
export function parseFields(fields: JsonObject): FieldSet {
  const set = emptySet();
  for (const [text, inner] of Object.entries(fields)) {
    if (text === '.') continue;
    const step = canonicalStep(text);
    if (step === undefined || !isObject(inner)) continue;
    const child = parseFields(inner);
    child.member = child.children.size === 0 || Object.hasOwn(inner, '.');
    set.children.set(step, child);
  }
  return set;
}

/** The same few thousand keys come in object after object. */
const canonical = new Map<string, string | undefined>();
const maxCanonical = 20_000;
/** Longer ones are rare, and would make the memory of these unbounded. */
const maxKeptStep = 256;

/** A step of `fieldsV1` as this module writes it; undefined when it is none. */
export function canonicalStep(text: string): string | undefined {
  const form = text.slice(0, 2);
  if (form !== 'k:' && form !== 'v:') return form === 'f:' || form === 'i:' ? text : undefined;
  const known = canonical.get(text);
  if (known !== undefined) return known;
  if (canonical.size >= maxCanonical) canonical.clear();
  const step = readStep(form, text);
  if (text.length <= maxKeptStep) canonical.set(text, step);
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

export function itemStep(value: Json): string {
  return `v:${canonicalJson(value)}`;
}

/** The child at a step, made when there is none. */
export function childOf(set: FieldSet, step: string): FieldSet {
  let child = set.children.get(step);
  if (child === undefined) {
    child = emptySet();
    set.children.set(step, child);
  }
  return child;
}

/** Adds all paths of another set. */
export function addAll(set: FieldSet, other: FieldSet): void {
  set.member ||= other.member;
  for (const [step, child] of other.children) addAll(childOf(set, step), child);
}

/** The paths of a set for which `keeps` says yes, told whether the other two have them as well. */
export function select(
  whole: FieldSet,
  [left, right]: readonly [FieldSet | undefined, FieldSet | undefined],
  keeps: (inLeft: boolean, inRight: boolean) => boolean,
): FieldSet {
  const member = whole.member && keeps(left?.member === true, right?.member === true);
  const result: FieldSet = { member, children: new Map() };
  for (const [step, inner] of whole.children) {
    const child = select(inner, [left?.children.get(step), right?.children.get(step)], keeps);
    if (child.member || child.children.size > 0) result.children.set(step, child);
  }
  return result;
}
