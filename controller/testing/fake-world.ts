import { aborted, OwnershipLost, runGroups, seededRandom, Shutdown } from '#base';
import type { Clock } from '#base';
import type { DesiredSource, Manifests, ManifestsRequest, SourceManifests, VerifyRequest } from '#desired';
import { apiResource, findResource } from '#kube';
import type { ClusterInfo, DegradedKinds, KindState, LiveCluster, LiveClusters, UnreadObject } from '#live';
import { asApplication, bareRepository, defaultSettings, keyOf, refOf, trackedApp, versionOf } from '#model';
import type {
  Application,
  ApplicationSource,
  ApplicationSpec,
  ApplicationStatus,
  AppProjectSpec,
  Cluster,
  KubeObject,
  ObjectName,
  Settings,
} from '#model';
import { isReferenceOnly } from '#policy';
import { createMemoryPublisher } from '#publish';
import type { Publisher } from '#publish';
import { defaultRateLimiterConfig } from '#queues';
import type { SettingsStore } from '#settings';
import type { Ownership, OwnershipChange } from '#sharding';
import type { FakeClock } from '#support';
import { createLogger, PromMetrics, silentLogger } from '#telemetry';
import type { Logger } from '#telemetry';
import type { Controller, ControllerConfig, WatchDeps } from '../types.ts';
import type { Verdict } from '../verdict.ts';
import { createShadowController } from '../create-shadow.ts';
import { createController } from '../create-controller.ts';
import { FakeApi } from './fake-api.ts';
import type { Interference } from './fake-api.ts';
import { changeOf, rowOf } from './live-rows.ts';

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

/** A line of the log. */
export type Line = Readonly<Record<string, unknown>>;

export interface Shadow {
  readonly controller: Controller;
  readonly lines: readonly Line[];
  readonly verdicts: readonly Verdict[];
  readonly metrics: Pick<PromMetrics, 'expose'>;
  stop(): Promise<void>;
}

/** Commits and what is in them; a test pushes, and may make reading fail. */
export class FakeGit {
  readonly commits = new Map<string, readonly KubeObject[]>();
  readonly asked: string[] = [];
  readonly rendered: ApplicationSource[] = [];
  readonly requests: ManifestsRequest[] = [];
  head = '';
  failure: Error | undefined;
  /** Which sources the failure is of. */
  fails: (source: ApplicationSource) => boolean = () => true;
  /** What verifying finds, by commit; and all that was to be verified. */
  readonly problems = new Map<string, readonly string[]>();
  readonly verified: VerifyRequest[] = [];
  gpgFailure: Error | undefined;
  /** False: signatures are looked at while it renders, as a repo-server does. */
  verifiesBefore = true;
  /** What happens while manifests are asked for. */
  meanwhile: () => void = () => undefined;

  push(sha: string, objects: readonly KubeObject[]): void {
    this.commits.set(sha, objects);
    this.head = sha;
  }

  source(): DesiredSource {
    const resolve = (revision: string): string => (this.commits.has(revision) ? revision : this.head);
    const verify: DesiredSource['verify'] = (request) => {
      this.verified.push(request);
      if (this.gpgFailure !== undefined) return Promise.reject(this.gpgFailure);
      const revision = resolve(request.revision);
      return Promise.resolve({ revision, problems: this.problems.get(revision) ?? [] });
    };
    return {
      name: 'desired',
      run: (signal) => aborted(signal),
      resolve: ({ revision }) => Promise.resolve(resolve(revision)),
      ...(this.verifiesBefore ? { verify } : {}),
      manifests: (request): Promise<Manifests> => {
        this.requests.push(request);
        this.meanwhile();
        const sources: SourceManifests[] = [];
        for (const { source, revision: asked, demand } of request.sources) {
          const revision = resolve(asked);
          const problems = demand === undefined ? [] : (this.problems.get(revision) ?? []);
          if (problems.length > 0) {
            sources.push({ objects: [], revision, sourceType: 'Directory', problems });
            continue;
          }
          if (isReferenceOnly(source)) {
            sources.push({ objects: [], revision, sourceType: '' });
            continue;
          }
          this.asked.push(asked);
          this.rendered.push(source);
          if (this.failure !== undefined && this.fails(source)) return Promise.reject(this.failure);
          sources.push({ objects: this.commits.get(revision) ?? [], revision, sourceType: 'Directory' });
        }
        return Promise.resolve({ sources });
      },
    };
  }
}

/**
 * A hub, one destination cluster and Git, all in memory and in virtual time; replicas of the real controller start, stop and die over them.
 * What survives a replica is exactly what would survive a process: the two API servers and Git.
 */
export class FakeWorld {
  readonly hub = new FakeApi('https://hub', []);
  readonly dest: FakeApi;
  readonly git = new FakeGit();
  /** Why there may be kinds that discovery does not name. */
  unsure: string | undefined;
  /** Kinds whose live cache is not fresh. */
  degraded: KindState[] = [];
  /** Objects that the destination does not show just now, and why. */
  unread: (object: ObjectName) => string | undefined = () => undefined;
  /** The chart repositories that Secrets name. */
  readonly charts = ['https://charts/ours', 'https://charts/theirs'].map(bareRepository);
  /** False: the cluster has no cache yet. */
  ready = true;
  /** False: its Secret is gone. */
  known = true;
  /** False: there is no client for it. */
  connected = true;
  /** Another cluster stands at its URL since it was asked. */
  replaced = false;
  /** What argocd-cm says. */
  settings: Settings = defaultSettings;
  /** Which replica owns the cluster. */
  owner = 0;
  readonly clock: Clock;
  #degraded: DegradedKinds = { version: 1, kinds: [] };
  readonly #stops: (() => Promise<void>)[] = [];
  readonly #owners = new Set<(change: OwnershipChange) => void>();
  readonly #statuses: ApplicationStatus[] = [];

  /** `dest`: of another world, whose installation manages the same cluster. */
  constructor(clock: Clock, dest = new FakeApi(server, kinds)) {
    this.clock = clock;
    this.dest = dest;
    this.hub.onEvent(({ object }) => {
      if (object.kind === 'Application') this.#statuses.push(asApplication(object).status ?? {});
    });
    this.project('default');
  }

  /** The statuses of Applications that watchers have seen, in order: of each write, whoever made it. */
  statuses(): readonly ApplicationStatus[] {
    return [...this.#statuses];
  }

  /** The writes of Applications that replicas made, by their verbs. */
  writes(): readonly string[] {
    return this.hub.calls.flatMap((call) => /^(patch|replace) Application/.exec(call)?.[1] ?? []);
  }

  /** A project that allows everything, but for what `more` says. */
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

  /** The cluster goes to another replica. */
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

  /** Changes the application as someone else would. */
  edit(change: (object: KubeObject) => object, name = 'demo'): void {
    const object = this.applicationOf(name) as unknown as KubeObject;
    this.hub.put({ ...object, ...change(object) });
  }

  annotate(annotations: Readonly<Record<string, string>>): void {
    this.edit((object) => ({
      metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, ...annotations } },
    }));
  }

  /** Starts a replica. `stop` ends it in order; a test that lets it die just makes its clients fail for ever. */
  replica(
    options: {
      readonly hub?: Interference;
      readonly dest?: Interference;
      readonly config?: Partial<ControllerConfig>;
      readonly index?: number;
      readonly metrics?: PromMetrics;
      readonly logger?: Logger;
      readonly publisher?: Publisher;
    } = {},
  ): { readonly controller: Controller; stop(): Promise<void> } {
    const { hub, index = 0, dest = {} } = options;
    const deps = {
      ...this.#deps(index),
      hub: this.hub.client(hub),
      clients: { of: () => (this.connected ? this.dest.client(dest) : undefined) },
      publisher: options.publisher ?? createMemoryPublisher(),
      ...(options.metrics === undefined ? {} : { metrics: options.metrics }),
      ...(options.logger === undefined ? {} : { logger: options.logger }),
    };
    return this.#started(createController(deps, { ...config, ...options.config }));
  }

  /** Starts a controller that only looks, and keeps what it says. */
  shadow(over: Partial<ControllerConfig> = {}): Shadow {
    const lines: Line[] = [];
    const verdicts: Verdict[] = [];
    const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Line) };
    const deps = {
      ...this.#deps(0),
      hub: this.hub.client(),
      logger: createLogger({ level: 'info', format: 'json', destination }),
      onVerdict: (verdict: Verdict) => void verdicts.push(verdict),
    };
    const controller = createShadowController(deps, { ...config, ...over, disagreementMs: 30_000 });
    return { ...this.#started(controller), lines, verdicts, metrics: deps.metrics };
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

  /** Ends everything that was started here and runs still, one after the other. `clock` is the one that the world goes by. */
  async close(clock: FakeClock): Promise<void> {
    for (const stop of this.#stops.splice(0)) {
      const ended = stop();
      await clock.advance(2000);
      await ended;
    }
  }

  #cluster(): Cluster {
    const connection = { server, insecure: false, credentials: {} };
    return {
      id: 'c1',
      server,
      name: 'dest',
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
      run: (signal) => aborted(signal),
      settings: () => this.settings,
      clusters: () => (this.known ? [this.#cluster()] : []),
      resolve: (destination) =>
        this.known && (destination.server === server || destination.name === 'dest')
          ? this.#cluster()
          : { error: `error getting cluster by server "${destination.server ?? ''}"` },
      repository: (url) => bareRepository(url),
      chartRepositories: () => ({ repositories: this.charts, credentials: [] }),
      gpgKeys: () => Promise.resolve({}),
      onChange: () => () => undefined,
      problems: () => [],
    };
  }

  #ownership(index: number): Ownership {
    const mine = (): boolean => this.owner === index;
    return {
      name: 'ownership',
      run: (signal) => aborted(signal),
      identity: () => ({ shard: index, replicas: 2 }),
      ownsCluster: mine,
      ownsApp: mine,
      assertOwns: () => {
        if (!mine()) throw new OwnershipLost(server);
      },
      writing: (_server, _app, send) => (mine() ? send() : Promise.reject(new OwnershipLost(server))),
      leaseLeftMs: () => 60_000,
      measure: () => undefined,
      gaining: () => new Map(),
      prepared: () => undefined,
      unowned: () => new Map(),
      settled: () => true,
      ownedParts: () => (mine() ? { of: 1, owned: [0] } : undefined),
      conditions: () => [],
      update: () => undefined,
      onChange: (listener) => {
        this.#owners.add(listener);
        return () => void this.#owners.delete(listener);
      },
      table: () => [],
    };
  }

  #live(): LiveClusters {
    const cluster = this.#liveCluster();
    return {
      name: 'live',
      run: (signal) => aborted(signal),
      setClusters: () => undefined,
      cluster: (_server, signal) =>
        this.ready ? Promise.resolve(cluster) : aborted(signal).then(() => Promise.reject(signal.reason as Error)),
      peek: () => (this.replaced ? this.#liveCluster() : cluster),
      infos: () => [],
      onChange: (listener) => this.dest.onEvent(({ object }) => listener(changeOf(server, object))),
    };
  }

  #degradedKinds(): DegradedKinds {
    if (this.#degraded.kinds !== this.degraded)
      this.#degraded = { version: this.#degraded.version + 1, kinds: this.degraded };
    return this.#degraded;
  }

  #liveCluster(): LiveCluster {
    const all = (): readonly KubeObject[] =>
      [...this.dest.objects.values()].filter(
        (o) => !this.dest.failedGroups.has(refOf(o).group) && !this.dest.unnamedGroups.has(refOf(o).group),
      );
    const info: ClusterInfo = { server, state: 'synced', serverVersion: 'v1.30.0', ...noCounts, kinds: [] };
    return {
      server,
      info: () => info,
      discovery: () => this.dest.discovered(),
      unsure: () => this.unsure,
      managed: ({ app, targets }) => {
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
      rows: () => Promise.resolve(new Map()),
      news: () => Promise.resolve({ version: 0, changed: undefined }),
      tree: ({ roots, leaveOut }) => {
        const found = roots.filter((key) => !leaveOut.includes(key)).map((key) => this.dest.objects.get(key));
        return Promise.resolve(found.flatMap((object) => (object === undefined ? [] : [rowOf(object)])));
      },
      topLevel: (namespace) =>
        Promise.resolve(
          all()
            .filter((o) => o.metadata.namespace === namespace)
            .map(rowOf),
        ),
      machines: () => Promise.resolve([]),
      schemas: () => Promise.resolve({ version: '', kinds: new Map() }),
      isNamespaced: (gk) => findResource(this.dest.discovery, gk)?.namespaced,
      observe: () => undefined,
    };
  }
}

const noCounts = { resourcesCount: 0, apisCount: 0, eventsCount: 0 };

/** A ConfigMap in the namespace of the application. */
export function configMap(name: string, value = '1', annotations: Readonly<Record<string, string>> = {}): KubeObject {
  const metadata = Object.keys(annotations).length === 0 ? { name } : { name, annotations };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { key: value } };
}

/** A spec that is synced by itself, with whatever else its policy says. */
export function automatedBy(more: { readonly allowEmpty?: boolean } = {}): Pick<ApplicationSpec, 'syncPolicy'> {
  return { syncPolicy: { automated: { prune: true, selfHeal: true, ...more } } };
}

export const automated = automatedBy();
