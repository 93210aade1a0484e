import { cloneJson, deepEqual, isObject, setOwn } from '#base';
import type { Json, MutableJson, MutableJsonObject } from '#base';
import { goValue } from '../../go-text.ts';
import type { Schema } from '../../types.ts';
import { FieldSet, FieldSetBuilder, showPath } from './field-set.ts';
import { entriesOf, shapeOf } from './shape.ts';
import type { ListShape, MapShape } from './shape.ts';

/** Source of the behaviour of this file: structured-merge-diff typed/ (tofieldset, compare, merge, remove). */

export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

/** Every field that a value sets. */
export function fieldsOf(schema: Schema | undefined, value: Json): FieldSet {
  const builder = new FieldSetBuilder();
  collect(schema, value, [], builder);
  return builder.build();
}

function collect(schema: Schema | undefined, value: Json, path: readonly string[], into: FieldSetBuilder): void {
  const shape = shapeOf(schema, value);
  if (shape.kind === 'leaf') {
    into.add(path);
    return;
  }
  for (const entry of entriesOf(shape, value)) {
    const here = [...path, entry.step];
    collect(entry.schema, entry.value, here, into);
    // Items of lists, keys of maps and empty values are fields themselves; declared fields only by what is in them.
    if (shape.kind === 'list' || isHollow(entry.value) || !shape.declares(entry.step.slice(2))) into.add(here);
  }
}

function isHollow(value: Json): boolean {
  return value === null || (isObject(value) && Object.keys(value).length === 0);
}

/** Which fields `after` has, changed or lost, seen from `before`. */
export function compare(schema: Schema | undefined, before: Json, after: Json): Comparison {
  const sets = { added: new FieldSetBuilder(), modified: new FieldSetBuilder(), removed: new FieldSetBuilder() };
  new Comparer(sets).walk(schema, { before, after }, []);
  return { added: sets.added.build(), modified: sets.modified.build(), removed: sets.removed.build() };
}

interface Pair {
  readonly before: Json | undefined;
  readonly after: Json | undefined;
}

class Comparer {
  readonly #sets: Record<'added' | 'modified' | 'removed', FieldSetBuilder>;

  constructor(sets: Record<'added' | 'modified' | 'removed', FieldSetBuilder>) {
    this.#sets = sets;
  }

  walk(schema: Schema | undefined, pair: Pair, path: readonly string[]): void {
    const before = pair.before === undefined ? undefined : shapeOf(schema, pair.before);
    const after = pair.after === undefined ? undefined : shapeOf(schema, pair.after);
    const shape = after ?? before;
    if (shape === undefined) return;
    const sameKind = before === undefined || after === undefined || before.kind === after.kind;
    if (!sameKind || shape.kind === 'leaf' || (isBare(pair.before) && isBare(pair.after))) {
      this.#leaf(pair, path);
      return;
    }
    this.#inside(shape, pair, path);
    if (pair.before === undefined) this.#sets.added.add(path);
    else if (pair.after === undefined) this.#sets.removed.add(path);
  }

  #leaf(pair: Pair, path: readonly string[]): void {
    if (pair.before === undefined) this.#sets.added.add(path);
    else if (pair.after === undefined) this.#sets.removed.add(path);
    else if (!deepEqual(pair.before, pair.after)) this.#sets.modified.add(path);
  }

  #inside(shape: MapShape | ListShape, pair: Pair, path: readonly string[]): void {
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

/** `live` with what `config` says laid over it. */
export function merge(schema: Schema | undefined, live: Json | undefined, config: Json): MutableJson {
  if (live === undefined) return cloneJson(config) as MutableJson;
  const shape = shapeOf(schema, config);
  if (shape.kind === 'leaf' || shapeOf(schema, live).kind !== shape.kind) return cloneJson(config) as MutableJson;
  if (config === null || (isBare(config) && isBare(live))) return cloneJson(config) as MutableJson;
  return shape.kind === 'list' ? mergeLists(shape, live, config) : mergeMaps(shape, live, config);
}

function mergeMaps(shape: MapShape, live: Json, config: Json): MutableJsonObject {
  const result = (isObject(live) ? cloneJson(live) : {}) as MutableJsonObject;
  for (const [name, member] of Object.entries(isObject(config) ? config : {})) {
    if (member === undefined) continue;
    const here = isObject(live) && Object.hasOwn(live, name) ? live[name] : undefined;
    setOwn(result, name, merge(shape.member(name), here, member));
  }
  return result;
}

/**
 * Items of `config` come in its order; an item that only `live` has stays before the item that it stood before.
 */
function mergeLists(shape: ListShape, live: Json, config: Json): MutableJson[] {
  const lives = entriesOf(shape, live);
  const configs = entriesOf(shape, config);
  const liveByStep = new Map(lives.map((entry) => [entry.step, entry.value]));
  const wanted = new Set(configs.map((entry) => entry.step));
  const shared = configs.map((entry) => entry.step).filter((step) => liveByStep.has(step));
  const result: MutableJson[] = [];
  let next = 0;
  // Passes over live items up to the next one that both lists have; those of live alone are taken along.
  const takeLiveOnly = (): void => {
    for (; next < lives.length; next += 1) {
      const entry = lives[next];
      if (entry === undefined || entry.step === shared[0]) return;
      if (!wanted.has(entry.step)) result.push(cloneJson(entry.value) as MutableJson);
    }
  };
  for (const entry of configs) {
    takeLiveOnly();
    result.push(merge(shape.items, liveByStep.get(entry.step), entry.value));
    if (shared[0] === entry.step) {
      shared.shift();
      next += 1;
    }
  }
  takeLiveOnly();
  return result;
}

/** The value without the fields of a set; a map or list that becomes empty by this goes too. */
export function removeFields(schema: Schema | undefined, value: Json, fields: FieldSet): MutableJson | undefined {
  const shape = shapeOf(schema, value);
  if (fields.isEmpty || shape.kind === 'leaf' || isBare(value)) return cloneJson(value) as MutableJson;
  const list: MutableJson[] = [];
  const map: MutableJsonObject = {};
  for (const entry of entriesOf(shape, value)) {
    if (fields.members.has(entry.step)) continue;
    const kept = removeFields(entry.schema, entry.value, fields.under(entry.step));
    if (kept === undefined) continue;
    if (shape.kind === 'list') list.push(kept);
    else setOwn(map, entry.step.slice(2), kept);
  }
  if (shape.kind === 'list') return list.length === 0 ? undefined : list;
  return Object.keys(map).length === 0 ? undefined : map;
}

/** The set in which every declared field that has children is a member too: removing such a field removes it whole. */
export function withDeclaredParents(schema: Schema | undefined, fields: FieldSet): FieldSet {
  const members = new Set(fields.members);
  const children = new Map<string, FieldSet>();
  for (const [step, below] of fields.children) {
    const name = step.slice(2);
    const isField = step.startsWith('f:');
    const declared = isField && schema?.properties !== undefined && Object.hasOwn(schema.properties, name);
    if (declared) members.add(step);
    const inside = isField ? memberSchema(schema, name) : schema?.items;
    children.set(step, withDeclaredParents(inside, below));
  }
  return new FieldSet(members, children);
}

function memberSchema(schema: Schema | undefined, name: string): Schema | undefined {
  const properties = schema?.properties ?? {};
  if (Object.hasOwn(properties, name)) return properties[name];
  return typeof schema?.additionalProperties === 'object' ? schema.additionalProperties : undefined;
}

/** Why a configuration cannot be applied: an item twice, or a field that the schema does not have. Undefined when it can. */
export function applyProblem(
  schema: Schema | undefined,
  value: Json,
  path: readonly string[] = [],
): string | undefined {
  const mismatch = typeProblem(schema, value);
  if (mismatch !== undefined) return `${showPath(path)}: ${mismatch}`;
  const shape = shapeOf(schema, value);
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

type Problem = (value: Exclude<Json, null>, schema: Schema) => string | undefined;

const numeric: Problem = (value) =>
  isNumber(value) ? undefined : `expected numeric (int or float), got ${goType(value)}`;

/** What the library says of a value that is not of a declared type. */
const typeProblems: Readonly<Record<NonNullable<Schema['type']>, Problem>> = {
  integer: numeric,
  number: numeric,
  // A quantity may be a number too.
  string: (value, { format }) =>
    typeof value === 'string' || (isNumber(value) && format === 'quantity') ? undefined : notText(value),
  boolean: (value) => (typeof value === 'boolean' ? undefined : `expected boolean, got ${goValue(value)}`),
  array: (value) => (Array.isArray(value) ? undefined : `expected list, got ${goType(value)}`),
  object: (value) => (isObject(value) ? undefined : `expected map, got ${goType(value)}`),
};

/** null is of every type. */
function typeProblem(schema: Schema | undefined, value: Json): string | undefined {
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

function isUndeclared(schema: Schema | undefined, shape: MapShape, name: string): boolean {
  if (schema?.properties === undefined || shape.declares(name)) return false;
  return schema.additionalProperties === undefined && schema['x-kubernetes-preserve-unknown-fields'] !== true;
}
