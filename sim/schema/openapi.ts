import { cloneJson } from '#base';
import type { JsonObject, MutableJson, MutableJsonObject } from '#base';
import type { KindDefinition, Schema } from '../types.ts';
import { fieldsName, intOrStringName, microTimeName, quantityName, rawName, timeName, typeNameOf } from './build.ts';
import type { NamedSchema, SchemaBuilder } from './build.ts';
import { pathsOf } from './openapi-paths.ts';

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1';

/** The two dialects differ in where definitions live and how a reference carries a description. */
export interface Dialect {
  readonly version: 2 | 3;
  readonly ref: string;
}

const dialects = {
  2: { version: 2, ref: '#/definitions/' },
  3: { version: 3, ref: '#/components/schemas/' },
} as const satisfies Record<2 | 3, Dialect>;

/** The OpenAPI v3 document of one group version (all kinds must be of it): what `kubectl explain`, `apply` and `diff` read. */
export function openApiV3(builder: SchemaBuilder, kinds: readonly KindDefinition[]): JsonObject {
  const writer = new Writer(builder, dialects[3]);
  const paths = pathsOf(kinds, writer);
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'v1.36.3' },
    paths,
    components: { schemas: writer.definitions() },
  };
}

/** The same of all kinds as Swagger 2.0. */
export function openApiV2(builder: SchemaBuilder, kinds: readonly KindDefinition[]): JsonObject {
  const writer = new Writer(builder, dialects[2]);
  const paths = pathsOf(kinds, writer);
  return {
    swagger: '2.0',
    info: { title: 'Kubernetes', version: 'v1.36.3' },
    paths,
    definitions: writer.definitions(),
  };
}

/** What the schemas of types that are no structs look like in a document. */
const leaves: Readonly<Record<string, { readonly 2: JsonObject; readonly 3: JsonObject }>> = {
  [quantityName]: both({ type: 'string', description: 'A number with a unit: 100m, 1.5Gi, 1e3.' }),
  [intOrStringName]: {
    2: { type: 'string', format: 'int-or-string', description: 'A number or a text, such as a percentage.' },
    3: {
      oneOf: [{ type: 'integer' }, { type: 'string' }],
      format: 'int-or-string',
      description: 'A number or a text, such as a percentage.',
    },
  },
  [timeName]: both({ type: 'string', format: 'date-time', description: 'A moment (RFC 3339), to the second.' }),
  [microTimeName]: both({ type: 'string', format: 'date-time', description: 'A moment, to the microsecond.' }),
  [rawName]: both({ type: 'object', description: 'Any object.' }),
  [fieldsName]: both({ type: 'object', description: 'A set of field paths as a tree.' }),
  [`${meta}.Patch`]: both({ type: 'object', description: 'The body of a PATCH request.' }),
};

function both(schema: JsonObject): { readonly 2: JsonObject; readonly 3: JsonObject } {
  return { 2: schema, 3: schema };
}

const fieldWords = [
  'description',
  'x-kubernetes-patch-strategy',
  'x-kubernetes-patch-merge-key',
  'x-kubernetes-map-type',
] as const satisfies readonly (keyof Schema)[];

/** Writes definitions on demand: asking for a reference to a type puts the type, and all that it is made of, into the document. */
export class Writer {
  readonly dialect: Dialect;
  readonly #builder: SchemaBuilder;
  readonly #done = new Map<string, MutableJsonObject>();

  constructor(builder: SchemaBuilder, dialect: Dialect) {
    this.#builder = builder;
    this.dialect = dialect;
  }

  definitions(): MutableJsonObject {
    return Object.fromEntries([...this.#done].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  ref(fullName: string): MutableJsonObject {
    if (!this.#done.has(fullName)) {
      const definition: MutableJsonObject = {};
      // Present before it is filled: types contain themselves.
      this.#done.set(fullName, definition);
      const leaf = leaves[fullName]?.[this.dialect.version];
      Object.assign(definition, leaf === undefined ? this.#struct(this.#builder.schemaOf(fullName)) : cloneJson(leaf));
    }
    return { $ref: `${this.dialect.ref}${fullName}` };
  }

  /** Puts a served kind and its list into the document; returns their names. */
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
        metadata: this.#wrapped(this.ref(`${meta}.ListMeta`), { description: 'Metadata of the list.' }),
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
        metadata: this.#wrapped(this.ref(`${meta}.ObjectMeta`), { description: 'Metadata of the object.' }),
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
    // What the field says beyond its type: a description of its own, how it is patched.
    const leaf = leaves[name] !== undefined;
    const base: Schema = leaf ? {} : this.#builder.schemaOf(name);
    const around: MutableJsonObject = {};
    for (const key of fieldWords) {
      const said = schema[key];
      if (said !== undefined && said !== base[key] && !(leaf && key === 'x-kubernetes-map-type')) around[key] = said;
    }
    return this.#wrapped(this.ref(name), around);
  }

  /** v3 allows nothing beside `$ref`, so a description goes around it. */
  #wrapped(ref: MutableJsonObject, around: MutableJsonObject): MutableJsonObject {
    if (this.dialect.version === 2) return { ...around, ...ref };
    return Object.keys(around).length === 0 ? ref : { allOf: [ref], ...around };
  }

  /** Everything but properties; schemas inside lists and maps are written too. */
  #plain(schema: Schema): MutableJsonObject {
    const result: MutableJsonObject = {};
    for (const [key, value] of Object.entries(schema as JsonObject)) {
      if (value === undefined) continue;
      if (key === 'items' || (key === 'additionalProperties' && typeof value === 'object'))
        result[key] = this.#schema(value as Schema);
      else result[key] = cloneJson(value) as MutableJson;
    }
    return result;
  }
}
