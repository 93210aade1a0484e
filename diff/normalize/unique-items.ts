import { isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import { jsonOf } from '#model';
import type { KubeObject } from '#model';
import { itemsOf, schemaOf, structFields } from '../schema/schema.ts';
import type { FieldSchema, TypeSchema } from '../schema/schema.ts';
import { asKube, isList, textOf, withMember } from '../shared/values.ts';

/** A manifest, and the lists in it that have several items of one key: `spec.…env[name=A]`. */
export interface UniqueItems {
  readonly object: KubeObject;
  readonly repeated: readonly string[];
}

/** Items that the API server accepts more than once, although it merges their lists by key. */
const repeatable = new Set(['EnvVar', 'LocalObjectReference', 'ObjectReference']);

/**
 * Finds items with equal merge keys. Where the API server accepts them, only the last of each
 * stays, as containers use it: a patch merges them into one, so the object would always differ.
 * Others stay, for the server to refuse.
 */
export function withUniqueItems(object: KubeObject): UniqueItems {
  const type = schemaOf(object);
  const repeated: string[] = [];
  if (type === undefined) return { object, repeated };
  const result = uniqueIn(jsonOf(object), { type, path: '', repeated });
  return { object: result === jsonOf(object) ? object : asKube(result as JsonObject), repeated };
}

interface ListSearch {
  readonly type: TypeSchema | undefined;
  readonly path: string;
  readonly repeated: string[];
}

function uniqueIn(value: Json, { type, path, repeated }: ListSearch): Json {
  if (isList(value)) {
    const inner = itemsOf(type);
    if (!hasKeyedLists(inner)) return value;
    const items = value.map((item, i) => uniqueIn(item, { type: inner, path: `${path}[${i}]`, repeated }));
    return items.every((item, i) => item === value[i]) ? value : items;
  }
  if (!isObject(value) || type?.form !== 'struct') return value;
  const fields = fieldsWithKeyedLists(type.name);
  let result: JsonObject = value;
  for (const key of Object.keys(value)) {
    const field = fields.get(key);
    const member = field && ownMember(value, key);
    if (field === undefined || typeof member !== 'object' || member === null) continue;
    const at = path === '' ? key : `${path}.${key}`;
    const inner = uniqueIn(member, { type: field.type, path: at, repeated });
    const after = isList(inner) ? uniqueList(inner, field, { path: at, repeated }) : inner;
    if (after !== member) result = withMember(result, key, after);
  }
  return result;
}

/** By type name: its fields that are lists with one merge key, or contain some. */
const searchedFields = new Map<string, ReadonlyMap<string, FieldSchema>>();

function fieldsWithKeyedLists(name: string): ReadonlyMap<string, FieldSchema> {
  const known = searchedFields.get(name);
  if (known !== undefined) return known;
  // A type that contains itself is searched.
  const all = structFields(name);
  searchedFields.set(name, all);
  const found = new Map([...all].filter(([, field]) => mergeKeyOf(field) !== '' || hasKeyedLists(field.type)));
  searchedFields.set(name, found);
  return found;
}

function hasKeyedLists(type: TypeSchema | undefined): boolean {
  if (type?.form === 'struct') return fieldsWithKeyedLists(type.name).size > 0;
  return type?.form === 'list' && hasKeyedLists(type.items);
}

/** The only key of a list's items; "" if they have none, or several. */
function mergeKeyOf({ mergeKey = '', ownership }: FieldSchema): string {
  const keys = ownership === undefined || ownership === 'whole' ? [mergeKey] : ownership.itemKeys;
  return keys.length === 1 ? mergeKey : '';
}

function uniqueList(list: readonly Json[], field: FieldSchema, { path, repeated }: Omit<ListSearch, 'type'>): Json {
  const mergeKey = mergeKeyOf(field);
  if (mergeKey === '') return list;
  const last = new Map(list.map((item, i) => [isObject(item) ? textOf(ownMember(item, mergeKey)) : '', i]));
  if (last.size === list.length) return list;
  const idOf = (item: Json): string => (isObject(item) ? textOf(ownMember(item, mergeKey)) : '');
  const twice = new Set(list.filter((item, i) => last.get(idOf(item)) !== i).map(idOf));
  for (const id of twice) repeated.push(`${path}[${mergeKey}=${id}]`);
  const items = itemsOf(field.type);
  const isDroppable = items?.form === 'struct' && repeatable.has(items.name);
  return isDroppable ? list.filter((item, i) => last.get(idOf(item)) === i) : list;
}
