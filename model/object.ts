import type { Json, JsonObject } from '#base';

/** `metadata.ownerReferences[]`. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** `metadata` of any Kubernetes object. A missing member means that the object does not have it. */
export interface ObjectMeta {
  readonly name?: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string | null;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
  readonly managedFields?: readonly JsonObject[];
}

/** Any Kubernetes object, raw: no field is ever dropped. Never changed in place once it has left its module. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: Json | ObjectMeta | undefined;
}

export interface GroupKind {
  readonly group: string;
  readonly kind: string;
}

export interface GroupVersionKind extends GroupKind {
  readonly version: string;
}

/** Which object: group, kind, namespace ("" for cluster-scoped), name. */
export interface ResourceRef extends GroupKind {
  readonly namespace: string;
  readonly name: string;
}

declare const resourceKeyBrand: unique symbol;
/** `<group>/<kind>/<namespace>/<name>`: the text by which maps, conditions and sorts know an object. */
export type ResourceKey = string & { readonly [resourceKeyBrand]: true };

export function resourceKey(group: string, kind: string, namespace: string, name: string): ResourceKey {
  return `${group}/${kind}/${namespace}/${name}` as ResourceKey;
}

export function keyOfRef(ref: ResourceRef): ResourceKey {
  return resourceKey(ref.group, ref.kind, ref.namespace, ref.name);
}

/** As much of an object as names it. */
export interface ObjectName {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Pick<KubeObject['metadata'], 'name' | 'namespace'>;
}

/** The key of an object by its own metadata (missing namespace or name count as ""). */
export function keyOf(object: ObjectName): ResourceKey {
  return keyOfRef(refOf(object));
}

export function refOf(object: ObjectName): ResourceRef {
  return {
    group: groupOf(object.apiVersion),
    kind: object.kind,
    namespace: object.metadata.namespace ?? '',
    name: object.metadata.name ?? '',
  };
}

/** Splits a key made by {@link resourceKey}. */
export function parseResourceKey(key: ResourceKey): ResourceRef {
  const [group = '', kind = '', namespace = '', ...name] = key.split('/');
  return { group, kind, namespace, name: name.join('/') };
}

/** "apps" of "apps/v1", "" of "v1". */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}

/** "v1" of "apps/v1" and of "v1". */
export function versionOf(apiVersion: string): string {
  return apiVersion.slice(apiVersion.indexOf('/') + 1);
}

export function gvkOf(object: KubeObject): GroupVersionKind {
  return { group: groupOf(object.apiVersion), version: versionOf(object.apiVersion), kind: object.kind };
}

export function apiVersionOf(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`;
}

/** "apps/Deployment", "ConfigMap" for the core group: how people and Argo CD's messages name a kind. */
export function groupKindName(gk: GroupKind): string {
  return gk.group === '' ? gk.kind : `${gk.group}/${gk.kind}`;
}

export function annotationOf(object: KubeObject, name: string): string | undefined {
  const annotations = object.metadata.annotations;
  return annotations !== undefined && Object.hasOwn(annotations, name) ? annotations[name] : undefined;
}

export function labelOf(object: KubeObject, name: string): string | undefined {
  const labels = object.metadata.labels;
  return labels !== undefined && Object.hasOwn(labels, name) ? labels[name] : undefined;
}

const none: readonly string[] = [];

/**
 * The items of an annotation that is a comma-separated list: trimmed, without empties and repeats, in order (Argo CD:
 * util/resource annotations).
 */
export function csvAnnotation(object: KubeObject, name: string): readonly string[] {
  const text = annotationOf(object, name);
  // Asked of each resource in each comparison, and nearly always absent.
  if (text === undefined) return none;
  const items = text.split(',').map((item) => item.trim());
  return [...new Set(items.filter((item) => item !== ''))];
}

/** One server resource kind, as discovery tells it. */
export interface ApiResource extends GroupVersionKind {
  /** Plural resource name in URLs, such as "deployments". */
  readonly resource: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  /** "status", "scale" ... */
  readonly subresources: readonly string[];
  readonly shortNames: readonly string[];
}
