import { mapLimit, messageOf } from '#base';
import { isNotFound } from '#kube';
import type { ApiSurface, KubeClient } from '#kube';
import { apiVersionOf, groupOf, keyOf, refOf, versionOf } from '#model';
import type { Cluster, KubeObject, ResourceKey } from '#model';
import { LiveStateError } from './errors.ts';
import type { NodeStore } from './node-store.ts';
import type { StoredNode } from './node.ts';

/** Where live objects come from. */
export interface ManagedSources {
  readonly cluster: Pick<Cluster, 'namespaces' | 'clusterResources'>;
  readonly client: KubeClient;
  readonly surface: ApiSurface;
  readonly store: NodeStore;
  /** Whether the picture of a kind in a namespace is complete and current: then absent means that there is none. */
  readonly isFresh: (target: { readonly group: string; readonly kind: string; readonly namespace: string }) => boolean;
}

const parallelReads = 16;

/**
 * Live objects of an application: its tracked roots, and for each target the object of the same key, tracked or not, in the target's API
 * version. Bodies that the picture does not keep are read from the server, once per version of the object (Argo CD:
 * gitops-engine/pkg/cache GetManagedLiveObjs).
 * @throws LiveStateError with Argo CD's texts for targets out of reach in namespaced mode and for reads that fail.
 */
export async function managedObjects(
  app: string,
  targets: readonly KubeObject[],
  sources: ManagedSources,
  signal: AbortSignal,
): Promise<ReadonlyMap<ResourceKey, KubeObject>> {
  for (const target of targets) checkReach(target, sources.cluster);
  const objects = new Map<ResourceKey, KubeObject>();
  const unique = new Map(targets.map((target) => [keyOf(target), target]));
  for (const node of sources.store.ofApp(app)) {
    if (node.ownerRefs.length > 0) continue;
    if (node.body !== undefined) objects.set(node.key, node.body);
    // The application has just come to this replica, and its objects have not been read again yet.
    else if (!unique.has(node.key)) unique.set(node.key, standIn(node));
  }
  await mapLimit([...unique], parallelReads, async ([key, target]) => {
    const live = await liveOf(key, target, sources, signal);
    if (live === undefined) objects.delete(key);
    else objects.set(key, live);
  });
  return objects;
}

/** Names a node as a target would. */
function standIn({ group, version, kind, namespace, name }: StoredNode): KubeObject {
  const metadata = { name, ...(namespace === '' ? {} : { namespace }) };
  return { apiVersion: apiVersionOf(group, version), kind, metadata };
}

function checkReach(target: KubeObject, cluster: Pick<Cluster, 'namespaces' | 'clusterResources'>): void {
  if (cluster.namespaces.length === 0) return;
  const { kind, namespace, name } = refOf(target);
  if (namespace === '' && !cluster.clusterResources)
    throw new LiveStateError(`cluster level ${kind} "${name}" can not be managed when in namespaced mode`);
  if (namespace !== '' && !cluster.namespaces.includes(namespace))
    throw new LiveStateError(`namespace "${namespace}" for ${kind} "${name}" is not managed`);
}

async function liveOf(
  key: ResourceKey,
  target: KubeObject,
  sources: ManagedSources,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  const node = sources.store.get(key);
  if (node === undefined) return sources.isFresh(refOf(target)) ? undefined : read(target, undefined, sources, signal);
  if (node.body?.apiVersion === target.apiVersion) return node.body;
  const fetched = node.fetched?.get(target.apiVersion);
  if (fetched !== undefined) return fetched;
  const live = await read(reachable(target, node, sources.surface), node, sources, signal);
  if (live !== undefined) (node.fetched ??= new Map()).set(target.apiVersion, live);
  return live;
}

/** The target's version, or the picture's own where the server does not serve that one any more. */
function reachable(target: KubeObject, node: StoredNode, surface: ApiSurface): KubeObject {
  const gk = { group: node.group, kind: node.kind };
  if (surface.find(gk, versionOf(target.apiVersion)) !== undefined) return target;
  return { ...target, apiVersion: apiVersionOf(node.group, node.version) };
}

/** Undefined: there is no such object, or no such kind. */
async function read(
  target: KubeObject,
  node: StoredNode | undefined,
  sources: ManagedSources,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  const { kind, metadata, apiVersion } = target;
  if (node?.body?.apiVersion === apiVersion) return node.body;
  const group = groupOf(apiVersion);
  const resource = sources.surface.find({ group, kind }, versionOf(apiVersion));
  if (resource === undefined) {
    // Not knowing a kind is not the same as knowing that there is none.
    const broken = sources.surface.failedGroups.get(group);
    if (broken !== undefined) throw failed(broken);
    return undefined;
  }
  try {
    const object = { namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
    return await sources.client.get(resource, object, { signal });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    signal.throwIfAborted();
    throw failed(messageOf(error), error);
  }
}

function failed(why: string, cause?: unknown): LiveStateError {
  return new LiveStateError(`failed to get managed objects: unexpected error getting managed object: ${why}`, cause);
}
