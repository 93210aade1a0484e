import { defined, DriftlessError, isObject, newAbortController, Shutdown, withDeadline } from '#base';
import type { Clock, Json, RandomSource } from '#base';
import { createKubeClient, findResource, readOpenApiDocument, SharedClients } from '#kube';
import type { KubeClient, LoadedConnection } from '#kube';
import { createLiveClusters, failureOf } from '#live';
import type { LiveCluster, LiveClusters, LiveRow } from '#live';
import { annotations, defaultSettings, jsonOf, keyOf, keyOfRef, parseResourceKey, refOf } from '#model';
import type { Cluster, GroupKind, KubeObject, ObjectName, ResourceKey, ResourceRef, Settings } from '#model';
import { PromMetrics, silentLogger } from '#telemetry';
import { mustBeListOf, mustBeNonEmptyText } from '../options/checks.ts';
import {
  checkCacheChanges,
  checkHandlers,
  checkListOptions,
  checkScope,
  checkWaitOptions,
  mustBeGroupKind,
  mustBeNameOrRef,
  mustBeResourceRef,
} from './cache-checks.ts';
import { incompleteKinds, unknownExistence } from './completeness.ts';
import type { CacheScope, UnknownExistence } from './completeness.ts';
import { ChangeDelivery } from './delivery.ts';
import { KeepFaults } from './keep-faults.ts';
import { labelSelector } from './label-selector.ts';
import { RowListeners, waitForRow } from './waiting.ts';
import { FollowedObjects, readWhole } from './whole-objects.ts';
import type {
  ApiMetadata,
  CacheChanges,
  CachedObject,
  CacheHandlers,
  CacheList,
  CacheListOptions,
  CacheOptions,
  CacheProblem,
  CacheRead,
  ClusterCache,
  KindFilter,
  WaitCondition,
  WaitOptions,
} from './types.ts';

const defaultHandlerDeadlineMs = 30_000;
const defaultFillDeadlineMs = 120_000;
const defaultWaitMs = 300_000;
const userAgent = 'driftless-live';

export interface CacheDeps {
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly report: (problem: CacheProblem) => void;
  /** Opens the client; over the network, except in tests. */
  readonly connect?: (connection: LoadedConnection['connection']) => KubeClient;
}

/**
 * Fills the cache of one cluster, and resolves when every kind was listed or has failed once.
 * @throws ClusterUnavailable if the server cannot be reached; DeadlineExceeded.
 */
export async function fillCache(
  { connection }: LoadedConnection,
  options: CacheOptions,
  deps: CacheDeps,
): Promise<ClusterCache> {
  const cache = new FilledCache(connection, options, deps);
  try {
    await cache.fill(options.fillDeadlineMs ?? defaultFillDeadlineMs);
    return cache;
  } catch (error) {
    await cache.close();
    throw error;
  }
}

class FilledCache implements ClusterCache {
  readonly server: string;
  readonly #connection: Cluster['connection'];
  #options: CacheOptions;
  readonly #deps: CacheDeps;
  readonly #clients: SharedClients;
  readonly #live: LiveClusters;
  #settings: Settings;
  #invalidations = 0;
  /** The version of the discovery that handlers have received. */
  #kindsVersion = Number.NaN;
  readonly #controller = newAbortController();
  readonly #deliveries = new Set<ChangeDelivery>();
  readonly #followed = new FollowedObjects();
  readonly #listeners = new RowListeners();
  readonly #keepFaults: KeepFaults;
  readonly #running: Promise<void>;

  constructor(connection: Cluster['connection'], options: CacheOptions, deps: CacheDeps) {
    const { clock, random } = deps;
    this.#keepFaults = new KeepFaults(clock, deps.report);
    this.server = connection.server;
    this.#connection = connection;
    this.#options = options;
    this.#deps = deps;
    this.#settings = settingsOf(options);
    const open = (to: typeof connection): KubeClient =>
      createKubeClient(to, { clock, random, logger: silentLogger, userAgent, readOnly: true });
    this.#clients = new SharedClients(deps.connect ?? open);
    this.#live = createLiveClusters({
      clock,
      random,
      clients: this.#clients,
      logger: silentLogger,
      metrics: new PromMetrics(),
      memoryRemedy: 'exclude kinds with options.exclude',
      ...(options.resyncMs === undefined ? {} : { tuning: { relistMs: options.resyncMs } }),
      keep: (object) => this.#keep(object),
      keepsWhole: (key) => this.#followed.has(key),
      onState: () => this.#noteKinds(),
      onRow: (change) => {
        this.#listeners.wake(change.key);
        const last = change.last === undefined ? undefined : objectOf(change.last);
        for (const delivery of this.#deliveries)
          if (delivery.isClosed()) this.#deliveries.delete(delivery);
          else if (last !== undefined) delivery.addDeleted(last);
          else if (change.change !== 'deleted') delivery.add(change, change.change);
      },
    });
    this.#live.setClusters([this.#watched()], this.#settings);
    this.#running = this.#live.run(this.#controller.signal);
  }

  async fill(limitMs: number): Promise<void> {
    const deadline = { clock: this.#deps.clock, limitMs, what: `filling the cache of ${this.server}` };
    const cluster = await withDeadline(this.#controller.signal, deadline, (signal) =>
      this.#live.cluster(this.server, signal),
    );
    this.#keepFaults.flush();
    cluster.discovery();
  }

  async list(options: CacheListOptions = {}): Promise<CacheList> {
    checkListOptions(options, 'options');
    const { kinds, namespaces, topLevelOnly, scope, matchLabels = {}, matchExpressions = [] } = options;
    const isSelected = labelSelector(matchLabels, matchExpressions);
    const rows = await this.#cluster().list(defined({ kinds, namespaces, topLevelOnly }), this.#controller.signal);
    const objects = rows
      .filter(({ namespace }) => scope === undefined || (scope === 'cluster') === (namespace === ''))
      .map(objectOf)
      .filter(({ labels }) => isSelected(labels));
    return { objects, incomplete: incompleteKinds(this.#cluster(), this.#scope(), kinds) };
  }

  apiMetadata(kind: GroupKind): ApiMetadata | undefined {
    mustBeGroupKind(kind, 'kind');
    const discovery = this.#cluster().discovery();
    const found = findResource(discovery, kind);
    if (found !== undefined) return found;
    const failure = failureOf(discovery, kind.group);
    if (failure === undefined) return undefined;
    const message = `${this.server} does not answer for API group "${kind.group}": ${failure}`;
    throw new DriftlessError('API_GROUP_UNAVAILABLE', message, { fields: { group: kind.group } });
  }

  kinds(): readonly ApiMetadata[] {
    return this.#cluster().discovery().preferred;
  }

  capabilities(): ReturnType<ClusterCache['capabilities']> {
    const cluster = this.#cluster();
    return { kubeVersion: cluster.serverVersion() ?? '', apiVersions: cluster.capabilities().apiVersions };
  }

  async openApi(
    apiVersion: string,
    signal = this.#controller.signal,
  ): Promise<Readonly<Record<string, unknown>> | undefined> {
    mustBeNonEmptyText(apiVersion, 'apiVersion');
    this.#cluster();
    const client = this.#clients.of(this.server);
    if (client === undefined) throw this.#closed();
    const document = await readOpenApiDocument(client, apiVersion, { signal });
    return isObject(document) ? document : undefined;
  }

  async waitFor(ref: ResourceRef, until: WaitCondition, options: WaitOptions = {}): Promise<CachedObject | undefined> {
    mustBeResourceRef(ref, 'ref');
    checkWaitOptions(options, 'options');
    const { signal: given, deadlineMs = defaultWaitMs } = options;
    const { clock } = this.#deps;
    const named = withNamespace(ref);
    const key = keyOfRef(named);
    const whyUnknown = (): UnknownExistence | undefined => {
      const found = findResource(this.#cluster().discovery(), named);
      if (found !== undefined) checkScope(named, found.namespaced, 'ref');
      return unknownExistence(this.#cluster(), this.#scope(), named);
    };
    const read = (): Promise<CachedObject | undefined> => this.#object(key, this.#controller.signal);
    const wait = { key, until, deadlineMs, read, whyUnknown };
    return waitForRow(wait, { clock, listeners: this.#listeners }, given ?? this.#controller.signal);
  }

  async #object(key: ResourceKey, signal: AbortSignal): Promise<CachedObject | undefined> {
    const row = (await this.#cluster().rows([key], signal)).get(key);
    return row === undefined ? undefined : objectOf(row);
  }

  async read(objects: readonly (ObjectName | ResourceRef)[], signal = this.#controller.signal): Promise<CacheRead> {
    mustBeListOf(mustBeNameOrRef)(objects, 'objects');
    const names = objects.map((object) => ('metadata' in object ? object : this.#nameOf(object)));
    names.forEach((name, index) => this.#checkScope(name, `objects[${index}]`));
    for (const name of names) this.#followed.add(keyOf(name));
    return readWhole(this.#cluster(), names, this.#scope(), signal);
  }

  /** @throws UsageError unless the namespace fits to the scope of the kind, if it is served */
  #checkScope(name: ObjectName, option: string): void {
    const ref = refOf(name);
    const found = findResource(this.#cluster().discovery(), ref);
    if (found !== undefined) checkScope(ref, found.namespaced, option);
  }

  #nameOf(ref: ResourceRef): ObjectName {
    const { group, kind, namespace, name } = withNamespace(ref);
    const { version = 'v1' } = this.apiMetadata({ group, kind }) ?? {};
    return { apiVersion: group === '' ? version : `${group}/${version}`, kind, metadata: { namespace, name } };
  }

  invalidate(changes: CacheChanges = {}): void {
    checkCacheChanges(changes, 'changes');
    this.#cluster();
    this.#options = { ...this.#options, ...defined(changes) };
    this.#settings = settingsOf(this.#options);
    this.#invalidations += 1;
    this.#live.setClusters([this.#watched()], this.#settings);
  }

  /** A changed annotation has everything listed again. */
  #watched(): Cluster {
    const { namespaces = [], clusterScoped = false } = this.#options;
    const [connection, server] = [this.#connection, this.server];
    const request = { labels: {}, annotations: { [annotations.refresh]: String(this.#invalidations) } };
    return { id: '', server, name: server, namespaces, clusterResources: clusterScoped, ...request, connection };
  }

  observe(object: KubeObject): void {
    const { uid = '', resourceVersion = '' } = object.metadata;
    if (uid !== '' && resourceVersion !== '') this.#cluster().observe(object);
  }

  async *iterateTree(roots: readonly ResourceRef[]): AsyncGenerator<CachedObject> {
    mustBeListOf(mustBeResourceRef)(roots, 'roots');
    const keys = roots.map((root) => keyOfRef(withNamespace(root)));
    const rows = await this.#cluster().tree({ roots: keys, excluded: [] }, this.#controller.signal);
    for (const row of ownersFirst(rows)) yield objectOf(row);
  }

  subscribe(handlers: CacheHandlers): () => void {
    checkHandlers(handlers, 'handlers');
    const { clock, report } = this.#deps;
    const deadlineMs = this.#options.handlerDeadlineMs ?? defaultHandlerDeadlineMs;
    const read = (key: ResourceKey, signal: AbortSignal): Promise<CachedObject | undefined> =>
      this.#object(key, signal);
    const cluster = this.#cluster();
    const delivery = new ChangeDelivery(handlers, { clock, deadlineMs, read, report, kinds: () => this.kinds() });
    this.#kindsVersion = cluster.discovery().version;
    this.#deliveries.add(delivery);
    delivery.addKinds();
    const addAll = (rows: readonly LiveRow[]): void => {
      for (const row of rows) delivery.add(row, 'created');
    };
    // Rejects only if the cache is closed.
    cluster.list({}, this.#controller.signal).then(addAll, () => delivery.close());
    return () => {
      this.#deliveries.delete(delivery);
      delivery.close();
    };
  }

  /** Handlers are added after the first fill, so discovery has succeeded. */
  #noteKinds(): void {
    if (this.#deliveries.size === 0) return;
    const { version } = this.#cluster().discovery();
    if (version === this.#kindsVersion) return;
    this.#kindsVersion = version;
    for (const delivery of this.#deliveries) delivery.addKinds();
  }

  async close(): Promise<void> {
    if (!this.#controller.signal.aborted) this.#controller.abort(this.#closed());
    for (const delivery of this.#deliveries) delivery.close();
    this.#deliveries.clear();
    await this.#running;
    this.#keepFaults.flush();
  }

  #cluster(): LiveCluster {
    this.#controller.signal.throwIfAborted();
    const cluster = this.#live.peek(this.server);
    if (cluster === undefined) throw this.#closed();
    return cluster;
  }

  #closed(): Shutdown {
    return new Shutdown(`the cache of ${this.server} is closed: use it before close, or open another one`);
  }

  /** Labels are kept for `matchLabels`. A fault of the caller's function costs only its result. */
  #keep(object: KubeObject): Json | undefined {
    const { keep } = this.#options;
    const labels = object.metadata.labels ?? {};
    const kept: Record<string, Json> = Object.keys(labels).length === 0 ? {} : { labels };
    try {
      const value = keep?.(object);
      if (value !== undefined) kept['value'] = jsonOf(structuredClone(value));
    } catch (cause) {
      this.#keepFaults.add({ object: refOf(object), cause });
    }
    return Object.keys(kept).length === 0 ? undefined : kept;
  }

  #scope(): CacheScope {
    const { namespaces = [], clusterScoped = false } = this.#options;
    return { namespaces, clusterScoped, settings: this.#settings };
  }
}

/** Callers without types leave out the namespace of cluster-scoped objects. */
function withNamespace(ref: Omit<ResourceRef, 'namespace'> & Partial<ResourceRef>): ResourceRef {
  const { group, kind, namespace = '', name } = ref;
  return { group, kind, namespace, name };
}

function settingsOf({ include = [], exclude = [], health = { overrides: {} } }: CacheOptions): Settings {
  const rule = ({ groups, kinds = [] }: KindFilter): Settings['inclusions'][number] => ({
    apiGroups: groups,
    kinds,
    clusters: [],
  });
  return { ...defaultSettings, ...health, inclusions: include.map(rule), exclusions: exclude.map(rule) };
}

/** Orders a tree so that each object follows all of its owners; objects of a cycle come last. */
function* ownersFirst(rows: readonly LiveRow[]): Generator<LiveRow> {
  const byKey = new Map(rows.map((row) => [row.key, row]));
  const waiting = new Map<ResourceKey, number>();
  const children = new Map<ResourceKey, LiveRow[]>();
  for (const row of rows) {
    const owners = row.parents.filter((key) => key !== row.key && byKey.has(key));
    waiting.set(row.key, owners.length);
    for (const owner of owners) {
      const siblings = children.get(owner);
      if (siblings === undefined) children.set(owner, [row]);
      else siblings.push(row);
    }
  }
  const ready = rows.filter(({ key }) => waiting.get(key) === 0);
  const done = new Set<ResourceKey>();
  for (const row of ready) {
    done.add(row.key);
    yield row;
    for (const child of children.get(row.key) ?? []) {
      const left = (waiting.get(child.key) ?? 0) - 1;
      waiting.set(child.key, left);
      if (left === 0) ready.push(child);
    }
  }
  yield* rows.filter(({ key }) => !done.has(key));
}

function objectOf(row: LiveRow): CachedObject {
  const { group, kind, namespace, name, version, uid, resourceVersion, createdAt, health, deleting, images } = row;
  const { labels = {}, value } = (row.kept ?? {}) as {
    readonly labels?: Readonly<Record<string, string>>;
    readonly value?: Json;
  };
  return {
    group,
    kind,
    namespace,
    name,
    version,
    uid,
    resourceVersion,
    createdAt,
    labels,
    owners: row.parents.map(parseResourceKey),
    health,
    deleting,
    images,
    ...(value === undefined ? {} : { kept: value }),
  };
}
