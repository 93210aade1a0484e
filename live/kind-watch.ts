import type { Clock, Limiter, Random, Runnable } from '#base';
import { deepEqual, isAbort, messageOf, Superseded, withChild } from '#base';
import { isOlderVersion } from '#kube';
import type { KubeClient, ListCollector, ReflectorOptions, ReflectorSink, ReflectorState, WentBack } from '#kube';
import { groupKindName, jsonOf } from '#model';
import type { ApiResource, KubeObject } from '#model';
import type { Logger } from '#telemetry';
import type { StoredNode } from './node.ts';
import type { ClusterCache } from './cluster-cache.ts';

/** Keeps one kind (in one namespace, or in all) in the cache. */
export interface KindWatchDeps {
  readonly client: KubeClient;
  readonly cache: ClusterCache;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly lists: Limiter;
  readonly pageSize: number;
  /** The list is made anew this often, to repair what a watch may have lost; 0: never. */
  readonly relistMs: number;
  readonly reflect: (options: ReflectorOptions) => Runnable;
  /** Something about the state has changed. */
  readonly onState: () => void;
  /** The server is at an earlier version than it was. */
  readonly onWentBack: (found: WentBack) => void;
  /** A watch event, or an object that a later list shows changed. */
  readonly onEvent: (resource: ApiResource, object: KubeObject) => void;
}

/**
 * One reflector and its sink. Rows of the kind stay until a complete new list says that they are gone, whatever fails in between; what a
 * list shows counts page by page, and only differences cost.
 */
export class KindWatch {
  readonly resource: ApiResource;
  readonly namespace: string | undefined;
  readonly #deps: KindWatchDeps;
  #state: ReflectorState = { state: 'listing' };
  #settled = false;
  #readAgain = false;
  #refreshing = false;
  #restart: ((reason: Error) => void) | undefined;
  #syncedAt: number | undefined;
  /** The latest version that the server has named. */
  #version = '';

  constructor(resource: ApiResource, namespace: string | undefined, deps: KindWatchDeps) {
    this.resource = resource;
    this.namespace = namespace;
    this.#deps = deps;
  }

  state(): ReflectorState {
    return this.#state;
  }

  /** It was listed once, or failed once. */
  settled(): boolean {
    return this.#settled;
  }

  /** Wall time of the last complete list. */
  syncedAt(): number | undefined {
    return this.#syncedAt;
  }

  /** Lists everything again, keeping the old rows until the new list is complete; with `readAgain`, also what has not changed. */
  relist(readAgain = false): void {
    if (readAgain) this.#readAgain = true;
    this.#refreshing = this.#state.state === 'synced';
    this.#restart?.(new Superseded('a new list'));
  }

  /** Runs until `signal` aborts; never rejects for what a server does. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await withChild(signal, (child, abort) => this.#once(child, abort));
      } catch (error) {
        await this.#ended(error, signal);
      }
    }
  }

  async #ended(error: unknown, signal: AbortSignal): Promise<void> {
    if (signal.aborted || isAbort(error)) return;
    this.#onState({ state: 'degraded', message: messageOf(error), sinceMs: this.#deps.clock.now() });
    this.#deps.logger.error('A watch ended unexpectedly', { kind: this.resource.kind, error });
    await this.#deps.clock.sleep(restartDelayMs, signal).catch(() => undefined);
  }

  async #once(signal: AbortSignal, abort: (reason: Error) => void): Promise<void> {
    const { client, clock, random, logger, lists, pageSize, relistMs } = this.#deps;
    this.#restart = abort;
    // Spread over a tenth, or all kinds of a cluster would list again in the same second.
    const timer = relistMs > 0 ? clock.timer(relistMs * (0.95 + 0.1 * random.next()), () => this.relist()) : undefined;
    try {
      const reflector = this.#deps.reflect({
        client,
        resource: this.resource,
        ...(this.namespace === undefined ? {} : { namespace: this.namespace }),
        sink: this.#sink(),
        clock,
        random,
        logger,
        tuning: { lists, pageSize },
        onWentBack: this.#deps.onWentBack,
      });
      await reflector.run(signal);
      signal.throwIfAborted();
      throw new Error('the reflector stopped by itself');
    } finally {
      timer?.cancel();
      this.#restart = undefined;
    }
  }

  #sink(): ReflectorSink {
    const { cache, onEvent } = this.#deps;
    return {
      startList: () => this.#startList(),
      event: (type, object) => {
        onEvent(this.resource, object);
        this.#version = object.metadata.resourceVersion ?? this.#version;
        if (type === 'DELETED') cache.delete(object);
        else cache.put(cache.read(object));
      },
      state: (state) => this.#onState(state),
    };
  }

  #startList(): ListCollector {
    const { cache } = this.#deps;
    const list = cache.nextList();
    const isFirst = this.#syncedAt === undefined;
    const readAgain = this.#readAgain;
    const before = this.#version;
    return {
      // What a list shows is true page by page; only what it does not show needs the whole of it. So the work is spread over the pages.
      add: (items, version) => {
        const wentBack = isOlderVersion(version, before);
        if (wentBack) this.#deps.onWentBack({ kind: groupKindName(this.resource), version, before });
        for (const item of items) {
          const known = readAgain || wentBack ? undefined : cache.known(item);
          const same = known !== undefined && holdsSame(known, item);
          if (same) known.seen = list;
          else {
            if (!isFirst) this.#deps.onEvent(this.resource, item);
            cache.listed(cache.read(item), list, known === undefined && !wentBack);
          }
        }
      },
      commit: (version) => {
        cache.settle(this.#rows(), list, version);
        this.#version = version;
        this.#syncedAt = this.#deps.clock.now();
        if (readAgain) this.#readAgain = false;
      },
      abandon: () => undefined,
    };
  }

  *#rows(): Iterable<StoredNode> {
    const { group, kind } = this.resource;
    for (const node of this.#deps.cache.store.ofKind(group, kind))
      if (this.namespace === undefined || node.namespace === this.namespace) yield node;
  }

  #onState(next: ReflectorState): void {
    if (next.state === 'listing' && this.#refreshing) return;
    const before = this.#state;
    this.#state = next;
    if (next.state !== 'listing') {
      this.#settled = true;
      this.#refreshing = false;
    }
    const recovered = next.state === 'synced' && (before.state === 'degraded' || before.state === 'forbidden');
    if (recovered) this.#deps.cache.announce(this.resource);
    this.#deps.onState();
  }
}

/** A server that went back gives its numbers a second time: where the whole object is at hand, it is compared. */
function holdsSame(known: StoredNode, item: KubeObject): boolean {
  return known.body === undefined || known.body === item || deepEqual(jsonOf(known.body), jsonOf(item));
}

const restartDelayMs = 1000;
