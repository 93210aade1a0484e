import type { KubeObject } from '#model';
import { kinds, types } from './schema-data.ts';

/** What is known about a field of a built-in type. */
export interface FieldSchema {
  readonly type: TypeSchema;
  /** Present for lists that merge: by this key of their items, "" for lists of scalars. */
  readonly mergeKey?: string;
  /** Of a map, or of the items of a list: what is not in the target goes when anything changes. */
  readonly retainKeys: boolean;
  /** A map that is replaced as a whole. */
  readonly replace: boolean;
  /** How server-side apply owns what is in it; undefined: lists as a whole, maps by member. */
  readonly owned?: Owned;
}

/** Items of a list by the values of these keys (none: a set of scalars), or a map as a whole. */
export type Owned = { readonly by: readonly string[] } | 'whole';

export type ScalarKind = 'b' | 'i' | 'f' | 's' | 'y' | 'q' | 'm' | 'o' | 't' | 'u' | 'd' | 'r';

export type TypeSchema =
  | { readonly form: 'scalar'; readonly kind: ScalarKind; readonly pointer: boolean }
  | { readonly form: 'list' | 'map'; readonly items: TypeSchema }
  | { readonly form: 'struct'; readonly name: string; readonly pointer: boolean };

const unknownScalar: TypeSchema = { form: 'scalar', kind: 'r', pointer: true };
/** Parsed on first use: a controller meets few of the four hundred types. Filled once per type, never changed. */
const parsed = new Map<string, ParsedType>();

interface ParsedType {
  readonly atomic: boolean;
  readonly fields: ReadonlyMap<string, FieldSchema>;
}

/** The type of an object of a built-in kind, undefined for custom resources and versions that are not in the table. */
export function schemaOf(object: Pick<KubeObject, 'apiVersion' | 'kind'>): TypeSchema | undefined {
  const key = `${object.apiVersion} ${object.kind}`;
  const name = Object.hasOwn(kinds, key) ? kinds[key] : undefined;
  return name === undefined ? undefined : { form: 'struct', name, pointer: true };
}

/** A type by the name that `knownTypeFields` uses: `core/v1/PodSpec`, `core/Quantity`, `meta/v1/Duration`. */
export function namedSchema(name: string): TypeSchema | undefined {
  if (name === 'core/Quantity') return { form: 'scalar', kind: 'q', pointer: false };
  if (name === 'meta/v1/Duration') return { form: 'scalar', kind: 'd', pointer: false };
  const short = /^core\/v1\/([A-Za-z]+)$/.exec(name)?.[1];
  return short !== undefined && Object.hasOwn(types, short)
    ? { form: 'struct', name: short, pointer: true }
    : undefined;
}

/** The field of a struct, the values of a map; undefined where nothing is known. */
export function fieldOf(type: TypeSchema | undefined, name: string): FieldSchema | undefined {
  if (type?.form === 'map') return { type: type.items, retainKeys: false, replace: false };
  return type?.form === 'struct' ? fieldsOf(type.name).get(name) : undefined;
}

/** The type of the items of a list. */
export function itemsOf(type: TypeSchema | undefined): TypeSchema | undefined {
  return type?.form === 'list' ? type.items : undefined;
}

export function fieldsOf(name: string): ReadonlyMap<string, FieldSchema> {
  return typeOf(name).fields;
}

/** Does server-side apply own structs of this type as a whole, wherever they stand? */
export function isAtomic(name: string): boolean {
  return typeOf(name).atomic;
}

function typeOf(name: string): ParsedType {
  let type = parsed.get(name);
  if (type === undefined) {
    const words = (Object.hasOwn(types, name) ? (types[name] ?? '') : '').split(' ').filter((word) => word !== '');
    const atomic = words[0] === '=';
    type = { atomic, fields: new Map((atomic ? words.slice(1) : words).map(parseField)) };
    parsed.set(name, type);
  }
  return type;
}

function parseField(text: string): [string, FieldSchema] {
  const [, name = '', kind = '', how = '', owned = '', merge] =
    /^([^:?]+)\??:([^~^!%=]*)([\^!]?)(%[^~]*|=)?(?:~(.*))?$/.exec(text) ?? [];
  const ownedAs = parseOwned(owned);
  return [
    name,
    {
      type: parseType(kind),
      retainKeys: how === '^',
      replace: how === '!',
      ...(merge === undefined ? {} : { mergeKey: merge }),
      ...(ownedAs === undefined ? {} : { owned: ownedAs }),
    },
  ];
}

function parseOwned(text: string): Owned | undefined {
  if (text === '=') return 'whole';
  if (!text.startsWith('%')) return undefined;
  return { by: text === '%' ? [] : text.slice(1).split(',') };
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
