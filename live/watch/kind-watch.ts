import type { Clock, ConcurrencyLimiter, RandomSource, Runnable } from '#base';
import { isAbort, messageOf, Superseded, withChild } from '#base';
import { isOlderVersion } from '#kube';
import type {
  KubeClient,
  ListCollector,
  ReflectorOptions,
  ReflectorSink,
  ReflectorState,
  VersionRegression,
  WatchListSupport,
} from '#kube';
import { groupKindName, keyOf } from '#model';
import type { ApiResource, KubeObject, ResourceKey, Settings } from '#model';
import type { Logger } from '#telemetry';
import { CacheAudit, fullReadInterval } from './cache-audit.ts';
import { afterEvent, nextHistory } from './kind-activity.ts';
import type { HeardEvents, KindActivity, KindHistory } from './kind-activity.ts';
import { KindFaults } from './kind-faults.ts';
import { hasSameFacts } from '../objects/stored-node.ts';
import type { StoredNode } from '../objects/stored-node.ts';
import { forgetRows } from './forget-rows.ts';
import { ReviewingClient } from './reviewing-client.ts';
import { OutdatedItems } from './outdated-items.ts';
import type { ClusterCache } from '../store/cluster-cache.ts';

/** Whether the cache of one kind in one namespace can be relied on. */
export interface KindTrust {
  /** Increases whenever the server was listed again or the watch recovered. */
  readonly generation: number;
  /** The cache is current, and the server has confirmed it lately. */
  readonly isTrusted: boolean;
}

export interface KindWatchDeps {
  readonly client: KubeClient;
  readonly cache: ClusterCache;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  readonly lists: ConcurrencyLimiter;
  readonly pageSize: number;
  readonly pageAttempts: number;
  /** Interval of comparing the cache with the server; 0 disables it. */
  readonly auditMs: number;
  /** Interval of relisting, whatever audits find; 0 disables it. */
  readonly relistMs: number;
  readonly reflect: (options: ReflectorOptions) => Runnable;
  /** Allows kinds that are watched in single namespaces to list and watch by one request. */
  readonly watchList: WatchListSupport;
  /** The current setting. */
  readonly respectRBAC: () => Settings['respectRBAC'];
  /** Lower bound of the delay between retries. */
  readonly crowdRetryMs: () => number;
  /** State or faults may have changed. */
  readonly onState: () => void;
  /** The kind may be listed, which was forbidden before. */
  readonly onPermitted: () => void;
  /** The server's resource versions went back. */
  readonly onWentBack: (found: VersionRegression) => void;
  /** Called for watch events, and for changed objects of later lists. */
  readonly onEvent: (resource: ApiResource, object: KubeObject) => void;
  /** An event that counts for an Application, after the cache has it. */
  readonly onChange: (node: StoredNode, object: KubeObject) => void;
  /** Called after an event with the time that it took. */
  readonly onProcessed: (durationMs: number) => void;
  /** Called after each comparison with the server. If objects differ, the kind is relisted. */
  readonly onAudit: (resource: ApiResource, differing: number) => void;
}

/**
 * Keeps one kind in the cache, in one namespace or in all: a reflector and its sink. Rows stay
 * until a deletion event, a complete list without them, or a suspension removes them. Failures
 * remove none, except for the rows that an endless list wrote. Lists take effect page by page, and
 * only changed objects cost work.
 */
export class KindWatch {
  readonly resource: ApiResource;
  readonly namespace: string | undefined;
  readonly #deps: KindWatchDeps;
  #state: ReflectorState = { state: 'listing' };
  #settled = false;
  #isRereading = false;
  #isRelisting = false;
  #restart: ((reason: Error) => void) | undefined;
  #syncedAt: number | undefined;
  /** The server has confirmed that listing is forbidden. */
  #isDenied = false;
  /** The latest resourceVersion seen. */
  #version = '';
  readonly #faults: KindFaults;
  #mismatchAt: number | undefined;
  #history: KindHistory = {};
  #heard: HeardEvents = { events: 0 };
  /** Why the kind takes too much memory. It is not watched, and its rows are removed. */
  #suspendReason: string | undefined;
  /** When the server last confirmed the cache, by a complete list or an audit (monotonic clock). */
  #confirmedAt: number | undefined;
  /** Number of complete lists, recoveries and suspensions. */
  #generation = 0;
  /**
   * Round of the audit. The first one is random, so that kinds are not all read whole in the same
   * round.
   */
  #round: number | undefined;

  constructor(resource: ApiResource, namespace: string | undefined, deps: KindWatchDeps) {
    this.resource = resource;
    this.namespace = namespace;
    this.#deps = deps;
    const { clock, logger, onState } = deps;
    this.#faults = new KindFaults({ kind: resource.kind, clock, logger, onChange: onState });
  }

  /**
   * `degraded` also if an unreadable object has no row. A forbidden kind that was never listed is
   * `left-out` if `resource.respectRBAC` accepts that. If it was listed, it keeps its rows.
   */
  state(): KindWatchState {
    if (this.#state.state === 'forbidden' && this.#isSkippedByRbac())
      return { state: 'left-out', message: `left out because of resource.respectRBAC: ${this.#state.message}` };
    if (this.#state.state !== 'synced' && this.#state.state !== 'polled') return this.#state;
    const lost = this.#faults.withoutRow();
    return lost === undefined ? this.#state : { state: 'degraded', message: lost.message, sinceMs: lost.sinceMs };
  }

  /** The first unreadable object with the reason, and the number of others; undefined if none. */
  fault(): string | undefined {
    return this.#faults.text();
  }

  /** The kind was listed, or listing it failed, at least once. */
  settled(): boolean {
    return this.#settled;
  }

  /**
   * No list was ever complete, or the kind was suspended: absence from the cache proves nothing.
   */
  isUnlisted(): boolean {
    return this.#settled && this.#syncedAt === undefined;
  }

  /**
   * Whether the cache can be relied on without a new list: it is current, and at most one audit has
   * failed since the server confirmed it. Never without audits.
   */
  trust(): KindTrust {
    const { auditMs, clock } = this.#deps;
    const isConfirmed = this.#confirmedAt !== undefined && clock.monotonic() - this.#confirmedAt <= 2.2 * auditMs;
    return { generation: this.#generation, isTrusted: auditMs > 0 && isConfirmed && this.state().state === 'synced' };
  }

  /** Its activity, for display. */
  activity(): KindActivity {
    const { since, lastError } = this.#history;
    return { ...this.#heard, since, lastError };
  }

  /** Wall time of the last complete list. */
  syncedAt(): number | undefined {
    return this.#syncedAt;
  }

  /**
   * Relists, and keeps the old rows until the list is complete. With `readAgain`, unchanged objects
   * are read again, too.
   */
  relist(readAgain = false): void {
    if (readAgain) this.#isRereading = true;
    this.#isRelisting = this.#state.state === 'synced';
    this.#restart?.(new Superseded('a new list'));
  }

  /** A response of the server contradicts the cache: reads everything again, rate-limited. */
  relistAfterMismatch(): void {
    // Restarting the list at every mismatch would prevent it from completing.
    if (this.#isRereading) return;
    const now = this.#deps.clock.monotonic();
    if (this.#mismatchAt !== undefined && now - this.#mismatchAt < minMismatchRelistMs) return;
    this.#mismatchAt = now;
    this.relist(true);
  }

  /** Tries again now if the kind is forbidden: rights have changed. */
  retryForbidden(): void {
    if (this.#state.state === 'forbidden') this.#restart?.(new Superseded('rights have changed'));
  }

  isSuspended(): boolean {
    return this.#suspendReason !== undefined;
  }

  /**
   * Stops the watch for ten minutes and removes all rows; queries read objects one by one
   * meanwhile.
   */
  suspend(why: string): void {
    if (this.#suspendReason !== undefined) return;
    this.#suspendReason = why;
    // The cache no longer has the kind, so treat it as never listed.
    this.#syncedAt = undefined;
    this.#confirmedAt = undefined;
    this.#generation += 1;
    this.#faults.clear();
    this.#onState({ state: 'degraded', message: why, sinceMs: this.#deps.clock.now() });
    this.#restart?.(new Superseded('too much memory'));
  }

  async #waitSuspended(signal: AbortSignal): Promise<void> {
    const { cache, clock, random } = this.#deps;
    try {
      await forgetRows(cache, [...this.#rows()], { clock, signal });
      await clock.sleep(suspensionMs * (1 + 0.2 * random.next()), signal);
    } catch (error) {
      if (!isAbort(error)) throw error;
    } finally {
      this.#suspendReason = undefined;
    }
  }

  /** Runs until `signal` aborts. No server behaviour makes it reject. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.isSuspended()) await this.#waitSuspended(signal);
        else await withChild(signal, (child, abort) => this.#runOnce(child, abort));
      } catch (error) {
        await this.#restartLater(error, signal);
      }
    }
  }

  async #restartLater(error: unknown, signal: AbortSignal): Promise<void> {
    if (signal.aborted || isAbort(error)) return;
    this.#onState({ state: 'degraded', message: messageOf(error), sinceMs: this.#deps.clock.now() });
    this.#deps.logger.error('A watch ended unexpectedly; restarting it', { kind: this.resource.kind, error });
    await this.#deps.clock.sleep(restartDelayMs, signal).catch(() => undefined);
  }

  async #runOnce(signal: AbortSignal, abort: (reason: Error) => void): Promise<void> {
    const { client, clock, random, logger, lists, pageSize, pageAttempts, relistMs, watchList } = this.#deps;
    // A cache in doubt is read in pages: their version shows at once whether the server went back.
    const mayStream = this.namespace !== undefined && !this.#isRereading;
    this.#restart = abort;
    const auditing = this.#auditForever(signal);
    // Jitter of 10 %, so that the kinds of a cluster do not relist at the same time.
    const timer = relistMs > 0 ? clock.timer(relistMs * (0.95 + 0.1 * random.next()), () => this.relist()) : undefined;
    try {
      const reflector = this.#deps.reflect({
        client: this.#reviewingClient(client),
        resource: this.resource,
        ...(this.namespace === undefined ? {} : { namespace: this.namespace }),
        sink: this.#sink(),
        clock,
        random,
        logger,
        tuning: { lists, pageSize, pageAttempts },
        ...(mayStream ? { watchList } : {}),
        onWentBack: this.#deps.onWentBack,
        crowdRetryMs: () => this.#deps.crowdRetryMs() * (this.#isSkippedByRbac() ? leftOutPace : 1),
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

  #isSkippedByRbac(): boolean {
    const mode = this.#deps.respectRBAC();
    return this.#syncedAt === undefined && (mode === 'normal' || (mode === 'strict' && this.#isDenied));
  }

  #reviewingClient(client: KubeClient): ReflectorOptions['client'] {
    const { logger, respectRBAC } = this.#deps;
    return new ReviewingClient({
      client,
      logger,
      namespace: this.namespace,
      needsReview: () => this.#syncedAt === undefined && respectRBAC() === 'strict',
      onReview: (isDenied) => (this.#isDenied = isDenied),
    });
  }

  /** Compares the cache with the server periodically; relists on differences. Never rejects. */
  async #auditForever(signal: AbortSignal): Promise<void> {
    const { client, cache, clock, random, lists, pageSize, auditMs, logger } = this.#deps;
    const { resource, namespace } = this;
    const rows = (): Iterable<StoredNode> => this.#rows();
    const isSame = (row: StoredNode, object: KubeObject): boolean => this.#changedNode(row, object) === undefined;
    const audit = new CacheAudit({ client, cache, clock, lists, pageSize, resource, namespace, rows, isSame });
    while (auditMs > 0 && !signal.aborted) {
      try {
        await clock.sleep(auditMs * (0.95 + 0.1 * random.next()), signal);
        if (this.#state.state !== 'synced') continue;
        const before = this.#version;
        this.#round = (this.#round ?? Math.floor(random.next() * fullReadInterval)) + 1;
        const { version, differing } = await audit.compare(this.#round, signal);
        this.#deps.onAudit(resource, differing.length);
        // A list that is older than an event received before it means that the server went back.
        const wentBack = this.#noteRegression(version, before);
        if (wentBack) this.relist(true);
        this.#noteAudit(!wentBack && differing.length === 0);
        if (wentBack || differing.length === 0) continue;
        const named = differing.slice(0, maxLoggedKeys);
        logger.warn('The cache differs from the server; listing everything again', {
          objects: differing.length,
          named,
        });
        this.relist();
      } catch (error) {
        if (!isAbort(error)) logger.debug('Comparing the cache with the server failed', { error });
      }
    }
  }

  /** Differences put the cache in doubt until it was listed again. */
  #noteAudit(isConfirmed: boolean): void {
    this.#confirmedAt = isConfirmed ? this.#deps.clock.monotonic() : undefined;
  }

  /** Reports a server that went back to an earlier version. */
  #noteRegression(version: string, before: string): boolean {
    const wentBack = isOlderVersion(version, before);
    if (wentBack) this.#deps.onWentBack({ kind: groupKindName(this.resource), version, before });
    return wentBack;
  }

  #remove(object: KubeObject): void {
    this.#deps.cache.delete(object);
    this.#faults.remove(keyOf(object));
  }

  #put(object: KubeObject): void {
    const { cache, onChange } = this.#deps;
    const news = this.#newsOf(cache.known(object), object);
    if (news === undefined) cache.confirm(keyOf(object));
    else if (cache.put(news)) onChange(news, object);
  }

  #sink(): ReflectorSink {
    const { clock, onEvent, onProcessed } = this.#deps;
    return {
      startList: () => this.#startList(),
      event: (type, object) => {
        if (this.isSuspended()) return;
        const started = clock.monotonic();
        onEvent(this.resource, object);
        this.#heard = afterEvent(this.#heard, type === 'DELETED' ? undefined : object, this.#deps.clock.now());
        this.#version = object.metadata.resourceVersion ?? this.#version;
        if (type === 'DELETED') this.#remove(object);
        else this.#isolate(object, () => this.#put(object));
        onProcessed(clock.monotonic() - started);
      },
      state: (state) => {
        if (!this.isSuspended()) this.#onState(state);
      },
    };
  }

  #startList(): ListCollector {
    const { cache, clock } = this.#deps;
    const list = cache.nextList();
    const { stamp } = cache.store;
    const isFirst = this.#syncedAt === undefined;
    const readAgain = this.#isRereading;
    const before = this.#version;
    const unread = new Set<ResourceKey>();
    const outdated = new OutdatedItems(cache);
    let pageVersion = '';
    let isChanged = false;
    const take = (item: KubeObject, wentBack: boolean): void => {
      // Keep the row even if this state of the object cannot be read: the object exists.
      const key = keyOf(item);
      const row = cache.store.get(key);
      if (row !== undefined) row.lastList = list;
      const isRead = this.#isolate(item, () => {
        const known = readAgain || wentBack ? undefined : cache.known(item);
        const news = this.#newsOf(known, item);
        if (news === undefined) return;
        isChanged = true;
        if (!isFirst) this.#deps.onEvent(this.resource, item);
        cache.putListed(news, list, known === undefined && !wentBack);
      });
      if (!isRead && this.#faults.has(key)) unread.add(key);
    };
    return {
      // Listed objects are current even if the list is incomplete; only removals need the complete
      // list. This spreads the work over the pages. A streamed list may begin with a late state.
      add: (items, version) => {
        if (this.isSuspended()) return;
        pageVersion = version;
        const wentBack = this.#noteRegression(version, before);
        for (const item of items) {
          if (this.isSuspended()) return;
          if (version !== '' || !outdated.defer(item)) take(item, wentBack);
        }
      },
      remove: (object) => {
        if (!this.isSuspended() && !outdated.isOutdatedDeletion(object)) this.#remove(object);
      },
      commit: (version) => {
        if (this.isSuspended()) return;
        for (const item of outdated.values()) take(item, false);
        if (cache.commitList(this.#rows(), list, version)) isChanged = true;
        this.#faults.commitList((key) => cache.store.get(key) !== undefined || unread.has(key));
        this.#version = version;
        this.#syncedAt = this.#deps.clock.now();
        this.#confirmedAt = clock.monotonic();
        this.#generation += 1;
        this.#heard = { ...this.#heard, lastHeardAt: this.#syncedAt };
        if (readAgain) this.#isRereading = false;
        // The objects of a streamed list were compared before its version was known.
        if (pageVersion === '' && this.#noteRegression(version, before)) this.relist(true);
      },
      isChanged: () => isChanged,
      // Retries of an endless list would add ever more rows, so remove those that this list wrote.
      // Rows that it left unchanged stay.
      abandon: (untrue) => {
        if (!untrue) return;
        for (const { key, lastList: seen, stamp: put } of [...this.#rows()])
          if (seen === list && put > stamp) cache.forget(key, false);
      },
    };
  }

  /**
   * Reads an object of a list or event. Undefined: the cached node of the same version has the same
   * content, and stays.
   */
  #newsOf(known: StoredNode | undefined, object: KubeObject): StoredNode | undefined {
    if (known === undefined) return this.#read(object);
    const news = this.#changedNode(known, object);
    // The response of our own write may have replaced an object that could not be read.
    if (news === undefined && known.body !== undefined) this.#faults.remove(known.key);
    return news;
  }

  /**
   * Compares an object with the cached node of the same version: a restored server may reuse
   * versions. Returns the new node, or undefined if nothing changed.
   */
  #changedNode(known: StoredNode, item: KubeObject): StoredNode | undefined {
    if (known.body !== undefined) return known.body.isSameAs(item) ? undefined : this.#read(item);
    const node = this.#read(item);
    const fetched = known.fetched?.get(item.apiVersion);
    if (fetched === undefined) this.#deps.cache.store.dropFetched(known);
    return (fetched?.isSameAs(item) ?? true) && hasSameFacts(known, node) ? undefined : node;
  }

  #read(object: KubeObject): StoredNode {
    const node = this.#deps.cache.read(object);
    if (node.fault === undefined) this.#faults.remove(node.key);
    else this.#faults.add(object, node.fault, true);
    return node;
  }

  /**
   * Records an exception as a fault of the object, so that others are unaffected. Its row stays.
   * Reports whether there was none.
   */
  #isolate(object: KubeObject, body: () => void): boolean {
    try {
      body();
      return true;
    } catch (error) {
      this.#faults.add(object, messageOf(error), false);
      return false;
    }
  }

  *#rows(): Iterable<StoredNode> {
    for (const node of this.#deps.cache.store.ofKind(this.resource.group, this.resource.kind))
      if (this.namespace === undefined || node.namespace === this.namespace) yield node;
  }

  #onState(next: ReflectorState): void {
    this.#history = nextHistory(this.#history, next, this.#deps.clock.now());
    if (next.state === 'listing' && this.#isRelisting) return;
    const [before, wasSettled] = [this.#state, this.#settled];
    this.#state = next;
    if (next.state === 'synced' && before.state !== 'synced') this.#generation += 1;
    if (next.state !== 'listing') {
      this.#settled = true;
      this.#isRelisting = false;
    }
    const isCurrent = next.state === 'synced' || next.state === 'polled';
    // Until then comparisons called the kind stale, also during its first list.
    if (isCurrent && (!wasSettled || isFresher(before, next))) this.#deps.cache.announce(this.resource);
    if (isCurrent && before.state === 'forbidden') this.#deps.onPermitted();
    const said = this.state();
    if (said.state === 'left-out')
      this.#deps.logger.info(
        'A kind is left out of the cache; its objects are read one by one, and changes are not detected',
        {
          kind: groupKindName(this.resource),
          ...(this.namespace === undefined ? {} : { namespace: this.namespace }),
          reason: said.message,
        },
      );
    this.#deps.onState();
  }
}

/** Whether comparisons called the kind stale before, and do not now, or less. */
function isFresher(before: ReflectorState, next: ReflectorState): boolean {
  if (before.state === 'polled') return next.state === 'synced';
  return before.state === 'degraded' || before.state === 'forbidden';
}

export type KindWatchState = ReflectorState | { readonly state: 'left-out'; readonly message: string };

/** How long a kind that takes too much memory stays suspended. */
const suspensionMs = 600_000;
/** A kind may be left out for good, so it is tried this many times less often. */
const leftOutPace = 4;
const maxLoggedKeys = 10;
const restartDelayMs = 1000;
const minMismatchRelistMs = 5000;
