import { isObject, parseJson } from '#base';
import type { Clock } from '#base';
import { KubeApiError } from '#kube';
import type { KubeClient, ListPage, WatchEvent, WatchOptions } from '#kube';
import type { ApiResource, KubeObject } from '#model';
import { slotsConfigMap, slotsKey, tableKey } from '#sharding';
import type { FleetDocumentName, FleetDocuments } from './types.ts';

type HubClient = Pick<KubeClient, 'get' | 'create' | 'replace' | 'list' | 'watch' | 'server'>;
interface Named {
  readonly name: string;
}
interface Cancellable {
  readonly signal: AbortSignal;
}

const namespace = 'fleet';
const gatherMs = 150;
export const workloadName = 'fleet';

/**
 * A hub that has two ConfigMaps, the documents, and a Deployment, the number of members. The
 * protocol of the controller runs on it unchanged.
 */
export class DocumentClient {
  readonly namespace = namespace;
  readonly #clock: Clock;
  readonly #documents: FleetDocuments;
  #members: number;
  #resizes = 0;
  readonly #resized = new Set<() => void>();

  constructor(documents: FleetDocuments, members: number, clock: Clock) {
    this.#clock = clock;
    this.#documents = documents;
    this.#members = members;
  }

  resize(members: number): void {
    this.#members = members;
    this.#resizes += 1;
    for (const resized of this.#resized) resized();
  }

  client(): HubClient {
    return {
      server: 'the documents of the fleet',
      get: async (resource: ApiResource, { name }: Named, { signal }: Cancellable) => {
        const object = await this.#read(resource, name, signal);
        if (object === undefined) throw refused(404, 'NotFound', name);
        return object;
      },
      create: (_resource: ApiResource, object: KubeObject, { signal }: Cancellable) =>
        this.#write(object, 'AlreadyExists', signal),
      replace: (_resource: ApiResource, object: KubeObject, { signal }: Cancellable) =>
        this.#write(object, 'Conflict', signal),
      list: async (resource: ApiResource, { signal, fieldSelector }: Cancellable & { fieldSelector?: string }) => {
        const object = await this.#read(resource, nameIn(fieldSelector), signal);
        const resourceVersion = object?.metadata.resourceVersion ?? '0';
        return { items: object === undefined ? [] : [object], resourceVersion } satisfies ListPage;
      },
      watch: (resource: ApiResource, options: WatchOptions) => this.#watch(resource, options),
    };
  }

  async #read({ kind }: ApiResource, name: string, signal: AbortSignal): Promise<KubeObject | undefined> {
    if (kind !== 'ConfigMap') return this.#workload();
    const document = await this.#documents.read(documentName(name), signal);
    if (document === undefined) return undefined;
    const { content, version } = document;
    const metadata = { namespace, name, uid: name, resourceVersion: version };
    return { apiVersion: 'v1', kind, ...contentOf(content), metadata };
  }

  #workload(): KubeObject {
    const metadata = { namespace, name: workloadName, uid: workloadName, resourceVersion: String(this.#resizes) };
    return { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { replicas: this.#members } };
  }

  async #write(object: KubeObject, beaten: 'AlreadyExists' | 'Conflict', signal: AbortSignal): Promise<KubeObject> {
    const { data, binaryData } = object as { readonly data?: object; readonly binaryData?: object };
    const { name = '', resourceVersion } = object.metadata;
    const content = JSON.stringify({ data, binaryData });
    const version = await this.#documents.write(documentName(name), content, resourceVersion, signal);
    if (version === undefined) throw refused(409, beaten, name);
    return { ...object, metadata: { ...object.metadata, uid: name, resourceVersion: version } };
  }

  /**
   * Each change becomes an event with the present object. Changes within `gatherMs` of a read
   * become one, or every renewal of a member would cost a read of each other member.
   */
  async *#watch(resource: ApiResource, { signal, fieldSelector, onOpen }: WatchOptions): AsyncGenerator<WatchEvent> {
    const name = nameIn(fieldSelector);
    const news = { isThere: false, wake: (): void => undefined };
    const changed = (): void => {
      news.isThere = true;
      news.wake();
    };
    const stop = this.#follow(resource, name, changed);
    let readAt = Number.NEGATIVE_INFINITY;
    signal.addEventListener('abort', changed, { once: true });
    try {
      onOpen?.();
      for (;;) {
        if (!news.isThere) await new Promise<void>((resolve) => (news.wake = resolve));
        await this.#clock.sleep(Math.max(0, readAt + gatherMs - this.#clock.monotonic()), signal);
        news.isThere = false;
        signal.throwIfAborted();
        readAt = this.#clock.monotonic();
        const object = await this.#read(resource, name, signal);
        if (object !== undefined) yield { type: 'MODIFIED', object };
      }
    } finally {
      signal.removeEventListener('abort', changed);
      stop();
    }
  }

  #follow({ kind }: ApiResource, name: string, changed: () => void): () => void {
    if (kind === 'ConfigMap') return this.#documents.watch?.(documentName(name), changed) ?? (() => undefined);
    this.#resized.add(changed);
    return () => void this.#resized.delete(changed);
  }
}

/** Content that is no JSON is damaged data to the protocol, which replaces it safely. */
function contentOf(content: string): object {
  try {
    const parsed = parseJson(content);
    if (isObject(parsed)) return parsed;
  } catch {
    // Damaged.
  }
  return { data: { [slotsKey]: content, [tableKey]: content } };
}

function documentName(configMap: string): FleetDocumentName {
  return configMap === slotsConfigMap ? 'holders' : 'table';
}

function nameIn(fieldSelector = ''): string {
  return fieldSelector.slice('metadata.name='.length);
}

function refused(code: 404 | 409, reason: string, name: string): KubeApiError {
  return new KubeApiError({ code, reason, message: `the document ${documentName(name)}: ${reason}` }, 'a request');
}
