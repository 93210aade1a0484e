import type { Clock, Limiter, Random, Runnable } from '#base';
import { isAbort, messageOf, Superseded, withChild } from '#base';
import { isForbidden, isOlderVersion, KubeReadOnlyError } from '#kube';
import type { KubeClient, ListCollector, ReflectorOptions, ReflectorSink, ReflectorState, WentBack } from '#kube';
import { groupKindName, keyOf } from '#model';
import type { ApiResource, KubeObject, ResourceKey, Settings } from '#model';
import type { Logger } from '#telemetry';
import { Audit, wholeEvery } from './audit.ts';
import { isSameReading } from './node.ts';
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
  /** What is kept is compared with what the server has this often; 0: never. */
  readonly auditMs: number;
  /** The list is made anew this often, whatever the audits say; 0: never. */
  readonly relistMs: number;
  readonly reflect: (options: ReflectorOptions) => Runnable;
  /** As the settings are now. */
  readonly respectRBAC: () => Settings['respectRBAC'];
  /** Something about the state has changed. */
  readonly onState: () => void;
  /** The server is at an earlier version than it was. */
  readonly onWentBack: (found: WentBack) => void;
  /** A watch event, or an object that a later list shows changed. */
  readonly onEvent: (resource: ApiResource, object: KubeObject) => void;
  /** What is kept was compared with the server; so many objects were wrong, and everything is listed again. */
  readonly onAudit: (resource: ApiResource, differing: number) => void;
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
  /** The server's rules do not let us list it, says the server. */
  #isDenied = false;
  /** The latest version that the server has named. */
  #version = '';
  /** Objects that could not be read, and why. */
  readonly #faults = new Map<ResourceKey, Fault>();
  #doubtedAt: number | undefined;
  /** Of comparisons with the server; the first number is any, so that not all kinds are read whole in one of them. */
  #round: number | undefined;

  constructor(resource: ApiResource, namespace: string | undefined, deps: KindWatchDeps) {
    this.resource = resource;
    this.namespace = namespace;
    this.#deps = deps;
  }

  /**
   * `degraded` also when there is an object of which not even the place could be read: a row may be missing. `left-out` when it may not be listed
   * and never was, where the settings respect that. (What was listed before keeps its rows and is `forbidden`: nobody meant it so.)
   */
  state(): KindWatchState {
    if (this.#state.state === 'forbidden' && this.#isLeftOut())
      return { state: 'left-out', message: `left out, as resource.respectRBAC says: ${this.#state.message}` };
    if (this.#state.state !== 'synced') return this.#state;
    const lost = [...this.#faults.values()].find(({ hasRow }) => !hasRow);
    return lost === undefined ? this.#state : { state: 'degraded', message: lost.message, sinceMs: lost.sinceMs };
  }

  /** Which object cannot be read, and why. It has its row nevertheless, and costs no other one its own. */
  fault(): string | undefined {
    const [first] = this.#faults.values();
    if (first === undefined) return undefined;
    const others = this.#faults.size - 1;
    return others === 0 ? first.message : `${first.message} (and ${others} more objects)`;
  }

  /** It was listed once, or failed once. */
  settled(): boolean {
    return this.#settled;
  }

  /** It has failed before it was ever listed: that the cache has no object of it says nothing. */
  isBlind(): boolean {
    return this.#settled && this.#syncedAt === undefined;
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

  /** Something that the server says does not fit what is kept: everything is read again, unless that was done a moment ago. */
  doubt(): void {
    // It is being read again: whoever begins that anew at each answer never comes to its end.
    if (this.#readAgain) return;
    const now = this.#deps.clock.monotonic();
    if (this.#doubtedAt !== undefined && now - this.#doubtedAt < doubtMs) return;
    this.#doubtedAt = now;
    this.relist(true);
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
    const auditing = this.#auditForever(signal);
    // Spread over a tenth, or all kinds of a cluster would list again in the same second.
    const timer = relistMs > 0 ? clock.timer(relistMs * (0.95 + 0.1 * random.next()), () => this.relist()) : undefined;
    try {
      const reflector = this.#deps.reflect({
        client: this.#reviewing(client),
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
      abort(new Superseded('the watch ended'));
      await auditing;
    }
  }

  #isLeftOut(): boolean {
    const mode = this.#deps.respectRBAC();
    return this.#syncedAt === undefined && (mode === 'normal' || (mode === 'strict' && this.#isDenied));
  }

  /** The same client, which asks when a first list is refused whether that is what the server's rules say: only with `strict`. */
  #reviewing(client: KubeClient): Pick<KubeClient, 'list' | 'watch' | 'server'> {
    return {
      server: client.server,
      watch: (resource, options) => client.watch(resource, options),
      list: async (resource, options) => {
        try {
          return await client.list(resource, options);
        } catch (error) {
          if (isForbidden(error) && this.#syncedAt === undefined && this.#deps.respectRBAC() === 'strict')
            this.#isDenied = await this.#review(options.signal);
          throw error;
        }
      },
    };
  }

  /** False also when nobody can tell: then the kind is in trouble like any other. Who only reads cannot ask, and takes the refusal for it. */
  async #review(signal: AbortSignal): Promise<boolean> {
    const { client, logger } = this.#deps;
    try {
      return !(await client.mayList(this.resource, this.namespace, { signal, deadlineMs: reviewDeadlineMs }));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof KubeReadOnlyError) return true;
      logger.warn('Nobody says whether a kind may be listed; it is not left out', { error });
      return false;
    }
  }

  /** Instead of listing everything again and again. Never rejects. */
  async #auditForever(signal: AbortSignal): Promise<void> {
    const { client, cache, clock, random, lists, pageSize, auditMs, logger } = this.#deps;
    const { resource, namespace } = this;
    const rows = (): Iterable<StoredNode> => this.#rows();
    const isSame = (row: StoredNode, object: KubeObject): boolean => this.#newsOf(row, object) === undefined;
    const audit = new Audit({ client, cache, clock, lists, pageSize, resource, namespace, rows, isSame });
    while (auditMs > 0 && !signal.aborted) {
      try {
        await clock.sleep(auditMs * (0.95 + 0.1 * random.next()), signal);
        if (this.#state.state !== 'synced') continue;
        const before = this.#version;
        this.#round = (this.#round ?? Math.floor(random.next() * wholeEvery)) + 1;
        const { version, differing } = await audit.compare(this.#round, signal);
        this.#deps.onAudit(resource, differing.length);
        // A list shows at least what was told before it was asked for.
        const wentBack = isOlderVersion(version, before);
        if (wentBack) this.#deps.onWentBack({ kind: groupKindName(resource), version, before });
        if (wentBack) this.relist(true);
        if (wentBack || differing.length === 0) continue;
        const named = differing.slice(0, mostNamed);
        logger.warn('The cache differs from the server; listing everything again', {
          objects: differing.length,
          named,
        });
        this.relist();
      } catch (error) {
        if (!isAbort(error)) logger.debug('A comparison of the cache with the server failed', { error });
      }
    }
  }

  #sink(): ReflectorSink {
    const { cache, onEvent } = this.#deps;
    return {
      startList: () => this.#startList(),
      event: (type, object) => {
        onEvent(this.resource, object);
        this.#version = object.metadata.resourceVersion ?? this.#version;
        if (type === 'DELETED') {
          cache.delete(object);
          this.#mend(keyOf(object));
        } else this.#isolated(object, () => cache.put(this.#read(object)));
      },
      state: (state) => this.#onState(state),
    };
  }

  #startList(): ListCollector {
    const { cache } = this.#deps;
    const list = cache.nextList();
    const { stamp } = cache.store;
    const isFirst = this.#syncedAt === undefined;
    const readAgain = this.#readAgain;
    const before = this.#version;
    return {
      // What a list shows is true page by page; only what it does not show needs the whole of it. So the work is spread over the pages.
      add: (items, version) => {
        const wentBack = isOlderVersion(version, before);
        if (wentBack) this.#deps.onWentBack({ kind: groupKindName(this.resource), version, before });
        for (const item of items) {
          // Whatever becomes of it: it is there.
          const before = cache.store.get(keyOf(item));
          if (before !== undefined) before.seen = list;
          this.#isolated(item, () => {
            const known = readAgain || wentBack ? undefined : cache.known(item);
            const news = known === undefined ? this.#read(item) : this.#newsOf(known, item);
            if (news === undefined) return;
            if (!isFirst) this.#deps.onEvent(this.resource, item);
            cache.listed(news, list, known === undefined && !wentBack);
          });
        }
      },
      commit: (version) => {
        cache.settle(this.#rows(), list, version);
        for (const key of [...this.#faults.keys()]) if (cache.store.get(key) === undefined) this.#mend(key);
        this.#version = version;
        this.#syncedAt = this.#deps.clock.now();
        if (readAgain) this.#readAgain = false;
      },
      // Lists without end would leave more and more rows behind; what was there before, and is no other, stays.
      abandon: (untrue) => {
        if (!untrue) return;
        for (const { key, seen, stamp: put } of [...this.#rows()]) if (seen === list && put > stamp) cache.forget(key);
      },
    };
  }

  /**
   * What a list says of an object that it shows under the number that we know; undefined: what we know. A server that was set back may have used
   * its numbers again by the time that it answers: where there is no whole object to compare with, it is read once more.
   */
  #newsOf(known: StoredNode, item: KubeObject): StoredNode | undefined {
    if (known.body !== undefined) return known.body.holds(item) ? undefined : this.#read(item);
    const node = this.#read(item);
    const fetched = known.fetched?.get(item.apiVersion);
    const sameFetched = fetched === undefined || fetched.holds(item);
    if (fetched === undefined) known.fetched = undefined;
    return sameFetched && isSameReading(known, node) ? undefined : node;
  }

  #read(object: KubeObject): StoredNode {
    const node = this.#deps.cache.read(object);
    if (node.fault === undefined) this.#mend(node.key);
    else this.#blame(object, node.fault, true);
    return node;
  }

  /** What one object does to us must not cost the others their places. Its row, where there is one, stays as it was. */
  #isolated(object: KubeObject, body: () => void): void {
    try {
      body();
    } catch (error) {
      this.#blame(object, messageOf(error), false);
    }
  }

  #blame(object: KubeObject, why: string, hasRow: boolean): void {
    const key = keyOf(object);
    const { namespace = '', name = '' } = object.metadata;
    const place = namespace === '' ? name : `${namespace}/${name}`;
    const message = `${this.resource.kind} ${place} cannot be read: ${why}`;
    const before = this.#faults.get(key);
    if (before?.message === message && before.hasRow === hasRow) return;
    this.#faults.set(key, { message, hasRow, sinceMs: this.#deps.clock.now() });
    this.#deps.logger.error('An object cannot be read; the others of its kind are not affected', { error: message });
    this.#deps.onState();
  }

  #mend(key: ResourceKey): void {
    if (this.#faults.delete(key)) this.#deps.onState();
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
    const said = this.state();
    if (said.state === 'left-out')
      this.#deps.logger.info(
        'A kind is left out of the cache: its objects are read one by one, and changes of them are not seen',
        {
          kind: groupKindName(this.resource),
          ...(this.namespace === undefined ? {} : { namespace: this.namespace }),
          reason: said.message,
        },
      );
    this.#deps.onState();
  }
}

export type KindWatchState = ReflectorState | { readonly state: 'left-out'; readonly message: string };

/** An object that could not be read. */
interface Fault {
  readonly message: string;
  /** False: not even its place is known from this version of it. */
  readonly hasRow: boolean;
  readonly sinceMs: number;
}

/** Of the objects that differ, in the log. */
const mostNamed = 10;
const restartDelayMs = 1000;
const doubtMs = 5000;
const reviewDeadlineMs = 10_000;
