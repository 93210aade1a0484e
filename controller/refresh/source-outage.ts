import { defined, newAbortController } from '#base';
import type { Clock, ClockTimer } from '#base';
import { equalSourceLists } from '#compare';
import { isUnreachable } from '#desired';
import { appKeyOf, sourcesOf } from '#model';
import type { HandlerResult } from '#queues';
import type { AppKey, Application } from '#model';
import { compareLevel } from '../application/freshness.ts';
import type { DueRefresh, RefreshRequest } from '../application/freshness.ts';
import { waitOn } from '../comparison/memory.ts';
import type { AppMemories, AppMemory } from '../comparison/memory.ts';
import { reportedSince } from '../decide/sources.ts';
import type { RefreshConfig, RefreshPass } from './pass.ts';

/** Between two reads of an unreadable source, changes are compared with the last good rendering. */
const sourceRetryMs = 29_000;
/** How long a source may take before a changed live object ends the wait. */
const sourcePatienceMs = 1000;
/** The same for the first comparison of this process. */
const startPatienceMs = 10_000;

/**
 * The revisions of the last good rendering of the sources in the spec: those that the Application
 * shows, or, if it shows an error, of the last comparison or sync. Undefined if there are none, or
 * they have served for longer than `limitMs` (0: no limit).
 */
function lastGoodRevisions(
  app: Application,
  memory: AppMemory,
  { now, limitMs }: { readonly now: number; readonly limitMs: number },
): readonly string[] | undefined {
  if (limitMs > 0 && memory.sourceFailedAt !== undefined && now - memory.sourceFailedAt > limitMs) return undefined;
  const { sync, history } = app.status ?? {};
  const compared = sync?.comparedTo;
  const shown = sync === undefined || sync.status === 'Unknown' ? undefined : { ...sync, ...compared };
  const last = history?.at(-1);
  const known = [memory.lastGood, ...[shown, last].map(pinnedSources)];
  const isUsable = (one: AppMemory['lastGood']): boolean =>
    one !== undefined &&
    equalSourceLists(one.sources, sourcesOf(app.spec)) &&
    one.revisions.length === one.sources.length &&
    one.revisions.every((revision) => revision !== '');
  return known.find(isUsable)?.revisions;
}

/** The sources of a comparison or sync with their revisions. */
function pinnedSources(
  one: Partial<Pick<NonNullable<AppMemory['lastGood']>, 'sources'>> & {
    readonly source?: NonNullable<AppMemory['lastGood']>['sources'][number];
    readonly revision?: string;
    readonly revisions?: readonly string[];
  } = {},
): AppMemory['lastGood'] {
  const { source, sources = [], revision = '', revisions = [] } = one;
  if (sources.length > 0) return { sources, revisions };
  return source === undefined ? undefined : { sources: [source], revisions: [revision] };
}

/** The part of an outage that a comparison needs. */
export interface OutageTerms {
  readonly lastGood: readonly string[] | undefined;
  readonly hurry: AbortSignal | undefined;
  /** The revisions to compare while the sources are known to be unreadable. */
  readonly revisions: readonly string[] | undefined;
  /** The sources have been read, or left. */
  readonly end: () => void;
}

interface OutageDeps {
  readonly clock: Clock;
  readonly memories: Pick<AppMemories, 'note' | 'of'>;
}

/** Decides what passes do while the sources of an Application cannot be read, or are slow. */
export class SourceOutages {
  readonly #deps: OutageDeps;
  readonly #limitMs: number;
  readonly #graceMs: number;

  constructor(deps: OutageDeps, { lastGoodLimitMs = 0, repoErrorGraceMs }: RefreshConfig) {
    this.#deps = deps;
    this.#limitMs = lastGoodLimitMs;
    this.#graceMs = repoErrorGraceMs;
  }

  /**
   * During the grace period an unreadable source keeps the last comparison. Level 3 (a user
   * request, a changed source or a manual sync) reports the error at once, and its retries do not
   * accept an older answer of the repository.
   */
  tolerates(pass: RefreshPass, error: unknown): boolean {
    const { key, memory, refresh } = pass;
    const since = memory.sourceFailedAt ?? pass.now;
    const mustResolve = refresh.level === compareLevel.forceResolve;
    this.#deps.memories.note(key, {
      sourceFailedAt: since,
      // Counts from now: a source that hangs may have taken longer than the pause.
      sourceRetryAt: this.#deps.clock.monotonic() + sourceRetryMs,
      ...(mustResolve ? { owesResolution: isUnreachable(error) } : {}),
    });
    const tolerated = !mustResolve && pass.now - since <= this.#graceMs;
    if (tolerated) pass.logger.warn('Ignoring temporary failed attempt to compare app state against repo', { error });
    return tolerated;
  }

  /**
   * The pass for a due refresh. While the sources are known to be unreadable, a change is compared
   * with the last good rendering at once, and does not wait for them.
   */
  passOf(app: Application, due: DueRefresh): DueRefresh {
    const { clock, memories } = this.#deps;
    const key = appKeyOf(app);
    const memory = memories.of(key);
    const since = memory.sourceFailedAt ?? reportedSince(app);
    // Another replica, or this one before its restart, has reported the outage.
    if (since !== undefined && memory.sourceFailedAt === undefined)
      memories.note(key, { sourceFailedAt: since, sourceRetryAt: clock.monotonic() + sourcePatienceMs });
    if (due.level < compareLevel.latest) return due;
    const isPaused = memory.sourceRetryAt !== undefined && clock.monotonic() < memory.sourceRetryAt;
    if (!isPaused || due.requested !== undefined || this.#lastGood(app, memory) === undefined) {
      memories.note(key, { sourceRetryAt: undefined });
      return due;
    }
    const { reason, cause, resources } = due;
    return { level: compareLevel.recent, hard: false, reason, cause, ...defined({ resources }) };
  }

  begin({ asked, key, memory, refresh }: RefreshPass, app: Application): OutageTerms {
    const lastGood = this.#lastGood(app, memory);
    const isDeep = refresh.level >= compareLevel.latest;
    const isAway = memory.sourceFailedAt !== undefined && !isDeep;
    const patience = new SourcePatience(this.#deps.clock);
    const hurries = isDeep && asked === undefined && lastGood !== undefined;
    const { memories } = this.#deps;
    if (hurries) memories.note(key, { hurry: () => patience.hurry(sourcePatienceMs) });
    // Drift from before the start causes no event.
    if (hurries && memory.lastGood === undefined) patience.hurry(startPatienceMs);
    return {
      lastGood,
      hurry: hurries ? patience.signal : undefined,
      revisions: isAway ? lastGood : undefined,
      end: () => {
        patience.end();
        memories.note(key, { hurry: undefined });
      },
    };
  }

  /** When an unreadable source is read again; undefined: it is readable. */
  untilRetry(key: AppKey, payload: RefreshRequest): HandlerResult<RefreshRequest> | undefined {
    const { clock, memories } = this.#deps;
    const memory = memories.of(key);
    if (memory.sourceRetryAt === undefined) return undefined;
    const ms = Math.max(0, memory.sourceRetryAt - clock.monotonic()) + 1;
    const reason = { cause: 'source', what: 'its source, which cannot be read', since: memory.sourceFailedAt } as const;
    memories.note(key, waitOn(memory, reason, clock.now(), ms));
    // One that owes a resolution makes it deeper.
    return { requeueAfterMs: ms, priority: 'resync', payload: { ...payload, level: compareLevel.latest } };
  }

  #lastGood(app: Application, memory: AppMemory): readonly string[] | undefined {
    return lastGoodRevisions(app, memory, { now: this.#deps.clock.now(), limitMs: this.#limitMs });
  }
}

/** Ends the wait for sources some time after it began, as soon as a live object has changed. */
class SourcePatience {
  readonly #clock: Clock;
  readonly #since: number;
  readonly #hurry = newAbortController();
  #timer: ClockTimer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  get signal(): AbortSignal {
    return this.#hurry.signal;
  }

  /** Ends the wait when it has lasted this long. */
  hurry(patienceMs: number): void {
    const restMs = this.#since + patienceMs - this.#clock.monotonic();
    this.#timer?.cancel();
    this.#timer = this.#clock.timer(Math.max(0, restMs), () => this.#hurry.abort());
  }

  end(): void {
    this.#timer?.cancel();
  }
}
