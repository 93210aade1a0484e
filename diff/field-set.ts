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

function canonicalStep(text: string): string | undefined {
  const form = text.slice(0, 2);
  if (form !== 'k:' && form !== 'v:') return form === 'f:' || form === 'i:' ? text : undefined;
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

/** The paths for which `keeps` says yes, of all sets together; each set is undefined where it has nothing. */
export function select(
  sets: readonly (FieldSet | undefined)[],
  keeps: (members: readonly boolean[]) => boolean,
): FieldSet {
  const members = sets.map((set) => set?.member ?? false);
  const result: FieldSet = { member: keeps(members), children: new Map() };
  for (const step of new Set(sets.flatMap((set) => [...(set?.children.keys() ?? [])]))) {
    const inner = sets.map((set) => set?.children.get(step));
    const child = select(inner, keeps);
    if (child.member || child.children.size > 0) result.children.set(step, child);
  }
  return result;
}
