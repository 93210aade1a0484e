import { deepEqual, isObject } from '#base';
import type { Json, JsonObject } from '#base';
import { jsonOf } from '#model';
import type { ApplicationSource, SyncPolicy } from '#model';

/**
 * How Go decodes a value: what it is when nothing is said.
 * - `plain`: a text, number or boolean; empty, zero and false are nothing.
 * - `exact`: a pointer or raw JSON: null is nothing, anything else is what it is, also when it is empty.
 * - `map`: free keys; no entries are nothing, but an entry whose value is empty is an entry.
 * - `members`: a struct; without anything in it, it is nothing, unless its mere presence says something (`present`).
 */
type Shape =
  | 'plain'
  | 'exact'
  | 'map'
  | { readonly list: Shape }
  | { readonly members: Readonly<Record<string, Shape>>; readonly present?: true };

const named: Shape = { list: { members: {} } };

const helm: Shape = {
  members: {
    // Raw JSON that wins over `values` as soon as it is there, also as `{}`.
    valuesObject: 'exact',
    valueFiles: { list: 'plain' },
    apiVersions: { list: 'plain' },
    parameters: named,
    fileParameters: named,
  },
};

const kustomize: Shape = {
  members: {
    images: { list: 'plain' },
    components: { list: 'plain' },
    apiVersions: { list: 'plain' },
    commonLabels: 'map',
    commonAnnotations: 'map',
    // No replicas are a number like any other.
    replicas: { list: { members: { count: 'exact' } } },
    // A patch without target goes where it says itself, one with an empty target goes everywhere.
    patches: { list: { members: { target: { members: {}, present: true }, options: 'map' } } },
  },
};

const directory: Shape = {
  members: { jsonnet: { members: { extVars: named, tlas: named, libs: { list: 'plain' } } } },
};

const plugin: Shape = {
  // `plugin: {}` asks for the plugin that finds itself responsible.
  present: true,
  members: { env: named, parameters: { list: { members: { string: 'exact', map: 'exact', array: 'exact' } } } },
};

/** `ApplicationSource`; members that are not named here are plain. See manifests/crds/application-crd.yaml. */
const source: Shape = { members: { helm, kustomize, directory, plugin } };

const namespaceMetadata: Shape = { members: { labels: 'map', annotations: 'map' } };

/**
 * Whether two sources mean the same, by the types that Argo CD decodes them into: a member that is absent, null, empty, zero or false is
 * the same, but for the few pointers where being there says something. So a spec that was written by hand equals its copy in a status that
 * Argo CD wrote. The one rule for all who ask: what is stale, what was tried already.
 *
 * Difference: Argo CD asks in two ways, tolerantly when it looks for changes and strictly when it looks whether a sync was tried; what is
 * equal for one and not for the other it syncs again and again.
 */
export function equalSources(a: ApplicationSource | undefined, b: ApplicationSource | undefined): boolean {
  return deepEqual(decoded(jsonOf(a), source), decoded(jsonOf(b), source));
}

/** Equal length, and each source equal to its counterpart. */
export function equalSourceLists(
  a: readonly ApplicationSource[] | undefined,
  b: readonly ApplicationSource[] | undefined,
): boolean {
  const [left, right] = [a ?? [], b ?? []];
  return left.length === right.length && left.every((item, i) => equalSources(item, right[i]));
}

type NamespaceMetadata = SyncPolicy['managedNamespaceMetadata'];

/** Whether the same labels and annotations are wanted; a label without text is a label. */
export function equalNamespaceMetadata(a: NamespaceMetadata, b: NamespaceMetadata): boolean {
  return deepEqual(decoded(jsonOf(a), namespaceMetadata), decoded(jsonOf(b), namespaceMetadata));
}

/** Deep equality where an absent member equals an empty one: for destinations and ignore rules, which hold no pointers and no maps. */
export function equalLoosely(a: unknown, b: unknown): boolean {
  return deepEqual(loose(jsonOf(a)), loose(jsonOf(b)));
}

/** The value without what says nothing; undefined when nothing is left. A value of another type than its shape is left as it is. */
function decoded(value: Json | undefined, shape: Shape): Json | undefined {
  if (value === undefined || value === null) return undefined;
  if (shape === 'exact') return value;
  if (shape === 'plain') return loose(value);
  if (shape === 'map') return isObject(value) && Object.keys(value).length === 0 ? undefined : value;
  if ('list' in shape) return Array.isArray(value) ? listOf(value as readonly Json[], shape.list) : value;
  return isObject(value) ? structOf(value, shape.members, shape.present === true) : value;
}

/** An element that says nothing is still an element. */
function listOf(items: readonly Json[], shape: Shape): Json | undefined {
  return items.length === 0 ? undefined : items.map((item) => decoded(item, shape) ?? null);
}

function structOf(value: JsonObject, members: Readonly<Record<string, Shape>>, present: boolean): Json | undefined {
  const said = Object.entries(value)
    .map(([key, member]) => [key, decoded(member, Object.hasOwn(members, key) ? (members[key] ?? 'plain') : 'plain')])
    .filter(([, member]) => member !== undefined);
  return said.length === 0 && !present ? undefined : (Object.fromEntries(said) as JsonObject);
}

/** Without knowing the type: everything empty is nothing. */
function loose(value: Json): Json | undefined {
  if (value === null || value === '' || value === false || value === 0) return undefined;
  if (Array.isArray(value)) return listOf(value as readonly Json[], 'plain');
  return isObject(value) ? structOf(value, {}, false) : value;
}
