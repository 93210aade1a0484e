import { abortable, defined, DriftlessError, messageOf, outsideText, Superseded, withChild, yieldToLoop } from '#base';
import type { Runnable } from '#base';
import { groupKindName } from '#model';
import { isBeyondBounds, isExpired, isForbidden, isTooLargeVersion } from '../errors.ts';
import { KubeApiError, KubeConnectionError, KubeProtocolError } from '../errors.ts';
import type { ReflectorState } from './informer-types.ts';
import { ListBounds, listLimits } from './list-bounds.ts';
import type { ReflectorOptions, ReflectorStats, ReflectorTuning, VersionRegression } from './reflector-types.ts';
import type { ItemSink, ListOptions, ListPage, WatchEvent } from '../types.ts';
import { isOlderVersion } from './version.ts';

const defaultTuning: ReflectorTuning = {
  pageSize: 500,
  pageDeadlineMs: 60_000,
  firstListFromCache: false,
  backoffMs: 800,
  backoffCapMs: 30_000,
  forbiddenRetryMs: 30_000,
  limits: listLimits,
  slowListMs: 600_000,
  emptyWatches: 3,
  silentWatchMs: 60_000,
};
/** A watch that ends sooner is suspicious; watches are opened no more often than this. */
const shortWatchMs = 1_000;
/** A watch that lived this long was successful: reset the failure count. */
const healthyWatchMs = 20_000;
/** Items passed to a sink at once, before yielding to the event loop. */
const handOverSize = 32;
/** Deadline of an unpaged list, used when paging expires. */
const fullListDeadlineMs = 300_000;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** How to continue after a watch has ended. */
type WatchEnding = 'resume' | 'relist';

/**
 * Keeps a sink equal to the server's objects of one kind while it runs.
 *
 *            ┌─── 410, future version, bad line, k empty watches, k failures ────┐
 *            v                                                                  │
 *  ──> list, page by page ── commit ──> watch from the last version ── closed, cut ──> resume
 *            │                                  │
 *            └── failure: degraded, forbidden ──┴── sink keeps its objects; back off, then retry
 *
 * It relists only if the server cannot continue or may have been restored, or if retries have
 * failed for two minutes. Like client-go's tools/cache/reflector.go, with two differences: an
 * unreadable line causes a relist instead of being skipped, and only the first list may come from a
 * cache.
 *
 * A server may be restored to an earlier state or replaced, and API servers silently accept a watch
 * from a future resourceVersion. So the reflector verifies the version after a silent or failed
 * watch, before it resumes. Callers that detect an inconsistency in another way call `relist`.
 */
export class Reflector implements Runnable {
  readonly name: string;
  readonly #listName: string;
  readonly #options: ReflectorOptions;
  readonly #tuning: ReflectorTuning;
  readonly #stats: Mutable<ReflectorStats> = {
    lists: 0,
    watches: 0,
    events: 0,
    bookmarks: 0,
    failures: 0,
    sinkErrors: 0,
  };
  readonly #listed: Promise<void>;
  #markListed: () => void = () => undefined;
  #state: ReflectorState = { state: 'listing' };
  /** Version to start the next watch from; undefined if a list is needed. */
  #resourceVersion: string | undefined;
  #everListed = false;
  /** Consecutive failures, for the backoff. */
  #failures = 0;
  #emptyWatches = 0;
  /** The last watch was silent for long, or failed: verify the version before the next one. */
  #silent = false;
  /** A list was requested since the last one started. */
  #relistRequested = false;
  #interrupt: ((reason: Error) => void) | undefined;

  constructor(options: ReflectorOptions) {
    this.#options = options;
    this.#tuning = { ...defaultTuning, ...options.tuning };
    const where = options.namespace === undefined ? '' : ` in ${options.namespace}`;
    this.name = `reflector of ${groupKindName(options.resource)}${where}`;
    this.#listName = `list of ${groupKindName(options.resource)}${where}`;
    this.#listed = new Promise((resolve) => {
      this.#markListed = resolve;
    });
  }

  /** Runs until `signal` aborts, then resolves. No server behaviour makes it reject. */
  async run(signal: AbortSignal): Promise<void> {
    this.#inSink((sink) => sink.state(this.#state));
    while (!signal.aborted) {
      const startedAt = this.#options.clock.monotonic();
      try {
        if (this.#resourceVersion === undefined || this.#relistRequested)
          this.#resourceVersion = await this.#list(signal);
        else if (await this.#wentBack(this.#resourceVersion, signal)) this.#resourceVersion = undefined;
        // If a relist was requested during this check, do not wait for the end of a watch first.
        else if (!this.#isRelistRequested()) await this.#watchUntilRelist(this.#resourceVersion, signal);
      } catch (error) {
        if (isAborted(signal)) return;
        // The watch was interrupted by `relist`; its error does not matter.
        if (this.#relistRequested) continue;
        await this.#fail(error, startedAt, signal).catch(() => undefined);
      }
    }
  }

  /** Resolves with the first complete list. */
  ready(signal: AbortSignal): Promise<void> {
    return abortable(this.#listed, signal);
  }

  /**
   * Lists everything again now, because another response of the server contradicts the cache. Known
   * objects stay until the list is complete.
   */
  relist(): void {
    this.#relistRequested = true;
    this.#interrupt?.(new Superseded('a new list'));
  }

  #isRelistRequested(): boolean {
    return this.#relistRequested;
  }

  state(): ReflectorState {
    return this.#state;
  }

  stats(): ReflectorStats {
    return { ...this.#stats };
  }

  async #list(signal: AbortSignal): Promise<string> {
    // If this list fails, list again instead of resuming the watch: the cache may be wrong.
    this.#resourceVersion = undefined;
    const lists = this.#tuning.lists;
    const body = (): Promise<string> => this.#listInto(signal);
    const resourceVersion = await (lists === undefined ? body() : lists.run(signal, body));
    this.#everListed = true;
    this.#silent = false;
    this.#markListed();
    this.#enter({ state: 'synced' });
    return resourceVersion;
  }

  async #listInto(signal: AbortSignal): Promise<string> {
    this.#relistRequested = false;
    this.#stats.lists += 1;
    if (this.#failures === 0) this.#enter({ state: 'listing' });
    try {
      return await this.#collect(signal, (items) => this.#firstPage(signal, items));
    } catch (error) {
      if (!isExpired(error)) throw error;
      // The snapshot of the pages expired: list again in one piece, as client-go's pager does.
      return this.#collect(signal, (items) => this.#page(signal, { deadlineMs: fullListDeadlineMs, items }));
    }
  }

  async #collect(signal: AbortSignal, firstPage: (items: ItemSink) => Promise<ListPage>): Promise<string> {
    let collector = this.#options.sink.startList();
    let isUsed = false;
    const { limits, pageSize, slowListMs } = this.#tuning;
    const begun = (): ListBounds => new ListBounds(this.#listName, this.#options.clock, limits);
    let bounds = begun();
    const add: ItemSink['add'] = (items, version) => {
      isUsed = true;
      bounds.countItems(items.length);
      this.#isolated(() => collector.add(items, version));
    };
    const first = {
      add,
      // A retried first page starts a new list: objects of the failed attempt may be gone by now.
      begin: () => {
        if (!isUsed) return;
        isUsed = false;
        bounds = begun();
        this.#isolated(() => collector.abandon(false));
        collector = this.#options.sink.startList();
      },
    };
    const next = { add, begin: () => undefined };
    try {
      let page = await firstPage(first);
      for (;;) {
        await this.#handOver(page, add);
        const token = bounds.next(page);
        if (token === undefined) break;
        // Report the delay, so that nothing waits for this list.
        if (bounds.ageMs > slowListMs)
          this.#reportTrouble(
            'degraded',
            `${this.#listName} is not complete after ${slowListMs / 1000} s; it continues`,
          );
        page = await this.#page(signal, { limit: pageSize, continue: token, items: next });
      }
      const { resourceVersion } = page;
      this.#isolated(() => collector.commit(resourceVersion));
      return resourceVersion;
    } catch (error) {
      this.#isolated(() => collector.abandon(isBeyondBounds(error)));
      throw error;
    }
  }

  /** Passes on the items that were not streamed. */
  async #handOver({ items, resourceVersion }: ListPage, add: ItemSink['add']): Promise<void> {
    add(items.slice(0, handOverSize), resourceVersion);
    for (let from = handOverSize; from < items.length; from += handOverSize) {
      await yieldToLoop();
      add(items.slice(from, from + handOverSize), resourceVersion);
    }
  }

  async #firstPage(signal: AbortSignal, items: ItemSink): Promise<ListPage> {
    const limit = this.#tuning.pageSize;
    if (!this.#everListed && this.#tuning.firstListFromCache) {
      try {
        return await this.#page(signal, { limit, resourceVersion: '0', items });
      } catch (error) {
        if (!isExpired(error)) throw error;
      }
    }
    return this.#page(signal, { limit, items });
  }

  #page(signal: AbortSignal, extra: Partial<ListOptions>): Promise<ListPage> {
    const { client, resource } = this.#options;
    const { pageDeadlineMs: deadlineMs, pageAttempts: attempts } = this.#tuning;
    return client.list(resource, { deadlineMs, ...defined({ attempts }), ...this.#scope(), ...extra, signal });
  }

  #watchUntilRelist(resourceVersion: string, signal: AbortSignal): Promise<void> {
    return withChild(signal, async (child, abort) => {
      this.#interrupt = abort;
      await this.#watch(resourceVersion, child).finally(() => (this.#interrupt = undefined));
    });
  }

  async #watch(resourceVersion: string, signal: AbortSignal): Promise<void> {
    const { client, resource, clock, random } = this.#options;
    const openedAt = clock.monotonic();
    const seenBefore = this.#stats.events + this.#stats.bookmarks;
    this.#stats.watches += 1;
    const saidNothing = (): boolean => this.#stats.events + this.#stats.bookmarks === seenBefore;
    const onOpen = (): void => this.#enter({ state: 'synced' });
    try {
      for await (const event of client.watch(resource, { ...this.#scope(), resourceVersion, signal, onOpen })) {
        this.#take(event);
      }
    } finally {
      this.#silent = saidNothing() && clock.monotonic() - openedAt >= this.#tuning.silentWatchMs;
    }
    signal.throwIfAborted();
    const livedMs = clock.monotonic() - openedAt;
    this.#emptyWatches = saidNothing() && livedMs < shortWatchMs ? this.#emptyWatches + 1 : 0;
    if (livedMs >= healthyWatchMs) this.#failures = 0;
    // For some kinds, servers end a watch from an expired version at once, without an error
    // (kubernetes/kubernetes#104171).
    if (this.#emptyWatches >= this.#tuning.emptyWatches) {
      this.#emptyWatches = 0;
      throw new KubeProtocolError(this.name, 'the server ends its watches at once');
    }
    if (livedMs < shortWatchMs) await clock.sleep((shortWatchMs - livedMs) * (1 + random.next()), signal);
  }

  /** After a silent or failed watch: checks whether the server is behind our version. */
  async #wentBack(position: string, signal: AbortSignal): Promise<boolean> {
    if (!this.#silent) return false;
    // Do not watch if this list fails, not even with a 403: a server that has just started refuses
    // lists, but accepts a watch from a future version.
    const { resourceVersion } = await this.#page(signal, { limit: 1 });
    this.#silent = false;
    if (!isOlderVersion(resourceVersion, position)) return false;
    this.#reportWentBack({ kind: groupKindName(this.#options.resource), version: resourceVersion, before: position });
    return true;
  }

  #reportWentBack(found: VersionRegression): void {
    const { logger, onWentBack } = this.#options;
    if (onWentBack !== undefined) this.#isolated(() => onWentBack(found));
    else logger.warn('The resource versions of the API server went back; reading everything again', { ...found });
  }

  #take(event: WatchEvent): void {
    if (event.type === 'BOOKMARK') {
      this.#stats.bookmarks += 1;
      // Versions of bookmarks only increase, so the server was restored or replaced.
      if (isOlderVersion(event.resourceVersion, this.#resourceVersion ?? ''))
        throw new KubeProtocolError(this.name, 'the resource versions of the server went back');
      this.#resourceVersion = event.resourceVersion;
      return;
    }
    const { resourceVersion = '' } = event.object.metadata;
    if (resourceVersion === '') throw new KubeProtocolError(this.name, 'an event has no resourceVersion');
    this.#stats.events += 1;
    this.#inSink((sink) => sink.event(event.type, event.object));
    this.#resourceVersion = resourceVersion;
  }

  /** Reports the failure, decides how to continue, and waits. */
  async #fail(error: unknown, startedAt: number, signal: AbortSignal): Promise<void> {
    const { clock, logger, resource } = this.#options;
    if (this.#resourceVersion !== undefined && clock.monotonic() - startedAt >= healthyWatchMs) this.#failures = 0;
    this.#failures += 1;
    this.#stats.failures += 1;
    const listing = this.#resourceVersion === undefined;
    const ending = this.#isStuck(error) ? 'relist' : endingOf(error);
    if (ending === 'relist') this.#resourceVersion = undefined;
    // The server may have been restored while the connection was down. It would silently accept a
    // watch from a future version, so verify the version first.
    else this.#silent = true;
    const forbidden = isForbidden(error);
    // A single interruption of a watch is normal; do not report it.
    if (forbidden || listing || this.#failures > 1 || isBeyondBounds(error)) {
      this.#reportTrouble(forbidden ? 'forbidden' : 'degraded', outsideText('server', messageOf(error)));
    } else if (ending === 'relist') this.#enter({ state: 'listing' });
    const waitMs = this.#waitAfter(error, forbidden, listing || ending === 'relist');
    logger.debug('Watch or list failed', { kind: groupKindName(resource), error, ending, waitMs });
    await clock.sleep(waitMs, signal);
  }

  /**
   * Whether to relist after many failures. The server may be unable to send the next event; or it
   * was restored behind a proxy that answered for it, and its versions have passed ours meanwhile.
   */
  #isStuck(error: unknown): boolean {
    const isRefusal = error instanceof KubeApiError && [401, 403, 429].includes(error.status);
    return !isRefusal && this.#failures % maxFailuresBeforeRelist === 0;
  }

  #waitAfter(error: unknown, forbidden: boolean, listing: boolean): number {
    const { backoffMs, backoffCapMs, forbiddenRetryMs } = this.#tuning;
    const jitter = 1 + this.#options.random.next();
    // A new API server denies access until it has loaded its roles: retry soon if access was
    // allowed before.
    const isNew = this.#everListed && this.#failures <= startupRefusals;
    if (forbidden && !isNew)
      return Math.min(10 * forbiddenRetryMs, forbiddenRetryMs * 2 ** (this.#failures - 1)) * jitter;
    const told = error instanceof DriftlessError && typeof error.retry === 'object' ? error.retry.afterMs : 0;
    // Only the version is unusable, and the server works: list again at once the first time.
    if (listing && this.#failures === 1 && (isExpired(error) || isTooLargeVersion(error))) return told;
    return Math.max(told, Math.min(backoffCapMs, backoffMs * 2 ** Math.min(20, this.#failures - 1)) * jitter);
  }

  #reportTrouble(state: 'degraded' | 'forbidden', message: string): void {
    const since = 'sinceMs' in this.#state ? this.#state.sinceMs : this.#options.clock.now();
    this.#enter({ state, message, sinceMs: since });
  }

  #enter(state: ReflectorState): void {
    const before = this.#state;
    const said = 'message' in before ? before.message : '';
    if (before.state === state.state && said === ('message' in state ? state.message : '')) return;
    this.#state = state;
    this.#inSink((sink) => sink.state(state));
  }

  #scope(): { namespace?: string; labelSelector?: string; fieldSelector?: string } {
    const { namespace, labelSelector, fieldSelector } = this.#options;
    return {
      ...(namespace === undefined ? {} : { namespace }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    };
  }

  #inSink(body: (sink: ReflectorOptions['sink']) => void): void {
    this.#isolated(() => body(this.#options.sink));
  }

  /** An exception in our own code must not end the watch. */
  #isolated(body: () => void): void {
    try {
      body();
    } catch (error) {
      this.#stats.sinkErrors += 1;
      this.#options.logger.error('Handler of Kubernetes events failed', { reflector: this.name, error });
    }
  }
}

/** A server that has just started may send this many 403s in a row, for about half a minute. */
const startupRefusals = 5;

/** Relist after this many consecutive failures, which take about two minutes. */
const maxFailuresBeforeRelist = 8;

/** Relists only if the server cannot continue from our version, or may have been restored. */
function endingOf(error: unknown): WatchEnding {
  if (error instanceof KubeProtocolError || isExpired(error) || isTooLargeVersion(error)) return 'relist';
  // A restore of etcd stops the API server. When it is back, its versions may already have passed
  // ours, so comparing versions would not detect the restore.
  if (error instanceof KubeConnectionError && error.unreachable) return 'relist';
  if (!(error instanceof KubeApiError)) return 'resume';
  // 404: the kind is gone; if it returns, its versions restart. 400, 422: the version is invalid.
  return [400, 404, 405, 422].includes(error.status) ? 'relist' : 'resume';
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
