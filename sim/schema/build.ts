import type { OpenApiSchema } from '../types.ts';
import { schemaPropsName } from './type-table.ts';
import type { FieldType, StructType, TypeRef, TypeTable } from './type-table.ts';

/**
 * The named type that a schema was built from: OpenAPI documents refer to types by name, and
 * decoding follows Go's rules.
 */
export const typeNameOf: unique symbol = Symbol('type name');

/** A schema built from the type table. */
export interface NamedSchema extends OpenApiSchema {
  readonly [typeNameOf]?: string;
}

export const quantityName = 'io.k8s.apimachinery.pkg.api.resource.Quantity';
export const intOrStringName = 'io.k8s.apimachinery.pkg.util.intstr.IntOrString';
export const timeName = 'io.k8s.apimachinery.pkg.apis.meta.v1.Time';
export const microTimeName = 'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime';
export const rawName = 'io.k8s.apimachinery.pkg.runtime.RawExtension';
export const fieldsName = 'io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1';

/**
 * Schemas of named types with everything inlined; one shared object per type. The type of CRD
 * schemas contains itself, so the graph has a cycle: never walk a schema without a value.
 */
export class SchemaBuilder {
  readonly #types: TypeTable;
  readonly #made = new Map<string, OpenApiSchema>();

  constructor(types: TypeTable) {
    this.#types = types;
  }

  /** @throws Error if there is no such type */
  schemaOf(fullName: string): NamedSchema {
    const made = this.#made.get(fullName);
    if (made !== undefined) return made;
    const type = this.#types.get(fullName);
    if (type === undefined) throw new Error(`no type ${fullName}`);
    const properties: Record<string, OpenApiSchema> = {};
    const schema = structSchema(type, properties);
    // Registered before its fields are built: a type may contain itself.
    this.#made.set(fullName, schema);
    for (const field of type.fields.values()) properties[field.name] = this.#field(field);
    return schema;
  }

  #field(field: FieldType): OpenApiSchema {
    const base = this.#type(field.type);
    const isList = field.type.kind === 'list';
    return {
      ...base,
      ...(field.description === undefined ? {} : { description: field.description }),
      ...(field.default === undefined ? {} : { default: field.default }),
      ...(isList ? listExtensions(field) : {}),
      ...(!isList && field.atomic ? { 'x-kubernetes-map-type': 'atomic' as const } : {}),
      ...(field.patchStrategy === undefined ? {} : { 'x-kubernetes-patch-strategy': field.patchStrategy }),
      ...(field.patchMergeKey === undefined ? {} : { 'x-kubernetes-patch-merge-key': field.patchMergeKey }),
    };
  }

  #type(type: TypeRef): OpenApiSchema {
    switch (type.kind) {
      case 'scalar':
        return scalarSchema(type);
      case 'special':
        return specialSchemas[type.special];
      case 'list':
        return { type: 'array', items: this.#type(type.element) };
      case 'map':
        return { type: 'object', additionalProperties: this.#type(type.element) };
      case 'struct':
        return this.schemaOf(type.name);
      case 'schemaOr':
        return { 'x-kubernetes-preserve-unknown-fields': true, description: `${schemaPropsName} or ${type.other}` };
    }
  }
}

function structSchema(type: StructType, properties: Record<string, OpenApiSchema>): NamedSchema {
  const required = [...type.fields.values()].filter((field) => field.required).map((field) => field.name);
  return {
    type: 'object',
    ...(type.description === undefined ? {} : { description: type.description }),
    properties,
    ...(required.length === 0 ? {} : { required }),
    ...(type.atomic ? { 'x-kubernetes-map-type': 'atomic' } : {}),
    [typeNameOf]: type.fullName,
  };
}

function listExtensions(field: FieldType): OpenApiSchema {
  if (field.keys.length > 0) return { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': field.keys };
  return { 'x-kubernetes-list-type': field.set ? 'set' : 'atomic' };
}

function scalarSchema(type: Extract<TypeRef, { kind: 'scalar' }>): OpenApiSchema {
  switch (type.type) {
    case 'string':
      return { type: 'string', ...(type.allowed.length === 0 ? {} : { enum: type.allowed }) };
    case 'int32':
    case 'int64':
      return { type: 'integer', format: type.type };
    case 'double':
      return { type: 'number', format: 'double' };
    case 'bool':
      return { type: 'boolean' };
  }
}

const specialSchemas: Record<Extract<TypeRef, { kind: 'special' }>['special'], NamedSchema> = {
  quantity: { type: 'string', format: 'quantity', [typeNameOf]: quantityName },
  intstr: { format: 'int-or-string', 'x-kubernetes-int-or-string': true, [typeNameOf]: intOrStringName },
  time: { type: 'string', format: 'date-time', [typeNameOf]: timeName },
  microtime: { type: 'string', format: 'date-time', [typeNameOf]: microTimeName },
  bytes: { type: 'string', format: 'byte' },
  raw: {
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
    'x-kubernetes-map-type': 'atomic',
    [typeNameOf]: rawName,
  },
  fields: {
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
    'x-kubernetes-map-type': 'atomic',
    [typeNameOf]: fieldsName,
  },
  any: { 'x-kubernetes-preserve-unknown-fields': true },
};
