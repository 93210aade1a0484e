import { abortable, omit, withDeadline } from '#base';
import { KubeApiError, KubeConnectionError } from '#kube';
import type { ApiDiscovery, KubeClient, ListOptions, ListPage, WatchEvent, WatchOptions } from '#kube';
import { groupOf, keyOf, resourceKey } from '#model';
import type { ApiResource, ClusterConnection, KubeObject } from '#model';
import { FakeClock } from '#support';

/** A status code, a request that never ends, or a refused connection. */
export type ServerFault = number | 'hang' | 'refuse';

/**
 * An API server in memory, in virtual time. Watches deliver events at once. Requests fail by the
 * entries of `faults`: `list pods`, `list pods <namespace>`, `watch *`, `discover`, …
 */
export class FakeServer {
  readonly kinds: ApiResource[] = [];
  readonly failedGroups = new Map<string, string>();
  readonly faults = new Map<string, ServerFault>();
  readonly requests: string[] = [];
  /** Answers of access reviews for lists, by `pods` or `pods <namespace>`; allowed by default. */
  readonly reviews = new Map<string, boolean>();
  /** Tokens set by `updateCredentials`. */
  readonly credentials: string[] = [];
  /** Resources whose lists and objects have no resourceVersion. */
  readonly unversioned = new Set<string>();
  /** Resources that are served later without the verb watch. */
  readonly unwatchable = new Set<string>();
  /** Errors with which opened watches of these resources end at once. */
  readonly watchErrors = new Map<string, Error>();
  /** Resources whose watches lose all events. */
  readonly silent = new Set<string>();
  /** Lists of these resources have endless pages, each with another invented object. */
  readonly endless = new Set<string>();
  #pages = 0;
  /** Served resources that discovery does not list yet. */
  readonly unnamed = new Set<string>();
  /** Reported by /version. From 1.34 on, watches can start with the current objects. */
  serverVersion = 'v1.33.1+fake';
  /** Streams of these resources send no bookmark after the initial events. */
  readonly endlessStreams = new Set<string>();
  /** Streams start with the objects of the backup, and send later changes when this resolves. */
  streamLag: Promise<void> | undefined;
  /** Whether watches start with the events since their version, as on a real server. */
  replays = false;
  readonly #happened: WatchEvent[] = [];
  /** Lists are computed at once, and answered when this resolves. */
  listAnswers: Promise<void> = Promise.resolve();
  readonly clock: FakeClock;
  /** Number of closed clients. */
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
    const verbs = ['get', 'list', 'create', ...(this.unwatchable.has(resource) ? [] : ['watch'])];
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
    this.#publish(existing === undefined ? 'ADDED' : 'MODIFIED', stored);
    return stored;
  }

  remove(kind: string, name: string, namespace = 'ns', group = ''): void {
    const key = resourceKey(group, kind, namespace, name);
    const existing = this.#objects.get(key);
    if (existing === undefined) throw new Error(`no ${key}`);
    this.#version += 1;
    this.#objects.delete(key);
    this.#publish('DELETED', {
      ...existing,
      metadata: { ...existing.metadata, resourceVersion: String(this.#version) },
    });
  }

  /** Sets resourceVersions back and keeps all objects. */
  setBack(): void {
    this.#version = 10;
  }

  /** Backs up the data store. */
  save(): void {
    this.#backup = { version: this.#version, objects: new Map(this.#objects) };
  }

  /** Restores the backup: later changes are lost, and their versions are reused. */
  restore(): void {
    this.#version = this.#backup.version;
    this.#objects.clear();
    for (const [key, object] of this.#backup.objects) this.#objects.set(key, object);
  }

  /** UID and resourceVersion of all objects, by key. */
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
      throw new Error('live must never write');
    };
    return {
      server: connection.server,
      get: async (resource, { namespace, name }, { signal }) => {
        const limit = { clock: this.clock, limitMs: 30_000, what: `get ${resource.resource}` };
        await withDeadline(signal, limit, (child) => this.#act('get', resource.resource, child, namespace));
        const found = this.#objects.get(resourceKey(resource.group, resource.kind, namespace, name));
        if (found === undefined) throw apiError(404);
        const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
        return { ...(this.unversioned.has(resource.resource) ? withoutVersion(found) : found), apiVersion };
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
        return this.serverVersion;
      },
      updateCredentials: (next) => this.credentials.push(next.credentials.bearerToken?.reveal() ?? ''),
      close: () => {
        this.closed += 1;
        return Promise.resolve();
      },
      podLog: unused,
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
      (signal) => this.#act(options.limit === 1 ? 'look' : 'list', resource.resource, signal, options.namespace),
    );
    if (!this.kinds.some(({ group, kind }) => group === resource.group && kind === resource.kind)) throw apiError(404);
    const found = [...this.#objects.values()].filter((object) => matches(object, resource, options.namespace));
    const isUnversioned = this.unversioned.has(resource.resource);
    const shown = isUnversioned ? found.map(withoutVersion) : found;
    const items = options.metadataOnly === true ? shown.map(metadataOf) : shown;
    if (options.metadataOnly !== true && options.limit !== 1) this.requests.push(`list ${resource.resource} whole`);
    const resourceVersion = isUnversioned ? '' : String(this.#version);
    const page = { items, resourceVersion, ...this.#more(resource) };
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

  #initialEvents(resource: ApiResource, namespace: string | undefined): WatchEvent[] {
    const objects = this.streamLag === undefined ? this.#objects : this.#backup.objects;
    const found = [...objects.values()].filter((object) => matches(object, resource, namespace));
    return found.map((object) => ({ type: 'ADDED', object }));
  }

  /** The changes since the backup, if streams lag, and the bookmark. */
  async #restOfStream(resource: ApiResource, namespace: string | undefined): Promise<WatchEvent[]> {
    const isLagging = this.streamLag !== undefined;
    await this.streamLag;
    const end: WatchEvent = { type: 'BOOKMARK', resourceVersion: String(this.#version), endsInitialEvents: true };
    const since = isLagging ? this.#eventsSince(this.#backup.version, resource, namespace) : [];
    return this.endlessStreams.has(resource.resource) ? since : [...since, end];
  }

  #eventsSince(version: number, resource: ApiResource, namespace: string | undefined): WatchEvent[] {
    return this.#happened.filter((event) => {
      const { object } = event as { readonly object: KubeObject };
      return Number(object.metadata.resourceVersion) > version && matches(object, resource, namespace);
    });
  }

  async *#watch(resource: ApiResource, options: WatchOptions): AsyncGenerator<WatchEvent> {
    const streams = options.sendInitialEvents === true;
    await this.#act(streams ? 'stream' : 'watch', resource.resource, options.signal, options.namespace);
    options.onOpen?.();
    const broken = this.watchErrors.get(resource.resource);
    if (broken !== undefined) throw broken;
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
    if (streams) {
      queue.push(...this.#initialEvents(resource, options.namespace));
      void this.#restOfStream(resource, options.namespace).then((events) => events.forEach(push));
    } else if (this.replays)
      queue.push(...this.#eventsSince(Number(options.resourceVersion), resource, options.namespace));
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

  async #act(verb: string, resource: string, signal?: AbortSignal, namespace = ''): Promise<void> {
    this.requests.push(resource === '*' ? verb : `${verb} ${resource}`);
    await Promise.resolve();
    const fault =
      this.faults.get(`${verb} ${resource} ${namespace}`) ??
      this.faults.get(`${verb} ${resource}`) ??
      this.faults.get(`${verb} *`) ??
      this.faults.get(verb);
    if (fault === 'hang')
      await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));
    if (fault === 'refuse') throw new KubeConnectionError('https://a', 'connection refused', new Error('ECONNREFUSED'));
    if (typeof fault === 'number') throw apiError(fault);
  }

  #publish(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: KubeObject): void {
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

function withoutVersion(object: KubeObject): KubeObject {
  return { ...object, metadata: omit(object.metadata, 'resourceVersion') };
}

/** The object in a metadata-only list. */
function metadataOf({ metadata }: KubeObject): KubeObject {
  return { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata };
}

function matches(object: KubeObject, resource: ApiResource, namespace: string | undefined): boolean {
  const inScope = namespace === undefined || object.metadata.namespace === namespace;
  return object.kind === resource.kind && groupOf(object.apiVersion) === resource.group && inScope;
}

export function apiError(code: number): KubeApiError {
  return new KubeApiError({ code, reason: `Reason${code}`, message: `the server says ${code}` }, 'test');
}
