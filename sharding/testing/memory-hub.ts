import { KubeApiError } from '#kube';
import type { KubeClient, ListPage, WatchEvent, WatchOptions } from '#kube';
import type { ApiResource, KubeObject } from '#model';
import { EventQueue } from './event-queue.ts';

type WatchListener = (event: WatchEvent) => void;

/**
 * Hub in memory: ConfigMaps and workloads with resourceVersions, optimistic concurrency and
 * watches. Counts writes, and can refuse requests.
 */
export class MemoryHub {
  readonly #objects = new Map<string, KubeObject>();
  readonly #listeners = new Set<WatchListener>();
  #version = 0;
  writes = 0;
  reads = 0;
  /** If set, every request fails with this response. */
  refusal: { readonly code: number; readonly message: string } | undefined;
  /** If set, writes to the object of this name are refused. */
  readOnly: string | undefined;
  /** If set, the object of this name cannot be deleted. */
  undeletable: string | undefined;

  get(kind: string, name: string): KubeObject | undefined {
    return this.#objects.get(`${kind}/${name}`);
  }

  put(kind: string, name: string, content: object): void {
    const old = this.get(kind, name);
    this.#version += 1;
    const metadata = { namespace: 'argocd', name, uid: name, resourceVersion: String(this.#version) };
    const object = { apiVersion: 'v1', ...content, kind, metadata } as unknown as KubeObject;
    this.#objects.set(`${kind}/${name}`, object);
    this.#tell({ type: old === undefined ? 'ADDED' : 'MODIFIED', object });
  }

  remove(kind: string, name: string): void {
    const object = this.get(kind, name);
    this.#objects.delete(`${kind}/${name}`);
    if (object !== undefined) this.#tell({ type: 'DELETED', object });
  }

  scale(kind: 'StatefulSet' | 'Deployment', replicas: number): void {
    this.put(kind, 'argocd-application-controller', { spec: { replicas } });
  }

  /** Creates a replica's client. `cut` makes its requests hang. */
  client(): Pick<KubeClient, 'get' | 'create' | 'replace' | 'delete' | 'list' | 'watch' | 'server'> & { cut: boolean } {
    const answer = async <T>(signal: AbortSignal, act: () => T): Promise<T> => {
      await Promise.resolve();
      if (way.cut) await hang(signal);
      if (this.refusal !== undefined) throw failure(this.refusal.code, 'Forbidden', this.refusal.message);
      return act();
    };
    const way = {
      server: 'https://hub',
      cut: false,
      get: (resource: ApiResource, { name }: { name: string }, { signal }: { signal: AbortSignal }) =>
        answer(signal, () => {
          this.reads += 1;
          return this.get(resource.kind, name) ?? fail(404, 'NotFound');
        }),
      create: (resource: ApiResource, object: KubeObject, { signal }: { signal: AbortSignal }) =>
        answer(signal, () => this.#create(resource, object)),
      replace: (resource: ApiResource, object: KubeObject, { signal }: { signal: AbortSignal }) =>
        answer(signal, () => this.#replace(resource, object)),
      delete: (resource: ApiResource, { name }: { name: string }, { signal }: { signal: AbortSignal }) =>
        answer(signal, () => {
          if (this.undeletable === name) fail(403, 'Forbidden');
          this.remove(resource.kind, name);
        }),
      list: (resource: ApiResource, { signal, fieldSelector = '' }: { signal: AbortSignal; fieldSelector?: string }) =>
        answer(signal, (): ListPage => {
          const found = this.get(resource.kind, fieldSelector.slice('metadata.name='.length));
          return { items: found === undefined ? [] : [found], resourceVersion: String(this.#version) };
        }),
      watch: (resource: ApiResource, options: WatchOptions) => this.#watch(resource, options),
    };
    return way;
  }

  #create(resource: ApiResource, object: KubeObject): KubeObject {
    const name = object.metadata.name ?? '';
    if (this.get(resource.kind, name) !== undefined) return fail(409, 'AlreadyExists');
    return this.#store(resource.kind, name, object);
  }

  #replace(resource: ApiResource, object: KubeObject): KubeObject {
    const name = object.metadata.name ?? '';
    const old = this.get(resource.kind, name) ?? fail(404, 'NotFound');
    if (old.metadata.resourceVersion !== object.metadata.resourceVersion) return fail(409, 'Conflict');
    if (old['immutable'] === true) return fail(422, 'Invalid');
    return this.#store(resource.kind, name, object);
  }

  #store(kind: string, name: string, object: KubeObject): KubeObject {
    if (name === this.readOnly) return fail(403, 'Forbidden');
    this.writes += 1;
    this.put(kind, name, JSON.parse(JSON.stringify(object)) as object);
    return this.get(kind, name) ?? object;
  }

  async *#watch(
    resource: ApiResource,
    { signal, fieldSelector = '', onOpen }: WatchOptions,
  ): AsyncIterable<WatchEvent> {
    const queue = new EventQueue();
    const name = fieldSelector.slice('metadata.name='.length);
    const listener: WatchListener = (event) => {
      if (event.type === 'BOOKMARK' || event.object.kind !== resource.kind || event.object.metadata.name !== name)
        return;
      queue.push(event);
    };
    this.#listeners.add(listener);
    onOpen?.();
    try {
      yield* queue.read(signal);
    } finally {
      this.#listeners.delete(listener);
    }
  }

  #tell(event: WatchEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}

function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

function failure(code: number, reason: string, message: string): KubeApiError {
  return new KubeApiError({ code, reason, message }, 'a request');
}

function fail(code: number, reason: string): never {
  throw failure(code, reason, reason);
}
