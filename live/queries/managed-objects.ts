import { DeadlineExceeded, mapLimit, messageOf, yieldToLoop } from '#base';
import {
  findResource,
  KubeApiError,
  KubeConnectionError,
  KubeCredentialError,
  KubeSizeError,
  rawTextOf,
  unlessNotFound,
} from '#kube';
import type { ApiDiscovery, KubeClient } from '#kube';
import { apiVersionOf, groupOf, keyOf, refOf, versionOf } from '#model';
import type { Cluster, KubeObject, NamespacedKind, ObjectName, ResourceKey } from '#model';
import { ObjectBody } from '../objects/object-body.ts';
import type { ParsedBodies } from '../objects/object-body.ts';
import { LiveStateError } from '../errors.ts';
import type { NodeStore } from '../store/node-store.ts';
import type { StoredNode } from '../objects/stored-node.ts';
import { failureOf, kindText } from '../discovery/discovery.ts';
import type { ManagedObjects, ManagedQuery, UnreadObject } from '../types.ts';

/** The sources of live objects. */
export interface ManagedSources {
  readonly cluster: Pick<Cluster, 'namespaces' | 'clusterResources'>;
  readonly client: KubeClient;
  readonly discovery: ApiDiscovery;
  readonly store: NodeStore;
  readonly bodies: ParsedBodies;
  /** Whether the cache is complete and current, so that an absent object does not exist. */
  readonly isFresh: (target: NamespacedKind) => boolean;
  /** Whether the first list has failed, so that absence from the cache proves nothing. */
  readonly isUnlisted: (target: NamespacedKind) => boolean;
  /** An object of a cached kind that is not fresh was read; undefined: it does not exist. */
  readonly noteRead: (key: ResourceKey, object: KubeObject | undefined) => void;
  /** The Application that an object is tracked by. */
  readonly appOf: (object: KubeObject) => string | undefined;
  /** Limit of the text of all objects of one Application. */
  readonly limitBytes: number;
}

/** The sources, and state of one query. */
interface ReadContext extends ManagedSources {
  readonly basis: { isFromCache: boolean };
  /** Why reads of this kind are given up in this pass: each further one would be as expensive. */
  readonly givenUp: Error | undefined;
}

type ManagedResult = Omit<ManagedObjects, 'degraded'>;

const parallelReads = 16;

/** After this many oversized objects of a kind, its other objects stay unread. */
const maxOversizedReads = 8;

/** Kinds whose reads are given up in this pass: after a timeout or several oversized objects. */
class KindFailures {
  readonly #givenUp = new Map<string, Error>();
  readonly #oversized = new Map<string, number>();

  get(kind: string): Error | undefined {
    return this.#givenUp.get(kind);
  }

  note(kind: string, error: unknown): void {
    if (error instanceof DeadlineExceeded) this.#givenUp.set(kind, error);
    if (!(error instanceof KubeSizeError)) return;
    const count = (this.#oversized.get(kind) ?? 0) + 1;
    this.#oversized.set(kind, count);
    if (count >= maxOversizedReads) this.#givenUp.set(kind, error);
  }
}

/**
 * Live objects of an Application: its tracked roots, and the object with the key of each target,
 * tracked or not, in the target's API version. Bodies that are not cached are read from the server,
 * once per version of the object (gitops-engine/pkg/cache GetManagedLiveObjs). Objects that cannot
 * be read are in `unread`; in Argo CD one failed read loses all live objects.
 * @throws LiveStateError with Argo CD's texts for targets out of reach in namespaced mode, and if
 * no read can succeed: no connection, no credentials.
 */
export async function managedObjects(
  query: ManagedQuery,
  sources: ManagedSources,
  signal: AbortSignal,
): Promise<ManagedResult> {
  const { app, targets } = query;
  for (const target of targets) checkReach(target, sources.cluster);
  const found = new FoundObjects(sources.limitBytes);
  const beside = destinationIn(query, sources.cluster);
  const named = namedOf([...beside, ...targets]);
  const basis: AnswerBasis = { app, targets, ...basisOf(sources), named, isFromCache: true };
  const unique = new Map(basis.named);
  for (const node of sources.store.ofApp(app)) {
    if (!node.isRoot) continue;
    if (node.body !== undefined) found.take(node.key, node.body);
    // The body is not cached: its kind takes too much memory, it is unreadable, or the Application
    // was just handed over to this replica.
    else if (!unique.has(node.key)) unique.set(node.key, targetOf(node));
  }
  const left = [...namedOf(query.lastKnown ?? [])].filter(([key]) => !unique.has(key));
  const lastKnown = new Map(left.filter(([key, object]) => isUnlisted(key, object, sources)));
  const untracked = new Map(query.isFormer === undefined ? [] : left.filter(([key]) => isUntracked(key, sources)));
  const mustRead = query.readsStale === true ? staleObjects(found.byKey, unique, sources) : noObjects;
  for (const [key, target] of mustRead) unique.set(key, target);
  const asked = new Map<ResourceKey, ObjectName>();
  for (const [key, target] of unique) {
    const cached = mustRead.has(key) ? undefined : cachedAnswer(key, target, sources);
    if (cached === undefined) asked.set(key, target);
    else found.take(key, cached ?? undefined);
  }
  const unread: UnreadObject[] = [];
  const failures = new KindFailures();
  await mapLimit([...asked, ...lastKnown, ...untracked], parallelReads, async ([key, target]) => {
    const kind = kindText({ group: groupOf(target.apiVersion), kind: target.kind });
    try {
      const context = { ...sources, basis, givenUp: failures.get(kind) };
      const live = mustRead.has(key)
        ? await liveNow(key, target, context, signal)
        : await liveOf(key, target, context, signal);
      const isOthers =
        (lastKnown.has(key) && !isOf(app, live, sources)) || (untracked.has(key) && !isFormer(live, query, sources));
      found.take(key, isOthers ? undefined : live);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof LiveStateError || isServerFailure(error)) throw readFailure(error);
      failures.note(kind, error);
      found.take(key, undefined);
      if (beside.includes(target)) return;
      unread.push({
        ...refOf(target),
        key,
        version: versionOf(target.apiVersion),
        message: readFailure(error).message,
      });
    }
  });
  const objects = await parseObjects(found.byKey, sources.bodies, signal);
  if (basis.isFromCache && unread.length === 0) bases.set(objects, basis);
  return { objects, unread: unread.sort((a, b) => (a.key < b.key ? -1 : 1)) };
}

/**
 * The objects that were found. Their bytes are counted, because all are parsed at once, which takes
 * several times as much.
 */
class FoundObjects {
  readonly byKey = new Map<ResourceKey, ObjectBody | KubeObject>();
  readonly #limitBytes: number;
  #bytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /**
   * @param value undefined: it does not exist
   * @throws LiveStateError if the limit is exceeded
   */
  take(key: ResourceKey, value: ObjectBody | KubeObject | undefined): void {
    if (value === undefined) this.byKey.delete(key);
    if (value === undefined || this.byKey.get(key) === value) return;
    this.byKey.set(key, value);
    this.#bytes += value instanceof ObjectBody ? value.bytes : (rawTextOf(value)?.length ?? 0);
    if (this.#bytes <= this.#limitBytes) return;
    throw new LiveStateError(
      `the live objects of this Application take at least ${this.#bytes} bytes, more than the limit of ${this.#limitBytes} bytes per Application; split it`,
    );
  }
}

/** The inputs of an answer, which decide whether a later one can be incremental. */
interface AnswerBasis {
  readonly app: string;
  readonly targets: readonly ObjectName[];
  readonly named: ReadonlyMap<ResourceKey, ObjectName>;
  readonly store: NodeStore;
  readonly cluster: ManagedSources['cluster'];
  readonly discovery: ApiDiscovery;
  /** Version of the change log before the first read. */
  readonly version: number;
  /** All objects came from the cache, so that later changes are in its log. */
  isFromCache: boolean;
}

/** The inputs of each answer that is still referenced. */
const bases = new WeakMap<ReadonlyMap<ResourceKey, KubeObject>, AnswerBasis>();

function basisOf({
  store,
  cluster,
  discovery,
}: ManagedSources): Omit<AnswerBasis, 'app' | 'targets' | 'named' | 'isFromCache'> {
  return { store, cluster, discovery, version: store.log.version };
}

function isSameCache(before: AnswerBasis, now: ReturnType<typeof basisOf>): boolean {
  return before.store === now.store && before.cluster === now.cluster && before.discovery === now.discovery;
}

/** Empty if the cluster is limited to namespaces. */
function destinationIn(
  { destination }: ManagedQuery,
  { namespaces, clusterResources }: ManagedSources['cluster'],
): readonly ObjectName[] {
  return destination === undefined || (namespaces.length > 0 && !clusterResources) ? [] : [destination];
}

/** Targets without a name (generateName, for example) cannot be looked up. */
function namedOf(targets: readonly ObjectName[]): ReadonlyMap<ResourceKey, ObjectName> {
  const named = targets.filter(({ metadata }) => (metadata.name ?? '') !== '');
  return new Map(named.map((target) => [keyOf(target), target]));
}

/**
 * An incremental answer: the objects of an earlier answer to the same query, except for changed
 * ones. Its cost is proportional to the changes. All kinds must be fresh. Undefined if anything
 * else differs: objects were added or removed, the server must be asked or was asked for the
 * earlier answer, or that is too old. The caller then calls {@link managedObjects}.
 */
export function changedObjects(
  { app, targets, since }: ManagedQuery,
  sources: ManagedSources,
): Pick<ManagedObjects, 'objects' | 'changes'> | undefined {
  const basis = since === undefined ? undefined : bases.get(since);
  if (since === undefined || basis?.app !== app || basis.targets !== targets) return undefined;
  const now = basisOf(sources);
  const moved = isSameCache(basis, now) ? basis.store.log.since(basis.version) : undefined;
  if (moved === undefined) return undefined;
  const replaced: (readonly [ResourceKey, ObjectBody])[] = [];
  for (const key of moved) {
    const known = since.has(key);
    const body = bodyNow(key, basis);
    if (body === null && !known) continue;
    if (!(body instanceof ObjectBody) || !known) return undefined;
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

/** Null if no such object concerns the Application; undefined if the server must be asked. */
function bodyNow(key: ResourceKey, { app, named, store, discovery }: AnswerBasis): ObjectBody | null | undefined {
  const node = store.get(key);
  const target = named.get(key);
  const isRoot = node?.app === app && node.isRoot;
  if (node === undefined || (target === undefined && !isRoot)) return null;
  return target === undefined ? node.body : cachedBody(target, node, discovery);
}

/** Whether an object that was there may exist, although its kind is not in the cache. */
function isUnlisted(key: ResourceKey, object: ObjectName, { store, isUnlisted: isBlind }: ManagedSources): boolean {
  return store.get(key) === undefined && isBlind(refOf(object));
}

/** Whether no Application tracks an object that was there: its own had a former mark. */
function isUntracked(key: ResourceKey, { store }: ManagedSources): boolean {
  const node = store.get(key);
  return node !== undefined && node.app === undefined;
}

/** The cached objects of kinds that are not fresh, as targets. */
function staleObjects(
  found: ReadonlyMap<ResourceKey, ObjectBody | KubeObject>,
  targets: ReadonlyMap<ResourceKey, ObjectName>,
  { store, isFresh }: ManagedSources,
): ReadonlyMap<ResourceKey, ObjectName> {
  const known = [...found.keys(), ...targets.keys()].flatMap((key): (readonly [ResourceKey, ObjectName])[] => {
    const node = store.get(key);
    return node === undefined || isFresh(node) ? [] : [[key, targets.get(key) ?? targetOf(node)]];
  });
  return new Map(known);
}

const noObjects: ReadonlyMap<ResourceKey, ObjectName> = new Map();

/** Reads a cached object again, and corrects the cache. */
async function liveNow(
  key: ResourceKey,
  target: ObjectName,
  sources: ReadContext,
  signal: AbortSignal,
): Promise<ObjectBody | KubeObject | undefined> {
  const node = sources.store.get(key);
  if (node === undefined) return liveOf(key, target, sources, signal);
  sources.basis.isFromCache = false;
  const cached = targetOf(node);
  const live = await readObject(cached, sources, signal);
  sources.noteRead(key, live);
  return live === undefined || cached.apiVersion === target.apiVersion ? live : liveOf(key, target, sources, signal);
}

function isOf(app: string, live: ObjectBody | KubeObject | undefined, { appOf }: ManagedSources): boolean {
  return live === undefined || live instanceof ObjectBody || appOf(live) === app;
}

function isFormer(live: ObjectBody | KubeObject | undefined, query: ManagedQuery, { bodies }: ManagedSources): boolean {
  const object = live instanceof ObjectBody ? bodies.read(live) : live;
  return object !== undefined && query.isFormer?.(object) === true;
}

/**
 * Parses the bodies, and yields to the event loop in between: an Application may have thousands.
 */
async function parseObjects(
  found: ReadonlyMap<ResourceKey, ObjectBody | KubeObject>,
  bodies: ParsedBodies,
  signal: AbortSignal,
): Promise<ReadonlyMap<ResourceKey, KubeObject>> {
  const objects = new Map<ResourceKey, KubeObject>();
  let length = 0;
  for (const [key, value] of found) {
    if (value instanceof ObjectBody) {
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

/** Whether reads of all other kinds would fail too: no connection or no valid credentials. */
function isServerFailure(error: unknown): boolean {
  return (
    error instanceof KubeConnectionError ||
    error instanceof KubeCredentialError ||
    (error instanceof KubeApiError && error.status === 401)
  );
}

/** The identity of a node in the form of a target. */
function targetOf({ group, version, kind, namespace, name }: StoredNode): ObjectName {
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

/** The cached object of a target. Null: it does not exist; undefined: ask the API server. */
function cachedAnswer(
  key: ResourceKey,
  target: ObjectName,
  { store, isFresh, discovery }: ManagedSources,
): ObjectBody | null | undefined {
  const node = store.get(key);
  if (node === undefined) return isFresh(refOf(target)) ? null : undefined;
  return cachedBody(target, node, discovery);
}

async function liveOf(
  key: ResourceKey,
  target: ObjectName,
  sources: ReadContext,
  signal: AbortSignal,
): Promise<ObjectBody | KubeObject | undefined> {
  const known = cachedAnswer(key, target, sources);
  if (known !== undefined) return known ?? undefined;
  const node = sources.store.get(key);
  if (node === undefined) {
    sources.basis.isFromCache = false;
    return readObject(target, sources, signal);
  }
  const live = await readObject(servedTarget(target, node, sources.discovery), sources, signal);
  if (live === undefined) {
    sources.basis.isFromCache = false;
    return undefined;
  }
  const body = new ObjectBody(live);
  sources.store.keepFetched(node, target.apiVersion, body);
  return body;
}

/** Undefined if the server must be asked. */
function cachedBody(target: ObjectName, node: StoredNode, discovery: ApiDiscovery): ObjectBody | undefined {
  if (node.body?.apiVersion === target.apiVersion) return node.body;
  const fetched = node.fetched?.get(target.apiVersion);
  if (fetched !== undefined) return fetched;
  return node.body?.apiVersion === servedTarget(target, node, discovery).apiVersion ? node.body : undefined;
}

/** The target; in the cached API version, if the server does not serve the target's. */
function servedTarget(target: ObjectName, node: StoredNode, discovery: ApiDiscovery): ObjectName {
  const gk = { group: node.group, kind: node.kind };
  if (findResource(discovery, gk, versionOf(target.apiVersion)) !== undefined) return target;
  return { ...target, apiVersion: apiVersionOf(node.group, node.version) };
}

/** Undefined if the object or its kind does not exist. */
async function readObject(
  target: ObjectName,
  sources: ReadContext,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  const { kind, metadata, apiVersion } = target;
  const group = groupOf(apiVersion);
  const resource = findResource(sources.discovery, { group, kind }, versionOf(apiVersion));
  if (resource === undefined) {
    // A kind that is unknown because discovery failed may exist.
    const broken = failureOf(sources.discovery, group);
    if (broken !== undefined) throw new Error(broken);
    return undefined;
  }
  if (sources.givenUp !== undefined) throw sources.givenUp;
  const object = { namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
  return unlessNotFound(sources.client.get(resource, object, { signal }));
}

function readFailure(cause: unknown): LiveStateError {
  if (cause instanceof LiveStateError) return cause;
  const why = messageOf(cause);
  return new LiveStateError(`failed to get managed objects: unexpected error getting managed object: ${why}`, cause);
}
