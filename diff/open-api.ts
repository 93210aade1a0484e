import { at, isObject, own, setOwn } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { apiVersionOf } from '#model';
import { untyped } from './shape.ts';
import type { Shape } from './shape.ts';
import { copyOf, isList } from './values.ts';

/** What an API server publishes of one kind. Immutable. */
export interface KindSchema {
  readonly shape: Shape;
  /** An object with what the server fills in where a CRD gives a default; the same reference when nothing is missing. */
  readonly withDefaults: (object: JsonObject) => JsonObject;
}

/** The kinds of one group version, by their names. */
export type GroupVersionSchemas = ReadonlyMap<string, KindSchema>;

/** One place of a published schema: what matters here, and nothing else of it (descriptions are most of a document). */
interface Node {
  readonly ref?: string;
  /** Owned as a whole. Undefined: as the schema that is referred to says. */
  readonly atomic?: boolean;
  readonly keys?: readonly string[];
  readonly fields?: Readonly<Record<string, Node>>;
  readonly values?: Node;
  readonly items?: Node;
  readonly default?: Json;
}

const prefix = '#/components/schemas/';

/**
 * Reads an OpenAPI v3 document of one group version (`/openapi/v3/apis/apps/v1`) the way the API server's field manager reads its own
 * (k8s.io/kube-openapi pkg/schemaconv): list types and their keys, maps that are owned as a whole, also where a reference says so, and defaults.
 * What it does not say is taken as unknown: lists as a whole, maps by member.
 */
export function readOpenApi(document: Json): GroupVersionSchemas {
  const published = at(document, 'components', 'schemas');
  const nodes = new Map<string, Node>();
  const kinds = new Map<string, KindSchema>();
  if (!isObject(published)) return kinds;
  for (const [name, schema] of Object.entries(published)) if (isObject(schema)) nodes.set(name, nodeOf(schema));
  const root = new Place({ atomic: false }, nodes);
  for (const [name, schema] of Object.entries(published))
    for (const kind of kindsOf(schema)) {
      const shape = root.at({ ref: prefix + name });
      kinds.set(kind, { shape, withDefaults: (object) => shape.withDefaults(object) as JsonObject });
    }
  return kinds;
}

/** `apiVersion Kind`, as kinds are looked up. */
export function kindKey({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): string {
  return `${apiVersion} ${kind}`;
}

function kindsOf(schema: Json | undefined): readonly string[] {
  const list = isObject(schema) ? own(schema, 'x-kubernetes-group-version-kind') : undefined;
  if (!isList(list)) return [];
  return list
    .filter(isObject)
    .flatMap(({ group = '', version, kind }) =>
      typeof group === 'string' && typeof version === 'string' && typeof kind === 'string'
        ? [kindKey({ apiVersion: apiVersionOf(group, version), kind })]
        : [],
    );
}

function nodeOf(schema: JsonObject): Node {
  const ref = refOf(schema);
  const mapType = own(schema, 'x-kubernetes-map-type');
  const keys = keysOf(schema);
  const [properties, values, items, preset] = ['properties', 'additionalProperties', 'items', 'default'].map((name) =>
    own(schema, name),
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

/** A map in which the server knows nothing, and which no CRD keeps as it is: the server owns it as a whole. */
function isOpaque(schema: JsonObject): boolean {
  const known = ['properties', 'additionalProperties', 'x-kubernetes-preserve-unknown-fields', 'x-kubernetes-map-type'];
  return own(schema, 'type') === 'object' && known.every((name) => own(schema, name) === undefined);
}

function fieldsOf(properties: JsonObject): Readonly<Record<string, Node>> {
  const fields: Record<string, Node> = {};
  for (const [name, schema] of Object.entries(properties))
    if (isObject(schema))
      Object.defineProperty(fields, name, { value: nodeOf(schema), enumerable: true, configurable: true });
  return fields;
}

/** A reference stands by itself, or alone in `allOf` where it has a default or a description of its own. */
function refOf(schema: JsonObject): string | undefined {
  const direct = own(schema, '$ref');
  if (typeof direct === 'string') return direct;
  const all = own(schema, 'allOf');
  const only = isList(all) && all.length === 1 ? all[0] : undefined;
  const inner = isObject(only) ? own(only, '$ref') : undefined;
  return typeof inner === 'string' ? inner : undefined;
}

/** None for a set; undefined for a list that is owned as a whole. Older schemas say it by how kubectl merges them. */
function keysOf(schema: JsonObject): readonly string[] | undefined {
  const type = own(schema, 'x-kubernetes-list-type');
  if (type === 'set') return [];
  if (type === 'map') {
    const keys = own(schema, 'x-kubernetes-list-map-keys');
    return isList(keys) ? keys.filter((key) => typeof key === 'string') : undefined;
  }
  const strategy = own(schema, 'x-kubernetes-patch-strategy');
  if (type !== undefined || typeof strategy !== 'string' || !strategy.split(',').includes('merge')) return undefined;
  const mergeKey = own(schema, 'x-kubernetes-patch-merge-key');
  return typeof mergeKey === 'string' && mergeKey !== '' ? [mergeKey] : [];
}

/** A place in a published schema. References are followed when somebody gets there: types may hold themselves. */
class Place implements Shape {
  readonly atomicMap: boolean;
  readonly listKeys: readonly string[] | undefined;
  readonly #node: Node;
  readonly #nodes: ReadonlyMap<string, Node>;
  readonly #inner = new Map<Node, Place>();

  constructor(node: Node, nodes: ReadonlyMap<string, Node>) {
    const target = node.ref === undefined ? undefined : nodes.get(node.ref.slice(prefix.length));
    this.#node = { ...target, ...node };
    this.#nodes = nodes;
    this.atomicMap = this.#node.atomic === true;
    this.listKeys = this.#node.keys;
  }

  at(node: Node): Place {
    let place = this.#inner.get(node);
    if (place === undefined) {
      place = new Place(node, this.#nodes);
      this.#inner.set(node, place);
    }
    return place;
  }

  member(name: string): Shape {
    return this.#member(name) ?? untyped;
  }

  items(): Shape {
    return this.#node.items === undefined ? untyped : this.at(this.#node.items);
  }

  named(name: string): boolean {
    return this.#field(name) !== undefined;
  }

  keyDefault(name: string): Json | undefined {
    return this.#field(name)?.default;
  }

  withDefaults(value: Json): Json {
    if (isList(value)) return this.#node.items === undefined ? value : this.#inList(value, this.at(this.#node.items));
    return isObject(value) ? this.#inMap(this.#filled(value)) : value;
  }

  #filled(object: JsonObject): JsonObject {
    let changed: MutableJsonObject | undefined;
    for (const [name, { default: preset }] of Object.entries(this.#node.fields ?? {})) {
      if (preset === undefined || own(object, name) !== undefined) continue;
      changed ??= copyOf(object);
      setOwn(changed, name, preset as MutableJson);
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
      setOwn(changed, key, after as MutableJson);
    }
    return changed ?? object;
  }

  #inList(list: readonly Json[], items: Place): readonly Json[] {
    const after = list.map((item) => items.withDefaults(item));
    return after.every((item, i) => item === list[i]) ? list : after;
  }

  #member(name: string): Place | undefined {
    const node = this.#field(name) ?? this.#node.values;
    return node === undefined ? undefined : this.at(node);
  }

  #field(name: string): Node | undefined {
    const { fields } = this.#node;
    return fields !== undefined && Object.hasOwn(fields, name) ? fields[name] : undefined;
  }
}
