import { groupOf } from '#model';
import type { KubeObject } from '#model';
import { SimError } from '#sim';
import type { SimStore, StoreEvent } from '#sim';
import type { ApiClient } from '#support';
import type { HttpBridge } from './bridge.ts';
import { pathOf, servedKinds } from './discovery.ts';
import type { DiscoveredKind } from './discovery.ts';

type StoreListener = (event: StoreEvent) => void;

/**
 * A real cluster as a SimStore: reads use caches of all kinds, writes are synchronous requests. A
 * write is in the store when it returns, as in the simulator. A server without an answer looks like
 * a conflict, so that the caller retries.
 */
export class RemoteStore implements SimStore {
  readonly #api: ApiClient;
  readonly #bridge: HttpBridge;
  readonly #signal: AbortSignal;
  readonly #kinds = new Map<string, DiscoveredKind>();
  readonly #shelves = new Map<string, Map<string, KubeObject>>();
  /** Last resourceVersion of deleted objects, so that a late event does not restore them. */
  readonly #gone = new Map<string, number>();
  readonly #listeners = new Set<StoreListener>();
  readonly #loops = new Set<Promise<void>>();

  constructor(api: ApiClient, bridge: HttpBridge, signal: AbortSignal) {
    this.#api = api;
    this.#bridge = bridge;
    this.#signal = signal;
  }

  /** Starts watches of new kinds; resolves when their first lists are complete. */
  async discover(): Promise<void> {
    const fresh = (await servedKinds(this.#api)).filter(({ group, kind }) => !this.#kinds.has(`${group}/${kind}`));
    await Promise.all(fresh.map((served) => this.#follow(served)));
  }

  /** Sends all existing objects to a listener as new ones. */
  replay(listener: StoreListener): void {
    for (const shelf of this.#shelves.values())
      for (const object of [...shelf.values()]) listener({ type: 'ADDED', object });
  }

  /** Resolves when all watches have ended. Abort the signal first. */
  async settled(): Promise<void> {
    await Promise.all(this.#loops);
  }

  kinds(): readonly DiscoveredKind[] {
    return [...this.#kinds.values()];
  }

  servedOf(object: { readonly apiVersion: string; readonly kind: string }): DiscoveredKind | undefined {
    return this.#kinds.get(`${groupOf(object.apiVersion)}/${object.kind}`);
  }

  all(): KubeObject[] {
    return [...this.#shelves.values()].flatMap((shelf) => [...shelf.values()]);
  }

  get(group: string, kind: string, namespace: string, name: string): KubeObject | undefined {
    return this.#shelves.get(`${group}/${kind}`)?.get(`${namespace}/${name}`);
  }

  list(group: string, kind: string, namespace?: string): readonly KubeObject[] {
    const all = [...(this.#shelves.get(`${group}/${kind}`)?.values() ?? [])];
    return namespace === undefined ? all : all.filter((object) => object.metadata.namespace === namespace);
  }

  /** Reads an object from the server instead of the cache. */
  live(served: DiscoveredKind, namespace: string, name: string): KubeObject | undefined {
    const answer = this.#bridge.call('GET', pathOf(served, namespace, name));
    return answer.status === 404 ? undefined : this.#good(answer);
  }

  create(object: KubeObject, manager = 'kube-controller-manager'): KubeObject {
    const served = this.#mustServe(object);
    const path = `${pathOf(served, object.metadata.namespace ?? '')}?fieldManager=${manager}`;
    return this.#took(this.#good(this.#bridge.call('POST', path, object)));
  }

  update(object: KubeObject, options: { readonly subresource?: 'status'; readonly manager?: string } = {}): KubeObject {
    const { namespace = '', name = '' } = object.metadata;
    const part = options.subresource === undefined ? '' : '/status';
    const path = `${pathOf(this.#mustServe(object), namespace, name)}${part}?fieldManager=${options.manager ?? 'kube-controller-manager'}`;
    return this.#took(this.#good(this.#bridge.call('PUT', path, object)));
  }

  /** Sends any request. @throws SimError with the server's error */
  call(method: string, path: string, body?: unknown): KubeObject {
    return this.#good(this.#bridge.call(method, path, body));
  }

  delete(
    group: string,
    kind: string,
    namespace: string,
    name: string,
    options: {
      readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan';
      readonly uid?: string;
      readonly gracePeriodSeconds?: number;
    } = {},
  ): void {
    const served = this.#mustServe({ apiVersion: group === '' ? 'v1' : `${group}/v1`, kind });
    const { uid, ...rest } = options;
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      ...rest,
      ...(uid === undefined ? {} : { preconditions: { uid } }),
    };
    const answer = this.#good(this.#bridge.call('DELETE', pathOf(served, namespace, name), body));
    if (answer.kind === kind && answer.metadata.deletionTimestamp !== undefined) this.#took(answer);
  }

  subscribe(listener: StoreListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #mustServe(object: { readonly apiVersion: string; readonly kind: string }): DiscoveredKind {
    const served = this.servedOf(object);
    if (served === undefined) throw new SimError(404, 'NotFound', `${object.apiVersion} ${object.kind} is not served`);
    return served;
  }

  #good(answer: { readonly status: number; readonly text: string }): KubeObject {
    if (answer.status === 0 || answer.status >= 500 || answer.status === 429)
      throw new SimError(409, 'Conflict', `the server cannot be asked: ${answer.status} ${answer.text}`);
    const body = JSON.parse(answer.text) as KubeObject & { readonly reason?: string; readonly message?: string };
    if (answer.status >= 300) throw new SimError(answer.status, body.reason ?? '', body.message ?? answer.text);
    return body;
  }

  #took(object: KubeObject): KubeObject {
    this.#apply('MODIFIED', object);
    return object;
  }

  #apply(type: StoreEvent['type'], object: KubeObject): void {
    const { namespace = '', name = '', uid = '', resourceVersion } = object.metadata;
    const shelf = this.#shelves.get(`${groupOf(object.apiVersion)}/${object.kind}`);
    if (shelf === undefined) return;
    const place = `${namespace}/${name}`;
    const old = shelf.get(place);
    const version = Number(resourceVersion);
    if (
      (this.#gone.get(uid) ?? -1) >= version ||
      (type !== 'DELETED' && Number(old?.metadata.resourceVersion) >= version)
    )
      return;
    if (type === 'DELETED') {
      this.#gone.set(uid, version);
      if (old?.metadata.uid === uid) shelf.delete(place);
    } else shelf.set(place, object);
    const said = type === 'DELETED' ? type : old === undefined ? 'ADDED' : 'MODIFIED';
    for (const listener of this.#listeners) listener({ type: said, object, ...(old === undefined ? {} : { old }) });
  }

  async #follow(served: DiscoveredKind): Promise<void> {
    const key = `${served.group}/${served.kind}`;
    this.#kinds.set(key, served);
    this.#shelves.set(key, new Map());
    await new Promise<void>((ready) => {
      const loop = this.#loop(served, ready).finally(() => {
        ready();
        this.#kinds.delete(key);
        this.#shelves.delete(key);
        this.#loops.delete(loop);
      });
      this.#loops.add(loop);
    });
  }

  /** Lists and watches a kind in a loop until it is no longer served. */
  async #loop(served: DiscoveredKind, ready: () => void): Promise<void> {
    while (!this.#signal.aborted) {
      try {
        const version = await this.#relist(served);
        if (version === undefined) return;
        ready();
        await this.#watch(served, version);
      } catch {
        // The server is down or the resourceVersion is too old: list again.
        await new Promise((done) => setTimeout(done, 100));
      }
    }
  }

  async #relist(served: DiscoveredKind): Promise<string | undefined> {
    const list = await this.#api.get<{ metadata: { resourceVersion: string }; items: KubeObject[] }>(
      pathOf(served, ''),
    );
    if (list === undefined) return undefined;
    const apiVersion = served.group === '' ? served.version : `${served.group}/${served.version}`;
    const items = list.items.map((item) => ({ ...item, apiVersion, kind: served.kind }));
    const present = new Set(items.map((item) => item.metadata.uid));
    for (const object of this.list(served.group, served.kind)) {
      const missing =
        !present.has(object.metadata.uid) &&
        Number(object.metadata.resourceVersion) <= Number(list.metadata.resourceVersion);
      if (missing) this.#apply('DELETED', withVersion(object, list.metadata.resourceVersion));
    }
    for (const item of items) this.#apply('ADDED', item);
    return list.metadata.resourceVersion;
  }

  async #watch(served: DiscoveredKind, version: string): Promise<void> {
    const path = `${pathOf(served, '')}?watch=true&allowWatchBookmarks=true&resourceVersion=${version}`;
    for await (const { type, object } of this.#api.watch(path, this.#signal)) {
      if (type === 'ERROR') return;
      if (type !== 'BOOKMARK') this.#apply(type as StoreEvent['type'], object as unknown as KubeObject);
    }
  }
}

function withVersion(object: KubeObject, resourceVersion: string): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion } };
}
