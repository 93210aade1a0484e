import { compileGlob, globMatch, isObject, parseGoDuration } from '#base';
import type { ApplicationDestination, SyncWindow } from '#model';
import { nextActivation, offsetOf, parseCron } from './cron.ts';
import type { CronSchedule } from './cron.ts';
import { entriesOrUnreadable, stringOrUndefined } from './readable.ts';

/**
 * The fields of an Application that sync windows select: its name, and its destination as written,
 * unresolved.
 */
export interface WindowFacts {
  readonly name: string;
  readonly destination: ApplicationDestination;
}

/**
 * How the sync was requested. `startedAt` (milliseconds) is set for an operation in progress: some
 * windows let it run over.
 */
export interface SyncTrigger {
  readonly manual: boolean;
  readonly startedAt?: number;
}

export interface SyncVerdict {
  readonly allowed: boolean;
  /** A matching window is invalid; no sync until it is fixed. */
  readonly error?: string;
}

/**
 * Reports whether this Application may sync now (Argo CD: SyncWindows.Matches and CanSync). A
 * window is active strictly between start and end, in its time zone with the offset at `now`; an
 * unknown zone is UTC. An active deny window wins, then an active allow window; an inactive allow
 * window blocks what it selects. An invalid window blocks everything that it may select.
 * Differences: an unknown kind or a pattern that is no glob is invalid; upstream the window has no
 * effect. An allow window whose schedule never fires (30 February) is never active, upstream
 * always. A deny window like that is always active in both.
 */
export function canSync(
  windows: readonly SyncWindow[] | undefined,
  app: WindowFacts,
  trigger: SyncTrigger,
  now: number,
): SyncVerdict {
  try {
    const matched = matchingWindows(windows, app);
    return { allowed: matched.length === 0 || allowedAt(matched, trigger, now) };
  } catch (error) {
    if (error instanceof WindowError) return { allowed: false, error: `invalid sync windows: ${error.message}` };
    throw error;
  }
}

/** @throws WindowError for an invalid window */
export function matchingWindows(windows: readonly SyncWindow[] | undefined, app: WindowFacts): readonly SyncWindow[] {
  return entriesOrUnreadable(windows).filter((window): window is SyncWindow => selects(parseWindow(window), app));
}

/** Maximum length of a quoted duration or schedule in a message. */
const maxQuotedLength = 200;
export const maxDurationLength = 200;

/** Thrown inside this module only; canSync returns it as a value. */
export class WindowError extends Error {}

/** Reports whether all members of a window have the types of the schema. */
export function isReadableWindow(window: unknown): window is SyncWindow {
  try {
    checkTypes(window);
    return true;
  } catch (error) {
    if (error instanceof WindowError) return false;
    throw error;
  }
}

/** Members of a readable window whose words have no meaning: its kind, and lists of patterns. */
export function meaninglessMembers(window: SyncWindow): readonly ('kind' | (typeof patternLists)[number])[] {
  // Like a wrong type, a misspelt kind or pattern would lift a deny window.
  const isBroken = (pattern: unknown): boolean => typeof pattern === 'string' && compileGlob(pattern) === undefined;
  const lists = patternLists.filter((list) => entriesOrUnreadable(window[list]).some(isBroken));
  return ['allow', 'deny'].includes(window.kind ?? '') ? lists : ['kind', ...lists];
}

const patternLists = ['applications', 'clusters', 'namespaces'] as const;

/** @throws WindowError for an invalid window: it is unknown what it selects. */
function parseWindow(window: unknown): SyncWindow {
  checkTypes(window);
  const [member] = meaninglessMembers(window);
  if (member === 'kind') throw new WindowError('kind of a window is neither allow nor deny');
  if (member !== undefined) throw new WindowError('a pattern of a window is not a glob');
  return window;
}

/** @throws WindowError for a member of another type than in the schema. */
function checkTypes(window: unknown): asserts window is SyncWindow {
  if (!isObject(window)) throw new WindowError('a window is not an object');
  const check = (names: readonly string[], what: string, fits: (value: unknown) => boolean): void => {
    const wrong = names.find((name) => !fits(window[name] ?? undefined));
    if (wrong !== undefined) throw new WindowError(`${wrong} of a window is not ${what}`);
  };
  check(['kind', 'schedule', 'duration', 'timeZone'], 'a text', (value) => stringOrUndefined(value) !== undefined);
  check(patternLists, 'a list of texts', (value) =>
    entriesOrUnreadable(value).every((entry) => typeof entry === 'string'),
  );
  check(['andOperator', 'manualSync', 'syncOverrun'], 'true or false', (value) =>
    ['undefined', 'boolean'].includes(typeof value),
  );
}

function selects(window: SyncWindow, app: WindowFacts): boolean {
  const { name, server, namespace } = app.destination;
  const lists: [readonly string[] | null | undefined, readonly string[]][] = [
    [window.applications, [app.name]],
    [window.clusters, [name ?? '', server ?? ''].filter((text) => text !== '')],
    [window.namespaces, [namespace ?? '']],
  ];
  const verdicts = lists.flatMap(([patterns, values]) =>
    patterns === null || patterns === undefined || patterns.length === 0
      ? []
      : [values.some((value) => patterns.some((pattern) => globMatch(pattern, value)))],
  );
  if (window.andOperator === true) return verdicts.length > 0 && verdicts.every(Boolean);
  return verdicts.some(Boolean);
}

function allowedAt(windows: readonly SyncWindow[], trigger: SyncTrigger, now: number): boolean {
  const active = new Set(windows.filter((window) => isActive(window, now)));
  const denies = windows.filter((window) => window.kind === 'deny' && active.has(window));
  if (denies.length > 0) return isSyncExempt(denies, windows, trigger);
  const allows = windows.filter((window) => window.kind === 'allow');
  if (allows.some((window) => active.has(window))) return true;
  return allows.length === 0 || isSyncExempt(allows, windows, trigger);
}

/** The blocking windows allow a manual sync, or one that began while it was allowed. */
function isSyncExempt(inTheWay: readonly SyncWindow[], windows: readonly SyncWindow[], trigger: SyncTrigger): boolean {
  if (trigger.manual && inTheWay.every((window) => window.manualSync === true)) return true;
  if (trigger.startedAt === undefined || !inTheWay.every((window) => window.syncOverrun === true)) return false;
  return allowedAt(windows, { manual: trigger.manual }, trigger.startedAt);
}

export function isActive(window: SyncWindow, now: number): boolean {
  const { schedule, durationMs } = timesOf(window);
  const local = now + (offsetOf(window.timeZone ?? '', now) ?? 0);
  const next = nextActivation(schedule, local - durationMs);
  return next === undefined ? window.kind === 'deny' : next < local;
}

/** @throws WindowError for a schedule or a duration that cannot be parsed */
export function timesOf(window: SyncWindow): { readonly schedule: CronSchedule; readonly durationMs: number } {
  const [scheduleText, durationText] = [window.schedule ?? '', window.duration ?? ''];
  const schedule = parseCron(scheduleText);
  if ('error' in schedule)
    throw new WindowError(`cannot parse schedule '${scheduleText.slice(0, maxQuotedLength)}': ${schedule.error}`);
  const durationMs = durationText.length > maxDurationLength ? undefined : parseGoDuration(durationText);
  if (durationMs === undefined)
    throw new WindowError(
      `cannot parse duration '${durationText.slice(0, maxQuotedLength)}': not a duration such as 1h30m`,
    );
  return { schedule, durationMs };
}
