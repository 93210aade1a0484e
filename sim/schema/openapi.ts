import { cloneJson } from '#base';
import type { JsonObject, MutableJson, MutableJsonObject } from '#base';
import type { KindDefinition, OpenApiSchema } from '../types.ts';
import { fieldsName, intOrStringName, microTimeName, quantityName, rawName, timeName, typeNameOf } from './build.ts';
import type { NamedSchema, SchemaBuilder } from './build.ts';
import { pathsOf } from './openapi-paths.ts';

const metaPackage = 'io.k8s.apimachinery.pkg.apis.meta.v1';

/**
 * The two OpenAPI versions differ in the location of definitions and in how a reference carries a
 * description.
 */
export interface OpenApiDialect {
  readonly version: 2 | 3;
  readonly ref: string;
}

const openApiDialects = {
  2: { version: 2, ref: '#/definitions/' },
  3: { version: 3, ref: '#/components/schemas/' },
} as const satisfies Record<2 | 3, OpenApiDialect>;

/**
 * The OpenAPI v3 document of one group version (all kinds must belong to it), for `kubectl
 * explain`, `apply` and `diff`.
 */
export function openApiV3(builder: SchemaBuilder, kinds: readonly KindDefinition[]): JsonObject {
  const writer = new OpenApiWriter(builder, openApiDialects[3]);
  const paths = pathsOf(kinds, writer);
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'v1.36.3' },
    paths,
    components: { schemas: writer.definitions() },
  };
}

/** All kinds as Swagger 2.0. */
export function openApiV2(builder: SchemaBuilder, kinds: readonly KindDefinition[]): JsonObject {
  const writer = new OpenApiWriter(builder, openApiDialects[2]);
  const paths = pathsOf(kinds, writer);
  return {
    swagger: '2.0',
    info: { title: 'Kubernetes', version: 'v1.36.3' },
    paths,
    definitions: writer.definitions(),
  };
}

/** The schemas of types that are not structs. */
const leafDefinitions: Readonly<Record<string, { readonly 2: JsonObject; readonly 3: JsonObject }>> = {
  [quantityName]: inBothDialects({ type: 'string', description: 'A number with a unit: 100m, 1.5Gi, 1e3.' }),
  [intOrStringName]: {
    2: { type: 'string', format: 'int-or-string', description: 'A number or a text, such as a percentage.' },
    3: {
      oneOf: [{ type: 'integer' }, { type: 'string' }],
      format: 'int-or-string',
      description: 'A number or a text, such as a percentage.',
    },
  },
  [timeName]: inBothDialects({
    type: 'string',
    format: 'date-time',
    description: 'A moment (RFC 3339), to the second.',
  }),
  [microTimeName]: inBothDialects({
    type: 'string',
    format: 'date-time',
    description: 'A moment, to the microsecond.',
  }),
  [rawName]: inBothDialects({ type: 'object', description: 'Any object.' }),
  [fieldsName]: inBothDialects({ type: 'object', description: 'A set of field paths as a tree.' }),
  [`${metaPackage}.Patch`]: inBothDialects({ type: 'object', description: 'The body of a PATCH request.' }),
};

function inBothDialects(schema: JsonObject): { readonly 2: JsonObject; readonly 3: JsonObject } {
  return { 2: schema, 3: schema };
}

const fieldWords = [
  'description',
  'x-kubernetes-patch-strategy',
  'x-kubernetes-patch-merge-key',
  'x-kubernetes-map-type',
] as const satisfies readonly (keyof OpenApiSchema)[];

/**
 * Writes definitions on demand: a reference to a type adds the type and its dependencies to the
 * document.
 */
export class OpenApiWriter {
  readonly dialect: OpenApiDialect;
  readonly #builder: SchemaBuilder;
  readonly #done = new Map<string, MutableJsonObject>();

  constructor(builder: SchemaBuilder, dialect: OpenApiDialect) {
    this.#builder = builder;
    this.dialect = dialect;
  }

  definitions(): MutableJsonObject {
    return Object.fromEntries([...this.#done].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  ref(fullName: string): MutableJsonObject {
    if (!this.#done.has(fullName)) {
      const definition: MutableJsonObject = {};
      // Registered before it is filled: types contain themselves.
      this.#done.set(fullName, definition);
      const leaf = leafDefinitions[fullName]?.[this.dialect.version];
      Object.assign(definition, leaf === undefined ? this.#struct(this.#builder.schemaOf(fullName)) : cloneJson(leaf));
    }
    return { $ref: `${this.dialect.ref}${fullName}` };
  }

  /** Adds a served kind and its list to the document; returns their names. */
  kind(kind: KindDefinition): { readonly object: string; readonly list: string } {
    const known = (kind.schema as NamedSchema | undefined)?.[typeNameOf];
    const object = known ?? `${[...kind.group.split('.').reverse(), kind.version].join('.')}.${kind.kind}`;
    const list = `${object.slice(0, object.length - kind.kind.length)}${kind.listKind}`;
    const gvk = { group: kind.group, kind: kind.kind, version: kind.version };
    if (known === undefined) this.#done.set(object, this.#custom(kind));
    else this.ref(object);
    const definition = this.#done.get(object);
    if (definition !== undefined) definition['x-kubernetes-group-version-kind'] = [gvk];
    this.#done.set(list, this.#list(kind, object));
    return { object, list };
  }

  #list(kind: KindDefinition, object: string): MutableJsonObject {
    return {
      type: 'object',
      description: `A list of ${kind.kind} objects.`,
      required: ['items'],
      properties: {
        ...this.#words(),
        items: { type: 'array', items: this.#wrapped(this.ref(object), {}), description: 'The objects.' },
        metadata: this.#wrapped(this.ref(`${metaPackage}.ListMeta`), { description: 'Metadata of the list.' }),
      },
      'x-kubernetes-group-version-kind': [{ group: kind.group, kind: kind.listKind, version: kind.version }],
    };
  }

  #words(): MutableJsonObject {
    return {
      apiVersion: { type: 'string', description: 'Version of the schema of this object.' },
      kind: { type: 'string', description: 'Kind of this object.' },
    };
  }

  #custom(kind: KindDefinition): MutableJsonObject {
    const schema = kind.schema === undefined ? { type: 'object' } : this.#schema(kind.schema);
    const properties = (schema['properties'] ?? {}) as MutableJsonObject;
    return {
      ...schema,
      properties: {
        ...properties,
        ...this.#words(),
        metadata: this.#wrapped(this.ref(`${metaPackage}.ObjectMeta`), { description: 'Metadata of the object.' }),
      },
      ...(kind.schema === undefined ? { 'x-kubernetes-preserve-unknown-fields': true } : {}),
    };
  }

  #struct(schema: NamedSchema): MutableJsonObject {
    const { properties = {}, ...rest } = schema;
    const result = this.#plain(rest);
    const members: MutableJsonObject = {};
    for (const [name, property] of Object.entries(properties)) members[name] = this.#schema(property);
    return Object.keys(members).length === 0 ? result : { ...result, properties: members };
  }

  #schema(schema: NamedSchema): MutableJsonObject {
    const name = schema[typeNameOf];
    if (name === undefined) return this.#struct(schema);
    // Keywords of the field that its type lacks: its own description, its patch strategy.
    const leaf = leafDefinitions[name] !== undefined;
    const base: OpenApiSchema = leaf ? {} : this.#builder.schemaOf(name);
    const around: MutableJsonObject = {};
    for (const key of fieldWords) {
      const keyword = schema[key];
      if (keyword !== undefined && keyword !== base[key] && !(leaf && key === 'x-kubernetes-map-type'))
        around[key] = keyword;
    }
    return this.#wrapped(this.ref(name), around);
  }

  /** v3 allows no siblings of `$ref`, so a description wraps it. */
  #wrapped(ref: MutableJsonObject, around: MutableJsonObject): MutableJsonObject {
    if (this.dialect.version === 2) return { ...around, ...ref };
    return Object.keys(around).length === 0 ? ref : { allOf: [ref], ...around };
  }

  /** Everything except properties; schemas inside lists and maps are included. */
  #plain(schema: OpenApiSchema): MutableJsonObject {
    const result: MutableJsonObject = {};
    for (const [key, value] of Object.entries(schema as JsonObject)) {
      if (value === undefined) continue;
      if (key === 'items' || (key === 'additionalProperties' && typeof value === 'object'))
        result[key] = this.#schema(value as OpenApiSchema);
      else result[key] = cloneJson(value) as MutableJson;
    }
    return result;
  }
}
