import type { KubeObject } from '#model';
import { newerTypes } from './newer-types.ts';
import { kinds, types } from './schema-data.ts';

/** A field of a built-in type. */
export interface FieldSchema {
  readonly type: TypeSchema;
  /**
   * The merge key of a merged list, "" for a list of scalars; absent for lists that are replaced.
   */
  readonly mergeKey?: string;
  /**
   * `retainKeys` strategy, on a map or on list items: fields that the target lacks are removed with
   * any change.
   */
  readonly retainKeys: boolean;
  /** `replace` strategy: the map is replaced as a whole. */
  readonly replaceWhole: boolean;
  /** Ownership under server-side apply. Undefined: atomic lists, granular maps. */
  readonly ownership?: ListOwnership;
}

/**
 * A list whose items are owned by the values of these keys (none: a set of scalars), or an atomic
 * map.
 */
export type ListOwnership = { readonly itemKeys: readonly string[] } | 'whole';

export type ScalarKind = 'b' | 'i' | 'f' | 's' | 'y' | 'q' | 'm' | 'o' | 't' | 'u' | 'd' | 'r';

export type TypeSchema =
  | { readonly form: 'scalar'; readonly kind: ScalarKind; readonly pointer: boolean }
  | { readonly form: 'list' | 'map'; readonly items: TypeSchema }
  | { readonly form: 'struct'; readonly name: string; readonly pointer: boolean };

const unknownScalar: TypeSchema = { form: 'scalar', kind: 'r', pointer: true };
/** Parsed on first use: a controller meets few of the four hundred types. */
const parsedTypes = new Map<string, ParsedType>();

interface ParsedType {
  readonly atomic: boolean;
  readonly fields: ReadonlyMap<string, FieldSchema>;
}

/**
 * The type of a built-in kind; undefined for custom resources and API versions not in the table.
 */
export function schemaOf(object: Pick<KubeObject, 'apiVersion' | 'kind'>): TypeSchema | undefined {
  const key = `${object.apiVersion} ${object.kind}`;
  const name = Object.hasOwn(kinds, key) ? kinds[key] : undefined;
  return name === undefined ? undefined : { form: 'struct', name, pointer: true };
}

/** The type of a struct's field or a map's values; undefined if unknown. */
export function fieldOf(type: TypeSchema | undefined, name: string): FieldSchema | undefined {
  if (type?.form === 'map') return { type: type.items, retainKeys: false, replaceWhole: false };
  return type?.form === 'struct' ? structFields(type.name).get(name) : undefined;
}

export function itemsOf(type: TypeSchema | undefined): TypeSchema | undefined {
  return type?.form === 'list' ? type.items : undefined;
}

export function structFields(name: string): ReadonlyMap<string, FieldSchema> {
  return parsedType(name).fields;
}

/** Whether server-side apply owns structs of this type as a whole, in any field. */
export function isAtomicStruct(name: string): boolean {
  return parsedType(name).atomic;
}

function parsedType(name: string): ParsedType {
  let type = parsedTypes.get(name);
  if (type === undefined) {
    const words = fieldsText(name)
      .split(' ')
      .filter((word) => word !== '');
    const atomic = words[0] === '=';
    type = { atomic, fields: new Map((atomic ? words.slice(1) : words).map(parseField)) };
    parsedTypes.set(name, type);
  }
  return type;
}

function fieldsText(name: string): string {
  const table = Object.hasOwn(types, name) ? types : newerTypes;
  return Object.hasOwn(table, name) ? (table[name] ?? '') : '';
}

function parseField(text: string): [string, FieldSchema] {
  const [, name = '', kind = '', how = '', owned = '', merge] =
    /^([^:?]+)\??:([^~^!%=]*)([\^!]?)(%[^~]*|=)?(?:~(.*))?$/.exec(text) ?? [];
  const ownedAs = parseOwnership(owned);
  return [
    name,
    {
      type: parseType(kind),
      retainKeys: how === '^',
      replaceWhole: how === '!',
      ...(merge === undefined ? {} : { mergeKey: merge }),
      ...(ownedAs === undefined ? {} : { ownership: ownedAs }),
    },
  ];
}

function parseOwnership(text: string): ListOwnership | undefined {
  if (text === '=') return 'whole';
  if (!text.startsWith('%')) return undefined;
  return { itemKeys: text === '%' ? [] : text.slice(1).split(',') };
}

function parseType(text: string): TypeSchema {
  if (text.startsWith('[')) return { form: 'list', items: parseType(text.slice(1)) };
  if (text.startsWith('{')) return { form: 'map', items: parseType(text.slice(1)) };
  const pointer = text.startsWith('*');
  const name = pointer ? text.slice(1) : text;
  if (name.startsWith('[') || name.startsWith('{')) return parseType(name);
  if (name === '') return unknownScalar;
  if (/^[bifsyqmotudr]$/.test(name)) return { form: 'scalar', kind: name as ScalarKind, pointer };
  return { form: 'struct', name, pointer };
}
