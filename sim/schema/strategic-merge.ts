import { canonicalJson, cloneJson, deepEqual, isObject, ownMember, setOwnMember } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import type { OpenApiSchema } from '../types.ts';
import { goValue } from '../go-text.ts';
import { PatchError } from './json-patch.ts';

const patchDirective = '$patch';
const retainKeys = '$retainKeys';
const orderPrefix = '$setElementOrder/';
const deletePrefix = '$deleteFromPrimitiveList/';

/**
 * Strategic merge patch: maps merge, null deletes, lists with patch strategy `merge` merge by key,
 * other lists are replaced. Directives: `$patch: replace|delete`, `$retainKeys`,
 * `$setElementOrder/<list>`, `$deleteFromPrimitiveList/<list>`. The document is not changed
 * (apimachinery pkg/util/strategicpatch).
 * @throws PatchError
 */
export function applyStrategicMerge(schema: OpenApiSchema | undefined, document: JsonObject, patch: Json): JsonObject {
  if (!isObject(patch)) throw new PatchError('invalid strategic merge patch: the patch must be an object');
  return mergeMaps(schema, document, patch);
}

function mergeMaps(schema: OpenApiSchema | undefined, original: JsonObject, patch: JsonObject): MutableJsonObject {
  const directive = ownMember(patch, patchDirective);
  if (directive === 'delete') return {};
  if (directive === 'replace') return withoutDirectives(patch) as MutableJsonObject;
  if (directive !== undefined) throw badDirective(directive, patch);
  const result = cloneJson(original) as MutableJsonObject;
  applyRetainKeys(result, patch);
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined || key === retainKeys) continue;
    if (key.startsWith(orderPrefix) || key.startsWith(deletePrefix)) continue;
    if (value === null) Reflect.deleteProperty(result, key);
    else setOwnMember(result, key, mergeMember(memberSchema(schema, key), ownMember(result, key), value));
  }
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith(deletePrefix)) deletePrimitives(result, key.slice(deletePrefix.length), value);
  }
  for (const [key, value] of Object.entries(patch))
    if (key.startsWith(orderPrefix))
      applyElementOrder(memberSchema(schema, key.slice(orderPrefix.length)), result, {
        key: key.slice(orderPrefix.length),
        wanted: value,
        before: ownMember(original, key.slice(orderPrefix.length)),
      });
  return result;
}

function badDirective(directive: Json, patch: JsonObject): PatchError {
  return new PatchError(`unknown patch type: ${goValue(directive)} in map: ${goValue(patch)}`);
}

/**
 * `$retainKeys` lists the keys to keep: it lets a union such as a deployment's strategy change its
 * member.
 */
function applyRetainKeys(result: MutableJsonObject, patch: JsonObject): void {
  const keys = ownMember(patch, retainKeys);
  if (keys === undefined) return;
  if (!Array.isArray(keys)) throw new PatchError('invalid patch format of retainKeys');
  const isStray = (key: string): boolean =>
    !key.startsWith('$') && patch[key] !== null && !(keys as readonly Json[]).includes(key);
  if (Object.keys(patch).some(isStray)) throw new PatchError('invalid patch format of retainKeys');
  for (const key of Object.keys(result))
    if (!(keys as readonly Json[]).includes(key)) Reflect.deleteProperty(result, key);
}

function mergeMember(schema: OpenApiSchema | undefined, original: Json | undefined, value: Json): MutableJson {
  if (Array.isArray(value)) return mergeListMember(schema, original, value as readonly Json[]);
  if (!isObject(value)) return value as MutableJson;
  const strategy = schema?.['x-kubernetes-patch-strategy'] ?? '';
  if (!isObject(original) || strategy.split(',').includes('replace')) {
    // Without an object to merge into, directives have no target and nulls delete nothing.
    return ownMember(value, patchDirective) === undefined ? withoutDirectives(value) : {};
  }
  return mergeMaps(schema, original, value);
}

function mergeListMember(
  schema: OpenApiSchema | undefined,
  original: Json | undefined,
  patch: readonly Json[],
): MutableJson {
  const strategy = schema?.['x-kubernetes-patch-strategy'] ?? '';
  // A list that the object lacks is as in the patch: equal keys stay.
  const isNew = original === undefined || original === null;
  if (isNew || !strategy.split(',').includes('merge')) return withoutDirectives(patch);
  const list = Array.isArray(original) ? (original as readonly Json[]) : [];
  const key = schema?.['x-kubernetes-patch-merge-key'];
  if (key === undefined) {
    const merged = uniqueItems([...list, ...patch]);
    return mergeOrder(merged, { wanted: patch, before: list, key });
  }
  return mergeObjects(schema?.items, list, { patch, key });
}

function mergeObjects(
  items: OpenApiSchema | undefined,
  original: readonly Json[],
  { patch, key }: { readonly patch: readonly Json[]; readonly key: string },
): MutableJson[] {
  const { plain, deleted, replace } = readSpecial(patch, key);
  // A replaced list is as in the patch: equal keys stay.
  if (replace) return plain.map(withoutDirectives);
  const merged = original
    .filter((item) => !deleted.some((value) => deepEqual(value, keyOf(item, key))))
    .map((item) => cloneJson(item) as MutableJson);
  for (const item of plain) {
    const index = merged.findIndex((other) => deepEqual(keyOf(other, key), keyOf(item, key)));
    const other = merged[index];
    if (isObject(other)) merged[index] = mergeMaps(items, other, item);
    else merged.push(withoutDirectives(item));
  }
  return mergeOrder(merged, { wanted: plain, before: original, key });
}

/**
 * Splits the items of a list patch: items to merge, keys to delete, and whether the list is
 * replaced.
 */
function readSpecial(
  patch: readonly Json[],
  key: string,
): { readonly plain: JsonObject[]; readonly deleted: Json[]; readonly replace: boolean } {
  const plain: JsonObject[] = [];
  const deleted: Json[] = [];
  let replace = false;
  for (const item of patch) {
    if (!isObject(item)) throw new PatchError(`unable to merge a list of maps with ${canonicalJson(item)}: not a map`);
    const directive = ownMember(item, patchDirective);
    if (directive === 'replace') replace = true;
    else if (directive === 'merge') throw new PatchError('merging lists cannot yet be specified in the patch');
    else if (directive !== undefined && directive !== 'delete') throw badDirective(directive, item);
    else if (ownMember(item, key) === undefined)
      throw new PatchError(`map: ${goValue(item)} does not contain declared merge key: ${key}`);
    else if (directive === 'delete') deleted.push(ownMember(item, key) ?? null);
    else plain.push(item);
  }
  return { plain, deleted, replace };
}

function keyOf(item: Json, key: string | undefined): Json | undefined {
  if (key === undefined) return item;
  return isObject(item) ? ownMember(item, key) : undefined;
}

function uniqueItems(list: readonly Json[]): MutableJson[] {
  const seen = new Set<string>();
  return list.filter((item) => {
    const text = canonicalJson(item);
    if (seen.has(text)) return false;
    seen.add(text);
    return true;
  }) as MutableJson[];
}

interface ListOrder {
  /** The order of the items in the patch. */
  readonly wanted: readonly Json[];
  /** The list before the patch. */
  readonly before: readonly Json[];
  readonly key: string | undefined;
}

/**
 * Items of the patch follow the patch's order; the others keep theirs and precede the first item
 * that they preceded before.
 */
function mergeOrder(merged: readonly MutableJson[], order: ListOrder): MutableJson[] {
  const position = (list: readonly Json[], item: Json): number =>
    list.findIndex((other) => deepEqual(keyOf(other, order.key), keyOf(item, order.key)));
  const place = (item: Json): number => position(order.before, item);
  const named = merged
    .filter((item) => position(order.wanted, item) >= 0)
    .sort((a, b) => position(order.wanted, a) - position(order.wanted, b));
  const others = merged.filter((item) => position(order.wanted, item) < 0).sort((a, b) => place(a) - place(b));
  const result: MutableJson[] = [];
  let next = 0;
  for (const item of named) {
    const here = place(item);
    for (let other = others[next]; other !== undefined && here >= 0 && place(other) < here; other = others[next]) {
      result.push(other);
      next += 1;
    }
    result.push(item);
  }
  return [...result, ...others.slice(next)];
}

function deletePrimitives(result: MutableJsonObject, key: string, values: Json | undefined): void {
  const list = ownMember(result, key);
  if (!Array.isArray(values)) throw new PatchError('invalid patch format of primitive list');
  if (!Array.isArray(list)) return;
  const gone = (item: Json): boolean => (values as readonly Json[]).some((value) => deepEqual(value, item));
  result[key] = (list as MutableJson[]).filter((item) => !gone(item));
}

function applyElementOrder(
  schema: OpenApiSchema | undefined,
  result: MutableJsonObject,
  how: { readonly key: string; readonly wanted: Json | undefined; readonly before: Json | undefined },
): void {
  if (!Array.isArray(how.wanted))
    throw new PatchError(
      `expected a []interface {}, but received a ${typeof how.wanted === 'number' ? 'int64' : typeof how.wanted}`,
    );
  const list = ownMember(result, how.key);
  if (!Array.isArray(list)) return;
  result[how.key] = mergeOrder(list as MutableJson[], {
    wanted: how.wanted as readonly Json[],
    before: Array.isArray(how.before) ? (how.before as readonly Json[]) : [],
    key: schema?.['x-kubernetes-patch-merge-key'],
  });
}

function memberSchema(schema: OpenApiSchema | undefined, key: string): OpenApiSchema | undefined {
  const properties = schema?.properties ?? {};
  if (Object.hasOwn(properties, key)) return properties[key];
  return typeof schema?.additionalProperties === 'object' ? schema.additionalProperties : undefined;
}

/** A value to copy: without directives, nulls and items to delete. */
function withoutDirectives(value: Json): MutableJson {
  if (Array.isArray(value))
    return (value as readonly Json[])
      .filter((item) => !isObject(item) || ownMember(item, patchDirective) === undefined)
      .map(withoutDirectives);
  if (!isObject(value)) return value as MutableJson;
  const result: MutableJsonObject = {};
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined || member === null || isDirective(key)) continue;
    setOwnMember(result, key, withoutDirectives(member));
  }
  return result;
}

function isDirective(key: string): boolean {
  return key === patchDirective || key === retainKeys || key.startsWith(orderPrefix) || key.startsWith(deletePrefix);
}
