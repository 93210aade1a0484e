import { isObject, own, setOwn } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import type { Schema } from '../types.ts';
import { decodeStruct } from './decode-builtin.ts';
import type { Decoded } from './decode-builtin.ts';
import type { TypeTable } from './type-table.ts';

const objectMeta = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';

/**
 * Prunes a custom resource to its structural schema: unknown fields fall out (and are reported) unless x-kubernetes-preserve-unknown-fields
 * keeps them; null falls out where the schema does not allow it; metadata, also that of embedded resources, is read as ObjectMeta. Types are
 * not checked here: the real server answers those with 422, not 400 (apiextensions-apiserver: pruning, defaulting/prune, objectmeta).
 * @throws TypeMismatch for metadata
 */
export function decodeCustom(types: TypeTable, schema: Schema | undefined, object: JsonObject): Decoded {
  const pruner = new Pruner(types);
  const pruned = pruner.resource(schema, object, '');
  return { object: pruned, unknownFields: pruner.unknownFields.sort() };
}

class Pruner {
  readonly unknownFields: string[] = [];
  readonly #types: TypeTable;

  constructor(types: TypeTable) {
    this.#types = types;
  }

  /** A whole object: apiVersion, kind and metadata are known whatever the schema says. */
  resource(schema: Schema | undefined, value: JsonObject, path: string): MutableJsonObject {
    const result: MutableJsonObject = {};
    for (const [key, member] of Object.entries(value)) {
      if (member === undefined) continue;
      if (key === 'apiVersion' || key === 'kind') setOwn(result, key, member as MutableJson);
      else if (key === 'metadata') setOwn(result, key, this.#metadata(member, join(path, key)));
      else this.#member(schema, result, { key, value: member, path });
    }
    return result;
  }

  #metadata(value: Json, path: string): MutableJson {
    if (!isObject(value)) return value as MutableJson;
    const decoded = decodeStruct(this.#types, objectMeta, value);
    for (const text of decoded.unknownFields)
      this.unknownFields.push(text.replace('unknown field "', `unknown field "${path}.`));
    return decoded.object;
  }

  #member(
    schema: Schema | undefined,
    into: MutableJsonObject,
    member: { readonly key: string; readonly value: Json; readonly path: string },
  ): void {
    const found = memberSchema(schema, member.key);
    const path = join(member.path, member.key);
    if (found === 'unknown') this.unknownFields.push(`unknown field "${path}"`);
    else if (member.value === null && found !== undefined && dropsNull(found)) return;
    else setOwn(into, member.key, this.#value(found, member.value, path));
  }

  #value(schema: Schema | undefined, value: Json, path: string): MutableJson {
    if (Array.isArray(value))
      return (value as readonly Json[]).map((item, i) => this.#value(schema?.items, item, `${path}[${i}]`));
    if (!isObject(value)) return value as MutableJson;
    if (schema?.['x-kubernetes-embedded-resource'] === true) return this.resource(schema, value, path);
    const result: MutableJsonObject = {};
    for (const [key, member] of Object.entries(value))
      if (member !== undefined) this.#member(schema, result, { key, value: member, path });
    return result;
  }
}

/** The schema of a member; undefined: kept as it is, with all that is in it. */
function memberSchema(schema: Schema | undefined, key: string): Schema | undefined | 'unknown' {
  if (schema === undefined) return undefined;
  const property = schema.properties !== undefined && Object.hasOwn(schema.properties, key) && schema.properties[key];
  if (typeof property === 'object') return property;
  if (typeof schema.additionalProperties === 'object') return schema.additionalProperties;
  if (schema.additionalProperties === true || schema['x-kubernetes-preserve-unknown-fields'] === true) return undefined;
  return 'unknown';
}

function dropsNull(schema: Schema): boolean {
  return schema.nullable !== true && own(schema as JsonObject, 'default') === undefined && schema.type !== undefined;
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}
