import { cloneJson, deepEqual, isObject, setOwnMember } from '#base';
import type { Json, MutableJson, MutableJsonObject } from '#base';
import { goValue } from '../../go-text.ts';
import type { OpenApiSchema } from '../../types.ts';
import { OwnedFieldSet, FieldSetBuilder, showPath } from './field-set.ts';
import { entriesOf, mergeShapeOf } from './shape.ts';
import type { ListShape, MapShape } from './shape.ts';

/**
 * The result of comparing two values (structured-merge-diff typed/, the source of this file:
 * tofieldset, compare, merge, remove).
 */

export interface FieldComparison {
  readonly added: OwnedFieldSet;
  readonly modified: OwnedFieldSet;
  readonly removed: OwnedFieldSet;
}

/** All fields that a value sets. */
export function ownedFieldsOf(schema: OpenApiSchema | undefined, value: Json): OwnedFieldSet {
  const builder = new FieldSetBuilder();
  collectFields(schema, value, [], builder);
  return builder.build();
}

function collectFields(
  schema: OpenApiSchema | undefined,
  value: Json,
  path: readonly string[],
  into: FieldSetBuilder,
): void {
  const shape = mergeShapeOf(schema, value);
  if (shape.kind === 'leaf') {
    into.add(path);
    return;
  }
  for (const entry of entriesOf(shape, value)) {
    const here = [...path, entry.step];
    collectFields(entry.schema, entry.value, here, into);
    // List items, map keys and empty values are fields themselves; declared fields only through
    // their content.
    if (shape.kind === 'list' || isHollow(entry.value) || !shape.declares(entry.step.slice(2))) into.add(here);
  }
}

function isHollow(value: Json): boolean {
  return value === null || (isObject(value) && Object.keys(value).length === 0);
}

/** The fields that `after` adds, changes or removes relative to `before`. */
export function compareFields(schema: OpenApiSchema | undefined, before: Json, after: Json): FieldComparison {
  const sets = { added: new FieldSetBuilder(), modified: new FieldSetBuilder(), removed: new FieldSetBuilder() };
  new FieldComparer(sets).walk(schema, { before, after }, []);
  return { added: sets.added.build(), modified: sets.modified.build(), removed: sets.removed.build() };
}

interface ValuePair {
  readonly before: Json | undefined;
  readonly after: Json | undefined;
}

class FieldComparer {
  readonly #sets: Record<'added' | 'modified' | 'removed', FieldSetBuilder>;

  constructor(sets: Record<'added' | 'modified' | 'removed', FieldSetBuilder>) {
    this.#sets = sets;
  }

  walk(schema: OpenApiSchema | undefined, pair: ValuePair, path: readonly string[]): void {
    const before = pair.before === undefined ? undefined : mergeShapeOf(schema, pair.before);
    const after = pair.after === undefined ? undefined : mergeShapeOf(schema, pair.after);
    const shape = after ?? before;
    if (shape === undefined) return;
    const sameKind = before === undefined || after === undefined || before.kind === after.kind;
    // A list that becomes a map is modified, with everything in the map.
    if (!sameKind && after.kind !== 'leaf') this.#inside(after, { before: undefined, after: pair.after }, path);
    if (!sameKind || shape.kind === 'leaf' || (isBare(pair.before) && isBare(pair.after))) {
      this.#leaf(pair, path);
      return;
    }
    this.#inside(shape, pair, path);
    if (pair.before === undefined) this.#sets.added.add(path);
    else if (pair.after === undefined) this.#sets.removed.add(path);
  }

  #leaf(pair: ValuePair, path: readonly string[]): void {
    if (pair.before === undefined) this.#sets.added.add(path);
    else if (pair.after === undefined) this.#sets.removed.add(path);
    else if (!deepEqual(pair.before, pair.after)) this.#sets.modified.add(path);
  }

  #inside(shape: MapShape | ListShape, pair: ValuePair, path: readonly string[]): void {
    const before = new Map(entriesOf(shape, pair.before).map((entry) => [entry.step, entry]));
    const after = new Map(entriesOf(shape, pair.after).map((entry) => [entry.step, entry]));
    for (const [step, entry] of before)
      this.walk(entry.schema, { before: entry.value, after: after.get(step)?.value }, [...path, step]);
    for (const [step, entry] of after)
      if (!before.has(step)) this.walk(entry.schema, { before: undefined, after: entry.value }, [...path, step]);
  }
}

function isBare(value: Json | undefined): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** Merges `config` into `live`. */
export function mergeTyped(schema: OpenApiSchema | undefined, live: Json | undefined, config: Json): MutableJson {
  if (live === undefined) return cloneJson(config) as MutableJson;
  const shape = mergeShapeOf(schema, config);
  if (shape.kind === 'leaf' || mergeShapeOf(schema, live).kind !== shape.kind) return cloneJson(config) as MutableJson;
  if (config === null || (isBare(config) && isBare(live))) return cloneJson(config) as MutableJson;
  return shape.kind === 'list' ? mergeLists(shape, live, config) : mergeMaps(shape, live, config);
}

function mergeMaps(shape: MapShape, live: Json, config: Json): MutableJsonObject {
  const result = (isObject(live) ? cloneJson(live) : {}) as MutableJsonObject;
  for (const [name, member] of Object.entries(isObject(config) ? config : {})) {
    if (member === undefined) continue;
    const here = isObject(live) && Object.hasOwn(live, name) ? live[name] : undefined;
    setOwnMember(result, name, mergeTyped(shape.member(name), here, member));
  }
  return result;
}

/**
 * Items of `config` keep its order; an item that only `live` has stays before the item that it
 * preceded.
 */
function mergeLists(shape: ListShape, live: Json, config: Json): MutableJson[] {
  const lives = entriesOf(shape, live);
  const configs = entriesOf(shape, config);
  const liveByStep = new Map(lives.map((entry) => [entry.step, entry.value]));
  const wanted = new Set(configs.map((entry) => entry.step));
  const shared = configs.map((entry) => entry.step).filter((step) => liveByStep.has(step));
  const result: MutableJson[] = [];
  let next = 0;
  // Advances over live items up to the next common item, keeping those that only live has.
  const takeLiveOnly = (): void => {
    for (; next < lives.length; next += 1) {
      const entry = lives[next];
      if (entry === undefined || entry.step === shared[0]) return;
      if (!wanted.has(entry.step)) result.push(cloneJson(entry.value) as MutableJson);
    }
  };
  for (const entry of configs) {
    takeLiveOnly();
    result.push(mergeTyped(shape.items, liveByStep.get(entry.step), entry.value));
    if (shared[0] === entry.step) {
      shared.shift();
      next += 1;
    }
  }
  takeLiveOnly();
  return result;
}

/** The value without the given fields; a map or list that becomes empty is null, or removed too. */
export function removeFields(
  schema: OpenApiSchema | undefined,
  value: Json,
  fields: OwnedFieldSet,
  emptied: 'null' | 'removed' = 'removed',
): MutableJson | undefined {
  const shape = mergeShapeOf(schema, value);
  if (fields.isEmpty || shape.kind === 'leaf' || isBare(value)) return cloneJson(value) as MutableJson;
  const list: MutableJson[] = [];
  const map: MutableJsonObject = {};
  for (const entry of entriesOf(shape, value)) {
    if (fields.members.has(entry.step)) continue;
    const kept = removeFields(entry.schema, entry.value, fields.under(entry.step), emptied);
    if (kept === undefined && emptied === 'removed') continue;
    if (shape.kind === 'list') list.push(kept ?? null);
    else setOwnMember(map, entry.step.slice(2), kept ?? null);
  }
  if (shape.kind === 'list') return list.length === 0 ? undefined : list;
  return Object.keys(map).length === 0 ? undefined : map;
}

/**
 * Adds every declared field with children as a member: removing such a field removes it completely.
 */
export function withDeclaredParents(schema: OpenApiSchema | undefined, fields: OwnedFieldSet): OwnedFieldSet {
  const members = new Set(fields.members);
  const children = new Map<string, OwnedFieldSet>();
  for (const [step, below] of fields.children) {
    const name = step.slice(2);
    const isField = step.startsWith('f:');
    const declared = isField && schema?.properties !== undefined && Object.hasOwn(schema.properties, name);
    if (declared) members.add(step);
    const inside = isField ? memberSchema(schema, name) : schema?.items;
    children.set(step, withDeclaredParents(inside, below));
  }
  return new OwnedFieldSet(members, children);
}

function memberSchema(schema: OpenApiSchema | undefined, name: string): OpenApiSchema | undefined {
  const properties = schema?.properties ?? {};
  if (Object.hasOwn(properties, name)) return properties[name];
  return typeof schema?.additionalProperties === 'object' ? schema.additionalProperties : undefined;
}

/**
 * Why a configuration cannot be applied: a duplicate item or an undeclared field. Undefined if it
 * can.
 */
export function applyProblem(
  schema: OpenApiSchema | undefined,
  value: Json,
  path: readonly string[] = [],
): string | undefined {
  const mismatch = typeProblem(schema, value);
  if (mismatch !== undefined) return `${showPath(path)}: ${mismatch}`;
  const shape = mergeShapeOf(schema, value);
  if (shape.kind === 'leaf') return undefined;
  const seen = new Set<string>();
  for (const entry of entriesOf(shape, value)) {
    const here = [...path, entry.step];
    if (seen.has(entry.step)) return `${showPath(path)}: duplicate entries for key ${showPath([entry.step])}`;
    seen.add(entry.step);
    if (shape.kind === 'map' && isUndeclared(schema, shape, entry.step.slice(2)))
      return `${showPath(here)}: field not declared in schema`;
    const problem = applyProblem(entry.schema, entry.value, here);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

type TypeCheck = (value: Exclude<Json, null>, schema: OpenApiSchema) => string | undefined;

const checkNumeric: TypeCheck = (value) =>
  isNumber(value) ? undefined : `expected numeric (int or float), got ${goType(value)}`;

/** The library's message for a value that does not have its declared type. */
const typeProblems: Readonly<Record<NonNullable<OpenApiSchema['type']>, TypeCheck>> = {
  integer: checkNumeric,
  number: checkNumeric,
  // A quantity may also be a number.
  string: (value, { format }) =>
    typeof value === 'string' || (isNumber(value) && format === 'quantity') ? undefined : notText(value),
  boolean: (value) => (typeof value === 'boolean' ? undefined : `expected boolean, got ${goValue(value)}`),
  array: (value) => (Array.isArray(value) ? undefined : `expected list, got ${goType(value)}`),
  object: (value) => (isObject(value) ? undefined : `expected map, got ${goType(value)}`),
};

/** null is valid for every type. */
function typeProblem(schema: OpenApiSchema | undefined, value: Json): string | undefined {
  if (value === null || schema?.type === undefined || schema['x-kubernetes-int-or-string'] === true) return undefined;
  return typeProblems[schema.type](value, schema);
}

function isNumber(value: Json): boolean {
  return typeof value === 'number' || typeof value === 'bigint';
}

function notText(value: Exclude<Json, null>): string {
  const shown = typeof value === 'object' ? goType(value) : String(value);
  return `expected string, got &value.valueUnstructured{Value:${shown}}`;
}

function goType(value: Json): string {
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return Array.isArray(value) ? '[]interface {}' : 'map[string]interface {}';
}

function isUndeclared(schema: OpenApiSchema | undefined, shape: MapShape, name: string): boolean {
  if (schema?.properties === undefined || shape.declares(name)) return false;
  return schema.additionalProperties === undefined && schema['x-kubernetes-preserve-unknown-fields'] !== true;
}
