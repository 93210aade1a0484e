import type { Clock, RandomSource, Runnable } from '#base';
import { abortable, ConcurrencyLimiter, defined, omit, RollingSums } from '#base';
import { updateContent } from '#diff';
import { findResource } from '#kube';
import type { KubeClient, ReflectorOptions } from '#kube';
import { apiVersionOf, groupOf, jsonOf, refOf } from '#model';
import type {
  ApiResource,
  Cluster,
  ClusterConnection,
  GroupKind,
  KubeObject,
  NamespacedKind,
  ResourceKey,
  Settings,
} from '#model';
import type { Logger } from '#telemetry';
import type { ClusterConfiguration } from './reconfiguration.ts';
import { maxParsedLength, ParsedBodies } from './objects/object-body.ts';
import { maxKindsIn } from './bytes/live-budget.ts';
import type { LiveBudget } from './bytes/live-budget.ts';
import { MemoryShedder } from './bytes/memory-shedder.ts';
import type { ChattyObject } from './store/change-rate-limiter.ts';
import type { ApiVersionLists } from './discovery/capabilities.ts';
import type { KindsInUse } from './discovery/kinds-in-use.ts';
import { ChangeBatch } from './store/change-batch.ts';
import { ClusterWatch } from './watch/cluster-watch.ts';
import type { LiveTuning } from './watch/cluster-watch.ts';
import { ClusterUnavailable } from './errors.ts';
import type { KindTrust, KindWatch } from './watch/kind-watch.ts';
import { answer } from './queries/answer.ts';
import { activityOf } from './queries/object-activity.ts';
import { machinesOf } from './queries/machines.ts';
import { evidenceOf } from './queries/evidence.ts';
import { changedObjects, managedObjects } from './queries/managed-objects.ts';
import type { ManagedSources } from './queries/managed-objects.ts';
import { staleKindsOf, unitedKinds } from './queries/stale-kinds.ts';
import { NodeStore } from './store/node-store.ts';
import { createNodeReader, rowOf } from './objects/stored-node.ts';
import type { NodeReader, NodeReaderOptions, StoredNode } from './objects/stored-node.ts';
import { ChangedPaths } from './store/changed-paths.ts';
import { ClusterCache } from './store/cluster-cache.ts';
import { kindText } from './discovery/discovery.ts';
import { kindReports, kindStates, staleKinds } from './watch/kind-states.ts';
import type { KindStateSources } from './watch/kind-states.ts';
import { trustIn } from './watch/watch-table.ts';
import type {
  ClusterInfo,
  ClusterReport,
  KindState,
  LiveCapabilities,
  LiveChange,
  LiveCluster,
  LiveDiscovery,
  LiveRow,
  LiveSchemas,
  LiveChangesSince,
  ManagedObjects,
  ManagedQuery,
  ObjectActivity,
  RowChange,
  TreeQuery,
} from './types.ts';
import { ClusterSchemas } from './queries/cluster-schemas.ts';
import type { SchemaStore } from './queries/cluster-schemas.ts';
import { ContentVersions } from './content-versions.ts';
import type { VersionCounter } from './content-versions.ts';

export interface LiveClusterDeps extends Pick<NodeReaderOptions, 'keep' | 'keepsWhole'> {
  readonly client: KubeClient;
  /** Closes the client after the last read. */
  readonly disconnect: () => Promise<void>;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  readonly tuning: LiveTuning;
  readonly versions: VersionCounter;
  /** Shared by all clusters. */
  readonly schemas: SchemaStore;
  readonly apiVersions?: ApiVersionLists | undefined;
  readonly kindsInUse?: KindsInUse | undefined;
  /** Shared by all clusters. */
  readonly budget: LiveBudget;
  readonly reflect: (options: ReflectorOptions) => Runnable;
  readonly emit: (change: LiveChange) => void;
  readonly onRow?: ((change: RowChange) => void) | undefined;
  readonly onState?: (() => void) | undefined;
  readonly onEvent: (resource: ApiResource) => void;
  /** Called after each batch of watch events. */
  readonly onProcessed: (durationMs: number, events: number) => void;
  readonly onAudit: (resource: ApiResource, differing: number) => void;
  /**
   * Tracked objects of the replaced cache. Once this cache is complete, their Applications are
   * notified.
   */
  readonly earlier?: ReadonlyMap<ResourceKey, StoredNode>;
}

/** One cluster: its cache, its watches and the queries on them. */
export class WatchedCluster implements LiveCluster {
  readonly server: string;
  readonly activity: ObjectActivity;
  readonly #deps: LiveClusterDeps;
  readonly #store = new NodeStore();
  readonly #bodies: ParsedBodies;
  readonly #changes: ChangeBatch;
  readonly #changedPaths = new ChangedPaths();
  readonly #cache: ClusterCache;
  readonly #watch: ClusterWatch;
  readonly #shedder: MemoryShedder;
  readonly #degraded: ContentVersions<readonly KindState[]>;
  readonly #schemas: ClusterSchemas;
  #stale: { readonly version: number; readonly kinds: readonly KindState[] } | undefined;
  #cluster: Cluster;
  #settings: Settings;
  #complete = false;
  #events = 0;
  /** Events of the last minute or two. */
  readonly #recent = new RollingSums<'count'>(['count'], { sliceMs: 30_000, slices: 4, maxKeys: 1 });
  #abandoned = false;
  readonly #waiters = new Set<() => void>();

  constructor({ cluster, settings, bodies }: ClusterConfiguration, deps: LiveClusterDeps) {
    this.server = cluster.server;
    this.activity = activityOf(deps.client);
    this.#deps = deps;
    this.#cluster = cluster;
    this.#settings = settings;
    const { clock, random, logger, tuning, versions, reflect, emit, onEvent, onProcessed } = deps;
    const { clusterBytes } = deps.budget.limits;
    this.#bodies = new ParsedBodies(clock, Math.min(maxParsedLength, clusterBytes / parsedShare));
    this.#store.onBodyLeft = (body) => this.#bodies.forget(body);
    this.#degraded = new ContentVersions(versions, (kinds) =>
      jsonOf(kinds.map((kind) => omit(kind, 'objects', 'listedAt'))),
    );
    this.#schemas = new ClusterSchemas({ client: deps.client, store: deps.schemas, clock, logger });
    const changes = { server: cluster.server, store: this.#store, clock, batchMs: tuning.batchMs, emit, onProcessed };
    this.#changes = new ChangeBatch(changes);
    this.#cache = new ClusterCache({
      store: this.#store,
      changes: this.#changes,
      readNode: this.#reader({ settings, bodies }),
      onRow: deps.onRow === undefined ? undefined : (change) => deps.onRow?.({ server: this.server, ...change }),
    });
    this.#watch = new ClusterWatch(cluster, settings, {
      client: deps.client,
      cache: this.#cache,
      clock,
      random,
      logger,
      tuning,
      versions,
      reflect,
      lists: new ConcurrencyLimiter(tuning.lists),
      apiVersions: deps.apiVersions,
      kindsInUse: deps.kindsInUse,
      onAudit: deps.onAudit,
      maxKinds: maxKindsIn(clusterBytes),
      memoryRemedy: deps.budget.remedy,
      onState: () => this.#onState(),
      onProcessed: (durationMs) => this.#changes.processed(durationMs),
      onEvent: (resource, object) => {
        this.#events += 1;
        this.#recent.add('events', 'count', 1, clock.monotonic());
        onEvent(resource);
        if (this.#watch.noteObject(object)) this.#schemas.noteDefinitionChange();
      },
      onChange: (node, object) => this.#noteChange(node, object),
    });
    const kinds = { suspend: (kind: string, why: string) => this.#watch.suspendKind(kind, why) };
    this.#shedder = new MemoryShedder({ store: this.#store, kinds, budget: deps.budget, logger });
  }

  /** Estimated memory of the live state. */
  get bytes(): number {
    return this.#shedder.bytes;
  }

  readonly eventsCount = (): number => this.#events;

  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#watch.run(signal);
    } finally {
      this.#changes.stop();
      this.#bodies.stop();
      await this.#deps.disconnect();
    }
  }

  /** Resolves when the cache is filled, discovery has failed, or the cluster is abandoned. */
  settled(signal: AbortSignal): Promise<void> {
    return this.#until(() => this.#state() !== 'connecting', signal);
  }

  async #until(isDone: () => boolean, signal: AbortSignal): Promise<void> {
    while (!isDone() && !this.#abandoned) {
      let wake = (): void => undefined;
      const change = new Promise<void>((resolve) => (wake = resolve));
      this.#waiters.add(wake);
      await abortable(change, signal).finally(() => this.#waiters.delete(wake));
    }
  }

  /** Resolves all waiters, because the cluster is no longer watched. */
  abandon(): void {
    this.#abandoned = true;
    this.#deps.budget.remove(this.#shedder);
    this.#wakeWaiters();
  }

  /** Number of watches in sync. */
  openWatches(): number {
    const table = this.#watch.table();
    return table.all().length - table.unsynced().size;
  }

  /** Objects whose changes are throttled. */
  chatty(): readonly ChattyObject[] {
    return this.#changes.chatty();
  }

  /** All tracked objects, for the cache that replaces this one. */
  tracked(): ReadonlyMap<ResourceKey, StoredNode> {
    return new Map([
      ...(this.#deps.earlier ?? []),
      ...[...this.#store.tracked()].map((node) => [node.key, node] as const),
    ]);
  }

  updateCredentials(connection: ClusterConnection): void {
    this.#deps.client.updateCredentials(connection);
  }

  /** Applies changes that do not need a new cache. */
  reconfigure({ cluster, settings, bodies }: ClusterConfiguration, readAgain: boolean): void {
    // A new object, because incremental answers compare it by identity to detect reconfigurations.
    this.#cluster = { ...cluster };
    if (readAgain) this.#cache.useReader(this.#reader({ settings, bodies }));
    this.#watch.reconfigure(cluster, settings);
    if (readAgain) this.#watch.readAgain();
    this.#settings = settings;
    if (readAgain) this.#changedPaths.clear();
  }

  /**
   * Holds the object for the pass that follows. Records what changes in an object that changes too
   * often; calm objects cost one look-up.
   */
  #noteChange({ body, key, fingerprint, health }: StoredNode, object: KubeObject): void {
    this.#bodies.hold(body, object);
    if (fingerprint === undefined || !this.#changes.isThrottled(key)) return;
    const content = updateContent(object, this.#settings);
    this.#changedPaths.observe(key, content, health?.status ?? '', this.#deps.clock.monotonic());
  }

  #reader({ settings, bodies }: Pick<ClusterConfiguration, 'settings' | 'bodies'>): NodeReader {
    return createNodeReader(settings, (gk) => this.isNamespaced(gk), { ...this.#deps, bodies });
  }

  /** Reused until the state of a watch changes. */
  staleKinds(): readonly KindState[] {
    const { version } = this.#watch.table();
    if (this.#stale?.version !== version)
      this.#stale = { version, kinds: staleKinds(this.#watch.table().unsynced(), this.#kindFacts()) };
    return this.#stale.kinds;
  }

  info(): ClusterInfo {
    const watches = this.#watch.watches();
    const kinds = kindStates(watches, this.#kindFacts());
    const lastSyncAt = Math.max(0, ...watches.map((watch) => watch.syncedAt() ?? 0));
    return {
      server: this.server,
      state: this.#state(),
      ...defined({ message: this.#watch.failure(), serverVersion: this.serverVersion() }),
      resourcesCount: this.#store.size,
      apisCount: kinds.filter(({ state }) => state !== 'left-out').length,
      eventsCount: this.#events,
      ...(lastSyncAt > 0 ? { lastSyncAt } : {}),
      kinds,
    };
  }

  report(): Omit<ClusterReport, 'name'> {
    const [now, info] = [this.#deps.clock.monotonic(), this.info()];
    return {
      info,
      kinds: kindReports(info.kinds, this.#watch.watches(), this.#store),
      noisiest: this.chatty(),
      changed: this.#changedPaths.report(now),
      bytes: this.bytes,
      eventsPerSecond: this.#recent.row('events', now).count / Math.max(1, this.#recent.coveredMs(now) / 1000),
    };
  }

  discovery(): LiveDiscovery {
    const discovery = this.#watch.discovery();
    if (discovery === undefined) {
      const why = this.#watch.failure() ?? 'not connected yet';
      throw new ClusterUnavailable(this.server, `failed to get server version: ${why}`);
    }
    return discovery;
  }

  serverVersion(): string | undefined {
    return this.#watch.serverVersion();
  }

  capabilities(): LiveCapabilities {
    return this.#watch.capabilities(this.discovery());
  }

  readonly discoveryDoubt: LiveCluster['discoveryDoubt'] = () => this.#watch.discoveryDoubt();

  readonly knowKinds: LiveCluster['knowKinds'] = (...given) => this.#watch.knowKinds(...given);

  async managed(query: ManagedQuery, signal: AbortSignal): Promise<ManagedObjects> {
    this.discovery();
    this.#watch.use(query.targets.map((target) => refOf(target)));
    // A kind that was not in use before is listed first.
    if (this.#deps.kindsInUse !== undefined) await this.#until(() => this.#watch.settled(), signal);
    const sources = this.#managedSources(this.discovery());
    const before = this.staleKinds();
    signal.throwIfAborted();
    const relevant = staleKindsOf(query, before, this.#store);
    for (const kind of relevant) this.#cache.noteStale(kind, query.app);
    const changed = relevant.length > 0 ? undefined : changedObjects(query, sources);
    if (changed !== undefined)
      return { ...changed, unread: [], degraded: { version: this.#degraded.of(before), kinds: relevant } };
    const found = await managedObjects(query, sources, signal);
    const after = this.staleKinds();
    // Include kinds that have recovered since: they were not fresh when the objects were read.
    const stale = before === after ? before : unitedKinds(after, before);
    const kinds = staleKindsOf(query, stale, this.#store, found.objects.values());
    return { ...found, degraded: { version: this.#degraded.of(stale), kinds } };
  }

  evidence(query: ManagedQuery, signal: AbortSignal): Promise<string | undefined> {
    return answer(signal, () => {
      // Objects of a failed group may exist although the cache has none.
      if (!this.#complete || this.discovery().failedGroups.size > 0) return undefined;
      const degradedVersion = this.#degraded.of(this.staleKinds());
      const table = this.#watch.table();
      const trustOf = (kind: GroupKind, namespace: string): KindTrust | undefined =>
        trustIn(table.covering(kind, namespace));
      return evidenceOf(query, { store: this.#store, degradedVersion, trustOf });
    });
  }

  #managedSources(discovery: LiveDiscovery): ManagedSources {
    const table = this.#watch.table();
    const covers = (target: NamespacedKind, is: (watch: KindWatch) => boolean): boolean =>
      table.covering(target, target.namespace).some(is);
    return {
      cluster: this.#cluster,
      client: this.#deps.client,
      discovery,
      store: this.#store,
      bodies: this.#bodies,
      limitBytes: Math.max(minApplicationBytes, this.#deps.budget.limits.clusterBytes / applicationShare),
      isFresh: (target: NamespacedKind) => covers(target, (watch) => watch.state().state === 'synced'),
      isUnlisted: (target: NamespacedKind) => covers(target, (watch) => watch.isUnlisted()),
      appOf: (object: KubeObject) => this.#cache.read(object).app,
      noteRead: (key, object) => this.#cache.noteRead(key, object),
    };
  }

  rows(keys: readonly ResourceKey[], signal: AbortSignal): Promise<ReadonlyMap<ResourceKey, LiveRow>> {
    return answer(signal, () => {
      const nodes = keys.map((key) => this.#store.get(key)).filter((node) => node !== undefined);
      return new Map(nodes.map((node) => [node.key, this.#row(node)]));
    });
  }

  tree({ roots, excluded }: TreeQuery, signal: AbortSignal): Promise<readonly LiveRow[]> {
    return answer(signal, () => {
      const left = new Set(excluded);
      const rows: LiveRow[] = [];
      this.#store.walk(roots, (node, parents) => {
        if (left.has(node.key)) return false;
        rows.push(rowOf(node, parents));
        return true;
      });
      return rows;
    });
  }

  changesSince(version: number | undefined, signal: AbortSignal): Promise<LiveChangesSince> {
    return answer(signal, () => {
      const keys = version === undefined ? undefined : this.#store.log.since(version);
      const now = this.#store.log.version;
      if (keys === undefined) return { version: now, changed: undefined };
      return {
        version: now,
        changed: [...keys].map((key) => ({ key, owners: this.#store.get(key)?.ownerRefs ?? [] })),
      };
    });
  }

  readonly list: LiveCluster['list'] = (query, signal) =>
    answer(signal, () => [...this.#store.select(query)].map((node) => this.#row(node)));

  readonly machines: LiveCluster['machines'] = (pods, signal) => answer(signal, () => machinesOf(this.#store, pods));

  schemas(apiVersions: readonly string[], signal: AbortSignal): Promise<LiveSchemas> {
    return this.#schemas.of(apiVersions, signal);
  }

  isNamespaced(gk: GroupKind): boolean | undefined {
    const discovery = this.#watch.discovery();
    return discovery && findResource(discovery, gk)?.namespaced;
  }

  readonly foreignEditSeconds: LiveCluster['foreignEditSeconds'] = (key) => this.#store.get(key)?.foreignEditSeconds;

  observe(object: KubeObject): void {
    this.#watch.noteWritten(object);
    const kind = { group: groupOf(object.apiVersion), kind: object.kind };
    const watch = this.#watch
      .table()
      .covering(kind, object.metadata.namespace ?? '')
      .find(({ resource }) => apiVersionOf(resource.group, resource.version) === object.apiVersion);
    // Without a watch, later changes of the object would be missed.
    if (watch === undefined || watch.isUnlisted()) return;
    if (!this.#cache.observe(object)) watch.relistAfterMismatch();
    this.#bodies.hold(this.#cache.known(object)?.body, object);
  }

  #row(node: StoredNode): LiveRow {
    return rowOf(
      node,
      this.#store.parents(node).map(({ key }) => key),
    );
  }

  #state(): ClusterInfo['state'] {
    if (this.#complete) return 'synced';
    return this.#watch.discovery() === undefined && this.#watch.failure() !== undefined ? 'failed' : 'connecting';
  }

  #onState(): void {
    this.#deps.onState?.();
    if (!this.#complete && this.#watch.settled()) {
      this.#complete = true;
      this.#cache.startEmitting();
      if (this.#deps.earlier !== undefined) this.#cache.announceAll(this.#deps.earlier);
      const kinds = this.#watch.watches().length;
      this.#deps.logger.info('Cluster cache is complete', { kinds, objects: this.#store.size });
    }
    if (this.#state() !== 'connecting') this.#wakeWaiters();
  }

  #wakeWaiters(): void {
    for (const wake of [...this.#waiters]) wake();
  }

  #kindFacts(): KindStateSources {
    return {
      objects: ({ group, kind }) => this.#store.countOfKind(group, kind),
      note: (resource) => this.#shedder.bodylessReason(kindText(resource)),
    };
  }
}

/**
 * The cluster's limit divided by this is the limit for the objects of one Application, as text: up
 * to twenty Applications are compared at once.
 */
const applicationShare = 16;
/** The CustomResourceDefinitions of a large operator take several megabytes. */
const minApplicationBytes = 24 * 1024 * 1024;
/** The cluster's limit divided by this is the limit for parsed bodies. */
const parsedShare = 4;
