import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { env } from 'node:process';
import type { ReplicaFacts } from '#api';
import { defined, runGroups, Shutdown, parseYamlDocuments, seededRandom, systemClock, systemRandom } from '#base';
import type { Runnable } from '#base';
import { createController } from '#controller';
import type { Controller, ControllerConfig } from '#controller';
import {
  createDesiredSource,
  createInProcessRenderer,
  createInProcessRunner,
  observeSource,
  programsFrom,
} from '#desired';
import type { DesiredSource, HydrationCommitter } from '#desired';
import { createKubeClient, SharedClients } from '#kube';
import type { ClientInstruments, KubeClient, RunCommand } from '#kube';
import { ApiVersionFiles, createLiveClusters } from '#live';
import type { Application, ClusterConnection, KubeObject } from '#model';
import { createMemoryPublisher } from '#publish';
import type { MemoryPublisher, Publisher } from '#publish';
import { defaultRateLimiterConfig, QueueMetrics } from '#queues';
import { createSettingsStore, createSettingsWriter } from '#settings';
import { createOwnership } from '#sharding';
import { startSimCluster } from '#sim';
import type { SimCluster, SimOptions } from '#sim';
import { eventually, headOf, initRepository, openProject } from '#support';
import { createLogger, PromMetrics } from '#telemetry';

/** A real Git repository in a temporary directory. */
export class GitFixture {
  readonly path: string;
  readonly url: string;

  constructor(root: string, name: string) {
    this.path = join(root, name);
    this.url = `file://${this.path}`;
    mkdirSync(this.path, { recursive: true });
    initRepository(this.path);
  }

  /** Writes files (null removes one), commits, and returns the commit. */
  commit(files: Readonly<Record<string, string | null>>): string {
    for (const [name, content] of Object.entries(files)) {
      const path = join(this.path, name);
      mkdirSync(dirname(path), { recursive: true });
      if (content === null) rmSync(path, { recursive: true });
      else writeFileSync(path, content);
    }
    this.#git('add', '--all');
    this.#git('commit', '--quiet', '--allow-empty', '--message', 'change');
    return headOf(this.path);
  }

  /** The source of an Application: the folder `app` of this repository. */
  source(over: object = {}): { readonly source: object } {
    return { source: { repoURL: this.url, path: 'app', targetRevision: 'main', ...over } };
  }

  #git(...args: string[]): void {
    execFileSync('git', ['-C', this.path, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: env['PATH'],
        HOME: this.path,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_AUTHOR_NAME: 'a',
        GIT_AUTHOR_EMAIL: 'a@example.com',
        GIT_COMMITTER_NAME: 'a',
        GIT_COMMITTER_EMAIL: 'a@example.com',
      },
    });
  }
}

export const controllerConfig: ControllerConfig = {
  namespace: 'argocd',
  applicationNamespaces: [],
  statusProcessors: 4,
  operationProcessors: 4,
  appResyncMs: 120_000,
  hardResyncMs: 0,
  jitterMs: 60_000,
  selfHeal: { backoffMs: 2000, factor: 3, capMs: 300_000, timeoutMs: 0 },
  syncTimeoutMs: 0,
  repoErrorGraceMs: 180_000,
  kubectlParallelism: 20,
  syncWaveDelayMs: 0,
  persistResourceHealth: false,
  rateLimiter: defaultRateLimiterConfig,
  graceMs: 2000,
};

let parsedCrds: readonly KubeObject[] | undefined;

/** The CustomResourceDefinitions of Applications and AppProjects. Parsing them is slow. */
export function argoCrds(): KubeObject[] {
  parsedCrds ??= ['application', 'appproject'].flatMap(
    (name) => parseYamlDocuments(readFileSync(`manifests/crds/${name}-crd.yaml`, 'utf8')) as unknown as KubeObject[],
  );
  return structuredClone([...parsedCrds]);
}

/** How replicas determine their shard. The default is a single replica. */
export interface ReplicaIdentity {
  readonly dynamic: boolean;
  readonly hostname: string;
  readonly replicas: number;
}

/** A replica of the controller, assembled in this process as `driftless run` does. */
export interface Replica {
  readonly controller: Controller;
  readonly publisher: MemoryPublisher;
  readonly metrics: PromMetrics;
  /** The facts behind its read API. */
  readonly facts: ReplicaFacts;
  stop(): Promise<void>;
}

/** A hub, a destination cluster, Git, and replicas. Only the API servers are simulated. */
export class World {
  readonly root = mkdtempSync(join(tmpdir(), 'driftless-world-'));
  readonly hub: SimCluster;
  readonly cluster: SimCluster;
  /**
   * Collects all log lines, including debug, if a test sets it to a list before it starts a
   * replica.
   */
  log: string[] | undefined;
  /** Looks up helm and kustomize. Finds nothing unless a test replaces it. */
  tools: (name: string) => string | undefined = () => undefined;
  /**
   * Folder in which replicas keep lists of API versions. If set, successive replicas share it, like
   * restarts of one pod; otherwise each has its own.
   */
  keptLists: string | undefined;
  /** Wraps the sources of replicas. */
  sources: (desired: DesiredSource) => DesiredSource = (desired) => desired;
  /** Creates the metrics of a replica. */
  metrics: () => { readonly metrics: PromMetrics; readonly instruments?: ClientInstruments } = () => ({
    metrics: new PromMetrics(),
  });
  /** Limits of the clients of replicas, besides their rate. */
  limits: { readonly deadlineMs?: number } = {};
  /** Labels of cluster Secrets that metrics show. */
  clusterLabels: readonly string[] = [];
  /** Commits hydrated manifests; without it, hydration is off. */
  committer: ((cacheDir: string) => HydrationCommitter) | undefined;
  /** Runs the credential plugins of clusters. Without it they are refused. */
  plugins: RunCommand | undefined;
  /** The publisher of a replica; its own MemoryPublisher unless a test replaces it. */
  publisherFor: (own: MemoryPublisher, metrics: PromMetrics) => Publisher = (own) => own;
  readonly #replicas: Replica[] = [];
  readonly #random = seededRandom(1);

  private constructor(hub: SimCluster, cluster: SimCluster) {
    this.hub = hub;
    this.cluster = cluster;
  }

  static async start(options: Pick<SimOptions, 'crdDelayMs'> = {}): Promise<World> {
    const common = { clock: systemClock, random: seededRandom(2), workloads: { enabled: true, delayMs: 5 } };
    const hub = await startSimCluster({ ...common, name: 'hub', crds: argoCrds() });
    const cluster = await startSimCluster({ ...common, ...options, name: 'dest' });
    const world = new World(hub, cluster);
    world.#prepare();
    return world;
  }

  #prepare(): void {
    const { store } = this.hub;
    store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'argocd' } });
    this.addCluster('dest', this.cluster.url);
    store.create(openProject());
    this.cluster.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'apps' } });
  }

  /** Adds a cluster Secret. */
  addCluster(name: string, server: string, over: ClusterSecret = {}): void {
    this.hub.store.create(clusterSecret(name, server, over));
  }

  /** Replaces a cluster Secret. */
  updateCluster(name: string, server: string, over: ClusterSecret = {}): void {
    this.hub.store.update(clusterSecret(name, server, over));
  }

  repository(name: string): GitFixture {
    return new GitFixture(this.root, name);
  }

  /** Starts a replica and waits until it is ready. */
  async replica(
    over: Partial<ControllerConfig> = {},
    identity: ReplicaIdentity = { dynamic: false, hostname: 'test-0', replicas: 1 },
  ): Promise<Replica> {
    const { log } = this;
    const isKept = log !== undefined;
    const logger = createLogger({
      level: env['TEST_LOG'] === undefined && !isKept ? 'error' : 'debug',
      format: 'text',
      destination: {
        write: (line) => {
          log?.push(line);
          if (!isKept || env['TEST_LOG'] !== undefined) process.stderr.write(line);
        },
      },
    });
    const common = { clock: systemClock, random: this.#random, logger };
    const { metrics, instruments } = this.metrics();
    const opened: KubeClient[] = [];
    const connect = (connection: ClusterConnection): KubeClient => {
      const client = createKubeClient(connection, {
        ...common,
        userAgent: 'test',
        limits: { qps: 1000, burst: 1000, ...this.limits },
        ...defined({ instruments, runCommand: this.plugins }),
      });
      opened.push(client);
      return client;
    };
    const hub = connect({ server: this.hub.url, insecure: false, credentials: {} });
    const settings = createSettingsStore({
      ...common,
      client: hub,
      namespace: 'argocd',
      writer: createSettingsWriter(hub),
      metrics,
    });
    const ownership = createOwnership({
      ...common,
      client: hub,
      namespace: 'argocd',
      metrics,
      ...identity,
      algorithm: 'legacy',
      heartbeatMs: 1000,
      controllerName: 'test',
    });
    const clients = new SharedClients(connect);
    const cacheDir = mkdtempSync(join(this.root, 'cache-'));
    const apiVersions = new ApiVersionFiles({ ...common, folder: this.keptLists ?? join(cacheDir, 'api-versions') });
    const live = createLiveClusters({ ...common, clients, metrics, apiVersions, clusterLabels: this.clusterLabels });
    const commands = createInProcessRunner({ clock: systemClock, env });
    const programs = programsFrom((name) => this.tools(name));
    const renderer = createInProcessRenderer({
      commands,
      programs,
      folder: join(cacheDir, 'render'),
      random: systemRandom,
    });
    const embedded = createDesiredSource({
      ...common,
      reach: { allowLocal: true },
      cacheDir,
      commands,
      keys: (signal) => settings.gpgKeys(signal),
      renderer,
      metrics,
    });
    const { source: desired, repositories } = observeSource(this.sources(embedded), systemClock);
    const publisher = createMemoryPublisher();
    const written = this.publisherFor(publisher, metrics);
    const controller = createController(
      {
        ...common,
        hub,
        settings,
        ownership,
        live,
        clients,
        desired,
        publisher: written,
        metrics,
        queueMetrics: new QueueMetrics(metrics),
        committer: this.committer?.(cacheDir),
      },
      { ...controllerConfig, ...over },
    );
    const groups: Runnable[][] = [[settings], [ownership, written, desired, live], [controller]];
    const stop = new AbortController();
    const ended = runGroups(groups, stop.signal, { clock: systemClock, graceMs: 10_000 });
    ended.catch(() => undefined);
    await Promise.race([controller.ready(stop.signal), ended]);
    const replica: Replica = {
      controller,
      publisher,
      metrics,
      facts: {
        name: identity.hostname,
        version: 'test',
        namespace: 'argocd',
        clock: systemClock,
        controller: controller.report,
        ownership,
        clusters: () => settings.clusters(),
        watched: () => live.reports(),
        repositories,
        process: () => ({ startedAt: 0, ready: true, heapBytes: 0, heapLimitBytes: 0, rssBytes: 0, cpuMs: 0 }),
      },
      stop: async () => {
        stop.abort(new Shutdown());
        await ended;
        await Promise.all(opened.map((client) => client.close()));
      },
    };
    this.#replicas.push(replica);
    return replica;
  }

  /** Creates an Application that deploys to the destination cluster. */
  application(name: string, spec: object, metadata: object = {}): void {
    this.hub.store.create({
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      metadata: { name, namespace: 'argocd', ...metadata },
      spec: { project: 'default', destination: { server: this.cluster.url, namespace: 'apps' }, ...spec },
    });
  }

  app(name: string): Application | undefined {
    return this.hub.store.get('argoproj.io', 'Application', 'argocd', name) as unknown as Application | undefined;
  }

  /** Changes an Application as `kubectl edit` does, and retries on a conflict. */
  edit(name: string, change: (object: Record<string, unknown> & KubeObject) => void): void {
    const object = structuredClone(this.hub.store.get('argoproj.io', 'Application', 'argocd', name));
    if (object === undefined) throw new Error(`no application ${name}`);
    change(object);
    this.hub.store.update(object, { manager: 'kubectl' });
  }

  /** A live object of the destination cluster. */
  live(group: string, kind: string, name: string): KubeObject | undefined {
    return this.cluster.store.get(group, kind, 'apps', name);
  }

  /** Changes a live object behind Git's back. */
  tamper(group: string, kind: string, name: string, change: object): void {
    const object = this.live(group, kind, name);
    if (object === undefined) throw new Error(`no ${kind} ${name}`);
    this.cluster.store.update({ ...structuredClone(object), ...change });
  }

  /** Requests a refresh as `argocd app get --refresh` does. */
  refresh(name: string, how: 'normal' | 'hard' = 'normal'): void {
    this.edit(name, ({ metadata }) => {
      const annotations = { ...metadata.annotations, 'argocd.argoproj.io/refresh': how };
      Object.assign(metadata, { annotations });
    });
  }

  /** Starts a sync as `argocd app sync` does. */
  sync(name: string, sync: object = {}): void {
    this.edit(name, (object) => Object.assign(object, { operation: { sync, initiatedBy: { username: 'me' } } }));
  }

  /** Waits until `check` does not throw for an Application. */
  async until(name: string, check: (app: Application) => void, withinMs = 60_000): Promise<Application> {
    return eventually(() => {
      const app = this.app(name);
      if (app === undefined) throw new Error(`no application ${name}`);
      check(app);
      return app;
    }, withinMs);
  }

  async close(): Promise<void> {
    for (const replica of this.#replicas.splice(0)) await replica.stop();
    await this.hub.close();
    await this.cluster.close();
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** Labels and optional keys of a cluster Secret. */
export interface ClusterSecret {
  readonly labels?: Readonly<Record<string, string>>;
  readonly config?: object;
  readonly shard?: number;
  /** The key `name`, if it is not the name that the Secret is called by. */
  readonly name?: string;
}

function clusterSecret(name: string, server: string, over: ClusterSecret): KubeObject {
  const { labels = {}, config = {}, shard } = over;
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: `cluster-${name}`,
      namespace: 'argocd',
      labels: { ...labels, 'argocd.argoproj.io/secret-type': 'cluster' },
    },
    data: {
      ...{ server: base64(server), name: base64(over.name ?? name), config: base64(JSON.stringify(config)) },
      ...(shard === undefined ? {} : { shard: base64(String(shard)) }),
    },
  };
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
