import { abortable, DriftlessError, messageOf, outsideText, Superseded, withChild, yieldToLoop } from '#base';
import type { Runnable } from '#base';
import { groupKindName } from '#model';
import {
  EndlessListError,
  isExpired,
  isForbidden,
  isTooLargeVersion,
  KubeApiError,
  KubeConnectionError,
  KubeProtocolError,
} from './errors.ts';
import type { ReflectorState } from './informer-types.ts';
import { ListBounds, listLimits } from './list-bounds.ts';
import type { ReflectorOptions, ReflectorStats, ReflectorTuning, WentBack } from './reflector-types.ts';
import type { ItemSink, ListOptions, ListPage, WatchEvent } from './types.ts';
import { isOlderVersion } from './version.ts';

const defaults: ReflectorTuning = {
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
/** A watch that ends sooner is suspicious; watches are never opened more often than this. */
const shortWatchMs = 1_000;
/** A watch that lived this long was a success: failures are counted anew. */
const healthyWatchMs = 20_000;
/** Objects that a sink gets in one go: others get their turn in between. */
const handedAtOnce = 32;
/** The whole list in one answer, when continuing page by page is refused. */
const fullListDeadlineMs = 300_000;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Why a watch is over, and so what comes next. */
type Ending = 'resume' | 'relist';

/**
 * Keeps a sink equal to what a server has of one kind, for as long as it runs.
 *
 *             ┌───── 410, a version from the future, bad line, k empty watches, k failures ───────┐
 *             v                                                                                   │
 *   ──> list, page by page ── commit ──> watch from the last resourceVersion ── closed, cut ──> same again
 *             │                                  │
 *             └── failure: degraded, forbidden ──┴── the sink keeps what it has; wait (backoff, jitter), then go on
 *
 * A list is made only when the server cannot continue from where we are, or nothing has come of trying for two minutes. Waits double up to a cap and carry jitter; what the sink throws
 * is counted and logged, and never ends anything. As client-go's tools/cache/reflector.go, except: a line that cannot be read leads to
 * a new list instead of being skipped, and lists after the first are consistent reads.
 *
 * A server may be set back to an earlier state, or replaced by another one at the same address. API servers take a watch from a version that
 * they have not reached yet, and say nothing until they have: so after nobody was there, and after a watch without a word, a version is
 * never just resumed. Who finds out by other means that what is kept cannot be right says so by `relist`.
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
  /** Where the next watch starts; undefined: a list is needed. */
  #resourceVersion: string | undefined;
  #everListed = false;
  /** Failures in a row, for the backoff. */
  #failures = 0;
  #emptyWatches = 0;
  /** The last watch was open for long and said nothing. */
  #silent = false;
  /** A list was asked for since the last one began. */
  #doubted = false;
  #interrupt: ((reason: Error) => void) | undefined;

  constructor(options: ReflectorOptions) {
    this.#options = options;
    this.#tuning = { ...defaults, ...options.tuning };
    const where = options.namespace === undefined ? '' : ` in ${options.namespace}`;
    this.name = `reflector of ${groupKindName(options.resource)}${where}`;
    this.#listName = `list of ${groupKindName(options.resource)}${where}`;
    this.#listed = new Promise((resolve) => {
      this.#markListed = resolve;
    });
  }

  /** Runs until `signal` aborts; then resolves. Nothing that a server does makes it reject. */
  async run(signal: AbortSignal): Promise<void> {
    this.#inSink((sink) => sink.state(this.#state));
    while (!signal.aborted) {
      const startedAt = this.#options.clock.monotonic();
      try {
        if (this.#resourceVersion === undefined || this.#doubted) this.#resourceVersion = await this.#list(signal);
        else if (await this.#wentBack(this.#resourceVersion, signal)) this.#resourceVersion = undefined;
        // Whoever asked for a list meanwhile does not wait for the end of a watch.
        else if (!this.#isDoubted()) await this.#watchUntilDoubt(this.#resourceVersion, signal);
      } catch (error) {
        if (isAborted(signal)) return;
        // Whatever the end of the interrupted watch looks like.
        if (this.#doubted) continue;
        await this.#fail(error, startedAt, signal).catch(() => undefined);
      }
    }
  }

  /** Resolves with the first complete list. */
  ready(signal: AbortSignal): Promise<void> {
    return abortable(this.#listed, signal);
  }

  /** What is kept does not fit what the server says elsewhere: lists everything again, now. Until then what was known stays. */
  relist(): void {
    this.#doubted = true;
    this.#interrupt?.(new Superseded('a new list'));
  }

  #isDoubted(): boolean {
    return this.#doubted;
  }

  state(): ReflectorState {
    return this.#state;
  }

  stats(): ReflectorStats {
    return { ...this.#stats };
  }

  async #list(signal: AbortSignal): Promise<string> {
    // Where this one fails, what was asked for is still to come: what is kept may be wrong.
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
    this.#doubted = false;
    this.#stats.lists += 1;
    if (this.#failures === 0) this.#enter({ state: 'listing' });
    try {
      return await this.#collect(signal, (items) => this.#firstPage(signal, items));
    } catch (error) {
      if (!isExpired(error)) throw error;
      // The snapshot behind the pages is gone: begin again, in one piece, as client-go's pager does.
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
      bounds.took(items.length);
      this.#isolated(() => collector.add(items, version));
    };
    const first = {
      add,
      // The first page again is another list: what the one before it showed may be gone since.
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
        await this.#hand(page, add);
        const token = bounds.next(page);
        if (token === undefined) break;
        // Whoever waits for this list goes on without it for now.
        if (bounds.ageMs > slowListMs)
          this.#trouble(
            'degraded',
            `${this.#listName} has not come to its end after ${slowListMs / 1000} s; it goes on`,
          );
        page = await this.#page(signal, { limit: pageSize, continue: token, items: next });
      }
      const { resourceVersion } = page;
      this.#isolated(() => collector.commit(resourceVersion));
      return resourceVersion;
    } catch (error) {
      this.#isolated(() => collector.abandon(error instanceof EndlessListError));
      throw error;
    }
  }

  /** What of a page was not handed over while it arrived. */
  async #hand({ items, resourceVersion }: ListPage, add: ItemSink['add']): Promise<void> {
    add(items.slice(0, handedAtOnce), resourceVersion);
    for (let from = handedAtOnce; from < items.length; from += handedAtOnce) {
      await yieldToLoop();
      add(items.slice(from, from + handedAtOnce), resourceVersion);
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
    return client.list(resource, { deadlineMs: this.#tuning.pageDeadlineMs, ...this.#scope(), ...extra, signal });
  }

  #watchUntilDoubt(resourceVersion: string, signal: AbortSignal): Promise<void> {
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
    // Servers answer a too old version with an empty success for some kinds (kubernetes/kubernetes#104171).
    if (this.#emptyWatches >= this.#tuning.emptyWatches) {
      this.#emptyWatches = 0;
      throw new KubeProtocolError(this.name, 'the server ends its watches at once');
    }
    if (livedMs < shortWatchMs) await clock.sleep((shortWatchMs - livedMs) * (1 + random.next()), signal);
  }

  /** After a silence: whether the server is behind the version that the next watch would start from. */
  async #wentBack(position: string, signal: AbortSignal): Promise<boolean> {
    if (!this.#silent) return false;
    // Also where it is forbidden: a server that has just started refuses what it allows, and then it takes a watch from the future.
    const { resourceVersion } = await this.#page(signal, { limit: 1 });
    this.#silent = false;
    if (!isOlderVersion(resourceVersion, position)) return false;
    this.#sayWentBack({ kind: groupKindName(this.#options.resource), version: resourceVersion, before: position });
    return true;
  }

  #sayWentBack(found: WentBack): void {
    const { logger, onWentBack } = this.#options;
    if (onWentBack !== undefined) this.#isolated(() => onWentBack(found));
    else logger.warn('The resource versions of the API server went back; reading everything again', { ...found });
  }

  #take(event: WatchEvent): void {
    if (event.type === 'BOOKMARK') {
      this.#stats.bookmarks += 1;
      // Bookmarks only ever move on: this server is not where it was.
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

  /** Says what is wrong, decides how to go on, and waits. */
  async #fail(error: unknown, startedAt: number, signal: AbortSignal): Promise<void> {
    const { clock, logger, resource } = this.#options;
    if (this.#resourceVersion !== undefined && clock.monotonic() - startedAt >= healthyWatchMs) this.#failures = 0;
    this.#failures += 1;
    this.#stats.failures += 1;
    const listing = this.#resourceVersion === undefined;
    const ending = this.#isStuck(error) ? 'relist' : endingOf(error);
    if (ending === 'relist') this.#resourceVersion = undefined;
    // A server that was set back while we were cut off takes a watch from the future without a word: look where it is before resuming.
    else this.#silent = true;
    const forbidden = isForbidden(error);
    // A watch that was cut once and comes back at once is daily life, not trouble.
    if (forbidden || listing || this.#failures > 1) {
      this.#trouble(forbidden ? 'forbidden' : 'degraded', outsideText('server', messageOf(error)));
    } else if (ending === 'relist') this.#enter({ state: 'listing' });
    const waitMs = this.#waitAfter(error, forbidden, listing || ending === 'relist');
    logger.debug('Watch or list failed', { kind: groupKindName(resource), error, ending, waitMs });
    await clock.sleep(waitMs, signal);
  }

  /**
   * From this place there may be no way on (an event that the server cannot write), or there is none back to it: after a long time behind a proxy that
   * answers for a server that is down, its versions may have passed ours although it was set back.
   */
  #isStuck(error: unknown): boolean {
    const isRefusal = error instanceof KubeApiError && [401, 403, 429].includes(error.status);
    return !isRefusal && this.#failures % resumesAtOnePlace === 0;
  }

  #waitAfter(error: unknown, forbidden: boolean, listing: boolean): number {
    const { backoffMs, backoffCapMs, forbiddenRetryMs } = this.#tuning;
    const jitter = 1 + this.#options.random.next();
    // An API server that has just started refuses what it allows, until it has read its roles: who was let in before tries again soon.
    const isNew = this.#everListed && this.#failures <= refusalsOfAStart;
    if (forbidden && !isNew)
      return Math.min(10 * forbiddenRetryMs, forbiddenRetryMs * 2 ** (this.#failures - 1)) * jitter;
    const told = error instanceof DriftlessError && typeof error.retry === 'object' ? error.retry.afterMs : 0;
    // An expired version is an invitation to list: the first time there is nothing to wait for.
    if (listing && this.#failures === 1 && (isExpired(error) || isTooLargeVersion(error))) return told;
    return Math.max(told, Math.min(backoffCapMs, backoffMs * 2 ** Math.min(20, this.#failures - 1)) * jitter);
  }

  #trouble(state: 'degraded' | 'forbidden', message: string): void {
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

  /** A fault of ours must not cost us the watch (T-JS-7). */
  #isolated(body: () => void): void {
    try {
      body();
    } catch (error) {
      this.#stats.sinkErrors += 1;
      this.#options.logger.error('Handler of Kubernetes events failed', { reflector: this.name, error });
    }
  }
}

/** So many refusals in a row may come from a server that has just started: about half a minute of them. */
const refusalsOfAStart = 5;

/** So many failures in a row, about two minutes of them: then everything is listed again. */
const resumesAtOnePlace = 8;

/** Only a server that cannot continue costs a new list; everything else resumes where we are. */
function endingOf(error: unknown): Ending {
  if (error instanceof KubeProtocolError || isExpired(error) || isTooLargeVersion(error)) return 'relist';
  // A data store is set back while its API server is down; the versions may have passed ours by the time that it answers.
  if (error instanceof KubeConnectionError && error.unreachable) return 'relist';
  if (!(error instanceof KubeApiError)) return 'resume';
  // 404: the kind is gone, and if it comes back its versions start anew. 400, 422: this version means nothing to the server.
  return [400, 404, 405, 422].includes(error.status) ? 'relist' : 'resume';
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
