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
  readonly basis: { isWhole: boolean };
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
  const basis: Basis = { app, targets, ...basisOf(sources), named: namedOf(targets), isWhole: true };
  const unique = new Map(basis.named);
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
      const live = await liveOf(key, target, { ...sources, basis, hanging: hanging.get(kind) }, signal);
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
  if (basis.isWhole && unread.length === 0) bases.set(objects, basis);
  return { objects, unread: unread.sort((a, b) => (a.key < b.key ? -1 : 1)) };
}

/** What an answer was made from: enough to tell which of its objects may be others now. */
interface Basis {
  readonly app: string;
  readonly targets: readonly ObjectName[];
  readonly named: ReadonlyMap<ResourceKey, ObjectName>;
  readonly store: NodeStore;
  readonly cluster: ManagedSources['cluster'];
  readonly discovery: ApiDiscovery;
  /** Of the log of changes, before anything was read. */
  readonly version: number;
  /** The cache alone says it: nobody had to ask the server for what no change of the cache would tell. */
  isWhole: boolean;
}

/** By the answer, for as long as somebody holds on to it. */
const bases = new WeakMap<ReadonlyMap<ResourceKey, KubeObject>, Basis>();

function basisOf({ store, cluster, discovery }: ManagedSources): Omit<Basis, 'app' | 'targets' | 'named' | 'isWhole'> {
  return { store, cluster, discovery, version: store.log.version };
}

function isSameCache(before: Basis, now: ReturnType<typeof basisOf>): boolean {
  return before.store === now.store && before.cluster === now.cluster && before.discovery === now.discovery;
}

/** What the server is to name (generateName) has no name to be found by. */
function namedOf(targets: readonly ObjectName[]): ReadonlyMap<ResourceKey, ObjectName> {
  const named = targets.filter(({ metadata }) => (metadata.name ?? '') !== '');
  return new Map(named.map((target) => [keyOf(target), target]));
}

/**
 * What {@link managedObjects} would answer, where that is an earlier answer to the same question with some objects in the place of others: at the cost of
 * what has changed in the cluster since then. Undefined where anything else is another (an object came or went, a kind is not fresh, the
 * server had to be asked, it was too long ago): then the question is to be asked anew.
 * @param since the objects of the earlier answer.
 */
export function changedObjects(
  { app, targets, since }: ManagedQuestion,
  sources: ManagedSources,
): Pick<ManagedObjects, 'objects' | 'changes'> | undefined {
  const basis = since === undefined ? undefined : bases.get(since);
  if (since === undefined || basis?.app !== app || basis.targets !== targets) return undefined;
  const now = basisOf(sources);
  const moved = isSameCache(basis, now) ? basis.store.log.since(basis.version) : undefined;
  if (moved === undefined) return undefined;
  const replaced: (readonly [ResourceKey, Body])[] = [];
  for (const key of moved) {
    const known = since.has(key);
    const body = bodyNow(key, basis);
    if (body === null && !known) continue;
    if (!(body instanceof Body) || !known) return undefined;
    replaced.push([key, body]);
  }
  if (replaced.length === 0) {
    bases.set(since, { ...basis, version: now.version });
    return { objects: since, changes: { since, keys: new Set() } };
  }
  const objects = new Map(since);
  for (const [key, body] of replaced) objects.set(key, sources.bodies.read(body));
  bases.set(objects, { ...basis, version: now.version });
  return { objects, changes: { since, keys: new Set(replaced.map(([key]) => key)) } };
}

/** A question about an application, and the answer that it got the last time. */
export interface ManagedQuestion {
  readonly app: string;
  readonly targets: readonly ObjectName[];
  readonly since: ReadonlyMap<ResourceKey, KubeObject> | undefined;
}

/** Null: there is none that concerns the application. Undefined: the server would have to be asked. */
function bodyNow(key: ResourceKey, { app, named, store, discovery }: Basis): Body | null | undefined {
  const node = store.get(key);
  const target = named.get(key);
  const isRoot = node?.app === app && node.ownerRefs.length === 0;
  if (node === undefined || (target === undefined && !isRoot)) return null;
  return target === undefined ? node.body : cachedBody(target, node, discovery);
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
  if (node === undefined) {
    if (sources.isFresh(refOf(target))) return undefined;
    sources.basis.isWhole = false;
    return read(target, sources, signal);
  }
  const cached = cachedBody(target, node, sources.discovery);
  if (cached !== undefined) return cached;
  const live = await read(reachable(target, node, sources.discovery), sources, signal);
  if (live === undefined) {
    sources.basis.isWhole = false;
    return undefined;
  }
  const body = new Body(live);
  (node.fetched ??= new Map()).set(target.apiVersion, body);
  return body;
}

/** Undefined: the server has to be asked. */
function cachedBody(target: ObjectName, node: StoredNode, discovery: ApiDiscovery): Body | undefined {
  if (node.body?.apiVersion === target.apiVersion) return node.body;
  const fetched = node.fetched?.get(target.apiVersion);
  if (fetched !== undefined) return fetched;
  return node.body?.apiVersion === reachable(target, node, discovery).apiVersion ? node.body : undefined;
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
