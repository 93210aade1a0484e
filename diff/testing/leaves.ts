import type { Json, JsonObject } from '#base';
import { shapeOf } from '../shape.ts';
import { fieldOf, fieldsOf, itemsOf, schemaOf } from '../schema.ts';
import type { FieldSchema, ScalarKind, TypeSchema } from '../schema.ts';

/** How to get from an object to a place in it. */
export type Steps = readonly (string | number)[];

/** A field that holds a value, and an object of its kind that has nothing else. */
export interface Leaf {
  readonly path: Steps;
  readonly object: JsonObject;
  /** Another value for it. */
  readonly other: Json;
  /** A value that Go cannot tell from nothing; undefined where there is none. */
  readonly zero: Json | undefined;
}

/** A list or a map, an object that has one value in it, one that has another one beside, and one that has none. */
export interface Holder {
  readonly path: Steps;
  readonly object: JsonObject;
  readonly more: JsonObject;
  readonly empty: JsonObject;
  /** Is it replaced as a whole, it or what it stands in, so that what somebody else has put into it is a difference? */
  readonly whole: { readonly client: boolean; readonly server: boolean };
}

/** A value of each kind of scalar, another one, and the one that is nothing to Go. */
const scalars: Readonly<Record<ScalarKind, readonly [value: Json, other: Json, zero?: Json]>> = {
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

/** What no manifest says: an API server sets it by itself, or it names the object. */
const unsaid = new Set([
  ...['name', 'generateName', 'namespace', 'selfLink', 'uid', 'resourceVersion', 'generation'],
  ...['creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'managedFields'],
]);

/** All leaves of a built-in kind but those of its status. A type that stands in itself is gone through once. */
export function leavesOf(apiVersion: string, kind: string): readonly Leaf[] {
  const root = { apiVersion, kind, metadata: { name: 'x' } };
  return valuesIn(schemaOf(root), []).map(({ path, value, scalar }): Leaf => {
    const [, other, zero] = scalars[scalar];
    const built = value as JsonObject;
    const metadata = { ...(built['metadata'] as JsonObject | undefined), name: 'x' };
    return { path, object: { ...root, ...built, metadata }, other, zero };
  });
}

/** The lists and maps that leaves lie in, each once. */
export function holdersOf(apiVersion: string, kind: string): readonly Holder[] {
  const holders = new Map<string, Holder>();
  for (const { path, object } of leavesOf(apiVersion, kind))
    for (const length of path.keys()) {
      const here = path.slice(0, length);
      const holder = holders.has(here.join('.')) ? undefined : holderAt(here, object);
      if (holder !== undefined) holders.set(here.join('.'), holder);
    }
  return [...holders.values()];
}

function holderAt(path: Steps, object: JsonObject): Holder | undefined {
  let here: Stand = { type: schemaOf(object as Manifest), field: undefined, whole: { client: false, server: false } };
  for (const step of path) here = below(here, step);
  const { type, field, whole } = here;
  if (type?.form !== 'list' && type?.form !== 'map') return undefined;
  const empty = changedAt(object, path, type.form === 'list' ? [] : {}) as JsonObject;
  const keys = [...(shapeOf(type, field?.owned).listKeys ?? []), field?.mergeKey ?? ''];
  const more = changedAt(object, path, withAnother(valueAt(object, path), type, keys)) as JsonObject;
  return { path, object, more, empty, whole };
}

type Manifest = JsonObject & { readonly apiVersion: string; readonly kind: string };

/** A place on the way into a type, and whether what is in it, or around it, is replaced as a whole. */
interface Stand {
  readonly type: TypeSchema | undefined;
  readonly field: FieldSchema | undefined;
  readonly whole: Holder['whole'];
}

function below({ type: above, whole }: Stand, step: string | number): Stand {
  const field = typeof step === 'string' ? fieldOf(above, step) : undefined;
  const type = typeof step === 'string' ? field?.type : itemsOf(above);
  const shape = shapeOf(type, field?.owned);
  const isList = type?.form === 'list';
  return {
    type,
    field,
    whole: {
      client: whole.client || (isList ? field?.mergeKey === undefined : field?.replace === true),
      server: whole.server || (isList ? shape.listKeys === undefined : shape.atomicMap),
    },
  };
}

/** With a second item, told from the first one by all of its keys. */
function withAnother(value: Json, type: TypeSchema & { readonly items: TypeSchema }, keys: readonly string[]): Json {
  if (!Array.isArray(value)) return { ...(value as JsonObject), other: Object.values(value as JsonObject)[0] ?? null };
  const first = value[0] as Json;
  if (type.items.form === 'scalar') return [first, scalars[type.items.kind][1]];
  if (first === null || typeof first !== 'object') return [first];
  const named = Object.entries(first as JsonObject).map(([key, member]) => {
    const field = fieldOf(type.items, key)?.type;
    const isKey = keys.includes(key) && field?.form === 'scalar';
    return [key, isKey ? scalars[field.kind][1] : member];
  });
  return [first, Object.fromEntries(named) as JsonObject];
}

interface Value {
  readonly path: Steps;
  readonly value: Json;
  readonly scalar: ScalarKind;
}

function valuesIn(type: TypeSchema | undefined, above: readonly string[], field?: FieldSchema): readonly Value[] {
  if (type === undefined) return [];
  if (type.form === 'scalar') return [{ path: [], value: scalars[type.kind][0], scalar: type.kind }];
  const under = (step: string | number, values: readonly Value[], wrap: (value: Json) => Json): readonly Value[] =>
    values.map(({ path, value, scalar }) => ({ path: [step, ...path], value: wrap(value), scalar }));
  if (type.form !== 'struct') {
    const inner = valuesIn(type.items, above);
    if (type.form === 'map') return under('k', inner, (value) => ({ k: value }));
    return under(0, inner, (value) => [withKeys(value, type.items, field)]);
  }
  if (above.includes(type.name)) return [];
  return [...fieldsOf(type.name)].flatMap(([name, member]) =>
    isSaid(name, type.name, above.length)
      ? under(name, valuesIn(member.type, [...above, type.name], member), (value) => ({ [name]: value }))
      : [],
  );
}

function isSaid(name: string, type: string, depth: number): boolean {
  if (name === 'status' || (type === 'ObjectMeta' && unsaid.has(name))) return false;
  return depth > 0 || !['apiVersion', 'kind'].includes(name);
}

/** An item of a list, with all that tells it from others. */
function withKeys(item: Json, items: TypeSchema, field: FieldSchema | undefined): Json {
  if (items.form !== 'struct' || item === null || typeof item !== 'object') return item;
  const owned = field?.owned === undefined || field.owned === 'whole' ? [] : field.owned.by;
  const keys = field?.mergeKey === undefined ? owned : [...owned, field.mergeKey];
  const id = keys.flatMap((key) => {
    const type = fieldsOf(items.name).get(key)?.type;
    return type?.form === 'scalar' ? [[key, key === 'protocol' ? 'TCP' : scalars[type.kind][0]]] : [];
  });
  return { ...(Object.fromEntries(id) as JsonObject), ...(item as JsonObject) };
}

function valueAt(value: Json, path: Steps): Json {
  return path.reduce<Json>((here, step) => (here as Readonly<Record<string | number, Json>>)[step] ?? null, value);
}

/** All places of values in an object; lists and maps that are empty count as one. */
export function placesIn(value: Json, path: Steps = []): readonly Steps[] {
  if (value === null || typeof value !== 'object') return [path];
  const members = Array.isArray(value)
    ? value.flatMap((item: Json, i) => placesIn(item, [...path, i]))
    : Object.entries(value).flatMap(([key, member]) => placesIn(member as Json, [...path, key]));
  return members.length === 0 ? [path] : members;
}

/** The object with another value at a path; undefined: without it. */
export function changedAt(value: Json, path: Steps, after: Json | undefined): Json {
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

/** Another value of the same form. */
export function otherAt(value: Json, path: Steps): Json {
  const here = valueAt(value, path);
  const other = typeof here === 'boolean' ? !here : typeof here === 'number' ? here + 7 : `${here as string}z`;
  return changedAt(value, path, other);
}
