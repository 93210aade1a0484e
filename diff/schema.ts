import type { KubeObject } from '#model';
import { kinds, types } from './schema-data.ts';

/** What is known about a field of a built-in type. */
export interface FieldSchema {
  readonly omitEmpty: boolean;
  readonly type: TypeSchema;
  /** Present for lists that merge: by this key of their items, "" for lists of scalars. */
  readonly mergeKey?: string;
  /** Of a map, or of the items of a list: what is not in the target goes when anything changes. */
  readonly retainKeys: boolean;
  /** A map that is replaced as a whole. */
  readonly replace: boolean;
}

export type ScalarKind = 'b' | 'i' | 'f' | 's' | 'y' | 'q' | 'o' | 't' | 'u' | 'd' | 'r';

export type TypeSchema =
  | { readonly form: 'scalar'; readonly kind: ScalarKind; readonly pointer: boolean }
  | { readonly form: 'list' | 'map'; readonly items: TypeSchema }
  | { readonly form: 'struct'; readonly name: string };

const unknownScalar: TypeSchema = { form: 'scalar', kind: 'r', pointer: true };
/** Parsed on first use: a controller meets few of the four hundred types. Filled once per type, never changed. */
const parsed = new Map<string, ReadonlyMap<string, FieldSchema>>();

/** The type of an object of a built-in kind, undefined for custom resources and versions that are not in the table. */
export function schemaOf(object: Pick<KubeObject, 'apiVersion' | 'kind'>): TypeSchema | undefined {
  const key = `${object.apiVersion} ${object.kind}`;
  const name = Object.hasOwn(kinds, key) ? kinds[key] : undefined;
  return name === undefined ? undefined : { form: 'struct', name };
}

/** A type by the name that `knownTypeFields` uses: `core/v1/PodSpec`, `core/Quantity`, `meta/v1/Duration`. */
export function namedSchema(name: string): TypeSchema | undefined {
  if (name === 'core/Quantity') return { form: 'scalar', kind: 'q', pointer: false };
  if (name === 'meta/v1/Duration') return { form: 'scalar', kind: 'd', pointer: false };
  const short = /^core\/v1\/([A-Za-z]+)$/.exec(name)?.[1];
  return short !== undefined && Object.hasOwn(types, short) ? { form: 'struct', name: short } : undefined;
}

/** The field of a struct, the values of a map; undefined where nothing is known. */
export function fieldOf(type: TypeSchema | undefined, name: string): FieldSchema | undefined {
  if (type?.form === 'map') return { omitEmpty: false, type: type.items, retainKeys: false, replace: false };
  return type?.form === 'struct' ? fieldsOf(type.name).get(name) : undefined;
}

/** The type of the items of a list. */
export function itemsOf(type: TypeSchema | undefined): TypeSchema | undefined {
  return type?.form === 'list' ? type.items : undefined;
}

export function fieldsOf(name: string): ReadonlyMap<string, FieldSchema> {
  let fields = parsed.get(name);
  if (fields === undefined) {
    const text = Object.hasOwn(types, name) ? (types[name] ?? '') : '';
    fields = new Map(text.split(' ').map(parseField));
    parsed.set(name, fields);
  }
  return fields;
}

function parseField(text: string): [string, FieldSchema] {
  const [, name = '', omit = '', kind = '', how = '', merge] =
    /^([^:?]+)(\??):([^~^!]*)([\^!]?)(?:~(.*))?$/.exec(text) ?? [];
  const type = parseType(kind);
  return [
    name,
    {
      omitEmpty: omit !== '',
      type,
      retainKeys: how === '^',
      replace: how === '!',
      ...(merge === undefined ? {} : { mergeKey: merge }),
    },
  ];
}

function parseType(text: string): TypeSchema {
  if (text.startsWith('[')) return { form: 'list', items: parseType(text.slice(1)) };
  if (text.startsWith('{')) return { form: 'map', items: parseType(text.slice(1)) };
  const pointer = text.startsWith('*');
  const name = pointer ? text.slice(1) : text;
  if (name.startsWith('[') || name.startsWith('{')) return parseType(name);
  if (name === '') return unknownScalar;
  if (/^[bifsyqotudr]$/.test(name)) return { form: 'scalar', kind: name as ScalarKind, pointer };
  return { form: 'struct', name };
}
