import { isObject, ownMember, setOwnMember } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import type { OpenApiSchema } from '../types.ts';
import { decodeStruct } from './decode-builtin.ts';
import type { DecodedObject } from './decode-builtin.ts';
import type { TypeTable } from './type-table.ts';

const objectMeta = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';

/**
 * Prunes a custom resource to its structural schema: drops and reports unknown fields unless
 * x-kubernetes-preserve-unknown-fields is set, drops nulls that the schema does not allow, and
 * decodes metadata (of embedded resources too) as ObjectMeta. Types are not checked here: the real
 * server reports them as 422, not 400 (apiextensions-apiserver: pruning, defaulting/prune,
 * objectmeta).
 * @throws TypeMismatch for metadata
 */
export function decodeCustom(types: TypeTable, schema: OpenApiSchema | undefined, object: JsonObject): DecodedObject {
  const pruner = new CustomPruner(types);
  const pruned = pruner.resource(schema, object, '');
  return { object: pruned, unknownFields: pruner.unknownFields.sort() };
}

class CustomPruner {
  readonly unknownFields: string[] = [];
  readonly #types: TypeTable;

  constructor(types: TypeTable) {
    this.#types = types;
  }

  /** A whole object: apiVersion, kind and metadata are known whatever the schema declares. */
  resource(schema: OpenApiSchema | undefined, value: JsonObject, path: string): MutableJsonObject {
    const result: MutableJsonObject = {};
    for (const [key, member] of Object.entries(value)) {
      if (member === undefined) continue;
      if (key === 'apiVersion' || key === 'kind') setOwnMember(result, key, member as MutableJson);
      else if (key === 'metadata') setOwnMember(result, key, this.#metadata(member, joinPath(path, key)));
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
    schema: OpenApiSchema | undefined,
    into: MutableJsonObject,
    member: { readonly key: string; readonly value: Json; readonly path: string },
  ): void {
    const found = memberSchema(schema, member.key);
    const path = joinPath(member.path, member.key);
    if (found === 'unknown') this.unknownFields.push(`unknown field "${path}"`);
    else if (member.value === null && found !== undefined && dropsNull(found)) return;
    else setOwnMember(into, member.key, this.#value(found, member.value, path));
  }

  #value(schema: OpenApiSchema | undefined, value: Json, path: string): MutableJson {
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

/** The schema of a member; undefined: the member is kept with its whole content. */
function memberSchema(schema: OpenApiSchema | undefined, key: string): OpenApiSchema | undefined | 'unknown' {
  if (schema === undefined) return undefined;
  const property = schema.properties !== undefined && Object.hasOwn(schema.properties, key) && schema.properties[key];
  if (typeof property === 'object') return property;
  if (typeof schema.additionalProperties === 'object') return schema.additionalProperties;
  if (schema.additionalProperties === true || schema['x-kubernetes-preserve-unknown-fields'] === true) return undefined;
  return 'unknown';
}

function dropsNull(schema: OpenApiSchema): boolean {
  return (
    schema.nullable !== true && ownMember(schema as JsonObject, 'default') === undefined && schema.type !== undefined
  );
}

function joinPath(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}
