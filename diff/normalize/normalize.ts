import { canonicalJson, isObject, ownMember, setOwnMember } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { annotations } from '#model';
import type { KubeObject, TrackingSettings } from '#model';
import { schemaOf } from '../schema/schema.ts';
import { removeSteps } from '../shared/removal.ts';
import { isList, textOf } from '../shared/values.ts';
import { canonicalBytes, canonicalise } from './canonical.ts';
import type { EmptyFields } from './canonical.ts';

/**
 * Returns an object in the form in which it is compared, before ignore rules: canonical values, no
 * creationTimestamp, `stringData` of Secrets folded into `data`, no finalizers in the spec of a
 * Namespace, comparable rules of aggregated roles and order of Endpoints. Returns the same
 * reference when nothing changes; idempotent.
 *
 * Argo CD: gitops-engine/pkg/diff Normalize.
 */
export function normalize(
  object: JsonObject,
  ignoreAggregatedRoles: boolean,
  empties: EmptyFields = 'drop',
): JsonObject {
  const [apiVersion, kind] = [textOf(ownMember(object, 'apiVersion')), textOf(ownMember(object, 'kind'))];
  let result = removeSteps(object, ['metadata', 'creationTimestamp']) as JsonObject;
  if (apiVersion === 'v1' && kind === 'Secret') result = normalizeSecret(result);
  // The API server ignores changes of these: only its finalize subresource makes them.
  if (apiVersion === 'v1' && kind === 'Namespace') result = removeSteps(result, ['spec', 'finalizers']) as JsonObject;
  if (apiVersion === 'v1' && kind === 'Endpoints') result = normalizeEndpoints(result);
  if (kind === 'Role' || kind === 'ClusterRole') {
    const ofRole = { apiVersion, ignoreAggregatedRoles, empties };
    result = normalizeRole(result, ofRole);
  }
  return canonicalise(result, schemaOf({ apiVersion, kind }), empties) as JsonObject;
}

/**
 * Folds `stringData` into `data` as base64, where it overrides equal keys, and rewrites `data` so
 * that equal bytes are equal text. Values that are not strings stay, for the API server to reject.
 */
export function normalizeSecret(secret: JsonObject): JsonObject {
  const [data, stringData] = [ownMember(secret, 'data'), ownMember(secret, 'stringData')];
  const entries = isObject(data) ? Object.entries(data) : [];
  const rewritten = entries.map(([, value]) => (typeof value === 'string' ? canonicalBytes(value) : (value ?? '')));
  if (stringData === undefined && entries.every(([, value], i) => value === rewritten[i])) return secret;
  const folded: MutableJsonObject = {};
  for (const [i, [key]] of entries.entries()) setOwnMember(folded, key, rewritten[i] as MutableJson);
  for (const [key, value] of Object.entries(isObject(stringData) ? stringData : {}))
    setOwnMember(
      folded,
      key,
      typeof value === 'string' ? Buffer.from(value, 'utf8').toString('base64') : (value as MutableJson),
    );
  const result: MutableJsonObject = {};
  for (const key of Object.keys(secret))
    if (key !== 'stringData') setOwnMember(result, key, secret[key] as MutableJson);
  if (isObject(stringData) ? Object.keys(folded).length > 0 : data !== undefined) result['data'] = folded;
  return result;
}

interface RoleOptions {
  readonly apiVersion: string;
  readonly ignoreAggregatedRoles: boolean;
  readonly empties: EmptyFields;
}

/**
 * Drops rules that request nothing: null or empty ones, and those of aggregated roles if they are
 * ignored. An empty list in a manifest of a role that is not aggregated counts: rules added in the
 * cluster are then found (Argo CD misses them).
 */
function normalizeRole(role: JsonObject, { apiVersion, ignoreAggregatedRoles, empties }: RoleOptions): JsonObject {
  if (!apiVersion.startsWith('rbac.authorization.k8s.io/')) return role;
  const rules = ownMember(role, 'rules');
  const isAggregated = isObject(ownMember(role, 'aggregationRule'));
  const isEmpty = rules === null || (isList(rules) && rules.length === 0);
  const saysNothing = (isAggregated && ignoreAggregatedRoles) || (isEmpty && (isAggregated || empties === 'drop'));
  return rules !== undefined && saysNothing ? (removeSteps(role, ['rules']) as JsonObject) : role;
}

/** Sorts the subsets, their addresses and ports: the API server repacks and reorders them. */
function normalizeEndpoints(endpoints: JsonObject): JsonObject {
  const subsets = ownMember(endpoints, 'subsets');
  if (!isList(subsets)) return endpoints;
  const sorted = subsets.map((subset) => {
    if (!isObject(subset)) return subset;
    const result: MutableJsonObject = { ...(subset as MutableJsonObject) };
    for (const field of ['addresses', 'notReadyAddresses', 'ports'] as const) {
      const items = ownMember(subset, field);
      if (!isList(items)) continue;
      const filled = field === 'ports' ? items.map(withProtocol) : items;
      result[field] = sortedByText(filled) as MutableJson;
    }
    return result;
  });
  return { ...endpoints, subsets: sortedByText(sorted) };
}

function withProtocol(port: Json): Json {
  return isObject(port) && ownMember(port, 'protocol') === undefined ? { ...port, protocol: 'TCP' } : port;
}

function sortedByText(items: readonly Json[]): readonly Json[] {
  const keyed = items.map((item) => ({ item, key: canonicalJson(item) }));
  return keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).map(({ item }) => item);
}

/**
 * Adapts live's tracking marks for comparison (Argo CD: resourceTracking.Normalize). While live
 * still has the label of an older tracking method, a missing tracking annotation is taken from the
 * target, and the label is dropped if the target has none. An existing annotation is never
 * overwritten.
 */
export function normalizeTracking(target: KubeObject, live: KubeObject, tracking: TrackingSettings): KubeObject {
  const label = live.metadata.labels?.[tracking.labelKey] ?? '';
  if (tracking.method === 'label' || label === '' || live.kind === 'CustomResourceDefinition') return live;
  let metadata = live.metadata;
  const id = target.metadata.annotations?.[annotations.trackingId];
  if (id !== undefined && (metadata.annotations?.[annotations.trackingId] ?? '') === '')
    metadata = { ...metadata, annotations: { ...metadata.annotations, [annotations.trackingId]: id } };
  if ((target.metadata.labels?.[tracking.labelKey] ?? '') === '') {
    const labels = Object.entries(metadata.labels ?? {}).filter(([key]) => key !== tracking.labelKey);
    metadata = { ...metadata, labels: Object.fromEntries(labels) };
  }
  return metadata === live.metadata ? live : { ...live, metadata };
}
