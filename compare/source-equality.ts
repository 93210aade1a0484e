import { deepEqual, isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import { jsonOf } from '#model';
import type { ApplicationSource, SyncPolicy } from '#model';

/**
 * How Go decodes a value, and which values equal an absent one.
 * - `plain`: a string, number or boolean; empty, zero and false are absent.
 * - `exact`: a pointer or raw JSON: only null is absent; an empty value is a value.
 * - `map`: free keys; an empty map is absent, but an entry with an empty value is an entry.
 * - `members`: a struct; absent if all members are, unless its presence has a meaning (`present`).
 */
type GoShape =
  | 'plain'
  | 'exact'
  | 'map'
  | { readonly list: GoShape }
  | { readonly members: Readonly<Record<string, GoShape>>; readonly present?: true };

const named: GoShape = { list: { members: {} } };

const helm: GoShape = {
  members: {
    // Raw JSON that overrides `values` as soon as it is set, even to `{}`.
    valuesObject: 'exact',
    valueFiles: { list: 'plain' },
    apiVersions: { list: 'plain' },
    parameters: named,
    fileParameters: named,
  },
};

const kustomize: GoShape = {
  members: {
    images: { list: 'plain' },
    components: { list: 'plain' },
    apiVersions: { list: 'plain' },
    commonLabels: 'map',
    commonAnnotations: 'map',
    // Zero replicas is a number like any other.
    replicas: { list: { members: { count: 'exact' } } },
    // A patch without a target names its own; one with an empty target applies to everything.
    patches: { list: { members: { target: { members: {}, present: true }, options: 'map' } } },
  },
};

const directory: GoShape = {
  members: { jsonnet: { members: { extVars: named, tlas: named, libs: { list: 'plain' } } } },
};

const plugin: GoShape = {
  // `plugin: {}` asks for the plugin that discovers itself as responsible.
  present: true,
  members: { env: named, parameters: { list: { members: { string: 'exact', map: 'exact', array: 'exact' } } } },
};

/**
 * `ApplicationSource`; members not listed here are plain. See manifests/crds/application-crd.yaml.
 */
const source: GoShape = { members: { helm, kustomize, directory, plugin } };

const namespaceMetadata: GoShape = { members: { labels: 'map', annotations: 'map' } };

/**
 * Whether two sources mean the same, by the types that Argo CD decodes them into: absent, null,
 * empty, zero and false are equal, except for the few pointers whose presence has a meaning. So a
 * spec written by hand equals its copy in a status that Argo CD wrote. The one rule for all
 * callers: staleness, and syncs already attempted.
 *
 * Difference: Argo CD compares tolerantly for changes and strictly for attempted syncs. If the two
 * disagree, it syncs again and again.
 */
export function equalSources(a: ApplicationSource | undefined, b: ApplicationSource | undefined): boolean {
  return deepEqual(decoded(jsonOf(a), source), decoded(jsonOf(b), source));
}

/** Equal length, and each source equals its counterpart. */
export function equalSourceLists(
  a: readonly ApplicationSource[] | undefined,
  b: readonly ApplicationSource[] | undefined,
): boolean {
  const [left, right] = [a ?? [], b ?? []];
  return left.length === right.length && left.every((item, i) => equalSources(item, right[i]));
}

type NamespaceMetadata = SyncPolicy['managedNamespaceMetadata'];

/** Whether the same labels and annotations are desired; a label with an empty value is a label. */
export function equalNamespaceMetadata(a: NamespaceMetadata, b: NamespaceMetadata): boolean {
  return deepEqual(decoded(jsonOf(a), namespaceMetadata), decoded(jsonOf(b), namespaceMetadata));
}

/**
 * Deep equality where absent equals empty: for destinations and ignore rules, which have no
 * pointers and no maps.
 */
export function equalLoosely(a: unknown, b: unknown): boolean {
  return isEqualPlain(jsonOf(a), jsonOf(b));
}

/** Compares the `loose` forms of both, without copies: authors decide how long these values are. */
function isEqualPlain(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    const [left, right] = [a as readonly Json[], b as readonly Json[]];
    return left.length === right.length && left.every((item, i) => isEqualPlain(item, right[i]));
  }
  if (isObject(a) && isObject(b)) {
    for (const key of Object.keys(a)) if (!isEqualPlain(ownMember(a, key), ownMember(b, key))) return false;
    return Object.keys(b).every((key) => Object.hasOwn(a, key) || isNothing(ownMember(b, key)));
  }
  const isEmpty = isNothing(a);
  return isEmpty === isNothing(b) && (isEmpty || deepEqual(a, b));
}

/** Reports whether {@link loose} drops the value as a whole. */
function isNothing(value: Json | undefined): boolean {
  if (value === undefined || value === null || value === '' || value === false || value === 0) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && Object.keys(value).every((key) => isNothing(ownMember(value, key)));
}

/**
 * The value without its absent parts; undefined if nothing is left. A value of an unexpected type
 * stays as it is.
 */
function decoded(value: Json | undefined, shape: GoShape): Json | undefined {
  if (value === undefined || value === null) return undefined;
  if (shape === 'exact') return value;
  if (shape === 'plain') return loose(value);
  if (shape === 'map') return isObject(value) && Object.keys(value).length === 0 ? undefined : value;
  if ('list' in shape) return Array.isArray(value) ? listOf(value as readonly Json[], shape.list) : value;
  return isObject(value) ? structOf(value, shape.members, shape.present === true) : value;
}

/** An absent element is still an element. */
function listOf(items: readonly Json[], shape: GoShape): Json | undefined {
  return items.length === 0 ? undefined : items.map((item) => decoded(item, shape) ?? null);
}

function structOf(value: JsonObject, members: Readonly<Record<string, GoShape>>, present: boolean): Json | undefined {
  const said = Object.entries(value)
    .map(([key, member]) => [key, decoded(member, Object.hasOwn(members, key) ? (members[key] ?? 'plain') : 'plain')])
    .filter(([, member]) => member !== undefined);
  return said.length === 0 && !present ? undefined : (Object.fromEntries(said) as JsonObject);
}

/** Without a type: every empty value is absent. */
function loose(value: Json): Json | undefined {
  if (value === null || value === '' || value === false || value === 0) return undefined;
  if (Array.isArray(value)) return listOf(value as readonly Json[], 'plain');
  return isObject(value) ? structOf(value, {}, false) : value;
}
