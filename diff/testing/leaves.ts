import type { Json, JsonObject } from '#base';
import { shapeOfType } from '../field-ownership/shape.ts';
import { fieldOf, itemsOf, schemaOf, structFields } from '../schema/schema.ts';
import type { FieldSchema, ScalarKind, TypeSchema } from '../schema/schema.ts';

/** The path of a value in an object. */
export type FieldSteps = readonly (string | number)[];

/** A scalar field, and an object of its kind that sets nothing else. */
export interface LeafCase {
  readonly path: FieldSteps;
  readonly object: JsonObject;
  /** A different value for the field. */
  readonly other: Json;
  /** A value that Go cannot distinguish from an absent field; undefined if there is none. */
  readonly zero: Json | undefined;
}

/** A list or map, in an object with one value in it, with another one beside it, and with none. */
export interface ContainerCase {
  readonly path: FieldSteps;
  readonly object: JsonObject;
  readonly withAnother: JsonObject;
  readonly empty: JsonObject;
  /**
   * Whether it is, or is part of, a value that is replaced as a whole, so that additions by others
   * are differences.
   */
  readonly whole: { readonly client: boolean; readonly server: boolean };
}

/** For each scalar kind: a value, another one, and the zero that Go omits. */
const scalarSamples: Readonly<Record<ScalarKind, readonly [value: Json, other: Json, zero?: Json]>> = {
  b: [true, false, false],
  i: [3, 4, 0],
  f: [0.5, 2, 0],
  s: ['x', 'y', ''],
  y: ['eA==', 'eQ==', ''],
  q: ['2', '3', '0'],
  m: ['2', '3', '0'],
  o: [80, 'y', 0],
  t: ['2026-01-02T03:04:05Z', '2026-01-02T03:04:06Z'],
  u: ['2026-01-02T03:04:05.000000Z', '2026-01-02T03:04:05.000001Z'],
  d: ['1h0m0s', '2h0m0s', '0s'],
  r: [{ a: 1 }, { a: 2 }],
};

/** Fields that manifests do not set: the API server sets them, or they identify the object. */
const serverSetFields = new Set([
  ...['name', 'generateName', 'namespace', 'selfLink', 'uid', 'resourceVersion', 'generation'],
  ...['creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'managedFields'],
]);

/** All scalar fields of a built-in kind except in its status. Recursive types are visited once. */
export function leavesOf(apiVersion: string, kind: string): readonly LeafCase[] {
  const root = { apiVersion, kind, metadata: { name: 'x' } };
  return valuesIn(schemaOf(root), []).map(({ path, value, scalar }): LeafCase => {
    const [, other, zero] = scalarSamples[scalar];
    const built = value as JsonObject;
    const metadata = { ...(built['metadata'] as JsonObject | undefined), name: 'x' };
    return { path, object: { ...root, ...built, metadata }, other, zero };
  });
}

/** The lists and maps that contain leaves, each once. */
export function containersOf(apiVersion: string, kind: string): readonly ContainerCase[] {
  const holders = new Map<string, ContainerCase>();
  for (const { path, object } of leavesOf(apiVersion, kind))
    for (const length of path.keys()) {
      const here = path.slice(0, length);
      const holder = holders.has(here.join('.')) ? undefined : holderAt(here, object);
      if (holder !== undefined) holders.set(here.join('.'), holder);
    }
  return [...holders.values()];
}

function holderAt(path: FieldSteps, object: JsonObject): ContainerCase | undefined {
  let here: TypePosition = {
    type: schemaOf(object as TypedManifest),
    field: undefined,
    whole: { client: false, server: false },
  };
  for (const step of path) here = below(here, step);
  const { type, field, whole } = here;
  if (type?.form !== 'list' && type?.form !== 'map') return undefined;
  const empty = changedAt(object, path, type.form === 'list' ? [] : {}) as JsonObject;
  const keys = [...(shapeOfType(type, field?.ownership).listKeys ?? []), field?.mergeKey ?? ''];
  const another = changedAt(object, path, withAnother(valueAt(object, path), type, keys)) as JsonObject;
  return { path, object, withAnother: another, empty, whole };
}

type TypedManifest = JsonObject & { readonly apiVersion: string; readonly kind: string };

/** A type on the way down, and whether it is part of a value that is replaced as a whole. */
interface TypePosition {
  readonly type: TypeSchema | undefined;
  readonly field: FieldSchema | undefined;
  readonly whole: ContainerCase['whole'];
}

function below({ type: above, whole }: TypePosition, step: string | number): TypePosition {
  const field = typeof step === 'string' ? fieldOf(above, step) : undefined;
  const type = typeof step === 'string' ? field?.type : itemsOf(above);
  const shape = shapeOfType(type, field?.ownership);
  const isList = type?.form === 'list';
  return {
    type,
    field,
    whole: {
      client: whole.client || (isList ? field?.mergeKey === undefined : field?.replaceWhole === true),
      server: whole.server || (isList ? shape.listKeys === undefined : shape.atomicMap),
    },
  };
}

/** Adds a second item that differs from the first in all of its keys, and in its name. */
function withAnother(value: Json, type: TypeSchema & { readonly items: TypeSchema }, keys: readonly string[]): Json {
  if (!Array.isArray(value)) return { ...(value as JsonObject), other: Object.values(value as JsonObject)[0] ?? null };
  const first = value[0] as Json;
  if (type.items.form === 'scalar') return [first, scalarSamples[type.items.kind][1]];
  if (first === null || typeof first !== 'object') return [first];
  const named = Object.entries(first as JsonObject).map(([key, member]) => {
    const field = fieldOf(type.items, key)?.type;
    const isKey = (keys.includes(key) || key === 'name') && field?.form === 'scalar';
    return [key, isKey ? scalarSamples[field.kind][1] : member];
  });
  return [first, Object.fromEntries(named) as JsonObject];
}

interface LeafValue {
  readonly path: FieldSteps;
  readonly value: Json;
  readonly scalar: ScalarKind;
}

function valuesIn(type: TypeSchema | undefined, above: readonly string[], field?: FieldSchema): readonly LeafValue[] {
  if (type === undefined) return [];
  if (type.form === 'scalar') return [{ path: [], value: scalarSamples[type.kind][0], scalar: type.kind }];
  const under = (
    step: string | number,
    values: readonly LeafValue[],
    wrap: (value: Json) => Json,
  ): readonly LeafValue[] =>
    values.map(({ path, value, scalar }) => ({ path: [step, ...path], value: wrap(value), scalar }));
  if (type.form !== 'struct') {
    const inner = valuesIn(type.items, above);
    if (type.form === 'map') return under('k', inner, (value) => ({ k: value }));
    return under(0, inner, (value) => [withKeys(value, type.items, field)]);
  }
  if (above.includes(type.name)) return [];
  return [...structFields(type.name)].flatMap(([name, member]) =>
    isSettable(name, type.name, above.length)
      ? under(name, valuesIn(member.type, [...above, type.name], member), (value) => ({ [name]: value }))
      : [],
  );
}

function isSettable(name: string, type: string, depth: number): boolean {
  if (name === 'status' || (type === 'ObjectMeta' && serverSetFields.has(name))) return false;
  return depth > 0 || !['apiVersion', 'kind'].includes(name);
}

/** Sets all keys of a list item. */
function withKeys(item: Json, items: TypeSchema, field: FieldSchema | undefined): Json {
  if (items.form !== 'struct' || item === null || typeof item !== 'object') return item;
  const owned = field?.ownership === undefined || field.ownership === 'whole' ? [] : field.ownership.itemKeys;
  const keys = field?.mergeKey === undefined ? owned : [...owned, field.mergeKey];
  const id = keys.flatMap((key) => {
    const type = structFields(items.name).get(key)?.type;
    return type?.form === 'scalar' ? [[key, key === 'protocol' ? 'TCP' : scalarSamples[type.kind][0]]] : [];
  });
  return { ...(Object.fromEntries(id) as JsonObject), ...(item as JsonObject) };
}

function valueAt(value: Json, path: FieldSteps): Json {
  return path.reduce<Json>((here, step) => (here as Readonly<Record<string | number, Json>>)[step] ?? null, value);
}

/** The paths of all values in an object; an empty list or map counts as one value. */
export function leafPathsIn(value: Json, path: FieldSteps = []): readonly FieldSteps[] {
  if (value === null || typeof value !== 'object') return [path];
  const members = Array.isArray(value)
    ? value.flatMap((item: Json, i) => leafPathsIn(item, [...path, i]))
    : Object.entries(value).flatMap(([key, member]) => leafPathsIn(member as Json, [...path, key]));
  return members.length === 0 ? [path] : members;
}

/** Replaces the value at a path; `undefined` removes it. */
export function changedAt(value: Json, path: FieldSteps, after: Json | undefined): Json {
  const [step, ...rest] = path;
  if (step === undefined) return after ?? null;
  const gone = rest.length === 0 && after === undefined;
  if (Array.isArray(value)) {
    const list = value as readonly Json[];
    return list.flatMap((item, i) => (i !== step ? [item] : gone ? [] : [changedAt(item, rest, after)]));
  }
  const { [String(step)]: member = null, ...others } = (value ?? {}) as JsonObject;
  return gone ? others : { ...(value as JsonObject), [String(step)]: changedAt(member, rest, after) };
}

/** Replaces the value at a path by another one of the same type. */
export function otherAt(value: Json, path: FieldSteps): Json {
  const here = valueAt(value, path);
  const other = typeof here === 'boolean' ? !here : typeof here === 'number' ? here + 7 : `${here as string}z`;
  return changedAt(value, path, other);
}

/** The paths of all scalars in an object. */
export function valuePathsIn(value: Json): readonly FieldSteps[] {
  return leafPathsIn(value).filter((path) => {
    const leaf = valueAt(value, path);
    return leaf === null || typeof leaf !== 'object';
  });
}
