import { valueAt, isObject, ownMember, setOwnMember } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { apiVersionOf } from '#model';
import { copyOf, isList } from '../shared/values.ts';
import { preservedShape } from './shape.ts';
import type { OwnershipShape } from './shape.ts';

/** The published schema of one kind. Immutable. */
export interface KindSchema {
  readonly shape: OwnershipShape;
  /** Fills in the defaults of a CRD. Returns the same reference when nothing is missing. */
  readonly withDefaults: (object: JsonObject) => JsonObject;
}

/** The schemas of one group version, by {@link kindKey}. */
export type GroupVersionSchemas = ReadonlyMap<string, KindSchema>;

/** A node of a published schema, reduced to what we need: descriptions are most of a document. */
interface SchemaNode {
  readonly ref?: string;
  /** Owned as a whole. Undefined: the referenced schema decides. */
  readonly atomic?: boolean;
  readonly keys?: readonly string[];
  readonly fields?: Readonly<Record<string, SchemaNode>>;
  readonly values?: SchemaNode;
  readonly items?: SchemaNode;
  readonly default?: Json;
}

const schemaRefPrefix = '#/components/schemas/';

/**
 * Reads an OpenAPI v3 document of one group version (`/openapi/v3/apis/apps/v1`) as the API
 * server's field manager does (k8s.io/kube-openapi pkg/schemaconv): list types and keys, atomic
 * maps (also on references) and defaults. Where the schema is silent, lists are atomic and maps
 * granular.
 */
export function readOpenApi(document: Json): GroupVersionSchemas {
  const published = valueAt(document, 'components', 'schemas');
  const nodes = new Map<string, SchemaNode>();
  const kinds = new Map<string, KindSchema>();
  if (!isObject(published)) return kinds;
  for (const [name, schema] of Object.entries(published)) if (isObject(schema)) nodes.set(name, nodeOf(schema));
  const root = new PublishedShape({ atomic: false }, nodes);
  for (const [name, schema] of Object.entries(published))
    for (const kind of kindsOf(schema)) {
      const shape = root.shapeAt({ ref: schemaRefPrefix + name });
      kinds.set(kind, { shape, withDefaults: (object) => shape.withDefaults(object) as JsonObject });
    }
  return kinds;
}

/** The lookup key of a kind: `apiVersion Kind`. */
export function kindKey({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): string {
  return `${apiVersion} ${kind}`;
}

function kindsOf(schema: Json | undefined): readonly string[] {
  const list = isObject(schema) ? ownMember(schema, 'x-kubernetes-group-version-kind') : undefined;
  if (!isList(list)) return [];
  return list
    .filter(isObject)
    .flatMap(({ group = '', version, kind }) =>
      typeof group === 'string' && typeof version === 'string' && typeof kind === 'string'
        ? [kindKey({ apiVersion: apiVersionOf(group, version), kind })]
        : [],
    );
}

function nodeOf(schema: JsonObject): SchemaNode {
  const ref = referenceOf(schema);
  const mapType = ownMember(schema, 'x-kubernetes-map-type');
  const keys = publishedListKeys(schema);
  const [properties, values, items, preset] = ['properties', 'additionalProperties', 'items', 'default'].map((name) =>
    ownMember(schema, name),
  );
  return {
    ...(ref === undefined ? {} : { ref }),
    ...(mapType === undefined ? {} : { atomic: mapType === 'atomic' }),
    ...(isOpaque(schema) ? { atomic: true } : {}),
    ...(keys === undefined ? {} : { keys }),
    ...(isObject(properties) ? { fields: fieldsOf(properties) } : {}),
    ...(isObject(values) ? { values: nodeOf(values) } : {}),
    ...(isObject(items) ? { items: nodeOf(items) } : {}),
    ...(preset === undefined ? {} : { default: preset }),
  };
}

/**
 * Whether this is an object without any known content that does not preserve unknown fields. The
 * API server owns such a map as a whole.
 */
function isOpaque(schema: JsonObject): boolean {
  const known = ['properties', 'additionalProperties', 'x-kubernetes-preserve-unknown-fields', 'x-kubernetes-map-type'];
  return ownMember(schema, 'type') === 'object' && known.every((name) => ownMember(schema, name) === undefined);
}

function fieldsOf(properties: JsonObject): Readonly<Record<string, SchemaNode>> {
  const fields: Record<string, SchemaNode> = {};
  for (const [name, schema] of Object.entries(properties))
    if (isObject(schema))
      Object.defineProperty(fields, name, { value: nodeOf(schema), enumerable: true, configurable: true });
  return fields;
}

/**
 * A reference is either direct or the only entry of `allOf`, when the field has its own default or
 * description.
 */
function referenceOf(schema: JsonObject): string | undefined {
  const direct = ownMember(schema, '$ref');
  if (typeof direct === 'string') return direct;
  const all = ownMember(schema, 'allOf');
  const only = isList(all) && all.length === 1 ? all[0] : undefined;
  const inner = isObject(only) ? ownMember(only, '$ref') : undefined;
  return typeof inner === 'string' ? inner : undefined;
}

/**
 * The list's keys: none for a set, undefined for an atomic list. Older schemas only have kubectl's
 * patch strategy.
 */
function publishedListKeys(schema: JsonObject): readonly string[] | undefined {
  const type = ownMember(schema, 'x-kubernetes-list-type');
  if (type === 'set') return [];
  if (type === 'map') {
    const keys = ownMember(schema, 'x-kubernetes-list-map-keys');
    return isList(keys) ? keys.filter((key) => typeof key === 'string') : undefined;
  }
  const strategy = ownMember(schema, 'x-kubernetes-patch-strategy');
  if (type !== undefined || typeof strategy !== 'string' || !strategy.split(',').includes('merge')) return undefined;
  const mergeKey = ownMember(schema, 'x-kubernetes-patch-merge-key');
  return typeof mergeKey === 'string' && mergeKey !== '' ? [mergeKey] : [];
}

/**
 * A type of a published schema. References are resolved lazily, because types may contain
 * themselves.
 */
class PublishedShape implements OwnershipShape {
  readonly atomicMap: boolean;
  readonly listKeys: readonly string[] | undefined;
  readonly #node: SchemaNode;
  readonly #nodes: ReadonlyMap<string, SchemaNode>;
  readonly #inner = new Map<SchemaNode, PublishedShape>();

  constructor(node: SchemaNode, nodes: ReadonlyMap<string, SchemaNode>) {
    const target = node.ref === undefined ? undefined : nodes.get(node.ref.slice(schemaRefPrefix.length));
    this.#node = { ...target, ...node };
    this.#nodes = nodes;
    this.atomicMap = this.#node.atomic === true;
    this.listKeys = this.#node.keys;
  }

  shapeAt(node: SchemaNode): PublishedShape {
    let shape = this.#inner.get(node);
    if (shape === undefined) {
      shape = new PublishedShape(node, this.#nodes);
      this.#inner.set(node, shape);
    }
    return shape;
  }

  member(name: string): OwnershipShape {
    return this.#member(name) ?? preservedShape;
  }

  items(): OwnershipShape {
    return this.#node.items === undefined ? preservedShape : this.shapeAt(this.#node.items);
  }

  isStructField(name: string): boolean {
    return this.#field(name) !== undefined;
  }

  isMapKey(name: string): boolean {
    return !this.isStructField(name);
  }

  keyDefault(name: string): Json | undefined {
    return this.#field(name)?.default;
  }

  withDefaults(value: Json): Json {
    if (isList(value))
      return this.#node.items === undefined ? value : this.#inList(value, this.shapeAt(this.#node.items));
    return isObject(value) ? this.#inMap(this.#filled(value)) : value;
  }

  #filled(object: JsonObject): JsonObject {
    let changed: MutableJsonObject | undefined;
    for (const [name, { default: preset }] of Object.entries(this.#node.fields ?? {})) {
      if (preset === undefined || ownMember(object, name) !== undefined) continue;
      changed ??= copyOf(object);
      setOwnMember(changed, name, preset as MutableJson);
    }
    return changed ?? object;
  }

  #inMap(object: JsonObject): JsonObject {
    let changed: MutableJsonObject | undefined;
    for (const key of Object.keys(object)) {
      const before = object[key];
      const after = before === undefined ? undefined : this.#member(key)?.withDefaults(before);
      if (after === undefined || after === before) continue;
      changed ??= copyOf(object);
      setOwnMember(changed, key, after as MutableJson);
    }
    return changed ?? object;
  }

  #inList(list: readonly Json[], items: PublishedShape): readonly Json[] {
    const after = list.map((item) => items.withDefaults(item));
    return after.every((item, i) => item === list[i]) ? list : after;
  }

  #member(name: string): PublishedShape | undefined {
    const node = this.#field(name) ?? this.#node.values;
    return node === undefined ? undefined : this.shapeAt(node);
  }

  #field(name: string): SchemaNode | undefined {
    const { fields } = this.#node;
    return fields !== undefined && Object.hasOwn(fields, name) ? fields[name] : undefined;
  }
}
