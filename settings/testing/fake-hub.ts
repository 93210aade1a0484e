import { KubeApiError } from '#kube';
import type { KubeClient, ListOptions, NamedObject, WatchEvent } from '#kube';
import type { ApiResource, KubeObject } from '#model';

interface WatchedWith {
  readonly signal: AbortSignal;
  readonly fieldSelector?: string;
  onOpen?: () => void;
}

interface PutOptions {
  readonly secretType?: string;
  readonly createdAt?: string;
  readonly more?: object;
}

/** A hub in memory with one watch per kind and field selector. */
export class FakeHub {
  readonly asked: (string | undefined)[] = [];
  /** Kind and name of each object that was written by the client. */
  readonly written: string[] = [];
  readonly #objects = new Map<string, KubeObject>();
  /** By kind and field selector. */
  readonly #push = new Map<string, ((event: WatchEvent) => void)[]>();
  /** The ConfigMap with this name is forbidden: lists of it never complete. */
  forbidden = '';
  #version = 1;

  /** Creates or updates an object; `more` overrides its members. */
  put(
    kind: 'ConfigMap' | 'Secret',
    name: string,
    data: Readonly<Record<string, string>>,
    { secretType, createdAt, more = {} }: PutOptions = {},
  ): void {
    this.#version += 1;
    const labels = secretType === undefined ? {} : { labels: { 'argocd.argoproj.io/secret-type': secretType } };
    const metadata = {
      name,
      namespace: 'argocd',
      uid: `uid-${name}`,
      resourceVersion: String(this.#version),
      ...(createdAt === undefined ? {} : { creationTimestamp: createdAt }),
      ...labels,
    };
    const encode = (text: string): string => (kind === 'Secret' ? Buffer.from(text).toString('base64') : text);
    const encoded = Object.fromEntries(Object.entries(data).map(([key, value]) => [key, encode(value)]));
    const object: KubeObject = { apiVersion: 'v1', kind, metadata, data: encoded, ...more };
    const known = this.#objects.has(`${kind}/${name}`);
    this.#objects.set(`${kind}/${name}`, object);
    this.#send({ type: known ? 'MODIFIED' : 'ADDED', object });
  }

  remove(kind: 'ConfigMap' | 'Secret', name: string): void {
    const object = this.#objects.get(`${kind}/${name}`);
    this.#objects.delete(`${kind}/${name}`);
    this.#version += 1;
    if (object === undefined) throw new Error(`no ${name}`);
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) };
    this.#send({ type: 'DELETED', object: { ...object, metadata } });
  }

  #send(event: WatchEvent & { readonly object: KubeObject }): void {
    const { kind, metadata } = event.object;
    for (const selector of ['', `metadata.name=${metadata.name ?? ''}`])
      for (const push of this.#push.get(`${kind} ${selector}`) ?? []) push(event);
  }

  /** The object as it is stored. */
  find(kind: 'ConfigMap' | 'Secret' | 'Event', name: string): KubeObject | undefined {
    return this.#objects.get(`${kind}/${name}`);
  }

  client(): KubeClient {
    const partial = {
      server: 'https://hub',
      list: async (resource: ApiResource, options: ListOptions) => {
        await Promise.resolve();
        this.asked.push(`${options.namespace ?? ''} ${options.fieldSelector ?? options.labelSelector ?? ''}`);
        const name = options.fieldSelector?.replace('metadata.name=', '');
        if (this.forbidden !== '' && name === this.forbidden) throw new Error('forbidden');
        const items = [...this.#objects.values()].filter(
          (object) => object.kind === resource.kind && (name === undefined || object.metadata.name === name),
        );
        return { items, resourceVersion: String(this.#version) };
      },
      get: async (resource: ApiResource, { name }: NamedObject) => {
        await Promise.resolve();
        if (this.forbidden === name) throw forbidden(name);
        const found = this.#objects.get(`${resource.kind}/${name}`);
        if (found === undefined) throw notFound(name);
        return found;
      },
      create: async (resource: ApiResource, object: KubeObject) => this.#write(resource, object),
      replace: async (resource: ApiResource, object: KubeObject) => this.#write(resource, object),
      watch: (resource: ApiResource, options: WatchedWith) => this.#watch(resource, options),
    };
    return partial as unknown as KubeClient;
  }

  async #write(resource: ApiResource, object: KubeObject): Promise<KubeObject> {
    await Promise.resolve();
    this.#version += 1;
    const written = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
    this.#objects.set(`${resource.kind}/${object.metadata.name ?? ''}`, written);
    this.written.push(`${resource.kind} ${object.metadata.name ?? ''}`);
    return written;
  }

  async *#watch(resource: ApiResource, options: WatchedWith): AsyncGenerator<WatchEvent> {
    options.onOpen?.();
    const queue: WatchEvent[] = [];
    let wake = (): void => undefined;
    const key = `${resource.kind} ${options.fieldSelector ?? ''}`;
    const push = (event: WatchEvent): void => {
      queue.push(event);
      wake();
    };
    this.#push.set(key, [...(this.#push.get(key) ?? []), push]);
    options.signal.addEventListener('abort', () => wake());
    for (;;) {
      for (let event = queue.shift(); event !== undefined; event = queue.shift()) yield event;
      options.signal.throwIfAborted();
      await new Promise<void>((resolve) => (wake = resolve));
    }
  }
}

function notFound(name: string): KubeApiError {
  return new KubeApiError({ code: 404, reason: 'NotFound', message: `configmaps "${name}" not found` }, 'GET');
}

function forbidden(name: string): KubeApiError {
  return new KubeApiError({ code: 403, reason: 'Forbidden', message: `configmaps "${name}" is forbidden` }, 'GET');
}
