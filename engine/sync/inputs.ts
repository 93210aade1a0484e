import { isDeeperThan, isObject, UsageError } from '#base';
import type { Json } from '#base';
import { findResource } from '#kube';
import type { ApiDiscovery } from '#kube';
import { annotationOf, annotations, gkOf, hookTypes, isHook, keyOf, versionOf } from '#model';
import type { KubeObject, ObjectName, ResourceKey } from '#model';
import { isPostDeleteHook, isPreDeleteHook } from '#sync';

/**
 * The targets with their namespaces: namespaced objects without one get the default, cluster-scoped
 * objects lose theirs, as in kubectl.
 * @throws UsageError for two targets with one identity.
 */
export function placedTargets(
  targets: readonly KubeObject[],
  namespace: string,
  discovery: ApiDiscovery,
): readonly KubeObject[] {
  const seen = new Map<ResourceKey, number>();
  return targets.map((target, index) => {
    const placed = inNamespace(target, namespace, discovery);
    // Without a name, it cannot be the same object as another.
    if ((placed.metadata.name ?? '') === '') return placed;
    const key = keyOf(placed);
    const first = isHook(placed) ? undefined : seen.get(key);
    if (first !== undefined) throw new UsageError(`targets ${first} and ${index} are both ${key}: remove one`);
    // A hook may have the name of an ordinary target.
    if (!isHook(placed)) seen.set(key, index);
    return placed;
  });
}

const maxTargetDepth = 500;

/** @throws UsageError for what has no apiVersion, kind or metadata, or contains itself. */
export function requireTargets(targets: readonly KubeObject[]): void {
  for (const [index, target] of targets.entries()) {
    requireObject(target, `target ${index}`);
    if (isDeeperThan(target, maxTargetDepth))
      throw new UsageError(`target ${index} contains itself, or has more than ${maxTargetDepth} levels`);
  }
}

/** @throws UsageError for a value without apiVersion, kind or name. */
export function requireNames(known: readonly ObjectName[]): void {
  for (const [index, object] of known.entries()) {
    requireObject(object, `known object ${index}`);
    if ((object.metadata.name ?? '') === '') throw new UsageError(`known object ${index} has no name`);
  }
}

function requireObject(value: ObjectName, what: string): void {
  const object = value as unknown as Json;
  const isValid =
    isObject(object) &&
    typeof object['apiVersion'] === 'string' &&
    typeof object['kind'] === 'string' &&
    isObject(object['metadata']);
  if (!isValid) throw new UsageError(`${what} is no Kubernetes object: it needs apiVersion, kind and metadata`);
}

/** The object in the namespace where the server keeps it. */
export function inNamespace<T extends ObjectName>(object: T, namespace: string, discovery: ApiDiscovery): T {
  const resource = findResource(discovery, gkOf(object), versionOf(object.apiVersion));
  if (resource === undefined) return object;
  const own = object.metadata.namespace ?? '';
  if (resource.namespaced) return own === '' ? { ...object, metadata: { ...object.metadata, namespace } } : object;
  if (own === '') return object;
  const metadata = { ...object.metadata };
  delete (metadata as { namespace?: string }).namespace;
  return { ...object, metadata };
}

/** The hook annotation of a target that is a hook of no type, and therefore never applied. */
export function unknownHookType(target: KubeObject): string | undefined {
  const isValid = hookTypes(target).length > 0 || isPreDeleteHook(target) || isPostDeleteHook(target);
  return isValid ? undefined : annotationOf(target, annotations.hook);
}
