import { DeadlineExceeded, mapLimit, messageOf, yieldToLoop } from '#base';
import { findResource, isNotFound, KubeApiError, KubeConnectionError, KubeCredentialError } from '#kube';
import type { ApiDiscovery, KubeClient } from '#kube';
import { apiVersionOf, groupOf, keyOf, refOf, versionOf } from '#model';
import type { Cluster, GroupKind, KubeObject, ObjectName, ResourceKey } from '#model';
import { Body } from './body.ts';
import type { ParsedBodies } from './body.ts';
import { LiveStateError } from './errors.ts';
import type { NodeStore } from './node-store.ts';
import type { StoredNode } from './node.ts';
import { failureOf, kindText } from './discovery.ts';
import type { ManagedObjects, UnreadObject } from './types.ts';

/** Where live objects come from. */
export interface ManagedSources {
  readonly cluster: Pick<Cluster, 'namespaces' | 'clusterResources'>;
  readonly client: KubeClient;
  readonly discovery: ApiDiscovery;
  readonly store: NodeStore;
  readonly bodies: ParsedBodies;
  /** Whether the cache of a kind in a namespace is complete and current: then absent means that there is none. */
  readonly isFresh: (target: Place) => boolean;
  /** Whether a kind was never listed in a namespace, because that failed: then the cache knows of none. */
  readonly isBlind: (target: Place) => boolean;
  /** The application that an object says it belongs to. */
  readonly appOf: (object: KubeObject) => string | undefined;
}

interface Place extends GroupKind {
  readonly namespace: string;
}

/** Whose live objects are wanted. */
export interface Managed {
  readonly app: string;
  readonly targets: readonly ObjectName[];
  /** What it had when somebody looked last. */
  readonly had: readonly ObjectName[];
}

/** While one application is read. */
interface Reading extends ManagedSources {
  /** How a read of this kind ended that took too long: the others are spared the wait. */
  readonly hanging: DeadlineExceeded | undefined;
}

type Found = Omit<ManagedObjects, 'degraded'>;

const parallelReads = 16;

/**
 * Live objects of an application: its tracked roots, and for each target the object of the same key, tracked or not, in the target's API
 * version. Bodies that the cache does not keep are read from the server, once per version of the object (Argo CD:
 * gitops-engine/pkg/cache GetManagedLiveObjs).
 *
 * What cannot be read is unread, and all else is there (Argo CD: one read that fails loses all live objects of the application).
 * @throws LiveStateError with Argo CD's texts for targets out of reach in namespaced mode, and when no read can work: no connection, no
 * credentials.
 */
export async function managedObjects(wanted: Managed, sources: ManagedSources, signal: AbortSignal): Promise<Found> {
  const { app, targets } = wanted;
  for (const target of targets) checkReach(target, sources.cluster);
  const found = new Map<ResourceKey, Body | KubeObject>();
  // What the server is to name (generateName) has no name to be found by.
  const named = targets.filter(({ metadata }) => (metadata.name ?? '') !== '');
  const unique = new Map(named.map((target) => [keyOf(target), target]));
  for (const node of sources.store.ofApp(app)) {
    if (node.ownerRefs.length > 0) continue;
    if (node.body !== undefined) found.set(node.key, node.body);
    // The application has just come to this replica, and its objects have not been read again yet.
    else if (!unique.has(node.key)) unique.set(node.key, standIn(node));
  }
  const had = unseen(wanted.had, unique, sources);
  const unread: UnreadObject[] = [];
  const hanging = new Map<string, DeadlineExceeded>();
  await mapLimit([...unique, ...had], parallelReads, async ([key, target]) => {
    const kind = kindText({ group: groupOf(target.apiVersion), kind: target.kind });
    try {
      const live = await liveOf(key, target, { ...sources, hanging: hanging.get(kind) }, signal);
      if (live === undefined || (had.has(key) && !isOf(app, live, sources))) found.delete(key);
      else found.set(key, live);
    } catch (error) {
      signal.throwIfAborted();
      if (isOfServer(error)) throw failed(error);
      if (error instanceof DeadlineExceeded) hanging.set(kind, error);
      found.delete(key);
      unread.push({ ...refOf(target), key, version: versionOf(target.apiVersion), message: failed(error).message });
    }
  });
  const objects = await parsed(found, sources.bodies, signal);
  return { objects, unread: unread.sort((a, b) => (a.key < b.key ? -1 : 1)) };
}

/** Of what an application had, what no manifest names any more and no cache would show. */
function unseen(
  had: readonly ObjectName[],
  targets: ReadonlyMap<ResourceKey, ObjectName>,
  { store, isBlind }: ManagedSources,
): ReadonlyMap<ResourceKey, ObjectName> {
  const open = had.map((object) => [keyOf(object), object] as const);
  return new Map(
    open.filter(([key, object]) => !targets.has(key) && store.get(key) === undefined && isBlind(refOf(object))),
  );
}

function isOf(app: string, live: Body | KubeObject, { appOf }: ManagedSources): boolean {
  return live instanceof Body || appOf(live) === app;
}

/** Everything as it was when it was found. An Application may have thousands of objects: others get their turn. */
async function parsed(
  found: ReadonlyMap<ResourceKey, Body | KubeObject>,
  bodies: ParsedBodies,
  signal: AbortSignal,
): Promise<ReadonlyMap<ResourceKey, KubeObject>> {
  const objects = new Map<ResourceKey, KubeObject>();
  let length = 0;
  for (const [key, value] of found) {
    if (value instanceof Body) {
      if (bodies.known(value) === undefined) length += value.text.length;
      objects.set(key, bodies.read(value));
    } else objects.set(key, value);
    if (length < sliceLength) continue;
    length = 0;
    await yieldToLoop();
    signal.throwIfAborted();
  }
  return objects;
}

/** About 2 ms of parsing. */
const sliceLength = 512 * 1024;

/** No read of any kind would fare better. */
function isOfServer(error: unknown): boolean {
  return (
    error instanceof KubeConnectionError ||
    error instanceof KubeCredentialError ||
    (error instanceof KubeApiError && error.status === 401)
  );
}

/** Names a node as a target would. */
function standIn({ group, version, kind, namespace, name }: StoredNode): ObjectName {
  const metadata = { name, ...(namespace === '' ? {} : { namespace }) };
  return { apiVersion: apiVersionOf(group, version), kind, metadata };
}

function checkReach(target: ObjectName, cluster: Pick<Cluster, 'namespaces' | 'clusterResources'>): void {
  if (cluster.namespaces.length === 0) return;
  const { kind, namespace, name } = refOf(target);
  if (namespace === '' && !cluster.clusterResources)
    throw new LiveStateError(`cluster level ${kind} "${name}" can not be managed when in namespaced mode`);
  if (namespace !== '' && !cluster.namespaces.includes(namespace))
    throw new LiveStateError(`namespace "${namespace}" for ${kind} "${name}" is not managed`);
}

async function liveOf(
  key: ResourceKey,
  target: ObjectName,
  sources: Reading,
  signal: AbortSignal,
): Promise<Body | KubeObject | undefined> {
  const node = sources.store.get(key);
  if (node === undefined) return sources.isFresh(refOf(target)) ? undefined : read(target, sources, signal);
  if (node.body?.apiVersion === target.apiVersion) return node.body;
  const fetched = node.fetched?.get(target.apiVersion);
  if (fetched !== undefined) return fetched;
  const wanted = reachable(target, node, sources.discovery);
  if (node.body?.apiVersion === wanted.apiVersion) return node.body;
  const live = await read(wanted, sources, signal);
  if (live === undefined) return undefined;
  const body = new Body(live);
  (node.fetched ??= new Map()).set(target.apiVersion, body);
  return body;
}

/** The target's version, or the cache's own where the server does not serve that one any more. */
function reachable(target: ObjectName, node: StoredNode, discovery: ApiDiscovery): ObjectName {
  const gk = { group: node.group, kind: node.kind };
  if (findResource(discovery, gk, versionOf(target.apiVersion)) !== undefined) return target;
  return { ...target, apiVersion: apiVersionOf(node.group, node.version) };
}

/** Undefined: there is no such object, or no such kind. */
async function read(target: ObjectName, sources: Reading, signal: AbortSignal): Promise<KubeObject | undefined> {
  const { kind, metadata, apiVersion } = target;
  const group = groupOf(apiVersion);
  const resource = findResource(sources.discovery, { group, kind }, versionOf(apiVersion));
  if (resource === undefined) {
    // Not knowing a kind is not the same as knowing that there is none.
    const broken = failureOf(sources.discovery, group);
    if (broken !== undefined) throw new Error(broken);
    return undefined;
  }
  if (sources.hanging !== undefined) throw sources.hanging;
  try {
    const object = { namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
    return await sources.client.get(resource, object, { signal });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

function failed(cause: unknown): LiveStateError {
  const why = messageOf(cause);
  return new LiveStateError(`failed to get managed objects: unexpected error getting managed object: ${why}`, cause);
}
