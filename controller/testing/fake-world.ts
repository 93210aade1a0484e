import { untilAborted, defined, newAbortController, OwnershipLost, runGroups, seededRandom, Shutdown } from '#base';
import type { Clock } from '#base';
import type { HydrationCommitter } from '#desired';
import { apiResource, findResource } from '#kube';
import type { KubeClient } from '#kube';
import type { ClusterInfo, DegradedKinds, KindState, LiveCluster, LiveClusters, UnreadObject } from '#live';
import { asApplication, bareRepository, defaultSettings, keyOf, refOf, trackedApp, versionOf } from '#model';
import type {
  Application,
  ApplicationSpec,
  ApplicationStatus,
  AppProjectSpec,
  Cluster,
  KubeObject,
  ObjectName,
  Settings,
} from '#model';
import { createMemoryPublisher } from '#publish';
import type { Publisher } from '#publish';
import { defaultRateLimiterConfig } from '#queues';
import type { SettingsStore } from '#settings';
import type { Ownership, OwnershipChange } from '#sharding';
import type { FakeClock } from '#support';
import { createLogger, PromMetrics, silentLogger } from '#telemetry';
import type { Logger, Tracer } from '#telemetry';
import type { Controller, ControllerConfig, WatchDeps } from '../assembly/types.ts';
import type { ShadowVerdict } from '../application/verdict.ts';
import { createShadowController } from '../shadow/create-shadow.ts';
import { createController } from '../assembly/create-controller.ts';
import { FakeApi } from './fake-api.ts';
import { FakeGit } from './fake-git.ts';
import type { CallInterference } from './fake-api.ts';
import { changeOf, longUnowned, rowOf, rowsAt } from './live-rows.ts';

export const server = 'https://dest';

const kinds = [
  apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced'),
  apiResource('v1', 'Secret', 'secrets', 'namespaced'),
  apiResource('v1', 'Namespace', 'namespaces', 'cluster'),
  apiResource('batch/v1', 'Job', 'jobs', 'namespaced'),
  apiResource('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions', 'cluster'),
];

export const config: ControllerConfig = {
  namespace: 'argocd',
  applicationNamespaces: [],
  statusProcessors: 2,
  operationProcessors: 2,
  appResyncMs: 120_000,
  hardResyncMs: 0,
  jitterMs: 0,
  selfHeal: { backoffMs: 2000, factor: 3, capMs: 300_000, timeoutMs: 0 },
  syncTimeoutMs: 0,
  repoErrorGraceMs: 180_000,
  kubectlParallelism: 20,
  syncWaveDelayMs: 0,
  persistResourceHealth: false,
  rateLimiter: defaultRateLimiterConfig,
  graceMs: 1000,
};

/** A log line. */
export type LogLine = Readonly<Record<string, unknown>>;

export interface ShadowRun {
  readonly controller: Controller;
  readonly lines: readonly LogLine[];
  readonly verdicts: readonly ShadowVerdict[];
  readonly metrics: Pick<PromMetrics, 'expose'>;
  stop(): Promise<void>;
}

/**
 * A hub, one destination cluster and Git, in memory and in virtual time, for replicas of the real
 * controller that start, stop and die. Only the two API servers and Git outlive a replica, as in
 * reality.
 */
export class FakeWorld {
  readonly hub = new FakeApi('https://hub', []);
  readonly dest: FakeApi;
  /** Destination clusters besides `dest`, by URL. */
  readonly others = new Map<string, FakeApi>();
  readonly git = new FakeGit();
  /** Why discovery may not name all kinds. */
  unsure: string | undefined;
  /** Kinds whose live cache is stale. */
  degraded: KindState[] = [];
  /** How often the live objects of an Application were read: once for each comparison. */
  liveReads = 0;
  evidenceReads = 0;
  /** No audit has confirmed the cache lately. */
  unconfirmed = false;
  /** Why the destination currently hides an object; undefined: it does not. */
  unread: (object: ObjectName) => string | undefined = () => undefined;
  readonly activity = {} as LiveCluster['activity'];
  /** The chart repositories that have Secrets. */
  charts = ['https://charts/ours', 'https://charts/theirs'].map(bareRepository);
  /** False: the cluster has no cache yet. */
  ready = true;
  /** Clusters of `others` whose cache is never filled. */
  readonly unfilled = new Set<string>();
  /** False: the cluster's Secret is gone. */
  known = true;
  /** Why the cluster may exist although its Secret is not usable. */
  claim: string | undefined;
  /** False: the cluster has no client. */
  connected = true;
  /** Another cluster is now served at the URL. */
  replaced = false;
  /** The settings from argocd-cm. */
  settings: Settings = defaultSettings;
  /** Index of the replica that owns the cluster; -1: none has owned it for minutes. */
  owner = 0;
  readonly clock: Clock;
  #degraded: DegradedKinds = { version: 1, kinds: [] };
  readonly #stops: (() => Promise<void>)[] = [];
  readonly #owners = new Set<(change: OwnershipChange) => void>();
  readonly #statuses: ApplicationStatus[] = [];

  /** `dest`: shared with another world, whose installation manages the same cluster. */
  constructor(clock: Clock, dest = new FakeApi(server, kinds)) {
    this.clock = clock;
    this.dest = dest;
    this.git.clock = clock;
    this.hub.onEvent(({ object }) => {
      if (object.kind === 'Application') this.#statuses.push(asApplication(object).status ?? {});
    });
    this.project('default');
  }

  /** Adds a destination cluster; call it before starting the first replica. */
  addCluster(url: string): FakeApi {
    const api = new FakeApi(url, kinds);
    this.others.set(url, api);
    return api;
  }

  /** Statuses of Applications after each write by any client, in order. */
  statuses(): readonly ApplicationStatus[] {
    return [...this.#statuses];
  }

  /** Verbs of the replicas' writes to Applications. */
  writes(): readonly string[] {
    return this.hub.calls.flatMap((call) => /^(patch|replace) Application/.exec(call)?.[1] ?? []);
  }

  /** A project that permits everything, unless `more` restricts it. */
  project(name: string, more: Partial<AppProjectSpec> = {}): void {
    this.hub.put({
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'AppProject',
      metadata: { name, namespace: 'argocd' },
      spec: {
        sourceRepos: ['*'],
        destinations: [{ server: '*', namespace: '*' }],
        clusterResourceWhitelist: [{ group: '*', kind: '*' }],
        ...(more as object),
      },
    });
  }

  application(spec: Partial<ApplicationSpec> = {}, over: Partial<KubeObject> = {}): void {
    this.hub.put({
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      metadata: { name: 'demo', namespace: 'argocd', ...over.metadata },
      spec: {
        project: 'default',
        source: { repoURL: 'https://git/x', path: 'p', targetRevision: 'main' },
        destination: { server, namespace: 'apps' },
        ...spec,
      } as never,
      ...('operation' in over ? { operation: over['operation'] } : {}),
    });
  }

  /** Hands the cluster over to another replica. */
  handOver(index: number): void {
    this.owner = index;
    for (const tell of this.#owners) tell({ gained: [server], lost: [server] });
  }

  get app(): Application {
    return this.applicationOf('demo');
  }

  applicationOf(name: string): Application {
    const object = this.hub.get('Application', name);
    if (object === undefined) throw new Error('the application is gone');
    return asApplication(object);
  }

  /** Changes the Application as another client. */
  edit(change: (object: KubeObject) => object, name = 'demo'): void {
    const object = this.applicationOf(name) as unknown as KubeObject;
    this.hub.put({ ...object, ...change(object) });
  }

  annotate(annotations: Readonly<Record<string, string>>): void {
    this.edit((object) => ({
      metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, ...annotations } },
    }));
  }

  /**
   * Starts a replica. `stop` shuts it down in order; to crash it, make its clients fail forever.
   */
  replica(
    options: {
      readonly hub?: CallInterference;
      readonly dest?: CallInterference;
      /** Hooks around the calls to `others`. */
      readonly others?: CallInterference;
      readonly config?: Partial<ControllerConfig>;
      readonly index?: number;
      readonly metrics?: PromMetrics;
      readonly logger?: Logger;
      readonly publisher?: Publisher;
      readonly tracer?: Tracer;
      readonly committer?: HydrationCommitter;
    } = {},
  ): { readonly controller: Controller; stop(): Promise<void> } {
    const { hub, index = 0, dest = {}, others = {} } = options;
    const clientOf = (url: string): KubeClient | undefined => {
      if (url === server) return this.connected ? this.dest.client(dest) : undefined;
      return this.others.get(url)?.client(others);
    };
    const deps = {
      ...this.#deps(index),
      hub: this.hub.client(hub),
      clients: { of: clientOf },
      publisher: options.publisher ?? createMemoryPublisher(),
      committer: options.committer,
      ...defined({ metrics: options.metrics, logger: options.logger, tracer: options.tracer }),
    };
    return this.#started(createController(deps, { ...config, ...options.config }));
  }

  /** Starts a shadow controller, and records its log lines and verdicts. */
  shadow(over: Partial<ControllerConfig> = {}): ShadowRun {
    const lines: LogLine[] = [];
    const verdicts: ShadowVerdict[] = [];
    const destination = { write: (line: string) => void lines.push(JSON.parse(line) as LogLine) };
    const metrics = new PromMetrics();
    const deps = {
      ...this.#deps(0),
      metrics,
      hub: this.hub.client(),
      logger: createLogger({ level: 'info', format: 'json', destination }),
      onVerdict: (verdict: ShadowVerdict) => void verdicts.push(verdict),
    };
    const controller = createShadowController(deps, { ...config, ...over, disagreementMs: 30_000 });
    return { ...this.#started(controller), lines, verdicts, metrics };
  }

  #deps(index: number): WatchDeps {
    return {
      hub: this.hub.client(),
      settings: this.#settings(),
      ownership: this.#ownership(index),
      live: this.#live(),
      desired: this.git.source(),
      clock: this.clock,
      random: seededRandom(1),
      logger: silentLogger,
      metrics: new PromMetrics(),
    };
  }

  #started(controller: Controller): { readonly controller: Controller; stop(): Promise<void> } {
    const life = new AbortController();
    const ended = runGroups([[controller]], life.signal, { clock: this.clock, graceMs: 30_000 });
    ended.catch(() => undefined);
    const stop = async (): Promise<void> => {
      life.abort(new Shutdown());
      await ended;
    };
    this.#stops.push(stop);
    return { controller, stop };
  }

  /** Stops everything still running, one after the other. `clock` is this world's clock. */
  async close(clock: FakeClock): Promise<void> {
    for (const stop of this.#stops.splice(0)) await Promise.all([stop(), clock.advance(2000)]);
  }

  #cluster(url: string): Cluster {
    const connection = { server: url, insecure: false, credentials: {} };
    return {
      id: url === server ? 'c1' : url,
      server: url,
      name: url === server ? 'dest' : url,
      namespaces: [],
      clusterResources: false,
      labels: {},
      annotations: {},
      connection,
    };
  }

  #settings(): SettingsStore {
    return {
      name: 'settings',
      run: (signal) => untilAborted(signal),
      settings: () => this.settings,
      clusters: () => [...(this.known ? [server] : []), ...this.others.keys()].map((url) => this.#cluster(url)),
      resolve: ({ server: wanted = '', name }) => {
        if (this.others.has(wanted)) return this.#cluster(wanted);
        if (this.known && (wanted === server || name === 'dest')) return this.#cluster(server);
        return { error: `error getting cluster by server "${wanted}"`, ...defined({ claim: this.claim }) };
      },
      repository: (url) => bareRepository(url),
      writeRepository: (url) => bareRepository(url),
      chartRepositories: () => ({ repositories: this.charts, credentials: [] }),
      decryptionKeys: (secret) => ({ problem: `no Secret ${secret}` }),
      gpgKeys: () => Promise.resolve({}),
      onChange: () => () => undefined,
      problems: () => [],
    };
  }

  #ownership(index: number): Ownership {
    const mine = (): boolean => this.owner === index;
    return {
      name: 'ownership',
      run: (signal) => untilAborted(signal),
      identity: () => ({ shard: index, replicas: 2 }),
      ownsCluster: mine,
      ownsApp: mine,
      assertOwns: () => {
        if (!mine()) throw new OwnershipLost(server);
      },
      writing: (_server, _app, send) => {
        const check = (): void => {
          if (!mine()) throw new OwnershipLost(server, { isOver: true });
        };
        return mine() ? send(check, newAbortController().signal) : Promise.reject(new OwnershipLost(server));
      },
      leaseLeftMs: () => 60_000,
      measure: () => undefined,
      gaining: () => new Map(),
      prepared: () => undefined,
      unowned: () => (this.owner < 0 ? longUnowned(server) : new Map()),
      isUnowned: (_key, cluster) => this.owner < 0 && cluster.server === server,
      settled: () => true,
      ownedParts: () => (mine() ? { of: 1, owned: [0] } : undefined),
      conditions: () => [],
      update: () => undefined,
      onChange: (listener) => {
        this.#owners.add(listener);
        return () => void this.#owners.delete(listener);
      },
      table: () => [],
      facts: () => ({ ...noOwners, shards: 2 }),
      placeOf: () => ({ slot: this.owner, part: 0, parts: 1 }),
    };
  }

  #live(): LiveClusters {
    const cluster = this.#liveCluster(this.dest);
    const others = new Map([...this.others].map(([url, api]) => [url, this.#liveCluster(api)]));
    return {
      name: 'live',
      run: (signal) => untilAborted(signal),
      setClusters: () => undefined,
      cluster: (url, signal) => {
        const other = others.get(url);
        if (other !== undefined && !this.unfilled.has(url)) return Promise.resolve(other);
        return this.ready && other === undefined
          ? Promise.resolve(cluster)
          : untilAborted(signal).then(() => Promise.reject(signal.reason as Error));
      },
      peek: (url) => others.get(url) ?? (this.replaced ? this.#liveCluster(this.dest) : cluster),
      infos: () => [],
      eventCounts: () => new Map(),
      reports: () => [],
      onChange: (listener) => {
        const stops = [this.dest, ...this.others.values()].map((api) =>
          api.onEvent(({ object }) => listener(changeOf(api.server, object))),
        );
        return () => {
          for (const stop of stops) stop();
        };
      },
    };
  }

  #degradedKinds(): DegradedKinds {
    if (this.#degraded.kinds !== this.degraded)
      this.#degraded = { version: this.#degraded.version + 1, kinds: this.degraded };
    return this.#degraded;
  }

  #liveCluster(api: FakeApi): LiveCluster {
    const isKnown = ({ group }: ReturnType<typeof refOf>): boolean =>
      !api.failedGroups.has(group) && !api.unnamedGroups.has(group);
    const all = (): readonly KubeObject[] => [...api.objects.values()].filter((object) => isKnown(refOf(object)));
    const info: ClusterInfo = { server: api.server, state: 'synced', serverVersion: 'v1.30.0', ...noCounts, kinds: [] };
    const known = { server: api.server, staleKinds: () => this.degraded, info: () => info };
    return {
      ...known,
      serverVersion: () => info.serverVersion,
      discovery: () => api.discovered(),
      discoveryDoubt: () => this.unsure,
      knowKinds: () => Promise.resolve(),
      capabilities: () => api.capabilities(this.unsure),
      managed: ({ app, targets }) => {
        this.liveReads += 1;
        const wanted = new Set(targets.map(keyOf));
        const found = all().filter((o) => trackedApp(o, this.settings.tracking) === app || wanted.has(keyOf(o)));
        const dark = new Map([...targets, ...found].map((o) => [keyOf(o), o] as const));
        const unread = [...dark].flatMap(([key, o]): UnreadObject[] => {
          const message = this.unread(o);
          return message === undefined ? [] : [{ ...refOf(o), key, version: versionOf(o.apiVersion), message }];
        });
        const shown = found.filter((o) => this.unread(o) === undefined).map((o) => [keyOf(o), o] as const);
        return Promise.resolve({ objects: new Map(shown), unread, degraded: this.#degradedKinds() });
      },
      evidence: ({ app, targets }) => {
        this.evidenceReads += 1;
        if (this.unconfirmed || api.failedGroups.size > 0) return Promise.resolve(undefined);
        const wanted = new Set(targets.map(keyOf));
        const found = all().filter((o) => trackedApp(o, this.settings.tracking) === app || wanted.has(keyOf(o)));
        const versions = found.map((o) => [keyOf(o), o.metadata.uid, o.metadata.resourceVersion, o.apiVersion]);
        const isUnread = found.some((o) => this.unread(o) !== undefined);
        return Promise.resolve(isUnread ? undefined : JSON.stringify([versions, this.#degradedKinds().version]));
      },
      rows: (keys) => Promise.resolve(rowsAt(api.objects, keys)),
      activity: this.activity,
      changesSince: () => Promise.resolve({ version: 0, changed: undefined }),
      tree: ({ roots, excluded }) => Promise.resolve([...rowsAt(api.objects, roots, excluded).values()]),
      list: ({ namespaces = [] }) =>
        Promise.resolve(all().flatMap((o) => (namespaces.includes(o.metadata.namespace ?? '') ? [rowOf(o)] : []))),
      machines: () => Promise.resolve([]),
      schemas: () => Promise.resolve({ version: '', kinds: new Map() }),
      isNamespaced: (gk) => findResource(api.discovery, gk)?.namespaced,
      foreignEditSeconds: (key) => (api.objects.has(key) ? 0 : undefined),
      observe: () => undefined,
    };
  }
}

const noOwners = {
  epoch: undefined,
  epochSince: undefined,
  algorithm: 'legacy',
  holders: new Map(),
  entries: new Map(),
  handOvers: [],
  unowned: new Map(),
} as const;

const noCounts = { resourcesCount: 0, apisCount: 0, eventsCount: 0 };

/** A ConfigMap in the Application's namespace. */
export function configMap(name: string, value = '1', annotations: Readonly<Record<string, string>> = {}): KubeObject {
  const metadata = Object.keys(annotations).length === 0 ? { name } : { name, annotations };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { key: value } };
}

/** A spec with automated sync, and the given policy options. */
export function automatedBy(more: { readonly allowEmpty?: boolean } = {}): Pick<ApplicationSpec, 'syncPolicy'> {
  return { syncPolicy: { automated: { prune: true, selfHeal: true, ...more } } };
}

export const automated = automatedBy();
