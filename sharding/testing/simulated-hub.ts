import { KubeApiError, KubeConnectionError } from '#kube';
import type { KubeClient, ListPage, WatchEvent, WatchOptions } from '#kube';
import type { ApiResource, KubeObject } from '#model';

import type { TimeTold } from '../hub-time.ts';
import type { MachineClock, VirtualTime } from './virtual-time.ts';
import { EventQueue } from './event-queue.ts';

/** What may go wrong between one replica and the hub, by chance. */
export interface Network {
  /** Milliseconds, one way. */
  latency(): number;
  /** An answer gets lost though the request was carried out; or it comes as a reset. */
  fate(): 'arrives' | 'lost' | 'reset';
}

export interface Line {
  readonly clock: MachineClock;
  /** Nothing gets through until then; or nothing that reads, or nothing that writes. */
  cutUntil: number;
  cut: 'all' | 'reads' | 'writes';
  /** A request was sent. */
  onSend?: (() => void) | undefined;
  /** What an answer tells of the hub's clock, before anybody reads it. */
  onAnswer?: (told: TimeTold) => void;
}

type HubClient = Pick<KubeClient, 'get' | 'create' | 'replace' | 'list' | 'watch' | 'server'>;

interface Watcher {
  readonly kind: string;
  readonly name: string;
  readonly line: Line;
  readonly tell: (event: WatchEvent) => void;
  lastAt: number;
}

/** A hub with optimistic concurrency and watches, at the other end of a network: requests and answers travel, and get lost. */
export class SimulatedHub {
  readonly #time: VirtualTime;
  readonly #network: Network;
  readonly #objects = new Map<string, KubeObject>();
  readonly #history = new Map<string, KubeObject[]>();
  readonly #watchers = new Set<Watcher>();
  #version = 0;

  constructor(time: VirtualTime, network: Network) {
    this.#time = time;
    this.#network = network;
  }

  get(kind: string, name: string): KubeObject | undefined {
    return this.#objects.get(`${kind}/${name}`);
  }

  put(kind: string, name: string, content: object): KubeObject {
    const old = this.get(kind, name);
    this.#version += 1;
    const metadata = { namespace: 'argocd', name, uid: name, resourceVersion: String(this.#version) };
    const object = { apiVersion: 'v1', ...content, kind, metadata } as KubeObject;
    this.#objects.set(`${kind}/${name}`, object);
    const history = this.#history.get(`${kind}/${name}`) ?? [];
    history.push(object);
    if (history.length > 60) history.shift();
    this.#history.set(`${kind}/${name}`, history);
    this.#tell({ type: old === undefined ? 'ADDED' : 'MODIFIED', object });
    return object;
  }

  remove(kind: string, name: string): void {
    const object = this.get(kind, name);
    this.#objects.delete(`${kind}/${name}`);
    this.#version += 1;
    if (object !== undefined) this.#tell({ type: 'DELETED', object });
  }

  /** Brings back an earlier state of an object, as a backup does. */
  restore(kind: string, name: string, back: number): void {
    const history = this.#history.get(`${kind}/${name}`) ?? [];
    const old = history[Math.max(0, history.length - 1 - back)];
    if (old !== undefined) this.put(kind, name, old);
  }

  client(line: Line): HubClient {
    interface Signalled {
      readonly signal: AbortSignal;
    }
    return {
      server: 'https://hub',
      get: (resource: ApiResource, { name }: { name: string }, { signal }: Signalled) =>
        this.#request({ line, signal, writes: false }, () => this.get(resource.kind, name) ?? fail(404, 'NotFound')),
      create: (resource: ApiResource, object: KubeObject, { signal }: Signalled) =>
        this.#request({ line, signal, writes: true }, () => this.#create(resource.kind, object)),
      replace: (resource: ApiResource, object: KubeObject, { signal }: Signalled) =>
        this.#request({ line, signal, writes: true }, () => this.#replace(resource.kind, object)),
      list: (resource: ApiResource, { signal, fieldSelector = '' }: Signalled & { fieldSelector?: string }) =>
        this.#request({ line, signal, writes: false }, (): ListPage => {
          const found = this.get(resource.kind, fieldSelector.slice('metadata.name='.length));
          return { items: found === undefined ? [] : [found], resourceVersion: String(this.#version) };
        }),
      watch: (resource: ApiResource, options: WatchOptions) => this.#watch(resource.kind, options, line),
    };
  }

  #create(kind: string, object: KubeObject): KubeObject {
    const name = object.metadata.name ?? '';
    return this.get(kind, name) === undefined ? this.put(kind, name, object) : fail(409, 'AlreadyExists');
  }

  #replace(kind: string, object: KubeObject): KubeObject {
    const name = object.metadata.name ?? '';
    const old = this.get(kind, name) ?? fail(404, 'NotFound');
    if (old.metadata.resourceVersion !== object.metadata.resourceVersion) return fail(409, 'Conflict');
    return this.put(kind, name, object);
  }

  /** What arrives is done, even if the answer gets lost or nobody waits for it any more. */
  #request<T>(
    { line, signal, writes }: { readonly line: Line; readonly signal: AbortSignal; readonly writes: boolean },
    act: () => T,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason as Error);
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { once: true });
      const after = (run: () => void): void => this.#time.at(this.#time.now + this.#network.latency(), run);
      const sentAt = line.clock.monotonic();
      line.onSend?.();
      let dateMs = Number.NaN;
      const deliver = (run: () => void): void => after(() => line.clock.whenRunning(run));
      const bring = (run: () => void): void =>
        deliver(() => {
          line.onAnswer?.({ dateMs, sentAt, answeredAt: line.clock.monotonic() });
          run();
        });
      after(() => {
        if (isCut(line, writes, this.#time.now)) return;
        dateMs = 1000 * Math.floor(this.#time.now / 1000);
        const answer = attempt(act);
        const fate = this.#network.fate();
        if (fate === 'lost' || isCut(line, writes, this.#time.now)) return;
        if (fate === 'reset')
          deliver(() => reject(new KubeConnectionError('https://hub', 'connection reset', undefined)));
        else if (answer.ok) bring(() => resolve(answer.value));
        else bring(() => reject(answer.error));
      });
    });
  }

  async *#watch(
    kind: string,
    { signal, fieldSelector = '', onOpen }: WatchOptions,
    line: Line,
  ): AsyncIterable<WatchEvent> {
    const queue = new EventQueue();
    const name = fieldSelector.slice('metadata.name='.length);
    const watcher: Watcher = {
      kind,
      name,
      line,
      lastAt: 0,
      tell: (event) => queue.push(event),
    };
    this.#watchers.add(watcher);
    onOpen?.();
    try {
      yield* queue.read(signal);
    } finally {
      this.#watchers.delete(watcher);
    }
  }

  /** A watch keeps the order; what a cut keeps away comes after it. */
  #tell(event: WatchEvent): void {
    if (event.type === 'BOOKMARK') return;
    const { kind, metadata } = event.object;
    for (const watcher of this.#watchers) {
      if (watcher.kind !== kind || watcher.name !== metadata.name) continue;
      const { line } = watcher;
      const cut = line.cut === 'writes' ? 0 : line.cutUntil;
      watcher.lastAt = Math.max(watcher.lastAt, cut, this.#time.now + this.#network.latency());
      this.#time.at(watcher.lastAt, () => line.clock.whenRunning(() => watcher.tell(event)));
    }
  }
}

function isCut({ cutUntil, cut }: Line, writes: boolean, now: number): boolean {
  return cutUntil > now && (cut === 'all' || (cut === 'writes') === writes);
}

type Attempt<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: Error };

function attempt<T>(act: () => T): Attempt<T> {
  try {
    return { ok: true, value: act() };
  } catch (error) {
    return { ok: false, error: error as Error };
  }
}

function fail(code: number, reason: string): never {
  throw new KubeApiError({ code, reason, message: reason }, 'a request');
}
