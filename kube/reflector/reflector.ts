import { abortable, DriftlessError, messageOf, outsideText, Superseded, withChild } from '#base';
import type { Runnable } from '#base';
import { groupKindName } from '#model';
import {
  KubeApiError,
  KubeConnectionError,
  KubeProtocolError,
  isBeyondBounds,
  isExpired,
  isForbidden,
  isTooLargeVersion,
} from '../errors.ts';
import type { ReflectorState } from './informer-types.ts';
import { isWatchRefusal, maxWatchRefusals, PollPace, unwatchableReason } from './polling.ts';
import { withInitialEvents } from './initial-events.ts';
import { listLimits } from './list-bounds.ts';
import { ListReader, scopeOf } from './list-reader.ts';
import type { ReadingContext } from './list-reader.ts';
import type { ReflectorOptions, ReflectorStats, ReflectorTuning, VersionRegression } from './reflector-types.ts';
import type { WatchEvent } from '../types.ts';
import { isOlderVersion } from './version.ts';
import { streamFailureOf } from './watch-list-support.ts';

const defaultTuning: ReflectorTuning = {
  pageSize: 500,
  pageDeadlineMs: 60_000,
  firstListFromCache: false,
  backoffMs: 800,
  backoffCapMs: 15_000,
  forbiddenRetryMs: 13_000,
  limits: listLimits,
  slowListMs: 600_000,
  emptyWatches: 3,
  silentWatchMs: 60_000,
};
/** A watch that ends sooner is suspicious; watches are opened no more often than this. */
const shortWatchMs = 1_000;
/** A watch that lived this long was successful: reset the failure count. */
const healthyWatchMs = 20_000;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** How to continue after a watch has ended. */
type WatchEnding = 'resume' | 'relist';

/**
 * Keeps a sink equal to the server's objects of one kind while it runs. With `watchList`, a watch
 * that starts with the current objects replaces the list, until such a stream fails.
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
  readonly #context: ReadingContext;
  readonly #lists: ListReader;
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
  /** A list was allowed, not only a stream: an account may have the right to watch only. */
  #mayList = false;
  /** The last streamed list failed: use pages until one succeeds. */
  #isStreamBroken = false;
  /** The last watch was silent for long, or failed: verify the version before the next one. */
  #silent = false;
  /** A list was requested since the last one started. */
  #relistRequested = false;
  /** Consecutive watches that were refused, or failed at once and said nothing. */
  #refusals = 0;
  /** A list has been read since the last refusal. */
  #isListedAnew = false;
  /** The last request was a list. */
  #isListing = true;
  /** The last watch sent an event or a bookmark. */
  #hasSpoken = false;
  /** The last watch was accepted. */
  #hasOpened = false;
  /** The last refused watch was accepted at first. */
  #isRefusedAfterOpening = false;
  /** Why the last watch was refused. */
  #refusal = '';
  readonly #pace: PollPace;
  #interrupt: ((reason: Error) => void) | undefined;

  constructor(options: ReflectorOptions) {
    this.#options = options;
    this.#pace = new PollPace(options.random);
    this.#tuning = { ...defaultTuning, ...options.tuning };
    const where = options.namespace === undefined ? '' : ` in ${options.namespace}`;
    this.name = `reflector of ${groupKindName(options.resource)}${where}`;
    const listName = `list of ${groupKindName(options.resource)}${where}`;
    this.#context = { listName, options, tuning: this.#tuning, isolated: (body) => this.#isolated(body) };
    this.#lists = new ListReader(this.#context, (message) => this.#reportTrouble('degraded', message));
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
        if (this.#resourceVersion === undefined || this.#relistRequested) await this.#synchronize(signal);
        else if (this.#isWatchRefused() && !this.#isListedAnew) await this.#listInstead(signal);
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

  /** Lists everything, and also watches if one request can do both. */
  async #synchronize(signal: AbortSignal): Promise<void> {
    // If this list fails, list again instead of resuming the watch: the cache may be wrong.
    this.#resourceVersion = undefined;
    if (this.#mayStream() && (await this.#streamed(signal))) return;
    const { clock, resource } = this.#options;
    const startedAt = clock.monotonic();
    const resourceVersion = await this.#asList(signal, () => this.#lists.read(!this.#everListed, signal));
    this.#isStreamBroken = false;
    this.#mayList = true;
    const reason = unwatchableReason(resource, resourceVersion);
    if (reason === undefined) {
      this.#noteListed(resourceVersion);
      return;
    }
    this.#notePolled(reason, true);
    this.#failures = 0;
    const waitMs = this.#pace.nextMs(this.#lists.hasChanged, clock.monotonic() - startedAt);
    await this.#interruptible(signal, (child) => clock.sleep(waitMs, child));
  }

  #isWatchRefused(): boolean {
    return this.#refusals >= maxWatchRefusals;
  }

  /** Lists although the position is known. If that fails too, the position still stands. */
  async #listInstead(signal: AbortSignal): Promise<void> {
    const resourceVersion = await this.#asList(signal, () => this.#lists.read(false, signal));
    this.#mayList = true;
    this.#noteListed(resourceVersion);
  }

  /** The objects are those of the last list. */
  #notePolled(reason: string, isLasting = false): void {
    this.#everListed = true;
    this.#silent = false;
    this.#markListed();
    const message = `it is listed again and again instead of watched: ${reason}`;
    this.#enter({ state: 'polled', message, isLasting });
  }

  /** Runs a body that `relist` may interrupt. */
  #interruptible(signal: AbortSignal, body: (signal: AbortSignal) => Promise<void>): Promise<void> {
    return withChild(signal, async (child, abort) => {
      this.#interrupt = abort;
      await body(child).finally(() => (this.#interrupt = undefined));
    });
  }

  #mayStream(): boolean {
    const { watchList, resource } = this.#options;
    const isUsable = watchList !== undefined && !this.#isStreamBroken && watchList.isUsable(resource.group);
    return isUsable && !this.#isWatchRefused() && resource.verbs.includes('watch');
  }

  /**
   * Lists and watches by one request.
   * @returns false if the stream failed before the list was complete, and a list may succeed.
   */
  async #streamed(signal: AbortSignal): Promise<boolean> {
    const asList = <T>(read: () => Promise<T>): Promise<T> => this.#asList(signal, read);
    try {
      await withInitialEvents(this.#context, signal, asList, async (stream) => {
        this.#noteListed(stream.resourceVersion);
        if (this.#isRelistRequested()) return;
        this.#interrupt = stream.interrupt;
        await this.#follow(stream.events, stream.signal).finally(() => (this.#interrupt = undefined));
      });
      return true;
    } catch (error) {
      if (this.#hasPosition() || signal.aborted) throw error;
      this.#isStreamBroken = !(isForbidden(error) && this.#everListed && !this.#mayList);
      const failure = streamFailureOf(error);
      if (failure === 'fall-back') this.#options.watchList?.fallBack(this.#options.resource.group, error);
      if (failure === 'retry') throw error;
      this.#options.logger.debug('A streamed list failed; listing in pages', { list: this.#context.listName, error });
      return false;
    }
  }

  #hasPosition(): boolean {
    return this.#resourceVersion !== undefined;
  }

  #asList<T>(signal: AbortSignal, read: () => Promise<T>): Promise<T> {
    const { lists } = this.#tuning;
    const body = (): Promise<T> => {
      this.#relistRequested = false;
      this.#stats.lists += 1;
      this.#isListing = true;
      if (this.#failures === 0 && this.#state.state !== 'polled') this.#enter({ state: 'listing' });
      return read();
    };
    return lists === undefined ? body() : lists.run(signal, body);
  }

  #noteListed(resourceVersion: string): void {
    this.#resourceVersion = resourceVersion;
    this.#isListedAnew = true;
    if (this.#isWatchRefused()) {
      this.#notePolled(this.#refusal);
      return;
    }
    this.#everListed = true;
    this.#silent = false;
    this.#markListed();
    this.#enter({ state: 'synced' });
  }

  #watchUntilRelist(resourceVersion: string, signal: AbortSignal): Promise<void> {
    return this.#interruptible(signal, (child) => this.#watch(resourceVersion, child));
  }

  async #watch(resourceVersion: string, signal: AbortSignal): Promise<void> {
    const { client, resource } = this.#options;
    this.#isListing = false;
    this.#hasSpoken = false;
    this.#hasOpened = false;
    const onOpen = (): void => {
      this.#hasOpened = true;
      // If a proxy answered watches with a page of its own, believe events only.
      if (!this.#isRefusedAfterOpening) this.#refusals = 0;
      if (!this.#isWatchRefused()) this.#enter({ state: 'synced' });
    };
    const watch = client.watch(resource, { ...scopeOf(this.#options), resourceVersion, signal, onOpen });
    const events = watch[Symbol.asyncIterator]();
    await this.#follow(events, signal).finally(() => events.return?.());
  }

  /** Takes the events of a watch until it ends, and paces the next one. */
  async #follow(events: AsyncIterator<WatchEvent>, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    const openedAt = clock.monotonic();
    const seenBefore = this.#stats.events + this.#stats.bookmarks;
    this.#stats.watches += 1;
    const trust = clock.timer(healthyWatchMs, () => this.#trustWatch());
    const saidNothing = (): boolean => this.#stats.events + this.#stats.bookmarks === seenBefore;
    try {
      for (let next = await events.next(); next.done !== true; next = await events.next()) this.#take(next.value);
    } finally {
      trust.cancel();
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
    this.#isListing = true;
    const resourceVersion = await this.#currentVersion(signal);
    this.#silent = false;
    if (resourceVersion === undefined) return true;
    if (!isOlderVersion(resourceVersion, position)) return false;
    this.#reportWentBack({ kind: groupKindName(this.#options.resource), version: resourceVersion, before: position });
    return true;
  }

  /** Undefined: only another stream can show it, because lists have never been allowed. */
  async #currentVersion(signal: AbortSignal): Promise<string | undefined> {
    try {
      const { resourceVersion } = await this.#lists.page(signal, { limit: 1 });
      this.#mayList = true;
      return resourceVersion;
    } catch (error) {
      if (isForbidden(error) && !this.#mayList && this.#mayStream()) return undefined;
      throw error;
    }
  }

  #reportWentBack(found: VersionRegression): void {
    const { logger, onWentBack } = this.#options;
    if (onWentBack !== undefined) this.#isolated(() => onWentBack(found));
    else logger.warn('The resource versions of the API server went back; reading everything again', { ...found });
  }

  /** The watch works, so its refusals are over. */
  #trustWatch(): void {
    this.#hasSpoken = true;
    if (this.#isWatchRefused()) this.#enter({ state: 'synced' });
    this.#refusals = 0;
    this.#isRefusedAfterOpening = false;
  }

  #take(event: WatchEvent): void {
    this.#trustWatch();
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
    if (!this.#isListing) this.#noteWatchFailure(error);
    const ending = this.#isStuck(error) ? 'relist' : endingOf(error);
    if (ending === 'relist') this.#resourceVersion = undefined;
    // The server may have been restored while the connection was down. It would silently accept a
    // watch from a future version, so verify the version first.
    else this.#silent = true;
    const forbidden = isForbidden(error);
    const isPolled = this.#isWatchRefused() && this.#isPolled() && !this.#isListing;
    // A single interruption of a watch is normal; do not report it.
    if (isPolled) this.#notePolled(this.#refusal);
    else if (forbidden || listing || this.#failures > 1 || isBeyondBounds(error)) {
      this.#reportTrouble(forbidden ? 'forbidden' : 'degraded', outsideText('server', messageOf(error)));
    } else if (ending === 'relist') this.#enter({ state: 'listing' });
    const waitMs = this.#waitAfter(error, forbidden, listing || ending === 'relist');
    logger.debug('Watch or list failed', { kind: groupKindName(resource), error, ending, waitMs });
    await clock.sleep(waitMs, signal);
  }

  #isPolled(): boolean {
    return this.#state.state === 'polled';
  }

  #noteWatchFailure(error: unknown): void {
    if (this.#hasSpoken || !isWatchRefusal(error)) {
      this.#refusals = 0;
      return;
    }
    this.#refusals += 1;
    this.#isRefusedAfterOpening = this.#hasOpened;
    this.#isListedAnew = false;
    this.#refusal = `its watch is refused (${outsideText('server', messageOf(error))})`;
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
    const crowdMs = this.#options.crowdRetryMs?.() ?? 0;
    const jitter = 1 + this.#options.random.next();
    // A new API server denies access until it has loaded its roles: retry soon if access was
    // allowed before.
    const isNew = this.#everListed && this.#failures <= startupRefusals;
    if (forbidden && !isNew) return Math.max(forbiddenRetryMs, crowdMs) * jitter;
    const told = error instanceof DriftlessError && typeof error.retry === 'object' ? error.retry.afterMs : 0;
    // Only the version is unusable, and the server works: list again at once the first time.
    if (listing && this.#failures === 1 && (isExpired(error) || isTooLargeVersion(error))) return told;
    const capMs = Math.max(backoffCapMs, crowdMs);
    return Math.max(told, Math.min(capMs, backoffMs * 2 ** Math.min(20, this.#failures - 1)) * jitter);
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
