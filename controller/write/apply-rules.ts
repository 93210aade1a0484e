import { valueAt, deepEqual, DriftlessError, isObject } from '#base';
import type { Json } from '#base';
import { isCustomResource } from '#diff';
import { findResource, isAlreadyExists, isConflict, isNotFound, KubeApiError, warningsOf } from '#kube';
import type { ApiDiscovery, DeleteOptions, NamedObject } from '#kube';
import { annotations, groupOf, jsonOf, versionOf } from '#model';
import type { ApiResource, KubeObject } from '#model';
import type { ApplyOptions, ApplyResult } from '#sync';

/** A binding's role is immutable: recreate the binding, like kubectl auth reconcile. */
export function isRoleRefChanged(target: KubeObject, live: KubeObject): boolean {
  if (groupOf(target.apiVersion) !== 'rbac.authorization.k8s.io' || !target.kind.endsWith('RoleBinding')) return false;
  const same = (field: string): boolean =>
    deepEqual(valueAt(jsonOf(target), 'roleRef', field), valueAt(jsonOf(live), 'roleRef', field));
  return !same('kind') || !same('name');
}

/**
 * Kinds that are deleted with their contents: never recreated (Argo CD also updates them in place).
 */
export function hasContents(resource: ApiResource): boolean {
  const { group, kind } = resource;
  return (
    (group === 'apiextensions.k8s.io' && kind === 'CustomResourceDefinition') || (group === '' && kind === 'Namespace')
  );
}

/** Another client changed, created or deleted the object between our read and our write. */
export function isWriteRace(error: unknown, live: KubeObject | null): boolean {
  return isAlreadyExists(error) || isConflict(error) || (isNotFound(error) && live !== null);
}

/** The server requires a version to replace custom resources and some built-in kinds. */
export function needsVersion(error: unknown): boolean {
  return (
    error instanceof KubeApiError && error.status === 422 && error.message.includes('must be specified for an update')
  );
}

/**
 * Whether a forced apply may recreate the object. A conflict on a version that we sent is no
 * reason: another writer was faster.
 */
export function isRefusedChange(error: unknown, { buildTarget }: ApplyOptions): boolean {
  if (buildTarget !== undefined && isConflict(error)) return false;
  return error instanceof KubeApiError && (error.status === 409 || error.status === 422);
}

/**
 * A dry run cannot succeed if this sync creates the namespace, or if a webhook has no dry-run
 * support. The real run decides.
 */
export function isBeyondDryRun(error: unknown): boolean {
  if (!(error instanceof KubeApiError)) return false;
  if (error.status === 404) return /^namespaces ".*" not found$/.test(error.message);
  return error.status === 400 && error.message.includes('does not support dry run');
}

/**
 * In a manifest, null means an absent field; a server would store or refuse it on creation. Lists
 * of custom resources are sent as they are, as in a patch.
 */
export function withoutNulls(object: KubeObject): KubeObject {
  return dropNulls(jsonOf(object), isCustomResource(object)) as unknown as KubeObject;
}

function dropNulls(value: Json, keepsLists: boolean): Json {
  if (Array.isArray(value)) return keepsLists ? (value as Json) : value.map((item: Json) => dropNulls(item, false));
  if (!isObject(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null && member !== undefined);
  return Object.fromEntries(members.map(([key, member]) => [key, dropNulls(member ?? null, keepsLists)]));
}

/** Whether the server serves the kind of an object at an API version. */
export function servedVersions(discovery: ApiDiscovery, { kind }: KubeObject): (apiVersion: string) => boolean {
  return (apiVersion) =>
    findResource(discovery, { group: groupOf(apiVersion), kind }, versionOf(apiVersion)) !== undefined;
}

/** The manifest to send: the target, with live values merged if requested. */
export async function resolveManifest(
  target: KubeObject,
  live: KubeObject | null,
  { buildTarget }: ApplyOptions,
  signal: AbortSignal,
): Promise<KubeObject> {
  return live === null || buildTarget === undefined ? target : buildTarget(live, signal);
}

/** Adds the live version, so that the server refuses the body after other writes. */
export function withResourceVersion<T extends { readonly metadata?: unknown }>(body: T, live: KubeObject): T {
  const { resourceVersion } = live.metadata;
  return { ...body, metadata: { ...(body.metadata as object | undefined), resourceVersion } };
}

export function preconditionsOf({ metadata }: KubeObject, named: boolean): DeleteOptions['preconditions'] {
  const { uid, resourceVersion } = metadata;
  if (uid === undefined) return undefined;
  return named && resourceVersion !== undefined && resourceVersion !== '' ? { uid, resourceVersion } : { uid };
}

export function namedObjectOf(object: KubeObject, resource: ApiResource): NamedObject {
  const name = object.metadata.name ?? '';
  if (name === '' && (object.metadata.generateName ?? '') === '')
    throw new DriftlessError('NAME_MISSING', 'resource name may not be empty', { retry: 'never' });
  return { namespace: resource.namespaced ? (object.metadata.namespace ?? '') : '', name };
}

/** The Application that an object is tracked by. */
export type TrackedAppLookup = (object: KubeObject) => string | undefined;

/** Annotations that control how a sync, prune or deletion treats an object. */
const directivePrefixes = ['argocd.argoproj.io/', 'helm.sh/'] as const;
const hookMarks: readonly string[] = [annotations.hook, annotations.helmHook];

/**
 * The parts of an object that a deletion decision was based on, and that can be read again without
 * a comparison: tracking, presence of owners, and annotations such as `Prune=false` or `keep`, but
 * not the marks of a hook, which only sources set. Everything else may change at any time.
 */
function marksOf(object: KubeObject, appOf: TrackedAppLookup): Json {
  const { annotations: given = {}, ownerReferences = [] } = object.metadata;
  const said = Object.entries(given).filter(
    ([name]) => directivePrefixes.some((prefix) => name.startsWith(prefix)) && !hookMarks.includes(name),
  );
  return [appOf(object) ?? null, ownerReferences.length > 0, jsonOf(Object.fromEntries(said))];
}

/** Whether the markings of an object changed since it was read. */
export function hasChangedMarks(before: KubeObject, now: KubeObject, appOf: TrackedAppLookup): boolean {
  return !deepEqual(marksOf(before, appOf), marksOf(now, appOf));
}

/** The object that the server has returned, with its warnings. */
export function warned(object: KubeObject): Omit<ApplyResult, 'message'> {
  const warnings = warningsOf(object);
  return warnings.length === 0 ? { object } : { object, warnings };
}
