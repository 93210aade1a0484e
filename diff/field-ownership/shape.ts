import { canonicalJson, isObject, ownMember } from '#base';
import type { Json } from '#base';
import { constantDefaultsOf } from '../normalize/default-rules.ts';
import { isAtomicStruct, structFields } from '../schema/schema.ts';
import type { FieldSchema, ListOwnership, TypeSchema } from '../schema/schema.ts';
import { isList } from '../shared/values.ts';
import { fieldStep, setItemStep } from './field-set.ts';
import type { FieldSet } from './field-set.ts';

/** How server-side apply owns a value: the list and map types of its schema, at every level. */
export interface OwnershipShape {
  /** An atomic map: owned as a whole. */
  readonly atomicMap: boolean;
  /** The key fields of a list's items; empty for a set, undefined for an atomic list. */
  readonly listKeys: readonly string[] | undefined;
  readonly member: (name: string) => OwnershipShape;
  readonly items: () => OwnershipShape;
  /** Whether the name is a field of a struct, not a key of a free-form map. */
  readonly isStructField: (name: string) => boolean;
  /** Whether the name is known to be a key of a map, which is owned besides its content. */
  readonly isMapKey: (name: string) => boolean;
  /** The default of a key field, for an item that leaves it out. */
  readonly keyDefault: (name: string) => Json | undefined;
}

/** Without a schema: granular maps, atomic lists. */
export const unknownShape: OwnershipShape = {
  atomicMap: false,
  listKeys: undefined,
  member: () => unknownShape,
  items: () => unknownShape,
  isStructField: () => false,
  isMapKey: () => false,
  keyDefault: () => undefined,
};

/** Content that a schema preserves without describing it. */
export const preservedShape: OwnershipShape = {
  ...unknownShape,
  member: () => preservedShape,
  items: () => preservedShape,
  isMapKey: () => true,
};

/**
 * A free-form object of a built-in kind (data of a ControllerRevision): atomic for the API server.
 */
const opaqueMapShape: OwnershipShape = { ...unknownShape, atomicMap: true };

/** The shape of a built-in type. Struct shapes are cached: objects repeat the same types. */
export function shapeOfType(type: TypeSchema | undefined, ownership?: ListOwnership): OwnershipShape {
  if (type === undefined) return unknownShape;
  if (type.form === 'scalar') return type.kind === 'r' ? opaqueMapShape : unknownShape;
  if (type.form !== 'struct' || ownership !== undefined) return new BuiltInShape(type, ownership);
  let shape = structShapes.get(type.name);
  if (shape === undefined) {
    shape = new BuiltInShape(type, undefined);
    structShapes.set(type.name, shape);
  }
  return shape;
}

const structShapes = new Map<string, OwnershipShape>();

class BuiltInShape implements OwnershipShape {
  readonly atomicMap: boolean;
  readonly listKeys: readonly string[] | undefined;
  readonly #type: TypeSchema;
  /** Members of a struct, filled on first use. */
  readonly #members = new Map<string, OwnershipShape>();
  #inner: OwnershipShape | undefined;

  constructor(type: TypeSchema, ownership: ListOwnership | undefined) {
    this.#type = type;
    this.atomicMap = ownership === 'whole' || (type.form === 'struct' && isAtomicStruct(type.name));
    this.listKeys =
      type.form === 'list' && ownership !== undefined && ownership !== 'whole' ? ownership.itemKeys : undefined;
  }

  member(name: string): OwnershipShape {
    if (this.#type.form === 'map') return this.#innermost();
    const known = this.#members.get(name);
    if (known !== undefined) return known;
    const field = this.#type.form === 'struct' ? structFields(this.#type.name).get(name) : undefined;
    if (field === undefined) return unknownShape;
    const shape = shapeOfType(field.type, field.ownership);
    this.#members.set(name, shape);
    return shape;
  }

  items(): OwnershipShape {
    return this.#type.form === 'list' ? this.#innermost() : unknownShape;
  }

  isStructField(name: string): boolean {
    return this.#type.form === 'struct' && structFields(this.#type.name).has(name);
  }

  isMapKey(): boolean {
    return this.#type.form === 'map';
  }

  keyDefault(name: string): Json | undefined {
    if (this.#type.form !== 'struct') return undefined;
    return ownMember(constantDefaultsOf(this.#type.name), name) ?? zeroOf(structFields(this.#type.name).get(name));
  }

  #innermost(): OwnershipShape {
    this.#inner ??= shapeOfType(this.#type.form === 'list' || this.#type.form === 'map' ? this.#type.items : undefined);
    return this.#inner;
  }
}

function zeroOf(field: FieldSchema | undefined): Json | undefined {
  return field?.type.form === 'scalar' && field.type.kind === 's' && !field.type.pointer ? '' : undefined;
}

/**
 * Derives the shape of a custom resource from its managed fields: the API server wrote them by the
 * CRD's schema, so they show the type of each list and map that was applied or updated.
 *
 * @param maps `by member`: no map is atomic.
 */
export function shapeFromManagedFields(
  fields: FieldSet | undefined,
  maps: 'as they are' | 'by member' = 'as they are',
): OwnershipShape {
  if (fields === undefined) return unknownShape;
  const steps = [...fields.children.keys()];
  const keyed = steps.find((step) => step.startsWith('k:'));
  const keys = keyed === undefined ? undefined : Object.keys(JSON.parse(keyed.slice(2)) as object);
  const isSet = steps.some((step) => step.startsWith('v:'));
  return {
    atomicMap: maps === 'as they are' && fields.member && steps.length === 0,
    listKeys: keys ?? (isSet ? [] : undefined),
    member: (name) => shapeFromManagedFields(fields.children.get(fieldStep(name)), maps),
    items: () => {
      const all: FieldSet = { member: false, children: new Map() };
      for (const step of steps)
        for (const [name, child] of fields.children.get(step)?.children ?? []) addShownFields(all, name, child);
      return shapeFromManagedFields(all, maps);
    },
    isStructField: (name) => fields.children.get(fieldStep(name))?.member === false,
    isMapKey: (name) =>
      isOwnedKey(fields.children.get(fieldStep(name))) ?? [...fields.children.values()].some(isOwnedKey),
    keyDefault: () => undefined,
  };
}

/** Undefined: a field that is owned as a whole may be of a struct or a map. */
function isOwnedKey(child: FieldSet | undefined): boolean | undefined {
  return child === undefined || child.children.size === 0 ? undefined : child.member;
}

function addShownFields(all: FieldSet, step: string, child: FieldSet): void {
  const present = all.children.get(step);
  if (present === undefined) all.children.set(step, child);
  else if (present.children.size === 0) all.children.set(step, child);
}

const plainText = /^[\w./-]*$/;

function quoted(text: string): string {
  return plainText.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** The step that identifies a list item. */
export function listItemStep(item: Json, shape: OwnershipShape): string {
  const keys = shape.listKeys ?? [];
  if (keys.length === 0 || !isObject(item)) return setItemStep(item);
  const [only = ''] = keys;
  const name = keys.length === 1 ? ownMember(item, only) : undefined;
  // Fast path: almost all items.
  if (typeof name === 'string') return `k:{${quoted(only)}:${quoted(name)}}`;
  const items = shape.items();
  const id: Record<string, Json> = {};
  for (const key of keys) {
    const value = ownMember(item, key) ?? items.keyDefault(key);
    if (value !== undefined) id[key] = value;
  }
  return `k:${canonicalJson(id)}`;
}

/**
 * The paths of a value (typed.ToFieldSet).
 *
 * @param which `structs`: includes the struct fields on the way to the leaves.
 */
export function fieldSetOf(
  value: Json | undefined,
  shape: OwnershipShape,
  which: 'leaves' | 'structs' = 'leaves',
): FieldSet {
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

function addItem(set: FieldSet, item: Json, shape: OwnershipShape, which: 'leaves' | 'structs'): void {
  const step = listItemStep(item, shape);
  // For items with equal keys, only their presence is owned, not their content.
  const child = set.children.has(step) ? fieldSetOf(undefined, shape) : fieldSetOf(item, shape.items(), which);
  child.member = true;
  set.children.set(step, child);
}

/** Undefined when nothing is owned. */
function memberSet(
  value: Json | undefined,
  key: string,
  shape: OwnershipShape,
  which: 'leaves' | 'structs',
): FieldSet | undefined {
  if (value === undefined) return undefined;
  const child = fieldSetOf(value, shape.member(key), which);
  const isEmpty = value === null || (isObject(value) && Object.keys(value).length === 0);
  child.member ||= isEmpty || !shape.isStructField(key);
  if (!child.member && child.children.size === 0) return undefined;
  child.member ||= which === 'structs';
  return child;
}

export interface IndexedList {
  readonly list: readonly Json[];
  readonly steps: readonly string[];
  readonly byStep: ReadonlyMap<string, Json>;
}

export function indexItems(list: readonly Json[], shape: OwnershipShape): IndexedList {
  const steps = list.map((item) => listItemStep(item, shape));
  return { list, steps, byStep: new Map(list.map((item, i) => [steps[i] ?? '', item])) };
}
