import { canonicalJson, isObject, own } from '#base';
import type { Json } from '#base';
import { constantsOf } from './default-rules.ts';
import { fieldStep, itemStep } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { fieldsOf, isAtomic } from './schema.ts';
import type { FieldSchema, Owned, TypeSchema } from './schema.ts';
import { isList } from './values.ts';

/** What server-side apply knows about a place in an object. */
export interface Shape {
  /** A map here is owned as a whole. */
  readonly atomicMap: boolean;
  /** By which keys the items of a list here are owned, none for a set; undefined: the list is owned as a whole. */
  readonly listKeys: readonly string[] | undefined;
  readonly member: (name: string) => Shape;
  readonly items: () => Shape;
  /** Is this a field of a struct, other than a key of a free map? */
  readonly named: (name: string) => boolean;
  /** What a key of an item is that does not name it. */
  readonly keyDefault: (name: string) => Json | undefined;
}

/** Nothing is known: maps by member, lists as a whole. */
export const untyped: Shape = {
  atomicMap: false,
  listKeys: undefined,
  member: () => untyped,
  items: () => untyped,
  named: () => false,
  keyDefault: () => undefined,
};

/** A map of a built-in kind in which Kubernetes knows nothing (data of a ControllerRevision): the API server owns it as a whole. */
const opaque: Shape = { ...untyped, atomicMap: true };

/** The shape of a built-in type. Structs are read once: the same types come in object after object. */
export function shapeOf(type: TypeSchema | undefined, owned?: Owned): Shape {
  if (type === undefined) return untyped;
  if (type.form === 'scalar') return type.kind === 'r' ? opaque : untyped;
  if (type.form !== 'struct' || owned !== undefined) return new BuiltInShape(type, owned);
  let shape = structs.get(type.name);
  if (shape === undefined) {
    shape = new BuiltInShape(type, undefined);
    structs.set(type.name, shape);
  }
  return shape;
}

const structs = new Map<string, Shape>();

class BuiltInShape implements Shape {
  readonly atomicMap: boolean;
  readonly listKeys: readonly string[] | undefined;
  readonly #type: TypeSchema;
  /** Of a struct. */
  readonly #members = new Map<string, Shape>();
  #inner: Shape | undefined;

  constructor(type: TypeSchema, owned: Owned | undefined) {
    this.#type = type;
    this.atomicMap = owned === 'whole' || (type.form === 'struct' && isAtomic(type.name));
    this.listKeys = type.form === 'list' && owned !== undefined && owned !== 'whole' ? owned.by : undefined;
  }

  member(name: string): Shape {
    if (this.#type.form === 'map') return this.#innermost();
    const known = this.#members.get(name);
    if (known !== undefined) return known;
    const field = this.#type.form === 'struct' ? fieldsOf(this.#type.name).get(name) : undefined;
    if (field === undefined) return untyped;
    const shape = shapeOf(field.type, field.owned);
    this.#members.set(name, shape);
    return shape;
  }

  items(): Shape {
    return this.#type.form === 'list' ? this.#innermost() : untyped;
  }

  named(name: string): boolean {
    return this.#type.form === 'struct' && fieldsOf(this.#type.name).has(name);
  }

  keyDefault(name: string): Json | undefined {
    if (this.#type.form !== 'struct') return undefined;
    return own(constantsOf(this.#type.name), name) ?? zeroOf(fieldsOf(this.#type.name).get(name));
  }

  #innermost(): Shape {
    this.#inner ??= shapeOf(this.#type.form === 'list' || this.#type.form === 'map' ? this.#type.items : undefined);
    return this.#inner;
  }
}

function zeroOf(field: FieldSchema | undefined): Json | undefined {
  return field?.type.form === 'scalar' && field.type.kind === 's' && !field.type.pointer ? '' : undefined;
}

/**
 * The shape of a custom resource as its managed fields show it: the API server wrote them by the schema of its CRD, so that they say how
 * each list and map that somebody has applied or changed is owned.
 *
 * @param maps `by member`: none is owned as a whole.
 */
export function shapeOfFields(fields: FieldSet | undefined, maps: 'as they are' | 'by member' = 'as they are'): Shape {
  if (fields === undefined) return untyped;
  const steps = [...fields.children.keys()];
  const keyed = steps.find((step) => step.startsWith('k:'));
  const keys = keyed === undefined ? undefined : Object.keys(JSON.parse(keyed.slice(2)) as object);
  const isSet = steps.some((step) => step.startsWith('v:'));
  return {
    atomicMap: maps === 'as they are' && fields.member && steps.length === 0,
    listKeys: keys ?? (isSet ? [] : undefined),
    member: (name) => shapeOfFields(fields.children.get(fieldStep(name)), maps),
    items: () => {
      const all: FieldSet = { member: false, children: new Map() };
      for (const step of steps)
        for (const [name, child] of fields.children.get(step)?.children ?? []) merge(all, name, child);
      return shapeOfFields(all, maps);
    },
    named: (name) => fields.children.get(fieldStep(name))?.member === false,
    keyDefault: () => undefined,
  };
}

function merge(all: FieldSet, step: string, child: FieldSet): void {
  const present = all.children.get(step);
  if (present === undefined) all.children.set(step, child);
  else if (present.children.size === 0) all.children.set(step, child);
}

const plain = /^[\w./-]*$/;

function quoted(text: string): string {
  return plain.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** How an item of a list is told from the others. */
export function stepOf(item: Json, shape: Shape): string {
  const keys = shape.listKeys ?? [];
  if (keys.length === 0 || !isObject(item)) return itemStep(item);
  const [only = ''] = keys;
  const name = keys.length === 1 ? own(item, only) : undefined;
  // Nearly all of them.
  if (typeof name === 'string') return `k:{${quoted(only)}:${quoted(name)}}`;
  const items = shape.items();
  const id: Record<string, Json> = {};
  for (const key of keys) {
    const value = own(item, key) ?? items.keyDefault(key);
    if (value !== undefined) id[key] = value;
  }
  return `k:${canonicalJson(id)}`;
}

/**
 * The paths of a value (typed.ToFieldSet).
 * @param which `structs`: with the fields of structs that lead to them.
 */
export function fieldSetOf(value: Json | undefined, shape: Shape, which: 'leaves' | 'structs' = 'leaves'): FieldSet {
  const set: FieldSet = { member: false, children: new Map() };
  if (value === undefined || value === null) return set;
  if (isList(value)) {
    if (shape.listKeys === undefined) set.member = true;
    else for (const item of value) addItem(set, item, shape, which);
  } else if (!isObject(value) || shape.atomicMap) set.member = true;
  else
    for (const key of Object.keys(value)) {
      const child = memberSet(value[key], key, shape, which);
      if (child !== undefined) set.children.set(fieldStep(key), child);
    }
  return set;
}

function addItem(set: FieldSet, item: Json, shape: Shape, which: 'leaves' | 'structs'): void {
  const step = stepOf(item, shape);
  // Of items that cannot be told apart only their presence is owned.
  const child = set.children.has(step) ? fieldSetOf(undefined, shape) : fieldSetOf(item, shape.items(), which);
  child.member = true;
  set.children.set(step, child);
}

/** Undefined where nothing is owned. */
function memberSet(
  value: Json | undefined,
  key: string,
  shape: Shape,
  which: 'leaves' | 'structs',
): FieldSet | undefined {
  if (value === undefined) return undefined;
  const child = fieldSetOf(value, shape.member(key), which);
  const isEmpty = value === null || (isObject(value) && Object.keys(value).length === 0);
  child.member ||= isEmpty || !shape.named(key);
  if (!child.member && child.children.size === 0) return undefined;
  child.member ||= which === 'structs';
  return child;
}
