import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { abortable, seededRandom, Secret, Shutdown, withDeadline } from '#base';
import { findResource, KubeApiError, KubeConnectionError, SharedClients } from '#kube';
import type { ApiDiscovery, KubeClient, ListOptions, ListPage, WatchEvent, WatchOptions } from '#kube';
import { annotations, appKey, defaultSettings, groupOf, keyOf, partIndex, resourceKey } from '#model';
import type { ApiResource, Cluster, ClusterConnection, KubeObject, ResourceKey, Settings } from '#model';
import { FakeClock } from '#support';
import { createLogger, PromMetrics, silentLogger } from '#telemetry';
import type { Logger } from '#telemetry';
import type { LiveTuning } from './cluster-watch.ts';
import { ClusterIgnored, ClusterUnavailable } from './errors.ts';
import { createLiveClusters } from './live-clusters.ts';
import type { KindState, LiveChange, LiveCluster, LiveClusters, LiveRow } from './types.ts';

type Fault = number | 'hang' | 'refuse';

/** A server in memory, in virtual time: watches deliver at once, faults on demand by `list pods`, `watch *`, `discover` ... */
class FakeServer {
  readonly kinds: ApiResource[] = [];
  readonly failedGroups = new Map<string, string>();
  readonly faults = new Map<string, Fault>();
  readonly requests: string[] = [];
  /** What the server says of its own rules, by `pods` or `pods <namespace>`: may we list them? */
  readonly reviews = new Map<string, boolean>();
  readonly credentials: string[] = [];
  readonly silent = new Set<string>();
  /** Lists of these lead from page to page, each with an object that nobody has made, and never to an end. */
  readonly endless = new Set<string>();
  #pages = 0;
  /** Served, but not named by discovery yet. */
  readonly unnamed = new Set<string>();
  /** Watches begin with what has happened since the version that they name, as those of a real server. */
  replays = false;
  readonly #happened: WatchEvent[] = [];
  /** Lists are made at once and answered when this has come. */
  listAnswers: Promise<void> = Promise.resolve();
  readonly clock: FakeClock;
  closed = 0;
  #version = 100;
  #backup: { readonly version: number; readonly objects: ReadonlyMap<string, KubeObject> } = {
    version: 100,
    objects: new Map(),
  };
  readonly #objects = new Map<string, KubeObject>();
  readonly #watchers = new Set<{
    resource: ApiResource;
    namespace?: string | undefined;
    push: (event: WatchEvent) => void;
    cut: (error?: Error) => void;
  }>();

  constructor(clock = new FakeClock()) {
    this.clock = clock;
  }

  serve(group: string, version: string, kind: string, namespaced = true): void {
    const resource = `${kind.toLowerCase()}s`;
    const verbs = ['get', 'list', 'watch', 'create'];
    this.kinds.push({ group, version, kind, resource, namespaced, verbs, subresources: [], shortNames: [] });
  }

  put(object: Partial<KubeObject> & Pick<KubeObject, 'kind' | 'metadata'>): KubeObject {
    this.#version += 1;
    const full = { apiVersion: 'v1', ...object } as KubeObject;
    const key = keyOf(full);
    const existing = this.#objects.get(key);
    const uid = full.metadata.uid ?? existing?.metadata.uid ?? `uid-${full.metadata.name ?? ''}`;
    const stored = { ...full, metadata: { ...full.metadata, uid, resourceVersion: String(this.#version) } };
    this.#objects.set(key, stored);
    this.#tell(existing === undefined ? 'ADDED' : 'MODIFIED', stored);
    return stored;
  }

  remove(kind: string, name: string, namespace = 'ns', group = ''): void {
    const key = resourceKey(group, kind, namespace, name);
    const existing = this.#objects.get(key);
    if (existing === undefined) throw new Error(`no ${key}`);
    this.#version += 1;
    this.#objects.delete(key);
    this.#tell('DELETED', { ...existing, metadata: { ...existing.metadata, resourceVersion: String(this.#version) } });
  }

  /** As if its data store had been restored from a backup, with the same objects. */
  setBack(): void {
    this.#version = 10;
  }

  /** A backup of the data store. */
  save(): void {
    this.#backup = { version: this.#version, objects: new Map(this.#objects) };
  }

  /** What came since the backup has never been; what comes now gets the same numbers. */
  restore(): void {
    this.#version = this.#backup.version;
    this.#objects.clear();
    for (const [key, object] of this.#backup.objects) this.#objects.set(key, object);
  }

  /** What is stored, by key. */
  contents(): Record<string, string> {
    const all = [...this.#objects].map(([key, { metadata: m }]) => [key, `${m.uid ?? ''} ${m.resourceVersion ?? ''}`]);
    return Object.fromEntries(all.sort()) as Record<string, string>;
  }

  cutWatches(error?: Error): void {
    for (const watcher of this.#watchers) watcher.cut(error);
  }

  watching(): readonly string[] {
    return [...this.#watchers]
      .map(({ resource, namespace }) => `${resource.resource}${namespace === undefined ? '' : ` ${namespace}`}`)
      .sort();
  }

  count(request: string): number {
    return this.requests.filter((entry) => entry === request).length;
  }

  client(connection: ClusterConnection): KubeClient {
    const unused = (): never => {
      throw new Error('live must not write');
    };
    return {
      server: connection.server,
      get: async (resource, { namespace, name }, { signal }) => {
        const limit = { clock: this.clock, limitMs: 30_000, what: `get ${resource.resource}` };
        await withDeadline(signal, limit, (child) => this.#act('get', resource.resource, child));
        const found = this.#objects.get(resourceKey(resource.group, resource.kind, namespace, name));
        if (found === undefined) throw apiError(404);
        const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
        return { ...found, apiVersion };
      },
      list: (resource, options) => this.#list(resource, options),
      watch: (resource, options) => this.#watch(resource, options),
      openApiIndex: () => Promise.resolve(new Map()),
      openApiDocument: () => Promise.resolve({}),
      discover: async ({ signal }) => {
        await this.#act('discover', '*', signal);
        return this.#discovery();
      },
      mayList: async ({ resource }, namespace, { signal }) => {
        await this.#act('review', resource, signal);
        return this.reviews.get(resource) ?? this.reviews.get(`${resource} ${namespace ?? ''}`) ?? true;
      },
      version: async () => {
        await this.#act('version', '*');
        return 'v1.33.1+fake';
      },
      updateCredentials: (next) => this.credentials.push(next.credentials.bearerToken?.reveal() ?? ''),
      close: async () => {
        this.closed += 1;
      },
      create: unused,
      replace: unused,
      patch: unused,
      delete: unused,
      impersonate: unused,
    };
  }

  async #list(resource: ApiResource, options: ListOptions): Promise<ListPage> {
    await withDeadline(
      options.signal,
      { clock: this.clock, limitMs: options.deadlineMs ?? 30_000, what: `list ${resource.resource}` },
      (signal) => this.#act(options.limit === 1 ? 'look' : 'list', resource.resource, signal),
    );
    if (!this.kinds.some(({ group, kind }) => group === resource.group && kind === resource.kind)) throw apiError(404);
    const found = [...this.#objects.values()].filter((object) => matches(object, resource, options.namespace));
    const items = options.metadataOnly === true ? found.map(metadataOf) : found;
    if (options.metadataOnly !== true && options.limit !== 1) this.requests.push(`list ${resource.resource} whole`);
    const page = { items, resourceVersion: String(this.#version), ...this.#more(resource) };
    await abortable(this.listAnswers, options.signal);
    return page;
  }

  #more({ group, version, kind, resource }: ApiResource): Partial<ListPage> {
    if (!this.endless.has(resource)) return {};
    this.#pages += 1;
    const apiVersion = group === '' ? version : `${group}/${version}`;
    const metadata = { name: `made-up-${this.#pages}`, namespace: 'ns', uid: `${this.#pages}`, resourceVersion: '1' };
    const known = [...this.#objects.values()].filter((object) => object.kind === kind);
    return { items: [...known, { apiVersion, kind, metadata }], continue: 'the same' };
  }

  async *#watch(resource: ApiResource, options: WatchOptions): AsyncGenerator<WatchEvent> {
    await this.#act('watch', resource.resource, options.signal);
    options.onOpen?.();
    const queue: WatchEvent[] = [];
    let wake = (): void => undefined;
    let end: { error?: Error | undefined } | undefined;
    const cut = (error?: Error): void => {
      end = { error };
      wake();
    };
    const push = (event: WatchEvent): void => {
      queue.push(event);
      wake();
    };
    for (const event of this.replays ? this.#happened : []) {
      const { object } = event as { readonly object: KubeObject };
      const isNew = Number(object.metadata.resourceVersion) > Number(options.resourceVersion);
      if (isNew && matches(object, resource, options.namespace)) queue.push(event);
    }
    const watcher = { resource, namespace: options.namespace, push, cut };
    const onAbort = (): void => cut(options.signal.reason as Error);
    this.#watchers.add(watcher);
    options.signal.addEventListener('abort', onAbort);
    try {
      for (;;) {
        for (let event = queue.shift(); event !== undefined; event = queue.shift()) yield event;
        const over = end as { error?: Error } | undefined;
        if (over?.error !== undefined) throw over.error;
        if (over !== undefined) return;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      this.#watchers.delete(watcher);
      options.signal.removeEventListener('abort', onAbort);
    }
  }

  async #act(verb: string, resource: string, signal?: AbortSignal): Promise<void> {
    this.requests.push(resource === '*' ? verb : `${verb} ${resource}`);
    await Promise.resolve();
    const fault = this.faults.get(`${verb} ${resource}`) ?? this.faults.get(`${verb} *`) ?? this.faults.get(verb);
    if (fault === 'hang')
      await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));
    if (fault === 'refuse') throw new KubeConnectionError('https://a', 'connection refused', new Error('ECONNREFUSED'));
    if (typeof fault === 'number') throw apiError(fault);
  }

  #tell(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: KubeObject): void {
    this.#happened.push({ type, object });
    for (const { resource, namespace, push } of this.#watchers)
      if (!this.silent.has(resource.resource) && matches(object, resource, namespace)) push({ type, object });
  }

  #discovery(): ApiDiscovery {
    const kinds = this.kinds.filter(({ resource }) => !this.unnamed.has(resource));
    return {
      preferred: kinds.filter(
        (kind, i) => kinds.findIndex((o) => o.group === kind.group && o.kind === kind.kind) === i,
      ),
      served: kinds,
      apiVersions: [],
      failedGroups: new Map(this.failedGroups),
    };
  }
}

/** As a list of metadata shows it. */
function metadataOf({ metadata }: KubeObject): KubeObject {
  return { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata };
}

function matches(object: KubeObject, resource: ApiResource, namespace: string | undefined): boolean {
  const inScope = namespace === undefined || object.metadata.namespace === namespace;
  return object.kind === resource.kind && groupOf(object.apiVersion) === resource.group && inScope;
}

function apiError(code: number): KubeApiError {
  return new KubeApiError({ code, reason: `Reason${code}`, message: `the server says ${code}` }, 'test');
}

function tracked(name: string, app = 'shop', extra: Record<string, unknown> = {}): Parameters<FakeServer['put']>[0] {
  const tracking = { [annotations.trackingId]: `${app}:/ConfigMap:ns/${name}` };
  return { kind: 'ConfigMap', metadata: { name, namespace: 'ns', annotations: tracking }, ...extra };
}

function clusterAt(server: string, extra: Partial<Cluster> = {}, token = 'one'): Cluster {
  const credentials = { bearerToken: new Secret(token) };
  return {
    id: 'u',
    server,
    name: 'a',
    namespaces: [],
    clusterResources: false,
    labels: {},
    annotations: {},
    connection: { server, insecure: false, credentials },
    ...extra,
  };
}

const configMap = (name: string) => resourceKey('', 'ConfigMap', 'ns', name);
const url = 'https://a';

interface World {
  readonly server: FakeServer;
  readonly clock: FakeClock;
  readonly live: LiveClusters;
  readonly clients: SharedClients;
  readonly metrics: PromMetrics;
  readonly changes: LiveChange[];
  readonly signal: AbortSignal;
  readonly cluster: () => LiveCluster;
  stop(): Promise<void>;
}

/** A server with ConfigMaps, Pods and Deployments, watched, in virtual time. */
async function world(
  prepare: (server: FakeServer) => void = () => undefined,
  options: {
    cluster?: Cluster;
    settings?: Settings;
    tuning?: Partial<LiveTuning>;
    logger?: Logger;
    others?: ReadonlyMap<string, FakeServer>;
  } = {},
): Promise<World> {
  const server = new FakeServer();
  server.serve('', 'v1', 'ConfigMap');
  server.serve('', 'v1', 'Pod');
  server.serve('apps', 'v1', 'Deployment');
  prepare(server);
  const { clock } = server;
  const metrics = new PromMetrics();
  const controller = new AbortController();
  const clients = new SharedClients((connection) =>
    (options.others?.get(connection.server) ?? server).client(connection),
  );
  const live = createLiveClusters({
    clock,
    metrics,
    random: seededRandom(1),
    logger: options.logger ?? silentLogger,
    clients,
    tuning: { relistMs: 0, auditMs: 0, ...options.tuning },
  });
  const changes: LiveChange[] = [];
  live.onChange((change) => changes.push(change));
  const others = [...(options.others?.keys() ?? [])].map((other) => clusterAt(other));
  live.setClusters([options.cluster ?? clusterAt(url), ...others], options.settings ?? defaultSettings);
  const running = live.run(controller.signal);
  await clock.advance(0);
  const cluster = (): LiveCluster => {
    const found = live.peek(url);
    if (found === undefined) throw new Error('not kept');
    return found;
  };
  const stop = async (): Promise<void> => {
    controller.abort(new Shutdown());
    await running;
    expect(clock.pending).toBe(0);
    expect(server.watching()).toEqual([]);
  };
  return { server, clock, live, clients, metrics, changes, cluster, stop, signal: controller.signal };
}

async function row(w: World, key: ResourceKey): Promise<LiveRow | undefined> {
  return (await w.cluster().rows([key], w.signal)).get(key);
}

function stateOf(w: World, name: string): KindState | undefined {
  return w
    .cluster()
    .info()
    .kinds.find(({ kind }) => kind === name);
}

async function managedNames(w: World, app = 'shop', targets: readonly KubeObject[] = []): Promise<readonly string[]> {
  const { objects } = await w.cluster().managed({ app, targets }, w.signal);
  return [...objects.values()].map((object) => object.metadata.name ?? '').sort();
}

describe('the first fill of a cache', () => {
  it('is complete when every kind was listed, and is silent', async () => {
    const w = await world((server) => server.put(tracked('a')));
    expect(w.cluster().info()).toMatchObject({
      state: 'synced',
      serverVersion: 'v1.33.1',
      resourcesCount: 1,
      apisCount: 3,
    });
    expect((await row(w, configMap('a')))?.app).toBe('shop');
    await w.clock.advance(1000);
    expect(w.changes).toEqual([]);
    expect(w.server.watching()).toEqual(['configmaps', 'deployments', 'pods']);
    await w.stop();
  });

  it('waits for slow kinds, but not for ever for one that fails (T-CACHE-1)', async () => {
    const w = await world((server) => {
      server.put(tracked('a'));
      server.faults.set('list pods', 500);
    });
    const info = w.cluster().info();
    expect(info.state).toBe('synced');
    expect(info.kinds.find((kind) => kind.kind === 'Pod')).toMatchObject({
      state: 'degraded',
      message: 'the server says 500',
    });
    expect(info.kinds.filter((kind) => kind.state === 'synced')).toHaveLength(2);
    await w.stop();
  });

  it('14.4: a list without end costs its own kind the freshness, and no memory, however often it is tried again', async () => {
    const w = await world((server) => {
      server.put(tracked('a'));
      server.endless.add('pods');
    });
    expect(w.cluster().info().state).toBe('synced');
    expect(await managedNames(w)).toEqual(['a']);
    await w.clock.advance(600_000);
    expect(w.server.count('list pods')).toBeGreaterThan(10);
    expect(stateOf(w, 'Pod')).toMatchObject({
      state: 'degraded',
      message: expect.stringContaining('the list has no end'),
      objects: 0,
    });
    // As soon as it is honest, all is well.
    w.server.endless.clear();
    w.server.put({ kind: 'Pod', metadata: { name: 'p', namespace: 'ns' } });
    await w.clock.advance(120_000);
    expect(stateOf(w, 'Pod')).toMatchObject({ state: 'synced', objects: 1 });
    await w.stop();
  });

  it('14.4: a new list without end leaves what was there before as it was', async () => {
    const w = await world((server) => server.put(tracked('a')), { tuning: { relistMs: 600_000 } });
    w.server.endless.add('configmaps');
    await w.clock.advance(700_000);
    expect(stateOf(w, 'ConfigMap')).toMatchObject({
      state: 'degraded',
      objects: 1,
    });
    expect(await managedNames(w)).toEqual(['a']);
    await w.stop();
  });

  it('14.4: a comparison of a cache with a server whose list has no end is given up', async () => {
    const w = await world((server) => server.put(tracked('a')), { tuning: { auditMs: 600_000 } });
    w.server.endless.add('configmaps');
    await w.clock.advance(700_000);
    expect(w.server.count('list configmaps')).toBe(3);
    expect(stateOf(w, 'ConfigMap')).toMatchObject({ state: 'synced' });
    await w.stop();
  });

  it('waits for a list that hangs no longer than its deadline (T-HANG-1)', async () => {
    const w = await world((server) => {
      server.put(tracked('a'));
      server.faults.set('list pods', 'hang');
    });
    let arrived = false;
    const waiting = w.live.cluster(url, w.signal).then(() => (arrived = true));
    await w.clock.advance(59_000);
    expect([w.cluster().info().state, arrived]).toEqual(['connecting', false]);
    await w.clock.advance(2000);
    expect([w.cluster().info().state, arrived]).toEqual(['synced', true]);
    await waiting;
    expect(await managedNames(w)).toEqual(['a']);
    await w.stop();
  });

  it.each([
    ['watches only', ['watch *']] as const,
    ['everything', ['watch *', 'list *', 'look *', 'get *', 'discover', 'version']] as const,
  ])(
    'T-HANG-4: %s answered with 401 for five minutes: others go on, and all is current soon after, without a restart',
    async (_name, refused) => {
      const others = new Map<string, FakeServer>();
      const w = await world(
        (server) => {
          server.put(tracked('stays'));
          server.put(tracked('goes'));
          server.replays = true;
          const other = new FakeServer(server.clock);
          other.serve('', 'v1', 'ConfigMap');
          others.set('https://b', other);
        },
        { others },
      );
      await w.clock.advance(1000);
      const before = w.cluster();
      const [lists, watches] = [w.server.count('list configmaps'), w.server.requests.length];
      for (const fault of refused) w.server.faults.set(fault, 401);
      w.server.cutWatches(apiError(401));
      await w.clock.advance(150_000);
      w.server.remove('ConfigMap', 'goes');
      w.server.put(tracked('comes'));
      others.get('https://b')?.put(tracked('there'));
      await w.clock.advance(150_000);
      // Nobody hammers a server that refuses: three kinds, five minutes.
      expect(w.server.requests.length - watches).toBeLessThan(150);
      expect(w.changes.filter(({ server: at }) => at === 'https://b')).toHaveLength(1);
      expect(w.changes.filter(({ server: at }) => at === url)).toEqual([]);
      w.server.faults.clear();
      await w.clock.advance(60_000);
      expect(await managedNames(w)).toEqual(['comes', 'stays']);
      expect(w.server.watching()).toEqual(['configmaps', 'deployments', 'pods']);
      expect(w.cluster()).toBe(before);
      expect(w.cluster().info()).toMatchObject({ state: 'synced' });
      expect(w.server.count('list configmaps') - lists).toBeLessThan(40);
      w.server.put(tracked('later'));
      await w.clock.advance(1000);
      expect(await managedNames(w)).toEqual(['comes', 'later', 'stays']);
      await w.stop();
    },
  );

  it('says that discovery fails, in the words that users know, and goes on trying', async () => {
    const w = await world((server) => server.faults.set('version', 'refuse'));
    const live = await w.live.cluster(url, w.signal);
    expect(live.info()).toMatchObject({ state: 'failed', message: 'cannot reach https://a: connection refused' });
    expect(() => live.discovery()).toThrow(ClusterUnavailable);
    expect(() => live.discovery()).toThrow(
      'error synchronizing cache state : failed to sync cluster https://a: failed to get server version: cannot reach https://a: connection refused',
    );
    await expect(live.managed({ app: 'shop', targets: [] }, w.signal)).rejects.toThrow(ClusterUnavailable);
    w.server.faults.clear();
    await w.clock.advance(10_000);
    expect(live.info().state).toBe('synced');
    expect(live.info().message).toBeUndefined();
    await w.stop();
  });

  it('gives up on a discovery that hangs', async () => {
    const w = await world((server) => server.faults.set('discover', 'hang'));
    expect(w.cluster().info().state).toBe('connecting');
    await w.clock.advance(61_000);
    expect(w.cluster().info()).toMatchObject({
      state: 'failed',
      message: 'discovery of https://a took longer than 60 s',
    });
    await w.stop();
  });

  it('rejects for a cluster that is not kept, and wakes who waits when one is dropped', async () => {
    const w = await world((server) => server.faults.set('list *', 'hang'));
    await expect(w.live.cluster('https://b', w.signal)).rejects.toThrow(
      'controller is configured to ignore cluster https://b',
    );
    const waiting = w.live.cluster(url, w.signal);
    w.live.setClusters([], defaultSettings);
    await expect(waiting).rejects.toThrow(ClusterIgnored);
    expect(w.live.peek(url)).toBeUndefined();
    await w.clock.settle();
    expect(w.server.closed).toBe(1);
    await w.stop();
  });
});

describe('13.1: a cluster that is watched without being owned', () => {
  it('13.1: is kept current, and neither its changes are told nor does anybody count it', async () => {
    const w = await world((server) => server.put(tracked('a')));
    w.live.setClusters([], defaultSettings, undefined, [clusterAt(url)]);
    w.server.put(tracked('b'));
    await w.clock.advance(1000);
    expect(w.changes).toEqual([]);
    expect(w.live.infos()).toEqual([]);
    expect(await w.metrics.expose()).not.toContain(`argocd_cluster_info{server="${url}"`);
    expect((await row(w, configMap('b')))?.app).toBe('shop');
    await w.stop();
  });

  it('13.1: has its cache at once when it is owned: nothing is listed again, and its changes are told', async () => {
    const w = await world((server) => server.put(tracked('a')));
    w.live.setClusters([], defaultSettings, undefined, [clusterAt(url)]);
    await w.clock.advance(60_000);
    const lists = w.server.count('list configmaps');
    w.live.setClusters([clusterAt(url)], defaultSettings);
    const settled = await w.live.cluster(url, w.signal);
    expect(settled.info().resourcesCount).toBe(1);
    w.server.put(tracked('c'));
    await w.clock.advance(1000);
    expect(w.changes.map(({ key }) => key)).toEqual([configMap('c')]);
    expect(w.live.infos()).toHaveLength(1);
    expect(w.server.count('list configmaps')).toBe(lists);
    await w.stop();
  });
});

describe('changes', () => {
  it('tells once per object and batch, with the applications before and after', async () => {
    const w = await world((server) => server.put(tracked('a')));
    w.server.put(tracked('a', 'shop', { data: { x: '1' } }));
    w.server.put(tracked('a', 'other', { data: { x: '2' } }));
    await w.clock.advance(49);
    expect(w.changes).toEqual([]);
    await w.clock.advance(2);
    const apps = new Map([
      ['shop', { managed: true }],
      ['other', { managed: true }],
    ]);
    expect(w.changes).toEqual([{ server: url, key: configMap('a'), apps }]);
    await w.stop();
  });

  it('is silent when nothing changed that matters', async () => {
    const w = await world((server) => server.put(tracked('a', 'shop', { status: { n: 1 } })));
    w.server.put(tracked('a', 'shop', { status: { n: 2 } }));
    await w.clock.advance(100);
    expect(w.changes).toEqual([]);
    w.server.put(tracked('a', 'shop', { data: { x: 'new' } }));
    await w.clock.advance(100);
    expect(w.changes).toHaveLength(1);
    await w.stop();
  });

  it('follows owners up to the application, also when they arrive later', async () => {
    const w = await world((server) => server.serve('apps', 'v1', 'ReplicaSet'));
    const owner = (kind: string, name: string) => ({ apiVersion: 'apps/v1', kind, name, uid: `uid-${name}` });
    w.server.put({
      kind: 'Pod',
      metadata: { name: 'web-1-x', namespace: 'ns', ownerReferences: [owner('ReplicaSet', 'web-1')] },
    });
    const set = { name: 'web-1', namespace: 'ns', ownerReferences: [owner('Deployment', 'web')] };
    w.server.put({ apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata: set });
    const tracking = { [annotations.trackingId]: 'shop:apps/Deployment:ns/web' };
    w.server.put({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace: 'ns', annotations: tracking },
    });
    await w.clock.advance(100);
    const concerned = w.changes.map(({ key, apps }) => [key, Object.fromEntries(apps)]);
    expect(concerned).toEqual([
      ['/Pod/ns/web-1-x', { shop: { managed: false } }],
      ['apps/ReplicaSet/ns/web-1', { shop: { managed: false } }],
      ['apps/Deployment/ns/web', { shop: { managed: true } }],
    ]);
    w.changes.length = 0;
    w.server.remove('Pod', 'web-1-x');
    await w.clock.advance(100);
    expect(w.changes.map(({ apps }) => Object.fromEntries(apps))).toEqual([{ shop: { managed: false } }]);
    await w.stop();
  });

  it('names the namespace of what no application tracks, and nothing for the rest', async () => {
    const w = await world((server) => server.serve('', 'v1', 'Node', false));
    w.server.put({ kind: 'ConfigMap', metadata: { name: 'free', namespace: 'ns' } });
    w.server.put({ kind: 'Node', metadata: { name: 'n' } });
    await w.clock.advance(100);
    expect(w.changes).toEqual([{ server: url, key: configMap('free'), apps: new Map(), orphanNamespace: 'ns' }]);
    await w.stop();
  });

  it('never speaks of Endpoints', async () => {
    const w = await world((server) => server.serve('', 'v1', 'Endpoints'));
    w.server.put({ kind: 'Endpoints', metadata: { name: 'web', namespace: 'ns' } });
    await w.clock.advance(100);
    expect(w.changes).toEqual([]);
    expect(await row(w, resourceKey('', 'Endpoints', 'ns', 'web'))).toMatchObject({
      key: resourceKey('', 'Endpoints', 'ns', 'web'),
    });
    await w.stop();
  });

  it('keeps listeners apart', async () => {
    const w = await world();
    const heard: LiveChange[] = [];
    const stopListening = w.live.onChange(() => {
      throw new Error('a bug');
    });
    w.live.onChange((change) => heard.push(change));
    w.server.put(tracked('a'));
    await w.clock.advance(100);
    expect(heard).toHaveLength(1);
    stopListening();
    await w.stop();
  });
});

describe('faults', () => {
  it('keeps the rows of a kind that fails, and tells which kinds are not fresh (T-CACHE-1)', async () => {
    const w = await world((server) => server.put(tracked('a')));
    w.server.faults.set('list configmaps', 500);
    w.server.faults.set('watch configmaps', 500);
    w.server.cutWatches(apiError(410));
    await w.clock.advance(120_000);
    w.server.put({ kind: 'Pod', metadata: { name: 'p', namespace: 'ns' } });
    await w.clock.advance(1000);
    const { objects, degraded } = await w.cluster().managed({ app: 'shop', targets: [] }, w.signal);
    expect([...objects.keys()]).toEqual([configMap('a')]);
    expect(degraded.kinds.map((kind) => [kind.kind, kind.state])).toEqual([['ConfigMap', 'degraded']]);
    expect(await row(w, resourceKey('', 'Pod', 'ns', 'p'))).toMatchObject({ key: resourceKey('', 'Pod', 'ns', 'p') });
    expect(w.cluster().info().state).toBe('synced');
    await w.stop();
  });

  it('repairs after the outage what it missed, and tells the applications of the kind', async () => {
    const w = await world((server) => {
      for (const name of ['kept', 'gone', 'changed']) server.put(tracked(name));
    });
    w.server.faults.set('list configmaps', 500);
    w.server.faults.set('watch configmaps', 500);
    w.server.cutWatches(apiError(410));
    await w.clock.advance(60_000);
    w.server.remove('ConfigMap', 'gone');
    w.server.put(tracked('changed', 'shop', { data: { x: '1' } }));
    w.server.put(tracked('new'));
    w.changes.length = 0;
    w.server.faults.clear();
    await w.clock.advance(120_000);
    expect(await managedNames(w)).toEqual(['changed', 'kept', 'new']);
    expect(w.changes.map(({ key }) => key.split('/').pop()).sort()).toEqual(['changed', 'gone', 'kept', 'new']);
    expect((await w.cluster().managed({ app: 'shop', targets: [] }, w.signal)).degraded.kinds).toEqual([]);
    await w.stop();
  });

  it('shows a forbidden kind as forbidden and goes on with the others (T-CACHE-3)', async () => {
    const w = await world((server) => {
      server.put(tracked('a'));
      server.faults.set('list pods', 403);
    });
    expect(w.cluster().info().state).toBe('synced');
    const { degraded } = await w.cluster().managed({ app: 'shop', targets: [] }, w.signal);
    expect(degraded.kinds.map(({ kind, state }) => `${kind} ${state}`)).toEqual(['Pod forbidden']);
    expect(await managedNames(w)).toEqual(['a']);
    await w.stop();
  });

  describe('12.7: resource.respectRBAC', () => {
    const respecting = (respectRBAC: Settings['respectRBAC']): Settings => ({
      ...defaultSettings,
      version: respectRBAC,
      respectRBAC,
    });
    const refused = (server: FakeServer): void => {
      server.put(tracked('a'));
      server.faults.set('list configmaps', 403);
    };
    const kindsOf = (w: World): readonly string[] =>
      w
        .cluster()
        .info()
        .kinds.map(({ kind, state }) => `${kind} ${state}`)
        .sort();
    const nameOf = (name: string): KubeObject => ({ apiVersion: 'v1', ...tracked(name) });

    it('12.7: normal leaves a kind out that may not be listed, and says so; without it the kind is in trouble', async () => {
      const lines: string[] = [];
      const destination = { write: (line: string) => void lines.push(line) };
      const logger = createLogger({ level: 'info', format: 'json', destination });
      const w = await world(refused, { settings: respecting('normal'), logger });
      const { state, kinds, apisCount } = w.cluster().info();
      expect([state, apisCount, kindsOf(w)]).toEqual([
        'synced',
        2,
        ['ConfigMap left-out', 'Deployment synced', 'Pod synced'],
      ]);
      const [said] = kinds.filter(({ kind }) => kind === 'ConfigMap');
      expect(said?.message).toBe('left out, as resource.respectRBAC says: the server says 403');
      expect(lines.filter((line) => line.includes('left out of the cache'))).toHaveLength(1);
      expect(await w.metrics.expose()).toContain('driftless_cluster_kinds{server="https://a",state="left-out"} 1');
      expect(w.server.count('review configmaps')).toBe(0);
      w.live.setClusters([clusterAt(url)], respecting('off'));
      expect(kindsOf(w)).toContain('ConfigMap forbidden');
      await w.stop();
    });

    it('12.7: what is wanted of a kind that is left out is read one by one, and so is what the application had', async () => {
      const w = await world(
        (server) => {
          refused(server);
          server.put(tracked('gone-from-git'));
          server.put(tracked('foreign', 'other'));
        },
        { settings: respecting('normal') },
      );
      const had = ['a', 'gone-from-git', 'foreign', 'deleted'].map(nameOf);
      const read = await w.cluster().managed({ app: 'shop', targets: [nameOf('a'), nameOf('new')], had }, w.signal);
      expect([...read.objects.values()].map(({ metadata }) => metadata.name)).toEqual(['a', 'gone-from-git']);
      expect(read.unread).toEqual([]);
      expect(read.degraded.kinds).toMatchObject([{ kind: 'ConfigMap', state: 'left-out' }]);
      w.server.faults.set('get configmaps', 403);
      const unread = (await w.cluster().managed({ app: 'shop', targets: [nameOf('a')], had }, w.signal)).unread;
      expect(unread.map(({ name }) => name)).toEqual(['a', 'deleted', 'foreign', 'gone-from-git']);
      expect(unread[0]?.message).toContain('the server says 403');
      await w.stop();
    });

    it('12.7: what an application had of a kind that is listed is not read again', async () => {
      const w = await world((server) => void server.put(tracked('a')), { settings: respecting('normal') });
      const read = await w
        .cluster()
        .managed({ app: 'shop', targets: [], had: [nameOf('a'), nameOf('gone')] }, w.signal);
      expect([...read.objects.values()].map(({ metadata }) => metadata.name)).toEqual(['a']);
      expect(w.server.count('get configmaps')).toBe(0);
      await w.stop();
    });

    it('12.7: a write of ours puts nothing into a cache that would never hear of its end', async () => {
      const w = await world(refused, { settings: respecting('normal') });
      w.cluster().observe(w.server.put(tracked('a')));
      w.server.remove('ConfigMap', 'a');
      expect((await w.cluster().managed({ app: 'shop', targets: [nameOf('a')] }, w.signal)).objects.size).toBe(0);
      await w.stop();
    });

    it.each([
      ['denied', false, 'left-out'],
      ['allowed', true, 'forbidden'],
    ])('12.7: strict asks the server first: %s', async (_name, allowed, state) => {
      const w = await world(
        (server) => {
          refused(server);
          server.reviews.set('configmaps', allowed);
        },
        { settings: respecting('strict') },
      );
      expect(kindsOf(w)).toContain(`ConfigMap ${state}`);
      expect(w.server.count('review configmaps')).toBe(1);
      expect(w.server.count('review pods')).toBe(0);
      await w.stop();
    });

    it('12.7: strict leaves nothing out when nobody can tell, until somebody can', async () => {
      const w = await world(
        (server) => {
          refused(server);
          server.reviews.set('configmaps', false);
          server.faults.set('review configmaps', 500);
        },
        { settings: respecting('strict') },
      );
      expect(kindsOf(w)).toContain('ConfigMap forbidden');
      w.server.faults.delete('review configmaps');
      await w.clock.advance(120_000);
      expect(kindsOf(w)).toContain('ConfigMap left-out');
      await w.stop();
    });

    it('12.7: a kind that was listed keeps what is known of it when it may not be listed any more', async () => {
      const w = await world((server) => void server.put(tracked('a')), { settings: respecting('normal') });
      w.server.faults.set('list configmaps', 403).set('watch configmaps', 403);
      w.server.cutWatches(apiError(410));
      await w.clock.advance(120_000);
      expect(kindsOf(w)).toContain('ConfigMap forbidden');
      expect(await managedNames(w)).toEqual(['a']);
      await w.stop();
    });

    it('12.7: with the right to list comes the kind, and its applications hear of it', async () => {
      const w = await world(refused, { settings: respecting('normal') });
      w.server.faults.clear();
      await w.clock.advance(120_000);
      expect(kindsOf(w)).toContain('ConfigMap synced');
      expect(w.changes.map(({ apps }) => [...apps.keys()])).toEqual([['shop']]);
      await w.stop();
    });
  });

  it.each([
    [
      'after a break',
      (w: World) => w.server.cutWatches(new KubeConnectionError(url, 'refused', new Error('ECONNREFUSED'))),
    ],
    ['after a silence', (w: World) => w.server.cutWatches()],
  ])('8.1.11, 9.2: a server that was set back is told once, not once per kind (%s)', async (_name, cut) => {
    const lines: string[] = [];
    const destination = { write: (line: string) => void lines.push(line) };
    const logger = createLogger({ level: 'warn', format: 'json', destination });
    const w = await world((server) => void server.put(tracked('a')), { logger });
    await w.clock.advance(120_000);
    w.server.setBack();
    cut(w);
    await w.clock.advance(60_000);
    const said = lines.map((line) => JSON.parse(line) as { msg: string; server: string });
    expect(said).toMatchObject([{ msg: expect.stringMatching(/went back; reading everything again$/), server: url }]);
    // Every kind was read again.
    for (const kind of ['configmaps', 'pods', 'deployments'])
      expect([kind, w.server.count(`list ${kind}`)]).toEqual([kind, 2]);
    await w.stop();
  });

  it('survives watches that end and drop, without a new list', async () => {
    const w = await world((server) => server.put(tracked('a')));
    const lists = w.server.count('list configmaps');
    await w.clock.advance(30_000);
    w.server.cutWatches();
    await w.clock.advance(30_000);
    w.server.cutWatches(new KubeConnectionError(url, 'reset', new Error('ECONNRESET')));
    await w.clock.advance(30_000);
    w.server.put(tracked('b'));
    await w.clock.advance(1000);
    expect(await managedNames(w)).toEqual(['a', 'b']);
    expect(w.server.count('list configmaps')).toBe(lists);
    await w.stop();
  });

  it('takes an object of the same name with another uid for another object (T-CACHE-7)', async () => {
    const w = await world((server) => server.put(tracked('a')));
    w.server.faults.set('watch configmaps', 500);
    w.server.cutWatches(apiError(410));
    await w.clock.settle();
    w.server.remove('ConfigMap', 'a');
    const again = tracked('a');
    w.server.put({ ...again, metadata: { ...again.metadata, uid: 'second' } });
    w.server.faults.clear();
    await w.clock.advance(60_000);
    expect((await row(w, configMap('a')))?.uid).toBe('second');
    expect(w.changes.filter(({ key }) => key === configMap('a'))).toHaveLength(1);
    await w.stop();
  });

  it('repairs by itself what a watch has silently lost (T-CACHE-4)', async () => {
    const w = await world(
      (server) => {
        server.put(tracked('a'));
        server.put(tracked('b'));
      },
      { tuning: { auditMs: 600_000 } },
    );
    w.server.silent.add('configmaps');
    w.server.remove('ConfigMap', 'a');
    w.server.put(tracked('b', 'shop', { data: { x: '1' } }));
    w.server.put(tracked('c'));
    await w.clock.advance(60_000);
    expect(await managedNames(w)).toEqual(['a', 'b']);
    await w.clock.advance(640_000);
    expect(await managedNames(w)).toEqual(['b', 'c']);
    expect(w.changes).toHaveLength(3);
    await w.stop();
  });
});

describe('15.3: the cache is compared with the server', () => {
  const auditing = { tuning: { auditMs: 600_000 } };
  const lists = (w: World): number => w.server.count('list configmaps');

  it('lists once for the comparison, and nothing again, while both agree', async () => {
    const w = await world((server) => server.put(tracked('a')), auditing);
    expect(lists(w)).toBe(1);
    await w.clock.advance(650_000);
    expect(lists(w)).toBe(2);
    expect(await w.metrics.expose()).toContain('driftless_cluster_cache_audits_total{server="https://a"} 3');
    expect(await w.metrics.expose()).not.toContain('driftless_cluster_cache_repairs_total{');
    await w.stop();
  });

  it('repairs nothing while the watch is only behind the list', async () => {
    const w = await world((server) => server.put(tracked('a')), auditing);
    w.server.silent.add('configmaps');
    await w.clock.advance(569_000);
    const late = w.server.put(tracked('b'));
    for (let i = 0; i < 640 && lists(w) < 2; i += 1) await w.clock.advance(100);
    expect(lists(w)).toBe(2);
    w.server.silent.delete('configmaps');
    w.server.put({ ...late, data: { now: 'told' } });
    await w.clock.advance(15_000);
    expect(await managedNames(w)).toEqual(['a', 'b']);
    expect(lists(w)).toBe(2);
    await w.stop();
  });

  it('14.4: finds in twelve rounds what has the number of before and is another object', async () => {
    const w = await world((server) => server.put(tracked('b')), auditing);
    const shown = async (): Promise<unknown> => {
      const { objects } = await w.cluster().managed({ app: 'shop', targets: [] }, w.signal);
      return objects.get(configMap('b'))?.['data'];
    };
    w.server.save();
    w.server.put(tracked('b', 'shop', { data: { x: 'before' } }));
    await w.clock.advance(1000);
    // Set back, and forward again to the same numbers, without a word to those who watch.
    w.server.silent.add('configmaps');
    w.server.restore();
    w.server.put(tracked('b', 'shop', { data: { x: 'after' } }));
    expect(await shown()).toEqual({ x: 'before' });
    await w.clock.advance(13 * 630_000);
    expect(await shown()).toEqual({ x: 'after' });
    await w.stop();
  });

  it('14.4: reads whole what the first list has, and one time in twelve after that', async () => {
    const w = await world((server) => server.put(tracked('a')), auditing);
    await w.clock.advance(24 * 630_000);
    expect(lists(w)).toBeGreaterThanOrEqual(24);
    expect(w.server.count('list configmaps whole')).toBe(3);
    await w.stop();
  });

  it('equals the server in the end, whatever was lost and whenever it was set back', async () => {
    const act = fc.constantFrom('put', 'put', 'remove', 'deaf', 'hear', 'back', 'cut', 'wait', 'save', 'restore');
    const step = fc.record({ act, name: fc.constantFrom('a', 'b', 'c') });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
        const w = await world((server) => server.put(tracked('a')), auditing);
        let n = 0;
        for (const { act, name } of steps) {
          const key = resourceKey('', 'ConfigMap', 'ns', name);
          if (act === 'put') w.server.put(tracked(name, 'shop', { data: { n: String((n += 1)) } }));
          else if (act === 'remove' && key in w.server.contents()) w.server.remove('ConfigMap', name);
          else if (act === 'deaf') w.server.silent.add('configmaps');
          else if (act === 'hear') w.server.silent.delete('configmaps');
          else if (act === 'back') w.server.setBack();
          else if (act === 'save') w.server.save();
          else if (act === 'restore') w.server.restore();
          else if (act === 'cut') w.server.cutWatches();
          await w.clock.advance(act === 'wait' ? 30_000 : 100);
        }
        await w.clock.advance(1_300_000);
        const keys = ['a', 'b', 'c'].map((name) => resourceKey('', 'ConfigMap', 'ns', name));
        const rows = await w.cluster().rows(keys, w.signal);
        const kept = [...rows.values()].map((row) => [row.key, `${row.uid} ${row.resourceVersion}`]);
        expect(Object.fromEntries(kept.sort())).toEqual(w.server.contents());
        await w.stop();
      }),
      { numRuns: 60 },
    );
  });

  it('counts what it repairs, by kind', async () => {
    const w = await world((server) => server.put(tracked('a')), auditing);
    w.server.silent.add('configmaps');
    w.server.remove('ConfigMap', 'a');
    w.server.put(tracked('b'));
    await w.clock.advance(650_000);
    expect(await managedNames(w)).toEqual(['b']);
    expect(await w.metrics.expose()).toContain(
      'driftless_cluster_cache_repairs_total{server="https://a",group="",kind="ConfigMap"} 2',
    );
    await w.stop();
  });
});

describe('kinds that come and go (T-CACHE-5)', () => {
  const crd = (name: string) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name },
  });
  const withCrds = (server: FakeServer): void =>
    server.serve('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition', false);
  const widgetKey = resourceKey('example.com', 'Widget', 'ns', 'w');
  const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w', namespace: 'ns' } };

  it('watches a new kind soon after its definition, and drops it with it', async () => {
    const w = await world(withCrds);
    w.server.put(crd('widgets.example.com'));
    await w.clock.advance(500);
    w.server.serve('example.com', 'v1', 'Widget');
    w.server.put(widget);
    await w.clock.advance(5000);
    expect(await row(w, widgetKey)).toMatchObject({ key: widgetKey });
    expect(w.changes.map(({ key }) => key)).toContain(widgetKey);
    w.changes.length = 0;
    w.server.kinds.pop();
    w.server.remove('CustomResourceDefinition', 'widgets.example.com', '', 'apiextensions.k8s.io');
    await w.clock.advance(5000);
    expect(await row(w, widgetKey)).toBeUndefined();
    expect(w.server.watching()).not.toContain('widgets');
    expect(w.changes.map(({ key }) => key)).toContain(widgetKey);
    await w.stop();
  });

  it('asks again when the server needs longer to serve the kind', async () => {
    const w = await world(withCrds);
    w.server.put(crd('widgets.example.com'));
    await w.clock.advance(12_000);
    w.server.serve('example.com', 'v1', 'Widget');
    await w.clock.advance(12_000);
    expect(w.server.watching()).toContain('widgets');
    await w.stop();
  });

  it('is not put off by a stream of definitions, nor made to ask all the time', async () => {
    const w = await world(withCrds);
    const before = w.server.count('discover');
    w.server.serve('example.com', 'v1', 'Widget');
    for (let i = 0; i < 100; i += 1) {
      w.server.put(crd('widgets.example.com'));
      await w.clock.advance(100);
    }
    expect(w.server.watching()).toContain('widgets');
    expect(w.server.count('discover') - before).toBeLessThanOrEqual(11);
    await w.stop();
  });

  /** A CustomResourceDefinition as a server has it that serves it. */
  const established = (name: string, extra: Record<string, unknown> = {}) => ({
    ...crd(name),
    spec: {
      names: { kind: 'Widget', plural: 'widgets' },
      scope: 'Namespaced',
      versions: [{ name: 'v1', served: true }],
    },
    status: { conditions: [{ type: 'Established', status: 'True' }] },
    ...extra,
  });
  const widgetOfShop = {
    ...widget,
    metadata: { ...widget.metadata, annotations: { [annotations.trackingId]: 'shop:example.com/Widget:ns/w' } },
  };
  const target = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w', namespace: 'ns' } };
  const unreadOf = async (w: World): Promise<readonly string[]> =>
    (await w.cluster().managed({ app: 'shop', targets: [target] }, w.signal)).unread.map(({ message }) => message);

  it('14.4: waits for a kind that the first discovery does not name and a CRD defines, as long as that is a moment', async () => {
    const w = await world((server) => {
      withCrds(server);
      server.serve('example.com', 'v1', 'Widget');
      server.put(established('widgets.example.com'));
      server.put(widgetOfShop);
      server.unnamed.add('widgets');
    });
    expect([w.cluster().info().state, w.cluster().unsure()]).toEqual([
      'connecting',
      'discovery does not name it, and is made again in a moment',
    ]);
    await w.clock.advance(2_000);
    expect(w.cluster().info().state).toBe('connecting');
    w.server.unnamed.clear();
    await w.clock.advance(4_000);
    expect(w.cluster().info().state).toBe('synced');
    expect(w.server.watching()).toContain('widgets');
    expect(await unreadOf(w)).toEqual([]);
    await w.stop();
  });

  it.each([undefined, 503, 403])(
    '14.4: a kind that a CRD defines and discovery does not name is not known, instead of not there (its address: %s)',
    async (status) => {
      const w = await world((server) => {
        withCrds(server);
        server.serve('example.com', 'v1', 'Widget');
        server.put(established('widgets.example.com'));
        server.put(widgetOfShop);
        server.unnamed.add('widgets');
        if (status !== undefined) server.faults.set('look widgets', status);
      });
      await w.clock.advance(20_000);
      expect(w.cluster().info().state).toBe('synced');
      expect(w.cluster().discovery().failedGroups.get('example.com')).toBe(
        'discovery does not name widgets.example.com, of which there is the CustomResourceDefinition widgets.example.com',
      );
      expect(await unreadOf(w)).toEqual([expect.stringContaining('does not name widgets.example.com')]);
      w.server.unnamed.clear();
      await w.clock.advance(60_000);
      expect(w.cluster().discovery().failedGroups.size).toBe(0);
      expect(await unreadOf(w)).toEqual([]);
      expect((await w.cluster().managed({ app: 'shop', targets: [] }, w.signal)).objects.size).toBe(1);
      await w.stop();
    },
  );

  it.each([
    ['whose address is not found', established('widgets.example.com')],
    ['that is not established', established('widgets.example.com', { status: {} })],
    ['without a version that is served', established('widgets.example.com', { spec: { versions: [] } })],
  ])('14.4: of a CRD %s there is no kind to wait for', async (_what, definition) => {
    const w = await world((server) => {
      withCrds(server);
      server.put(definition);
    });
    await w.clock.advance(1_500);
    expect(w.cluster().info().state).toBe('synced');
    expect(w.cluster().discovery().failedGroups.size).toBe(0);
    expect(await unreadOf(w)).toEqual([]);
    const before = w.server.count('get customresourcedefinitions');
    await w.clock.advance(900_000);
    expect(w.server.count('get customresourcedefinitions')).toBe(before);
    await w.stop();
  });

  it('14.4: a server that names none of many kinds yet is asked again, not for each of them', async () => {
    const names = Array.from({ length: 50 }, (_, i) => `widgets.e${i}.example.com`);
    const w = await world((server) => {
      withCrds(server);
      for (const name of names) server.put(established(name));
    });
    await w.clock.advance(10_000);
    expect(w.server.count('get customresourcedefinitions')).toBe(0);
    expect(w.cluster().discovery().failedGroups.size).toBe(50);
    await w.clock.advance(60_000);
    expect(w.cluster().discovery().failedGroups.size).toBe(0);
    await w.stop();
  });

  it.each([
    ['is not available', { service: { name: 's' } }, 'False', true],
    ['is available and has nothing', { service: { name: 's' } }, 'True', false],
    ['is the server itself', {}, 'True', false],
  ])('14.4: a group that discovery does not name and whose APIService %s', async (_what, spec, status, isOpen) => {
    const w = await world((server) => {
      server.serve('apiregistration.k8s.io', 'v1', 'APIService', false);
      const metadata = { name: 'v1.far.example.com' };
      const conditions = [{ type: 'Available', status }];
      server.put({
        apiVersion: 'apiregistration.k8s.io/v1',
        kind: 'APIService',
        metadata,
        spec,
        status: { conditions },
      });
    });
    await w.clock.advance(120_000);
    expect(w.cluster().info().state).toBe('synced');
    expect(w.cluster().discovery().failedGroups.has('far.example.com')).toBe(isOpen);
    await w.stop();
  });

  it('14.4: where CRDs cannot be read, the first minute of discovery does not tell what is not served', async () => {
    const w = await world((server) => {
      withCrds(server);
      server.faults.set('list customresourcedefinitions', 403);
    });
    expect(w.cluster().info().state).toBe('synced');
    expect(w.cluster().unsure()).toMatch(/may not name everything yet/);
    await w.clock.advance(60_000);
    expect(w.cluster().unsure()).toMatch(/may not name everything yet/);
    await w.clock.advance(20_000);
    expect(w.cluster().unsure()).toBeUndefined();
    await w.stop();
  });

  it('14.4: where they can, it tells at once', async () => {
    const w = await world((server) => {
      withCrds(server);
      server.serve('apiregistration.k8s.io', 'v1', 'APIService', false);
    });
    expect(w.cluster().unsure()).toBeUndefined();
    await w.stop();
  });

  it.each([503, 403])(
    'keeps the kinds that a server names not yet when it has just started (%s), and drops them when they are gone',
    async (status) => {
      const w = await world(
        (server) => {
          server.serve('example.com', 'v1', 'Widget');
          server.put(widget);
        },
        { tuning: { discoveryMs: 10_000 } },
      );
      const served = w.server.kinds.splice(-1);
      w.server.faults.set('look widgets', status);
      await w.clock.advance(20_000);
      expect(await row(w, widgetKey)).toMatchObject({ key: widgetKey });
      expect(w.server.watching()).toContain('widgets');
      expect(w.cluster().isNamespaced({ group: 'example.com', kind: 'Widget' })).toBe(true);
      expect(w.cluster().info().message).toBe(
        'discovery does not name example.com/Widget, which was served before and has not been removed',
      );
      w.server.faults.clear();
      w.server.kinds.push(...served);
      await w.clock.advance(30_000);
      expect(w.changes).toEqual([]);
      expect(w.cluster().info().message).toBeUndefined();
      w.server.kinds.pop();
      await w.clock.advance(30_000);
      expect(w.server.watching()).not.toContain('widgets');
      expect(await row(w, widgetKey)).toBeUndefined();
      await w.stop();
    },
  );

  it('a kind that may not be listed holds discovery up for two minutes when it goes, not for five', async () => {
    const w = await world((server) => server.serve('example.com', 'v1', 'Widget'), { tuning: { discoveryMs: 10_000 } });
    w.server.faults.set('look widgets', 403).set('list widgets', 403).set('watch widgets', 403);
    w.server.kinds.pop();
    w.server.serve('example.com', 'v1', 'Gadget');
    await w.clock.advance(150_000);
    expect(w.server.watching()).toContain('gadgets');
    expect(w.server.watching()).not.toContain('widgets');
    expect(w.cluster().info().message).toBeUndefined();
    await w.stop();
  });

  it('believes a discovery in the end that leaves out what is served', async () => {
    const w = await world((server) => server.serve('example.com', 'v1', 'Widget'), { tuning: { discoveryMs: 10_000 } });
    w.server.kinds.pop();
    w.server.faults.set('look widgets', 500);
    await w.clock.advance(400_000);
    expect(w.server.watching()).not.toContain('widgets');
    await w.stop();
  });

  it('asks a server once more soon after its first answer, which may have named too little', async () => {
    const w = await world();
    w.server.serve('example.com', 'v1', 'Widget');
    await w.clock.advance(20_000);
    expect(w.server.watching()).toContain('widgets');
    await w.stop();
  });

  it('keeps the kinds of a group that discovery cannot read (an aggregated API that is down)', async () => {
    const w = await world((server) => server.serve('example.com', 'v1', 'Widget'), { tuning: { discoveryMs: 10_000 } });
    w.server.put(widget);
    w.server.kinds.pop();
    w.server.failedGroups.set('example.com', 'down');
    await w.clock.advance(60_000);
    expect(w.server.watching()).toContain('widgets');
    expect(await row(w, widgetKey)).toMatchObject({ key: widgetKey });
    expect(w.cluster().isNamespaced({ group: 'example.com', kind: 'Widget' })).toBe(true);
    expect(
      w
        .cluster()
        .discovery()
        .preferred.map(({ kind }) => kind),
    ).toContain('Widget');
    expect(findResource(w.cluster().discovery(), { group: 'example.com', kind: 'Widget' }, 'v1')).toMatchObject({
      group: 'example.com',
      kind: 'Widget',
    });
    w.server.failedGroups.clear();
    await w.clock.advance(60_000);
    expect(w.server.watching()).not.toContain('widgets');
    await w.stop();
  });

  it('9.2: keeps all kinds but those of core when a discovery can read no other group', async () => {
    const w = await world(
      (server) => {
        server.serve('example.com', 'v1', 'Widget');
        server.put(widget);
      },
      { tuning: { discoveryMs: 10_000 } },
    );
    const [configMaps, pods] = w.server.kinds.splice(0);
    w.server.kinds.push(configMaps!);
    w.server.failedGroups.set('*', 'too many requests');
    await w.clock.advance(60_000);
    expect(w.server.watching()).toEqual(['configmaps', 'deployments', 'widgets']);
    expect(await row(w, widgetKey)).toMatchObject({ key: widgetKey });
    const unknown = { apiVersion: 'other.example.com/v1', kind: 'Thing', metadata: { name: 't', namespace: 'ns' } };
    const { unread } = await w.cluster().managed({ app: 'shop', targets: [unknown] }, w.signal);
    expect(unread).toMatchObject([{ kind: 'Thing', message: expect.stringMatching(/too many requests$/) }]);
    w.server.failedGroups.clear();
    w.server.kinds.push(pods!);
    await w.clock.advance(60_000);
    expect(w.server.watching()).toEqual(['configmaps', 'pods']);
    await w.stop();
  });

  it('9.2: a kind that is gone does not come back with a discovery that can read no group', async () => {
    const w = await world((server) => server.serve('example.com', 'v1', 'Widget'), { tuning: { discoveryMs: 10_000 } });
    w.server.kinds.pop();
    await w.clock.advance(30_000);
    expect(w.server.watching()).not.toContain('widgets');
    w.server.failedGroups.set('*', 'too many requests');
    w.server.kinds.pop();
    await w.clock.advance(30_000);
    expect(w.server.watching()).toEqual(['configmaps', 'deployments', 'pods']);
    expect(findResource(w.cluster().discovery(), { group: 'example.com', kind: 'Widget' })).toBeUndefined();
    await w.stop();
  });

  it('9.2: keeps the kinds of a version that cannot be read while another version of its group can', async () => {
    const policy = resourceKey('cilium.io', 'ClusterPolicy', '', 'p');
    const w = await world(
      (server) => {
        server.serve('cilium.io', 'v2', 'ClusterPolicy', false);
        server.serve('cilium.io', 'v2', 'Policy');
        server.serve('cilium.io', 'v1', 'Policy');
        const tracking = { [annotations.trackingId]: 'shop:cilium.io/ClusterPolicy:/p' };
        server.put({
          apiVersion: 'cilium.io/v2',
          kind: 'ClusterPolicy',
          metadata: { name: 'p', annotations: tracking },
        });
      },
      { tuning: { discoveryMs: 10_000 } },
    );
    const all = w.server.kinds.splice(0);
    w.server.kinds.push(...all.filter(({ version }) => version === 'v1'));
    w.server.failedGroups.set('cilium.io', 'the server is busy');
    await w.clock.advance(60_000);
    const cluster = w.cluster();
    // Otherwise its target would be put into the namespace of the destination, and the live object be pruned.
    expect(cluster.isNamespaced({ group: 'cilium.io', kind: 'ClusterPolicy' })).toBe(false);
    expect(findResource(cluster.discovery(), { group: 'cilium.io', kind: 'Policy' })?.version).toBe('v2');
    expect(findResource(cluster.discovery(), { group: 'cilium.io', kind: 'Policy' }, 'v1')).toMatchObject({
      group: 'cilium.io',
      kind: 'Policy',
    });
    expect(await row(w, policy)).toMatchObject({ key: policy });
    expect(w.server.watching()).toEqual(['clusterpolicys', 'configmaps', 'deployments', 'pods', 'policys']);
    w.server.failedGroups.clear();
    await w.clock.advance(60_000);
    expect(cluster.isNamespaced({ group: 'cilium.io', kind: 'ClusterPolicy' })).toBeUndefined();
    expect(await row(w, policy)).toBeUndefined();
    await w.stop();
  });

  it('keeps the rows while it turns to another preferred version', async () => {
    const w = await world(
      (server) => {
        server.serve('example.com', 'v1', 'Widget');
        server.put(widget);
      },
      { tuning: { discoveryMs: 10_000 } },
    );
    w.server.kinds.pop();
    w.server.serve('example.com', 'v2', 'Widget');
    w.server.faults.set('list widgets', 500);
    await w.clock.advance(20_000);
    expect(await row(w, widgetKey)).toMatchObject({ key: widgetKey });
    expect(w.changes).toEqual([]);
    expect(
      w
        .cluster()
        .info()
        .kinds.find(({ kind }) => kind === 'Widget'),
    ).toMatchObject({ version: 'v2', state: 'degraded' });
    await w.stop();
  });

  it('leaves out what is excluded, built in or by settings', async () => {
    const settings = {
      ...defaultSettings,
      exclusions: [{ apiGroups: ['apps'], kinds: ['*'], clusters: ['https://*'] }],
    };
    const w = await world(
      (server) => {
        server.serve('', 'v1', 'Event');
        server.serve('coordination.k8s.io', 'v1', 'Lease');
      },
      { settings },
    );
    expect(w.server.watching()).toEqual(['configmaps', 'pods']);
    w.live.setClusters([clusterAt(url)], defaultSettings);
    await w.clock.advance(100);
    expect(w.server.watching()).toEqual(['configmaps', 'deployments', 'pods']);
    await w.stop();
  });
});

describe('managed', () => {
  const target = (name: string, apiVersion = 'v1', kind = 'ConfigMap'): KubeObject => ({
    apiVersion,
    kind,
    metadata: { name, namespace: 'ns' },
  });

  it('reads what is not tracked once per version, and nothing for what does not exist', async () => {
    const w = await world((server) => {
      server.put({ kind: 'ConfigMap', metadata: { name: 'free', namespace: 'ns' } });
      server.put(tracked('a'));
    });
    const targets = [target('free'), target('a'), target('missing')];
    expect(await managedNames(w, 'shop', targets)).toEqual(['a', 'free']);
    expect(await managedNames(w, 'shop', targets)).toEqual(['a', 'free']);
    expect(w.server.count('get configmaps')).toBe(1);
    w.server.put({ kind: 'ConfigMap', metadata: { name: 'free', namespace: 'ns' } });
    await w.clock.settle();
    expect(await managedNames(w, 'shop', targets)).toEqual(['a', 'free']);
    expect(w.server.count('get configmaps')).toBe(2);
    await w.stop();
  });

  it('8.1.1: finds a CRD that says nothing of tracking by its name, and only for the application that names it', async () => {
    const name = 'widgets.example.com';
    const w = await world((server) => {
      server.serve('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition', false);
      const annotations = {
        'argocd.argoproj.io/tracking-id': `shop:apiextensions.k8s.io/CustomResourceDefinition:ns/${name}`,
      };
      server.put({
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name, annotations },
      });
    });
    const named = { ...target(name, 'apiextensions.k8s.io/v1', 'CustomResourceDefinition'), metadata: { name } };
    expect(await managedNames(w, 'other', [named])).toEqual([name]);
    expect(await managedNames(w, 'shop', [])).toEqual([]);
    await w.stop();
  });

  it('reads targets of kinds that are not watched or not fresh from the server', async () => {
    const w = await world((server) => {
      server.put({ kind: 'Pod', metadata: { name: 'p', namespace: 'ns' } });
      server.faults.set('list pods', 500);
    });
    expect(await managedNames(w, 'shop', [target('p', 'v1', 'Pod'), target('q', 'v1', 'Pod')])).toEqual(['p']);
    expect(await managedNames(w, 'shop', [target('x', 'nobody.example.com/v1', 'Unknown')])).toEqual([]);
    await w.stop();
  });

  it('9.2: a kind that was not fresh when the answer was begun is degraded in it, though it has recovered since', async () => {
    const w = await world((server) => {
      server.put(tracked('a'));
      server.put({ kind: 'Pod', metadata: { name: 'p', namespace: 'ns' } });
    });
    w.server.faults.set('list configmaps', 500).set('watch configmaps', 410);
    w.server.cutWatches();
    await w.clock.advance(5000);
    // It is another application's by now, which the cache does not know.
    w.server.put(tracked('a', 'other'));
    w.server.faults.set('get pods', 'hang');
    const answer = w.cluster().managed({ app: 'shop', targets: [target('p', 'v1', 'Pod')] }, w.signal);
    await w.clock.settle();
    w.server.faults.delete('list configmaps');
    w.server.faults.delete('watch configmaps');
    await w.clock.advance(60_000);
    const { objects, degraded } = await answer;
    expect(
      w
        .cluster()
        .info()
        .kinds.map(({ state }) => state),
    ).toEqual(['synced', 'synced', 'synced']);
    expect([...objects.keys()]).toEqual([configMap('a')]);
    expect(degraded.kinds).toMatchObject([{ kind: 'ConfigMap', state: 'degraded' }]);
    const next = await w.cluster().managed({ app: 'shop', targets: [] }, w.signal);
    expect([[...next.objects], next.degraded.kinds, next.degraded.version === degraded.version]).toEqual([
      [],
      [],
      false,
    ]);
    await w.stop();
  });

  it('9.2: a target without a name has no live object, and nobody asks for one', async () => {
    const w = await world((server) => {
      server.put({ kind: 'Pod', metadata: { name: 'p', namespace: 'ns' } });
      server.faults.set('list pods', 500);
    });
    const nameless = { apiVersion: 'v1', kind: 'Pod', metadata: { generateName: 'p-', namespace: 'ns' } };
    const { objects, unread } = await w
      .cluster()
      .managed({ app: 'shop', targets: [nameless, target('p', 'v1', 'Pod')] }, w.signal);
    expect([[...objects.keys()], unread, w.server.count('get pods')]).toEqual([['/Pod/ns/p'], [], 1]);
    await w.stop();
  });

  it('does not take a kind that discovery could not read for one that does not exist', async () => {
    const w = await world((server) => server.failedGroups.set('down.example.com', 'the server is unavailable'));
    const unknown = target('x', 'down.example.com/v1', 'Unknown');
    const { objects, unread } = await w.cluster().managed({ app: 'shop', targets: [unknown] }, w.signal);
    expect([...objects]).toEqual([]);
    expect(unread).toEqual([
      expect.objectContaining({ kind: 'Unknown', message: expect.stringMatching(/the server is unavailable$/) }),
    ]);
    await w.stop();
  });

  const step = fc.record({
    on: fc.constantFrom('own', 'own', 'own', 'other', 'untracked', 'gone', 'twin', 'pod fault', 'discovery', 'nothing'),
    name: fc.constantFrom('a', 'a', 'b', 'c', 'd'),
    data: fc.nat(2),
  });

  it('15.1: the live objects by their difference are those that are read anew, over random histories', async () => {
    let byDifference = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (history) => {
        const w = await world((server) => {
          server.serve('apps', 'v1beta1', 'Deployment');
          for (const name of ['a', 'b', 'd']) server.put(tracked(name));
        });
        const targets = [target('a'), target('b'), target('none'), target('d', 'apps/v1beta1', 'Deployment')];
        let since: ReadonlyMap<ResourceKey, KubeObject> | undefined;
        for (const { on, name, data } of history) {
          happen(w.server, on, name, data);
          await w.clock.advance(on === 'discovery' ? 700_000 : 1000);
          const answer = await w.cluster().managed({ app: 'shop', targets, since }, w.signal);
          const whole = await w.cluster().managed({ app: 'shop', targets }, w.signal);
          expect({ ...answer, changes: undefined }).toEqual({ ...whole, changes: undefined });
          const { keys } = answer.changes ?? {};
          if (keys !== undefined) byDifference += 1;
          const same = [...answer.objects.keys()].filter((key) => keys?.has(key) === false);
          for (const key of same) expect(answer.objects.get(key)).toBe(since?.get(key));
          since = answer.objects;
        }
        await w.stop();
      }),
      { numRuns: 100 },
    );
    expect(byDifference).toBeGreaterThan(100);
  });

  function happen(server: FakeServer, on: string, name: string, data: number): void {
    const body = { data: { key: String(data) } };
    if (on === 'own') server.put(tracked(name, 'shop', body));
    else if (on === 'other') server.put(tracked(name, 'another', body));
    else if (on === 'untracked') server.put({ kind: 'ConfigMap', metadata: { name, namespace: 'ns' }, ...body });
    else if (on === 'gone') {
      if (server.contents()[configMap(name)] !== undefined) server.remove('ConfigMap', name);
    } else if (on === 'twin') {
      const tracking = { [annotations.trackingId]: `shop:apps/Deployment:ns/${name}` };
      server.put({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name, namespace: 'ns', annotations: tracking },
      });
    } else if (on === 'pod fault') {
      server.faults.set('list pods', 500);
      server.cutWatches();
    } else if (on === 'discovery') server.serve('extra', 'v1', `Kind${server.kinds.length}`);
  }

  it('8.1.13: what cannot be read is named, and all else is there', async () => {
    const w = await world((server) => {
      server.put(tracked('a'));
      server.serve('apps', 'v1beta1', 'Deployment');
      const tracking = { [annotations.trackingId]: 'shop:apps/Deployment:ns/d' };
      server.put({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'd', namespace: 'ns', annotations: tracking },
      });
      server.faults.set('list pods', 500);
    });
    w.server.faults.set('get pods', 500);
    w.server.faults.set('get deployments', 403);
    const targets = [target('q', 'v1', 'Pod'), target('p', 'v1', 'Pod'), target('d', 'apps/v1beta1', 'Deployment')];
    const { objects, unread } = await w
      .cluster()
      .managed({ app: 'shop', targets: [...targets, target('a')] }, w.signal);
    expect([...objects.keys()]).toEqual([configMap('a')]);
    const words = 'failed to get managed objects: unexpected error getting managed object: the server says';
    expect(unread).toEqual([
      {
        group: '',
        version: 'v1',
        kind: 'Pod',
        namespace: 'ns',
        name: 'p',
        key: '/Pod/ns/p',
        message: `${words} 500`,
      },
      {
        group: '',
        version: 'v1',
        kind: 'Pod',
        namespace: 'ns',
        name: 'q',
        key: '/Pod/ns/q',
        message: `${words} 500`,
      },
      {
        group: 'apps',
        version: 'v1beta1',
        kind: 'Deployment',
        namespace: 'ns',
        name: 'd',
        key: 'apps/Deployment/ns/d',
        message: `${words} 403`,
      },
    ]);
    await w.stop();
  });

  it.each<[string, Fault]>([
    ['a server that refuses connections', 'refuse'],
    ['credentials that are refused', 401],
  ])('8.1.13: with %s nothing can be read, and nothing is', async (_name, fault) => {
    const w = await world((server) => server.faults.set('list pods', 500));
    w.server.faults.set('get pods', fault);
    await expect(w.cluster().managed({ app: 'shop', targets: [target('p', 'v1', 'Pod')] }, w.signal)).rejects.toThrow(
      /^failed to get managed objects: unexpected error getting managed object: /,
    );
    await w.stop();
  });

  it('8.1.13: a kind that hangs costs one wait, not one for each of its objects', async () => {
    const w = await world((server) => server.faults.set('list pods', 500));
    w.server.faults.set('get pods', 'hang');
    const targets = Array.from({ length: 100 }, (_, i) => target(`p${i}`, 'v1', 'Pod'));
    const reading = w.cluster().managed({ app: 'shop', targets }, w.signal);
    await w.clock.advance(30_000);
    const { unread } = await reading;
    expect(unread).toHaveLength(100);
    expect(new Set(unread.map(({ message }) => message)).size).toBe(1);
    expect(w.server.count('get pods')).toBe(16);
    await w.stop();
  });

  it("gives an object in the target's version, read once per version of the object", async () => {
    const w = await world((server) => {
      server.serve('apps', 'v1beta1', 'Deployment');
      const tracking = { [annotations.trackingId]: 'shop:apps/Deployment:ns/d' };
      server.put({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'd', namespace: 'ns', annotations: tracking },
      });
    });
    for (let i = 0; i < 3; i += 1) {
      const { objects } = await w
        .cluster()
        .managed({ app: 'shop', targets: [target('d', 'apps/v1beta1', 'Deployment')] }, w.signal);
      expect([...objects.values()].map((object) => object.apiVersion)).toEqual(['apps/v1beta1']);
    }
    expect(w.server.count('get deployments')).toBe(1);
    const { objects } = await w
      .cluster()
      .managed({ app: 'shop', targets: [target('d', 'apps/v0', 'Deployment')] }, w.signal);
    expect([...objects.values()].map((object) => object.apiVersion)).toEqual(['apps/v1']);
    await w.stop();
  });

  it('watches only the namespaces of a namespaced cluster, and refuses targets elsewhere', async () => {
    const cluster = clusterAt(url, { namespaces: ['ns', 'two'] });
    const w = await world((server) => server.serve('', 'v1', 'Node', false), { cluster });
    expect(w.server.watching()).toContain('pods ns');
    expect(w.server.watching()).not.toContain('nodes');
    const refuse = async (object: KubeObject, text: string): Promise<void> =>
      expect(w.cluster().managed({ app: 'shop', targets: [object] }, w.signal)).rejects.toThrow(text);
    const elsewhere = { ...target('a'), metadata: { name: 'a', namespace: 'three' } };
    await refuse(elsewhere, 'namespace "three" for ConfigMap "a" is not managed');
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } };
    await refuse(node, 'cluster level Node "n" can not be managed when in namespaced mode');
    await w.stop();
  });
});

describe('9.2: answers are plain values', () => {
  const settled = async (): Promise<World> => {
    const w = await world((server) => {
      const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid: 'uid-a' };
      server.put(tracked('a'));
      server.put({ kind: 'Pod', metadata: { name: 'p', namespace: 'ns', ownerReferences: [owner] } });
      server.put({ kind: 'Pod', metadata: { name: 'alone', namespace: 'ns' } });
      server.faults.set('list deployments', 403);
    });
    return w;
  };
  const pod = resourceKey('', 'Pod', 'ns', 'p');

  it('9.2: that another thread could get: a copy says the same', async () => {
    const w = await settled();
    w.server.put(tracked('a', 'shop', { data: { x: '1' } }));
    await w.clock.advance(100);
    const cluster = w.cluster();
    const answers = {
      info: cluster.info(),
      discovery: cluster.discovery(),
      managed: await cluster.managed({ app: 'shop', targets: [{ apiVersion: 'v1', ...tracked('b') }] }, w.signal),
      rows: await cluster.rows([configMap('a'), pod, configMap('missing')], w.signal),
      tree: await cluster.tree({ roots: [configMap('a')], leaveOut: [] }, w.signal),
      topLevel: await cluster.topLevel('ns', w.signal),
      changes: w.changes,
    };
    expect(structuredClone(answers)).toStrictEqual(answers);
    expect(answers.managed.degraded.kinds).toMatchObject([{ kind: 'Deployment', state: 'forbidden' }]);
    const owned = [...answers.rows.values()].map(({ name, owners }) => [name, owners.map(({ key }) => key)]);
    expect(owned).toEqual([
      ['a', []],
      ['p', [configMap('a')]],
    ]);
    expect(answers.tree.map(({ name, parents }) => [name, parents])).toEqual([
      ['a', []],
      ['p', [configMap('a')]],
    ]);
    expect(answers.topLevel.map(({ name }) => name).sort()).toEqual(['a', 'alone']);
    expect(answers.changes).toHaveLength(1);
    await w.stop();
  });

  it('9.2: that stay as they were when the cluster goes on', async () => {
    const w = await settled();
    const ask = async (): Promise<object> => ({
      rows: await w.cluster().rows([configMap('a'), pod], w.signal),
      tree: await w.cluster().tree({ roots: [configMap('a')], leaveOut: [] }, w.signal),
      managed: await w.cluster().managed({ app: 'shop', targets: [] }, w.signal),
    });
    const before = await ask();
    const then = structuredClone(before);
    w.server.put(tracked('a', 'shop', { data: { x: '2' } }));
    w.server.remove('Pod', 'p');
    await w.clock.advance(100);
    expect(before).toStrictEqual(then);
    expect(await ask()).not.toEqual(then);
    await w.stop();
  });

  it('9.2: what is left out of a tree goes with all that hangs on nothing else', async () => {
    const w = await world((server) => {
      const ref = (name: string) => ({ apiVersion: 'v1', kind: 'Pod', name, uid: `uid-${name}` });
      const child = (name: string, ...owners: readonly string[]): void =>
        void server.put({ kind: 'Pod', metadata: { name, namespace: 'ns', ownerReferences: owners.map(ref) } });
      child('top');
      child('left', 'top');
      child('right', 'top');
      child('both', 'left', 'right');
      child('only', 'left');
    });
    const of = (name: string): ResourceKey => resourceKey('', 'Pod', 'ns', name);
    const names = async (...leaveOut: readonly string[]): Promise<readonly string[]> =>
      (await w.cluster().tree({ roots: [of('top')], leaveOut: leaveOut.map(of) }, w.signal)).map(({ name }) => name);
    expect(await names()).toEqual(['top', 'left', 'right', 'both', 'only']);
    expect(await names('left')).toEqual(['top', 'right', 'both']);
    expect(await names('left', 'right')).toEqual(['top']);
    expect(await names('top')).toEqual([]);
    await w.stop();
  });

  it('9.2: the version of a discovery is another one when the server serves something else, and only then', async () => {
    const w = await world(undefined, { tuning: { discoveryMs: 10_000 } });
    const before = w.cluster().discovery();
    await w.clock.advance(60_000);
    expect(w.server.count('discover')).toBeGreaterThan(3);
    expect(w.cluster().discovery()).toBe(before);
    w.server.serve('example.com', 'v1', 'Widget');
    await w.clock.advance(60_000);
    const after = w.cluster().discovery();
    expect(after.version).toBeGreaterThan(before.version);
    w.server.failedGroups.set('apps', 'down');
    await w.clock.advance(60_000);
    expect(w.cluster().discovery().version).toBeGreaterThan(after.version);
    await w.stop();
  });

  it('9.2: the version of what is degraded is another one when that is, in a new cache as well', async () => {
    const w = await world((server) => void server.put(tracked('a')));
    const degraded = async () => (await w.cluster().managed({ app: 'shop', targets: [] }, w.signal)).degraded;
    const fresh = await degraded();
    w.server.put(tracked('b'));
    await w.clock.advance(1000);
    expect(await degraded()).toEqual({ version: fresh.version, kinds: [] });
    w.server.faults.set('list configmaps', 500).set('watch configmaps', 500);
    w.server.cutWatches(apiError(410));
    await w.clock.advance(120_000);
    const broken = await degraded();
    expect([broken.version > fresh.version, broken.kinds.map(({ kind }) => kind)]).toEqual([true, ['ConfigMap']]);
    w.server.faults.set('list configmaps', 403);
    await w.clock.advance(120_000);
    const forbidden = await degraded();
    expect([forbidden.version > broken.version, forbidden.kinds[0]?.state]).toEqual([true, 'forbidden']);
    w.server.faults.clear();
    const moved = clusterAt(url);
    w.live.setClusters([{ ...moved, connection: { ...moved.connection, caData: 'x' } }], defaultSettings);
    await w.clock.advance(1000);
    const again = await degraded();
    expect([again.version > forbidden.version, again.kinds]).toEqual([true, []]);
    await w.stop();
  });
});

describe('observe', () => {
  it('shows our write at once; its echo is no news, and an older event does not undo it', async () => {
    const w = await world((server) => server.put(tracked('a')));
    w.server.silent.add('configmaps');
    const written = w.server.put(tracked('a', 'shop', { data: { x: 'ours' } }));
    w.cluster().observe(written);
    w.cluster().observe({ ...written, metadata: { ...written.metadata, resourceVersion: '50' }, data: { x: 'old' } });
    const { objects } = await w.cluster().managed({ app: 'shop', targets: [] }, w.signal);
    expect(objects.get(configMap('a'))).toMatchObject({ data: { x: 'ours' } });
    await w.clock.advance(100);
    expect(w.changes).toHaveLength(1);
    await w.stop();
  });

  it('does not bring back what the watch has seen deleted', async () => {
    const w = await world((server) => server.put(tracked('a')));
    const written = w.server.put(tracked('a', 'shop', { data: { x: '1' } }));
    w.server.remove('ConfigMap', 'a');
    await w.clock.settle();
    w.cluster().observe(written);
    expect(await row(w, configMap('a'))).toBeUndefined();
    await w.stop();
  });

  it('8.1.11: answers that do not fit have everything listed again, and do not end that list before it has come', async () => {
    const w = await world((server) => server.put(tracked('a')));
    const lists = w.server.count('list configmaps');
    const stored = w.server.put(tracked('a', 'shop', { data: { x: '1' } }));
    await w.clock.settle();
    let answer = (): void => undefined;
    w.server.listAnswers = new Promise((resolve) => (answer = resolve));
    for (let i = 0; i < 10; i += 1) {
      w.cluster().observe({ ...stored, metadata: { ...stored.metadata, resourceVersion: String(50 + i) } });
      await w.clock.advance(6000);
    }
    expect(w.server.count('list configmaps') - lists).toBe(1);
    answer();
    await w.clock.advance(1000);
    expect(w.server.watching()).toContain('configmaps');
    w.cluster().observe({ ...stored, metadata: { ...stored.metadata, resourceVersion: '70' } });
    w.cluster().observe({ ...stored, metadata: { ...stored.metadata, resourceVersion: '71' } });
    await w.clock.advance(1000);
    expect(w.server.count('list configmaps') - lists).toBe(2);
    await w.stop();
  });

  it('keeps what we created while a list was on its way', async () => {
    const w = await world((server) => server.put(tracked('a')), { tuning: { relistMs: 60_000 } });
    w.server.silent.add('configmaps');
    let answer = (): void => undefined;
    w.server.listAnswers = new Promise((resolve) => (answer = resolve));
    await w.clock.advance(70_000);
    w.cluster().observe(w.server.put(tracked('new')));
    answer();
    await w.clock.advance(1000);
    expect(await row(w, configMap('new'))).toMatchObject({ key: configMap('new') });
    // The next list began after it.
    w.server.remove('ConfigMap', 'new');
    await w.clock.advance(70_000);
    expect(await row(w, configMap('new'))).toBeUndefined();
    await w.stop();
  });
});

describe('setClusters', () => {
  it('swaps credentials in place: no list, no watch, no new client (T-AUTH-1)', async () => {
    const w = await world((server) => server.put(tracked('a')));
    await w.clock.advance(30_000);
    // What the server serves is asked now and then anyway.
    const ofObjects = (): readonly string[] => w.server.requests.filter((one) => !/^(version|discover)$/.test(one));
    const before = ofObjects();
    const live = w.cluster();
    for (let i = 0; i < 60; i += 1) {
      w.live.setClusters([clusterAt(url, { labels: { round: String(i) } }, `token-${i}`)], defaultSettings);
      await w.clock.advance(1000);
      expect(await managedNames(w)).toEqual(['a']);
    }
    expect(ofObjects()).toEqual(before);
    expect(w.server.credentials).toHaveLength(60);
    expect(w.cluster()).toBe(live);
    await w.stop();
  });

  it('does nothing for labels, shard and name', async () => {
    const w = await world();
    const before = [...w.server.requests];
    w.live.setClusters([clusterAt(url, { shard: 3, name: 'b', labels: { a: 'b' } })], defaultSettings);
    await w.clock.advance(1000);
    expect(w.server.requests).toEqual(before);
    expect(w.server.credentials).toEqual([]);
    await w.stop();
  });

  it('starts and stops only the watches of namespaces that come and go (T-CACHE-8)', async () => {
    const w = await world((server) => server.put(tracked('a')), {
      cluster: clusterAt(url, { namespaces: ['ns', 'two'] }),
    });
    const before = w.server.count('list configmaps');
    w.live.setClusters([clusterAt(url, { namespaces: ['two', 'ns', 'three'] })], defaultSettings);
    await w.clock.advance(100);
    expect(w.server.count('list configmaps')).toBe(before + 1);
    w.live.setClusters([clusterAt(url, { namespaces: ['three'] })], defaultSettings);
    await w.clock.advance(100);
    expect(w.server.watching().filter((entry) => entry.startsWith('configmaps'))).toEqual(['configmaps three']);
    expect(await row(w, configMap('a'))).toBeUndefined();
    await w.stop();
  });

  it('makes a new cache for another certificate authority', async () => {
    const w = await world((server) => server.put(tracked('a')));
    const old = w.cluster();
    const moved = clusterAt(url);
    w.live.setClusters([{ ...moved, connection: { ...moved.connection, caData: 'other' } }], defaultSettings);
    await w.clock.advance(100);
    expect(w.cluster()).not.toBe(old);
    expect(w.cluster().info().state).toBe('synced');
    expect(w.server.closed).toBe(1);
    await w.stop();
  });

  it('tells all applications of a new cache: what happened between the two has no event', async () => {
    const w = await world((server) => {
      server.put(tracked('a'));
      server.put(tracked('gone', 'other'));
    });
    w.server.silent.add('configmaps');
    w.server.remove('ConfigMap', 'gone');
    const moved = clusterAt(url);
    w.live.setClusters([{ ...moved, connection: { ...moved.connection, caData: 'x' } }], defaultSettings);
    w.live.setClusters([{ ...moved, connection: { ...moved.connection, caData: 'y' } }], defaultSettings);
    await w.clock.advance(100);
    expect(w.changes.map(({ key, apps }) => [key, Object.fromEntries(apps)])).toEqual([
      [configMap('gone'), { other: { managed: true } }],
      [configMap('a'), { shop: { managed: true } }],
    ]);
    await w.stop();
  });

  it('reads everything again when tracking changes, without forgetting it meanwhile', async () => {
    const w = await world((server) => {
      const own = tracked('a');
      server.put({ ...own, metadata: { ...own.metadata, labels: { 'my/label': 'labelled' } } });
    });
    const tracking = { method: 'label', labelKey: 'my/label', installationId: '' } as const;
    w.live.setClusters([clusterAt(url)], { ...defaultSettings, version: '2', tracking });
    expect(await row(w, configMap('a'))).toMatchObject({ key: configMap('a') });
    expect((await w.cluster().managed({ app: 'labelled', targets: [] }, w.signal)).degraded.kinds).toEqual([]);
    await w.clock.advance(100);
    expect(await managedNames(w, 'labelled')).toEqual(['a']);
    const concerned = w.changes.flatMap(({ apps }) => [...apps.keys()]).sort();
    expect(concerned).toEqual(['labelled', 'shop']);
    expect(await managedNames(w, 'shop')).toEqual([]);
    await w.stop();
  });

  it('keeps whole objects of own applications only, and fetches those of one that has just come here (T-SHARD-6)', async () => {
    const w = await world((server) => {
      server.put(tracked('a', 'shop'));
      server.put(tracked('b', 'other'));
    });
    const part = (app: string): number => partIndex(appKey('argocd', app), 64);
    expect(part('shop')).not.toBe(part('other'));
    const own = (...owned: readonly number[]): void => {
      const bodies = { of: 64, owned, namespace: 'argocd' };
      w.live.setClusters([clusterAt(url)], defaultSettings, new Map([[url, bodies]]));
    };
    own(part('shop'));
    await w.clock.advance(100);
    const gets = (): number => w.server.requests.filter((request) => request.startsWith('get')).length;
    const before = gets();
    expect(await managedNames(w, 'shop')).toEqual(['a']);
    expect(gets()).toBe(before);
    // In the cache all the same: owners, health, and whom it concerns.
    expect((await row(w, configMap('b')))?.app).toBe('other');
    expect(await managedNames(w, 'other')).toEqual(['b']);
    expect(gets()).toBe(before + 1);
    own(part('shop'), part('other'));
    await w.clock.advance(100);
    expect([await managedNames(w, 'shop'), await managedNames(w, 'other')]).toEqual([['a'], ['b']]);
    expect(gets()).toBe(before + 1);
    await w.stop();
  });

  it('9.2: lends its client to writers, one after another, as long as the cluster is kept', async () => {
    const w = await world();
    const first = w.clients.of(url);
    w.live.setClusters([clusterAt(url, {}, 'two')], defaultSettings);
    expect([w.clients.of(url) === first, w.server.credentials]).toEqual([true, ['two']]);
    const moved = clusterAt(url);
    w.live.setClusters([{ ...moved, connection: { ...moved.connection, caData: 'x' } }], defaultSettings);
    await w.clock.advance(100);
    const second = w.clients.of(url);
    expect([second === undefined, second === first, w.server.closed]).toEqual([false, false, 1]);
    w.live.setClusters([], defaultSettings);
    await w.clock.settle();
    expect([w.clients.of(url), w.server.closed]).toEqual([undefined, 2]);
    await w.stop();
  });

  it('9.2: closes the client of a cluster that goes before its watches have begun', async () => {
    const server = new FakeServer();
    const clients = new SharedClients((connection) => server.client(connection));
    const live = createLiveClusters({
      clients,
      clock: server.clock,
      random: seededRandom(1),
      logger: silentLogger,
      metrics: new PromMetrics(),
    });
    live.setClusters([clusterAt(url)], defaultSettings);
    expect(clients.of(url)).not.toBe(undefined);
    live.setClusters([], defaultSettings);
    await server.clock.settle();
    expect([clients.of(url), server.closed]).toEqual([undefined, 1]);
  });

  it('drops a cluster and ends everything of it', async () => {
    const w = await world();
    w.live.setClusters([], defaultSettings);
    await w.clock.settle();
    expect(w.server.watching()).toEqual([]);
    expect([w.clock.pending, w.server.closed, w.live.infos()]).toEqual([0, 1, []]);
    await w.stop();
  });
});

describe('metrics', () => {
  it('15.2: has the number of open watches, without those that have not listed yet', async () => {
    const w = await world((server) => server.faults.set('list pods', 'hang'));
    await w.clock.advance(1000);
    expect(await w.metrics.expose()).toContain('driftless_cluster_open_watches{server="https://a"} 2');
    w.server.faults.clear();
    await w.clock.advance(120_000);
    expect(await w.metrics.expose()).toContain('driftless_cluster_open_watches{server="https://a"} 3');
    await w.stop();
  });

  it("has Argo CD's names", async () => {
    const w = await world((server) => server.put(tracked('a')));
    w.server.put(tracked('b'));
    await w.clock.advance(5000);
    const text = await w.metrics.expose();
    expect(text).toContain('argocd_cluster_info{server="https://a",k8s_version="v1.33.1",name="a"} 1');
    expect(text).toContain('argocd_cluster_api_resource_objects{server="https://a"} 2');
    expect(text).toContain('argocd_cluster_api_resources{server="https://a"} 3');
    expect(text).toContain('argocd_cluster_cache_age_seconds{server="https://a"} 5');
    expect(text).toContain('argocd_cluster_connection_status{server="https://a",k8s_version="v1.33.1"} 1');
    expect(text).toContain('argocd_cluster_events_total{server="https://a",group="",kind="ConfigMap"} 1');
    expect(text).toContain('driftless_cluster_kinds{server="https://a",state="synced"} 3');
    expect(w.cluster().info().eventsCount).toBe(1);
    await w.stop();
  });
});
