import { canonicalJson, isObject, own, setOwn } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { annotations } from '#model';
import type { KubeObject, TrackingSettings } from '#model';
import { canonicalBytes, canonicalise } from './canonical.ts';
import type { Empties } from './canonical.ts';
import { removeSteps } from './remove.ts';
import { schemaOf } from './schema.ts';
import { isList, textOf } from './values.ts';

/**
 * An object in the form in which it is compared, before any ignore rule: canonical values, no creationTimestamp, Secret `stringData` folded
 * into `data`, rules of aggregated roles and the order of Endpoints made comparable. Same reference when nothing changes; idempotent.
 *
 * Argo CD: gitops-engine/pkg/diff Normalize.
 */
export function normalize(object: JsonObject, ignoreAggregatedRoles: boolean, empties: Empties = 'drop'): JsonObject {
  const [apiVersion, kind] = [textOf(own(object, 'apiVersion')), textOf(own(object, 'kind'))];
  let result = removeSteps(object, ['metadata', 'creationTimestamp']) as JsonObject;
  if (apiVersion === 'v1' && kind === 'Secret') result = normalizeSecret(result);
  if (apiVersion === 'v1' && kind === 'Endpoints') result = normalizeEndpoints(result);
  if (kind === 'Role' || kind === 'ClusterRole') {
    const ofRole = { apiVersion, ignoreAggregatedRoles, empties };
    result = normalizeRole(result, ofRole);
  }
  return canonicalise(result, schemaOf({ apiVersion, kind }), empties) as JsonObject;
}

/**
 * `stringData` wins over `data`, in base64; equal bytes of `data` have equal text. What is not a string is copied as it is, so that the API
 * server can refuse it.
 */
export function normalizeSecret(secret: JsonObject): JsonObject {
  const [data, stringData] = [own(secret, 'data'), own(secret, 'stringData')];
  const entries = isObject(data) ? Object.entries(data) : [];
  const rewritten = entries.map(([, value]) => (typeof value === 'string' ? canonicalBytes(value) : (value ?? '')));
  if (stringData === undefined && entries.every(([, value], i) => value === rewritten[i])) return secret;
  const folded: MutableJsonObject = {};
  for (const [i, [key]] of entries.entries()) setOwn(folded, key, rewritten[i] as MutableJson);
  for (const [key, value] of Object.entries(isObject(stringData) ? stringData : {}))
    setOwn(
      folded,
      key,
      typeof value === 'string' ? Buffer.from(value, 'utf8').toString('base64') : (value as MutableJson),
    );
  const result: MutableJsonObject = {};
  for (const key of Object.keys(secret)) if (key !== 'stringData') setOwn(result, key, secret[key] as MutableJson);
  if (isObject(stringData) ? Object.keys(folded).length > 0 : data !== undefined) result['data'] = folded;
  return result;
}

interface RoleOptions {
  readonly apiVersion: string;
  readonly ignoreAggregatedRoles: boolean;
  readonly empties: Empties;
}

/**
 * No rules, however it is written. A manifest that says so asks for it: rules that somebody has given the role since are found (Argo CD passes
 * them over). Unless others fill them in: then it says nothing.
 */
function normalizeRole(role: JsonObject, { apiVersion, ignoreAggregatedRoles, empties }: RoleOptions): JsonObject {
  if (!apiVersion.startsWith('rbac.authorization.k8s.io/')) return role;
  const rules = own(role, 'rules');
  const isAggregated = isObject(own(role, 'aggregationRule'));
  const isEmpty = rules === null || (isList(rules) && rules.length === 0);
  const saysNothing = (isAggregated && ignoreAggregatedRoles) || (isEmpty && (isAggregated || empties === 'drop'));
  return rules !== undefined && saysNothing ? (removeSteps(role, ['rules']) as JsonObject) : role;
}

/** The API server repacks and orders subsets: compare them in one order. */
function normalizeEndpoints(endpoints: JsonObject): JsonObject {
  const subsets = own(endpoints, 'subsets');
  if (!isList(subsets)) return endpoints;
  const sorted = subsets.map((subset) => {
    if (!isObject(subset)) return subset;
    const result: MutableJsonObject = { ...(subset as MutableJsonObject) };
    for (const field of ['addresses', 'notReadyAddresses', 'ports'] as const) {
      const items = own(subset, field);
      if (!isList(items)) continue;
      const filled = field === 'ports' ? items.map(withProtocol) : items;
      result[field] = inOrder(filled) as MutableJson;
    }
    return result;
  });
  return { ...endpoints, subsets: inOrder(sorted) };
}

function withProtocol(port: Json): Json {
  return isObject(port) && own(port, 'protocol') === undefined ? { ...port, protocol: 'TCP' } : port;
}

function inOrder(items: readonly Json[]): readonly Json[] {
  const keyed = items.map((item) => ({ item, key: canonicalJson(item) }));
  return keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).map(({ item }) => item);
}

/**
 * Live with the tracking marks that cannot be compared yet (Argo CD: resourceTracking.Normalize): while live still carries the label of an
 * older tracking method, a tracking annotation that it lacks is taken from the target, and the label goes when the target has none. An
 * existing annotation is never overwritten.
 */
export function normalizeTracking(target: KubeObject, live: KubeObject, tracking: TrackingSettings): KubeObject {
  const label = live.metadata.labels?.[tracking.labelKey] ?? '';
  if (tracking.method === 'label' || label === '' || live.kind === 'CustomResourceDefinition') return live;
  let metadata = live.metadata;
  const id = target.metadata.annotations?.[annotations.trackingId];
  if (id !== undefined && metadata.annotations?.[annotations.trackingId] === undefined)
    metadata = { ...metadata, annotations: { ...metadata.annotations, [annotations.trackingId]: id } };
  if ((target.metadata.labels?.[tracking.labelKey] ?? '') === '') {
    const labels = Object.entries(metadata.labels ?? {}).filter(([key]) => key !== tracking.labelKey);
    metadata = { ...metadata, labels: Object.fromEntries(labels) };
  }
  return metadata === live.metadata ? live : { ...live, metadata };
}
