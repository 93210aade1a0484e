import { isObject, ownMember } from '#base';
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

/** Any Kubernetes object, raw: no field is ever dropped. Immutable once it has left its module. */
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

/** Identifies an object: group, kind, namespace ("" for cluster-scoped), name. */
export interface ResourceRef extends GroupKind {
  readonly namespace: string;
  readonly name: string;
}

declare const resourceKeyBrand: unique symbol;
/**
 * `<group>/<kind>/<namespace>/<name>`: identifies an object in maps, conditions and sort orders.
 */
export type ResourceKey = string & { readonly [resourceKeyBrand]: true };

export function resourceKey(group: string, kind: string, namespace: string, name: string): ResourceKey {
  return `${group}/${kind}/${namespace}/${name}` as ResourceKey;
}

export function keyOfRef(ref: ResourceRef): ResourceKey {
  return resourceKey(ref.group, ref.kind, ref.namespace, ref.name);
}

/** The members of an object that identify it. */
export interface ObjectName {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Pick<KubeObject['metadata'], 'name' | 'namespace'>;
}

/** The namespace of a manifest: an empty one, like a missing one, means the destination. */
export function namespaceIn({ metadata }: ObjectName, destinationNamespace: string): string {
  const { namespace = '' } = metadata;
  return namespace === '' ? destinationNamespace : namespace;
}

/** The key of an object by its own metadata (a missing namespace or name is ""). */
export function keyOf(object: ObjectName): ResourceKey {
  return keyOfRef(refOf(object));
}

/** The owner that manages the object, as `Kind/name`. Other owners only decide when it is gone. */
export function controllerOf({ metadata }: Pick<KubeObject, 'metadata'>): string | undefined {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  return owner === undefined ? undefined : `${owner.kind}/${owner.name}`;
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

/** "apps" for "apps/v1", "" for "v1". */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}

/** "v1" for "apps/v1" and for "v1". */
export function versionOf(apiVersion: string): string {
  return apiVersion.slice(apiVersion.indexOf('/') + 1);
}

export function gvkOf(object: KubeObject): GroupVersionKind {
  return { group: groupOf(object.apiVersion), version: versionOf(object.apiVersion), kind: object.kind };
}

/** The group and kind, without the version. */
export function gkOf(object: Pick<KubeObject, 'apiVersion' | 'kind'>): GroupKind {
  return { group: groupOf(object.apiVersion), kind: object.kind };
}

export function apiVersionOf(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`;
}

/** "apps/Deployment", or "ConfigMap" for the core group: the form in Argo CD's messages. */
export function groupKindName(gk: GroupKind): string {
  return gk.group === '' ? gk.kind : `${gk.group}/${gk.kind}`;
}

export function annotationOf(object: KubeObject, name: string): string | undefined {
  return textIn(object.metadata.annotations, name);
}

export function labelOf(object: KubeObject, name: string): string | undefined {
  return textIn(object.metadata.labels, name);
}

/** A manifest may have null, or anything else, where its schema has a map of texts. */
function textIn(map: unknown, name: string): string | undefined {
  const value = isObject(map) ? ownMember(map, name) : undefined;
  return typeof value === 'string' ? value : undefined;
}

const noItems: readonly string[] = [];

/**
 * The items of a comma-separated annotation: trimmed, without empty items and duplicates, in order
 * (Argo CD: util/resource annotations).
 */
export function csvAnnotation(object: KubeObject, name: string): readonly string[] {
  const text = annotationOf(object, name);
  // Called for each resource in each comparison; the annotation is nearly always absent.
  if (text === undefined) return noItems;
  const items = text.split(',').map((item) => item.trim());
  return [...new Set(items.filter((item) => item !== ''))];
}

/** A resource kind as reported by discovery. */
export interface ApiResource extends GroupVersionKind {
  /** Plural resource name in URLs, such as "deployments". */
  readonly resource: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  /** "status", "scale" ... */
  readonly subresources: readonly string[];
  readonly shortNames: readonly string[];
}
