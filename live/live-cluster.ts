import type { Clock, Random, Runnable } from '#base';
import { Limiter, omit } from '#base';
import { findResource } from '#kube';
import type { KubeClient, ReflectorOptions } from '#kube';
import { jsonOf } from '#model';
import type { ApiResource, Cluster, ClusterConnection, GroupKind, KubeObject, ResourceKey } from '#model';
import type { Logger } from '#telemetry';
import type { Configuration } from './adapt.ts';
import { ParsedBodies } from './body.ts';
import type { ChattyObject } from './budgets.ts';
import { ChangeBatch } from './changes.ts';
import { ClusterWatch } from './cluster-watch.ts';
import type { LiveTuning } from './cluster-watch.ts';
import { ClusterUnavailable } from './errors.ts';
import type { KindWatch, KindWatchState } from './kind-watch.ts';
import { machinesOf } from './machines.ts';
import { changedObjects, managedObjects } from './managed.ts';
import type { ManagedSources } from './managed.ts';
import { NodeStore } from './node-store.ts';
import { ingestWith, rowOf } from './node.ts';
import type { StoredNode } from './node.ts';
import { ClusterCache } from './cluster-cache.ts';
import { kindText } from './discovery.ts';
import type {
  ClusterInfo,
  KindState,
  LiveChange,
  LiveCluster,
  LiveDiscovery,
  LiveMachine,
  LiveRow,
  LiveSchemas,
  LiveNews,
  ManagedObjects,
  ManagedQuery,
  TreeQuery,
} from './types.ts';
import { ClusterSchemas } from './schemas.ts';
import type { SchemaStore } from './schemas.ts';
import { Versioned } from './versioned.ts';
import type { Versions } from './versioned.ts';

export interface LiveClusterDeps {
  readonly client: KubeClient;
  /** Closes the client, when nothing reads through it any more. */
  readonly disconnect: () => Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly tuning: LiveTuning;
  readonly versions: Versions;
  /** Of all clusters. */
  readonly schemas: SchemaStore;
  readonly reflect: (options: ReflectorOptions) => Runnable;
  readonly emit: (change: LiveChange) => void;
  readonly onEvent: (resource: ApiResource) => void;
  readonly onAudit: (resource: ApiResource, differing: number) => void;
  /** The tracked objects of the cache that this one replaces: when the new one is complete, their applications hear of it. */
  readonly earlier?: ReadonlyMap<ResourceKey, StoredNode>;
}

type Place = GroupKind & { readonly namespace: string };

/** One cluster: its cache, its watches, and the questions that others ask. */
export class WatchedCluster implements LiveCluster {
  readonly server: string;
  readonly #deps: LiveClusterDeps;
  readonly #store = new NodeStore();
  readonly #bodies: ParsedBodies;
  readonly #changes: ChangeBatch;
  readonly #cache: ClusterCache;
  readonly #watch: ClusterWatch;
  readonly #degraded: Versioned<readonly KindState[]>;
  readonly #schemas: ClusterSchemas;
  #cluster: Cluster;
  #complete = false;
  #events = 0;
  #abandoned = false;
  readonly #waiters = new Set<() => void>();

  constructor({ cluster, settings, bodies }: Configuration, deps: LiveClusterDeps) {
    this.server = cluster.server;
    this.#deps = deps;
    this.#cluster = cluster;
    const { clock, random, logger, tuning, versions, reflect, emit, onEvent } = deps;
    this.#bodies = new ParsedBodies(clock);
    this.#degraded = new Versioned(versions, (kinds) => jsonOf(kinds.map((kind) => omit(kind, 'objects'))));
    this.#schemas = new ClusterSchemas({ client: deps.client, store: deps.schemas, clock, logger });
    const changes = { server: cluster.server, store: this.#store, clock, batchMs: tuning.batchMs, emit };
    this.#changes = new ChangeBatch(changes);
    this.#cache = new ClusterCache({
      store: this.#store,
      changes: this.#changes,
      ingest: ingestWith(settings, (gk) => this.isNamespaced(gk), bodies),
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
      lists: new Limiter(tuning.lists),
      onAudit: deps.onAudit,
      onState: () => this.#onState(),
      onEvent: (resource, object) => {
        this.#events += 1;
        onEvent(resource);
        if (this.#watch.notice(object)) this.#schemas.changed();
      },
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#watch.run(signal);
    } finally {
      this.#changes.stop();
      this.#bodies.stop();
      await this.#deps.disconnect();
    }
  }

  /** Resolves when the cache is filled, or discovery has failed. */
  async settled(signal: AbortSignal): Promise<void> {
    while (this.#state() === 'connecting' && !this.#abandoned) {
      signal.throwIfAborted();
      await new Promise<void>((resolve, reject) => {
        const done = (): void => {
          this.#waiters.delete(done);
          signal.removeEventListener('abort', onAbort);
          resolve();
        };
        const onAbort = (): void => {
          this.#waiters.delete(done);
          reject(signal.reason as Error);
        };
        signal.addEventListener('abort', onAbort, { once: true });
        this.#waiters.add(done);
      });
    }
  }

  /** Wakes everybody who waits; the cluster is not kept any more. */
  abandon(): void {
    this.#abandoned = true;
    this.#wakeWaiters();
  }

  /** Watches that follow what they have listed. */
  openWatches(): number {
    return this.#watch.watches().filter((watch) => watch.state().state === 'synced').length;
  }

  /** Objects that change too often. */
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

  /** Swaps credentials in place. */
  updateCredentials(connection: ClusterConnection): void {
    this.#deps.client.updateCredentials(connection);
  }

  /** Takes over what can change without a new cache. */
  reconfigure({ cluster, settings, bodies }: Configuration, readAgain: boolean): void {
    // Another value, whatever it says: answers that were given before say nothing of what is watched from now on.
    this.#cluster = { ...cluster };
    if (readAgain) this.#cache.ingestWith(ingestWith(settings, (gk) => this.isNamespaced(gk), bodies));
    this.#watch.reconfigure(cluster, settings);
    if (readAgain) this.#watch.readAgain();
  }

  info(): ClusterInfo {
    const kinds = this.#kinds();
    const failure = this.#watch.failure();
    const serverVersion = this.#watch.serverVersion();
    const synced = this.#watch.watches().map((watch) => watch.syncedAt());
    const lastSyncAt = Math.max(0, ...synced.map((time) => time ?? 0));
    return {
      server: this.server,
      state: this.#state(),
      ...(failure === undefined ? {} : { message: failure }),
      ...(serverVersion === undefined ? {} : { serverVersion }),
      resourcesCount: this.#store.size,
      apisCount: kinds.filter(({ state }) => state !== 'left-out').length,
      eventsCount: this.#events,
      ...(lastSyncAt > 0 ? { lastSyncAt } : {}),
      kinds,
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

  unsure(): string | undefined {
    return this.#watch.unsure();
  }

  async managed({ app, targets, had, since }: ManagedQuery, signal: AbortSignal): Promise<ManagedObjects> {
    const sources = this.#sources(this.discovery());
    const before = this.#notFresh();
    signal.throwIfAborted();
    const changed = before.size > 0 ? undefined : changedObjects({ app, targets, since }, sources);
    if (changed !== undefined)
      return { ...changed, unread: [], degraded: { version: this.#degraded.of([]), kinds: [] } };
    const found = await managedObjects({ app, targets, had: had ?? [] }, sources, signal);
    // Objects were taken from the cache at the start: a kind that has recovered since was not fresh for this answer.
    const kinds = [...new Map([...before, ...this.#notFresh()]).values()];
    return { ...found, degraded: { version: this.#degraded.of(kinds), kinds } };
  }

  #sources(discovery: LiveDiscovery): ManagedSources {
    const watches = new Map<string, KindWatch[]>();
    for (const watch of this.#watch.watches())
      watches.set(kindText(watch.resource), [...(watches.get(kindText(watch.resource)) ?? []), watch]);
    const covers = (target: Place, is: (watch: KindWatch) => boolean): boolean =>
      (watches.get(kindText(target)) ?? []).some(
        (watch) => (watch.namespace === undefined || watch.namespace === target.namespace) && is(watch),
      );
    return {
      cluster: this.#cluster,
      client: this.#deps.client,
      discovery,
      store: this.#store,
      bodies: this.#bodies,
      isFresh: (target: Place) => covers(target, (watch) => watch.state().state === 'synced'),
      isBlind: (target: Place) => covers(target, (watch) => watch.isBlind()),
      appOf: (object: KubeObject) => this.#cache.read(object).app,
    };
  }

  rows(keys: readonly ResourceKey[], signal: AbortSignal): Promise<ReadonlyMap<ResourceKey, LiveRow>> {
    return answer(signal, () => {
      const nodes = keys.map((key) => this.#store.get(key)).filter((node) => node !== undefined);
      return new Map(nodes.map((node) => [node.key, this.#row(node)]));
    });
  }

  tree({ roots, leaveOut }: TreeQuery, signal: AbortSignal): Promise<readonly LiveRow[]> {
    return answer(signal, () => {
      const left = new Set(leaveOut);
      const rows: LiveRow[] = [];
      this.#store.walk(roots, (node, parents) => {
        if (left.has(node.key)) return false;
        rows.push(rowOf(node, parents));
        return true;
      });
      return rows;
    });
  }

  news(version: number | undefined, signal: AbortSignal): Promise<LiveNews> {
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

  topLevel(namespace: string, signal: AbortSignal): Promise<readonly LiveRow[]> {
    return answer(signal, () => this.#store.topLevel(namespace).map((node) => this.#row(node)));
  }

  machines(pods: readonly ResourceKey[], signal: AbortSignal): Promise<readonly LiveMachine[]> {
    return answer(signal, () => machinesOf(this.#store, pods));
  }

  schemas(apiVersions: readonly string[], signal: AbortSignal): Promise<LiveSchemas> {
    return this.#schemas.of(apiVersions, signal);
  }

  isNamespaced(gk: GroupKind): boolean | undefined {
    const discovery = this.#watch.discovery();
    return discovery === undefined ? undefined : findResource(discovery, gk)?.namespaced;
  }

  observe(object: KubeObject): void {
    const watch = this.#watch.watches().find(({ resource, namespace }) => {
      const { group, kind, version } = resource;
      const sameKind = kind === object.kind && `${group === '' ? '' : `${group}/`}${version}` === object.apiVersion;
      return sameKind && (namespace === undefined || namespace === object.metadata.namespace);
    });
    // Nobody would tell of what becomes of it afterwards.
    if (watch === undefined || watch.isBlind()) return;
    if (!this.#cache.observe(object)) watch.doubt();
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
    if (!this.#complete && this.#watch.settled()) {
      this.#complete = true;
      this.#cache.speak();
      if (this.#deps.earlier !== undefined) this.#cache.announceAll(this.#deps.earlier);
      const kinds = this.#watch.watches().length;
      this.#deps.logger.info('Cluster cache is complete', { kinds, objects: this.#store.size });
    }
    if (this.#state() !== 'connecting') this.#wakeWaiters();
  }

  #wakeWaiters(): void {
    for (const wake of [...this.#waiters]) wake();
  }

  #notFresh(): ReadonlyMap<string, KindState> {
    const kinds = this.#kinds().filter((kind) => kind.state !== 'synced');
    return new Map(kinds.map((kind) => [kindText(kind), kind]));
  }

  /** One entry per kind: the worst state of its namespaces. */
  #kinds(): readonly KindState[] {
    const kinds = new Map<string, KindState>();
    for (const watch of this.#watch.watches()) {
      const { group, kind, version } = watch.resource;
      const state = watch.state();
      const other = kinds.get(kindText(watch.resource));
      const isWorse = other === undefined || severity[other.state] < severity[state.state];
      if (!isWorse && (other.message !== undefined || watch.fault() === undefined)) continue;
      kinds.set(kindText(watch.resource), {
        group,
        kind,
        version,
        state: state.state,
        objects: this.#store.countOfKind(group, kind),
        ...messageIn(state, watch.fault()),
      });
    }
    return [...kinds.values()];
  }
}

function messageIn(state: KindWatchState, fault: string | undefined): { readonly message?: string } {
  if ('message' in state) return { message: state.message };
  return fault === undefined ? {} : { message: fault };
}

const severity: Readonly<Record<KindState['state'], number>> = {
  synced: 0,
  listing: 1,
  'left-out': 2,
  forbidden: 3,
  degraded: 4,
};

/** As if it came from elsewhere: what is wrong rejects, and who has given up gets nothing. */
function answer<T>(signal: AbortSignal, compute: () => T): Promise<T> {
  return new Promise((resolve) => {
    signal.throwIfAborted();
    resolve(compute());
  });
}
