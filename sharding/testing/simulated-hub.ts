import { KubeApiError, KubeConnectionError } from '#kube';
import type { KubeClient, ListPage, WatchEvent, WatchOptions } from '#kube';
import type { ApiResource, KubeObject } from '#model';

import type { HubTimestamp } from '../timing/hub-time.ts';
import type { MachineClock, VirtualTime } from './virtual-time.ts';
import { EventQueue } from './event-queue.ts';

/** Random faults between one replica and the hub. */
export interface NetworkFaults {
  /** One-way delay in milliseconds. */
  latency(): number;
  /**
   * Whether the response arrives, is lost, or is replaced by a reset, although the request was
   * carried out.
   */
  fate(): 'arrives' | 'lost' | 'reset';
}

export interface NetworkLine {
  readonly clock: MachineClock;
  /** Until then `cut` requests are blocked: all, reads or writes. */
  cutUntil: number;
  cut: 'all' | 'reads' | 'writes';
  /** When writes were sent, in virtual time. */
  readonly sentWrites?: number[];
  /** Called when a request is sent. */
  onSend?: (() => void) | undefined;
  /** The time in a response, before any code reads it. */
  onAnswer?: (told: HubTimestamp) => void;
}

type HubClient = Pick<KubeClient, 'get' | 'create' | 'replace' | 'delete' | 'list' | 'watch' | 'server'>;

interface HubWatcher {
  readonly kind: string;
  readonly name: string;
  readonly line: NetworkLine;
  readonly tell: (event: WatchEvent) => void;
  lastAt: number;
}

/**
 * Hub with optimistic concurrency and watches behind a network that delays and loses requests and
 * responses.
 */
export class SimulatedHub {
  readonly #time: VirtualTime;
  readonly #network: NetworkFaults;
  readonly #objects = new Map<string, KubeObject>();
  readonly #history = new Map<string, KubeObject[]>();
  readonly #watchers = new Set<HubWatcher>();
  #version = 0;
  /** Number of objects written so far. */
  writes = 0;

  constructor(time: VirtualTime, network: NetworkFaults) {
    this.#time = time;
    this.#network = network;
  }

  get(kind: string, name: string): KubeObject | undefined {
    return this.#objects.get(`${kind}/${name}`);
  }

  put(kind: string, name: string, content: object): KubeObject {
    const old = this.get(kind, name);
    this.#version += 1;
    this.writes += 1;
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

  /** Restores an earlier state of an object, like a backup. */
  restore(kind: string, name: string, back: number): void {
    const history = this.#history.get(`${kind}/${name}`) ?? [];
    const old = history[Math.max(0, history.length - 1 - back)];
    if (old !== undefined) this.put(kind, name, old);
  }

  client(line: NetworkLine): HubClient {
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
      delete: (resource: ApiResource, { name }: { name: string }, { signal }: Signalled) =>
        this.#request({ line, signal, writes: true }, () => this.remove(resource.kind, name)),
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
    if (old['immutable'] === true) return fail(422, 'Invalid');
    return this.put(kind, name, object);
  }

  /**
   * A request that arrives is carried out, even if its response is lost or its caller has given up.
   */
  #request<T>(
    { line, signal, writes }: { readonly line: NetworkLine; readonly signal: AbortSignal; readonly writes: boolean },
    act: () => T,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason as Error);
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { once: true });
      const after = (run: () => void): void => this.#time.at(this.#time.now + this.#network.latency(), run);
      const sentAt = line.clock.monotonic();
      if (writes) line.sentWrites?.push(this.#time.now);
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
    line: NetworkLine,
  ): AsyncIterable<WatchEvent> {
    const queue = new EventQueue();
    const name = fieldSelector.slice('metadata.name='.length);
    const watcher: HubWatcher = {
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

  /** A watch keeps the order; blocked events follow after the outage. */
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

function isCut({ cutUntil, cut }: NetworkLine, writes: boolean, now: number): boolean {
  return cutUntil > now && (cut === 'all' || (cut === 'writes') === writes);
}

type RequestAttempt<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: Error };

function attempt<T>(act: () => T): RequestAttempt<T> {
  try {
    return { ok: true, value: act() };
  } catch (error) {
    return { ok: false, error: error as Error };
  }
}

function fail(code: number, reason: string): never {
  throw new KubeApiError({ code, reason, message: reason }, 'a request');
}
