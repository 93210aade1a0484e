import type { IncomingMessage, ServerResponse } from 'node:http';
import { apiVersion } from '#api';
import type {
  Application,
  ApplicationSummary,
  ClusterOwner,
  HandOver,
  HistorySample,
  OwnedCluster,
  PlannedMove,
  Queue,
  ReplicaInfo,
  TreeNode,
} from '#api';
import type { ReportedEvents, ReportedLog } from '#controller';

const second = 1000;

/** The verdict that goes with a summary's `attention`. */
export function verdictFor({ attention, health }: Partial<ApplicationSummary>): ApplicationSummary['verdict'] {
  if (attention === undefined) return { verdict: 'healthy', cause: 'fine', source: 'owner' };
  const isBroken = health === 'Degraded' || attention.includes('Error: ');
  return isBroken
    ? { verdict: 'broken', cause: 'degraded', reason: attention, source: 'owner' }
    : { verdict: 'waiting', cause: 'sync-off', reason: attention, source: 'owner' };
}

/** A read API with values that a test chooses. It answers like a replica, without one. */
export class FakeApi {
  readonly applications = new Map<string, ApplicationSummary>();
  replicas: ReplicaInfo[] = [0, 1, 2].map((shard) => this.replica(shard));
  clusters: OwnedCluster[] = Array.from({ length: 7 }, (_, i) => this.ownedCluster(i, i % 3));
  handOvers: HandOver[] = [];
  tree: TreeNode[] = [];
  details: Partial<Application> = {};
  manifests: { readonly desired?: string; readonly live?: string } = {};
  events: ReportedEvents = { items: [] };
  logOf: (query: URLSearchParams) => ReportedLog = () => ({ container: '', containers: [], text: '' });
  /** The next requests fail: the replica is gone. */
  isDown = false;
  /** Pages are answered with an error. */
  failing = false;
  editHistory: (samples: readonly HistorySample[]) => readonly HistorySample[] = (samples) => samples;
  #held: Promise<void> | undefined;
  readonly #streams = new Set<ServerResponse>();
  #sequence = 0;
  readonly lastEventIds: string[] = [];

  ago(seconds: number): string {
    return new Date(Date.now() - seconds * second).toISOString();
  }

  replica(shard: number, more: Partial<ReplicaInfo> = {}): ReplicaInfo {
    return {
      name: `driftless-${shard}`,
      version: '1.0.0',
      shard,
      startedAt: this.ago(86_400),
      ready: true,
      applications: 120 + shard * 35,
      clusters: [],
      heapBytes: (210 + 60 * shard) * 2 ** 20,
      heapLimitBytes: 2 ** 30,
      rssBytes: 400 * 2 ** 20,
      cpuMs: 1000,
      eventLoopDelayMs: 12,
      degraded: [],
      ...more,
    };
  }

  ownedCluster(i: number, slot: number, more: Partial<OwnedCluster> = {}): OwnedCluster {
    const names = ['prod-eu', 'prod-us', 'prod-asia', 'staging', 'edge-1', 'edge-2', 'tools'];
    const part = { part: 0, slot, owner: `driftless-${slot}`, home: slot, waitsFor: [] };
    return {
      server: `https://${names[i] ?? `cluster-${i}`}.example`,
      names: [names[i] ?? `cluster-${i}`],
      parts: [part],
      ...more,
    };
  }

  put(name: string, more: Partial<ApplicationSummary> = {}): ApplicationSummary {
    const i = this.applications.size;
    const cluster = this.clusters[i % this.clusters.length];
    const app: ApplicationSummary = {
      namespace: 'argocd',
      name,
      project: i % 2 === 0 ? 'default' : 'shop',
      owner: cluster?.parts[0]?.owner ?? '',
      shard: cluster?.parts[0]?.slot ?? 0,
      server: cluster?.server ?? '',
      clusterName: cluster?.names[0] ?? '',
      destinationNamespace: 'web',
      repositories: [`https://git.example/team/${i % 3 === 0 ? 'web' : 'api'}.git`],
      revisions: ['8f14e45fceea167a5a36dedd4bea2543c0ffee00'],
      labels: { team: i % 2 === 0 ? 'red' : 'blue' },
      images: [`registry.example/${name}:1.4.${i}`],
      sync: 'Synced',
      health: 'Healthy',
      operation: 'Succeeded',
      isAutomated: true,
      isDeleting: false,
      comparedAt: this.ago(20 + (i % 50)),
      verdict: verdictFor(more),
      ...more,
    };
    this.applications.set(`${app.namespace}/${name}`, app);
    return app;
  }

  /** Changes an Application and tells the readers. */
  change(name: string, more: Partial<ApplicationSummary>): void {
    const before = this.applications.get(`argocd/${name}`);
    if (before === undefined) throw new Error(`no Application ${name}`);
    const app = { ...before, verdict: verdictFor(more), ...more };
    this.applications.set(`argocd/${name}`, app);
    this.send('applications', { changed: [app], removed: [] });
  }

  send(type: string, data: object): void {
    this.#sequence += 1;
    for (const stream of this.#streams)
      stream.write(`id: fake-${this.#sequence}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  /** Pages are not answered before the returned function is called. */
  holdPages(): () => void {
    let release = (): void => undefined;
    this.#held = new Promise((resolve) => (release = resolve));
    return release;
  }

  /** Cuts all connections, as a replica that dies. */
  die(): void {
    this.isDown = true;
    for (const stream of this.#streams) stream.destroy();
    this.#streams.clear();
  }

  readonly answer = (request: IncomingMessage, response: ServerResponse): void => {
    if (this.isDown) {
      request.destroy();
      return;
    }
    const url = new URL(request.url ?? '/', 'http://fake');
    const path = url.pathname.replace('/api/v1/', '');
    if (path === 'stream') {
      const last = request.headers['last-event-id'];
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(':\n\n');
      this.#streams.add(response);
      if (typeof last === 'string') this.lastEventIds.push(last);
      else response.write(`id: fake-${this.#sequence}\nevent: reset\ndata: {}\n\n`);
      return;
    }
    void (this.#held ?? Promise.resolve()).then(() => this.#answerPage(path, url.searchParams, response));
  };

  #answerPage(path: string, query: URLSearchParams, response: ServerResponse): void {
    const body = this.failing ? undefined : this.#page(path, query);
    if (body === undefined) {
      const [code, message] = this.failing ? [503, 'the replica is overloaded'] : [404, `there is no ${path}`];
      response.writeHead(code, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ apiVersion, kind: 'Error', code, message }));
      return;
    }
    const head = { apiVersion, kind: 'Any', time: new Date().toISOString(), replica: 'driftless-0', incomplete: [] };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ ...head, ...body }));
  }

  #page(path: string, query: URLSearchParams): object | undefined {
    if (path === 'replica') return { items: this.replicas };
    if (path === 'ownership') return this.#ownership();
    if (path === 'clusters') return { items: this.clusters.map((cluster) => this.#owner(cluster)) };
    if (path === 'queues') return { items: this.#queues() };
    if (path === 'history') return { items: this.replicas.map(({ name }, i) => this.#history(name, i)) };
    if (path === 'plan') return this.#plan(Number(query.get('replicas') ?? 3), query.get('algorithm') ?? 'round-robin');
    if (path === 'applications') return this.#list(query);
    const [kind, first = '', second = '', third] = path.split('/').map(decodeURIComponent);
    if (kind === 'clusters') return this.#cluster(first);
    const app = this.applications.get(`${first}/${second}`);
    if (kind !== 'applications' || app === undefined) return undefined;
    if (third === 'object' && path.endsWith('/object/events')) return { events: this.events };
    if (third === 'object' && path.endsWith('/object/log')) return { log: this.logOf(query) };
    if (third === 'object') return { object: { ...Object.fromEntries(query), version: 'v1', ...this.manifests } };
    return third === 'tree' ? { nodes: this.tree, total: this.tree.length } : { application: this.#application(app) };
  }

  #ownership(): object {
    return {
      epoch: 1041,
      epochSince: this.ago(400),
      algorithm: 'round-robin',
      shards: 3,
      slots: [0, 1, 2].map((slot) => {
        const holder = this.replicas.find(({ shard }) => shard === slot)?.name;
        const lease = holder === undefined ? {} : { holder, renewedAt: this.ago(2), leaseMs: 15_000 };
        return { slot, acknowledgedEpoch: 1041, isForeign: false, hasAddress: true, ...lease };
      }),
      clusters: this.clusters,
      handOvers: this.handOvers,
      conditions: [],
    };
  }

  #owner(cluster: OwnedCluster): ClusterOwner {
    const common = {
      objects: 820,
      events: 900,
      since: this.ago(3000),
      lastHeardAt: this.ago(3),
      lastEventAt: this.ago(12),
    };
    return {
      server: cluster.server,
      name: cluster.names[0] ?? '',
      replica: cluster.parts[0]?.owner ?? '',
      state: 'synced',
      serverVersion: 'v1.36.3',
      lastSyncAt: this.ago(40),
      objects: 5230,
      kinds: 61,
      degradedKinds: 1,
      applications: [...this.applications.values()].filter(({ server }) => server === cluster.server).length,
      events: 4000,
      eventsPerSecond: 3.4,
      silentMs: 800,
      watched: [
        { group: 'apps', version: 'v1', kind: 'Deployment', state: 'synced', lagMs: 210, ...common },
        { group: '', version: 'v1', kind: 'Pod', state: 'synced', lagMs: 190, ...common },
        {
          group: 'metrics.example',
          version: 'v1',
          kind: 'Report',
          state: 'degraded',
          message: 'the server is overloaded',
          ...common,
        },
      ],
      noisiest: [{ group: '', kind: 'ConfigMap', namespace: 'kube-system', name: 'leader', changes: 340 }],
      links: [{ name: 'Grafana', url: 'https://grafana.example/d/driftless?var-cluster=c' }],
    };
  }

  #cluster(wanted: string): object | undefined {
    const cluster = this.clusters.find(({ server, names }) => server === wanted || names.includes(wanted));
    if (cluster === undefined) return undefined;
    const handOvers = this.handOvers.filter(({ server }) => server === cluster.server);
    return { server: cluster.server, names: cluster.names, owners: [this.#owner(cluster)], handOvers };
  }

  #queues(): readonly Queue[] {
    return this.replicas.map(({ name }) => ({
      replica: name,
      name: 'app_reconciliation_queue',
      workers: 20,
      running: 3,
      depth: 4,
      depthByPriority: { user: 0, live: 4, resync: 0 },
      delayed: 90,
      oldest: { key: 'argocd/web', since: this.ago(1), priority: 'live' },
      inProgress: [],
      takenTotal: 9000,
      lastTakenAt: this.ago(0),
      rates: [],
    }));
  }

  #history(replica: string, seed: number): object {
    const samples = Array.from({ length: 360 }, (_, i): HistorySample => {
      const wave = 1 + Math.sin(i / 23 + seed * 2) + 0.4 * Math.sin(i / 5 + seed);
      return {
        at: this.ago((360 - i) * 10),
        heapBytes: (220 + 40 * wave) * 2 ** 20,
        rssBytes: 2 ** 29,
        eventLoopDelayMs: Math.round(10 + 6 * wave),
        cpu: 0.1 + 0.06 * wave,
        queueDepth: Math.max(0, Math.round(6 * wave)),
        oldestQueuedMs: Math.max(0, Math.round(300 * wave)),
        apiRequests: Math.round(60 + 30 * wave),
        watchEvents: Math.round(140 + 70 * wave),
        passes: { object: Math.round(20 + 9 * wave), timer: 12, user: i % 40 === 0 ? 6 : 0 },
        passP50Ms: 14 + 5 * wave,
        passP99Ms: 90 + 50 * wave,
        syncs: 2,
        syncFailures: 0,
        syncP50Ms: 220 + 60 * wave,
        syncP99Ms: 900 + 300 * wave,
      };
    });
    return { replica, intervalMs: 10_000, samples: this.editHistory(samples) };
  }

  #plan(replicas: number, algorithm: string): object {
    const moves = this.clusters.flatMap(({ server, names: [name = ''], parts: [part] }, i): PlannedMove[] =>
      part?.slot === i % replicas
        ? []
        : [{ server, name, part: 0, parts: 1, from: part?.slot ?? 0, to: i % replicas, applications: 40 }],
    );
    const load = (count: number): readonly number[] =>
      Array.from({ length: count }, (_, i) => 280 / count + 10 * (i % 2));
    const figures = { moved: moves.length, movedApplications: moves.length * 40, fullestToAverage: 1.2 };
    return {
      from: { algorithm: 'round-robin', replicas: 3 },
      to: { algorithm, replicas },
      moves,
      movedApplications: moves.length * 40,
      parts: this.clusters.length,
      applications: 280,
      loadBefore: load(3),
      loadAfter: load(replicas),
      algorithms: ['legacy', 'round-robin', 'consistent-hashing'].map((name) => ({ algorithm: name, ...figures })),
    };
  }

  #list(query: URLSearchParams): object {
    const all = [...this.applications.entries()].sort(([a], [b]) => (a < b ? -1 : 1));
    const begin = Number(query.get('continue') ?? 0);
    const end = begin + Number(query.get('limit') ?? 100);
    const next = end < all.length ? { continue: String(end) } : {};
    return { items: all.slice(begin, end).map(([, app]) => app), total: all.length, ...next };
  }

  #application(app: ApplicationSummary): Application {
    return {
      ...app,
      ownership: {
        replica: app.owner,
        shard: 1,
        since: this.ago(4000),
        reason: 'the number of replicas changed from 2 to 3',
        part: 0,
        parts: 1,
      },
      resources: { synced: 12, outOfSync: 0, unknown: 0 },
      differences: [],
      differencesTotal: 0,
      ignored: [],
      healthDetails: { status: app.health, message: '' },
      automatedSync: {
        decision: 'skip',
        reason: 'nothing differs',
        checks: [{ name: 'enabled', passes: true, message: 'automated sync is on' }],
      },
      conditions: [],
      degraded: [],
      links: [{ name: 'Grafana', url: `https://grafana.example/d/driftless?var-app=${app.name}` }],
      sources: app.repositories.map((repository) => ({
        repository,
        path: 'prod',
        targetRevision: 'main',
        revision: app.revisions[0] ?? '',
        commit: { author: 'Ada Lovelace <ada@example.com>', at: this.ago(7200), subject: 'raise the replicas of web' },
      })),
      recent: [
        {
          at: this.ago(30),
          type: 'pass',
          replica: app.owner,
          message: 'a live object changed (known revisions)',
          durationMs: 14,
          ok: true,
        },
        {
          at: this.ago(90),
          type: 'sync',
          replica: app.owner,
          message: 'Succeeded: successfully synced (all tasks run)',
          durationMs: 640,
          ok: true,
        },
      ],
      cost: { name: app.name, cpuMs: 40, passes: 9, renders: 1, apiRequests: 12, watchEvents: 30, bytes: 9000 },
      lastPass: {
        at: this.ago(30),
        durationMs: 14,
        queuedMs: 2,
        priority: 'live',
        level: 1,
        isHard: false,
        cause: { type: 'object', message: 'a live object changed', objects: [], objectsTotal: 1 },
        stages: { sources: 2, live: 1, comparison: 6, tree: 3, status: 2 },
        result: 'completed',
      },
      ...this.details,
    };
  }
}

/** A tree of one Deployment with a ReplicaSet and so many pods, beside a few other objects. */
export function treeOf(pods: number): TreeNode[] {
  const common = {
    group: '',
    version: 'v1',
    namespace: 'web',
    isHook: false,
    isMissing: false,
    images: [],
    details: [],
  };
  const nodes: TreeNode[] = [
    { ...common, group: 'apps', kind: 'Deployment', name: 'web', parents: [], health: 'Healthy', sync: 'OutOfSync' },
    { ...common, kind: 'Service', name: 'web', parents: [], health: 'Healthy', sync: 'Synced' },
    { ...common, kind: 'ConfigMap', name: 'settings', parents: [], sync: 'Synced', wave: 1 },
    {
      ...common,
      group: 'batch',
      kind: 'Job',
      name: 'migrate',
      parents: [],
      health: 'Healthy',
      isHook: true,
      sync: 'Synced',
      wave: -1,
    },
    { ...common, group: 'apps', kind: 'ReplicaSet', name: 'web-5d8f7', parents: [0], health: 'Healthy' },
  ];
  for (let i = 0; i < pods; i += 1)
    nodes.push({
      ...common,
      kind: 'Pod',
      name: `web-5d8f7-${i}`,
      parents: [4],
      health: i === 3 ? 'Degraded' : 'Healthy',
      images: ['web:1'],
    });
  return nodes;
}
