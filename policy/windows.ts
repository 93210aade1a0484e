import { globMatch, isObject, parseGoDuration } from '#base';
import type { ApplicationDestination, SyncWindow } from '#model';
import { nextActivation, offsetOf, parseCron } from './cron.ts';
import { listOf, textOf } from './readable.ts';

/** What a sync window looks at: the application's name and its destination as the spec writes it, unresolved. */
export interface WindowFacts {
  readonly name: string;
  readonly destination: ApplicationDestination;
}

/** How the sync was asked for. `startedAt` (milliseconds) is that of an operation under way: some windows let it run over. */
export interface SyncTrigger {
  readonly manual: boolean;
  readonly startedAt?: number;
}

export interface SyncVerdict {
  readonly allowed: boolean;
  /** A window that applies cannot be read; nothing may sync until it is fixed. */
  readonly error?: string;
}

/**
 * May this application sync now? (Argo CD: SyncWindows.Matches and CanSync.) A window is active strictly between its start and its end,
 * reckoned in its time zone with the offset that holds at `now`; a zone that nobody knows is UTC. An active deny window wins, then an active
 * allow window; an allow window that is not active closes what it selects. A window that cannot be read closes everything it may select.
 *
 * Difference: an allow window whose schedule never fires (30 February) is never active; upstream takes it as always active, as it does, and
 * as is done here, with a deny window.
 */
export function canSync(
  windows: readonly SyncWindow[] | undefined,
  app: WindowFacts,
  trigger: SyncTrigger,
  now: number,
): SyncVerdict {
  try {
    const matched = listOf(windows).filter((window): window is SyncWindow => selects(readable(window), app));
    return { allowed: matched.length === 0 || allowedAt(matched, trigger, now) };
  } catch (error) {
    if (error instanceof WindowError) return { allowed: false, error: `invalid sync windows: ${error.message}` };
    throw error;
  }
}

/** A duration is short; of a long text only this much is shown. */
const maxShown = 200;

/** Thrown inside this file only; canSync returns it as a value. */
class WindowError extends Error {}

/** @throws WindowError for what is no window: nobody can say then what it selects. */
function readable(window: unknown): SyncWindow {
  if (!isObject(window)) throw new WindowError('a window is not an object');
  const check = (names: readonly string[], what: string, fits: (value: unknown) => boolean): void => {
    const wrong = names.find((name) => !fits(window[name] ?? undefined));
    if (wrong !== undefined) throw new WindowError(`${wrong} of a window is not ${what}`);
  };
  check(['kind', 'schedule', 'duration', 'timeZone'], 'a text', (value) => textOf(value) !== undefined);
  check(['applications', 'clusters', 'namespaces'], 'a list of texts', (value) =>
    listOf(value).every((entry) => typeof entry === 'string'),
  );
  check(['andOperator', 'manualSync', 'syncOverrun'], 'true or false', (value) =>
    ['undefined', 'boolean'].includes(typeof value),
  );
  return window;
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
  if (denies.length > 0) return maySkip(denies, windows, trigger);
  const allows = windows.filter((window) => window.kind === 'allow');
  if (allows.some((window) => active.has(window))) return true;
  return allows.length === 0 || maySkip(allows, windows, trigger);
}

/** The windows in the way let a manual sync pass, or one that began while it was allowed. */
function maySkip(inTheWay: readonly SyncWindow[], windows: readonly SyncWindow[], trigger: SyncTrigger): boolean {
  if (trigger.manual && inTheWay.every((window) => window.manualSync === true)) return true;
  if (trigger.startedAt === undefined || !inTheWay.every((window) => window.syncOverrun === true)) return false;
  return allowedAt(windows, { manual: trigger.manual }, trigger.startedAt);
}

function isActive(window: SyncWindow, now: number): boolean {
  const [scheduleText, durationText] = [window.schedule ?? '', window.duration ?? ''];
  const schedule = parseCron(scheduleText);
  if ('error' in schedule)
    throw new WindowError(`cannot parse schedule '${scheduleText.slice(0, maxShown)}': ${schedule.error}`);
  const duration = durationText.length > maxShown ? undefined : parseGoDuration(durationText);
  if (duration === undefined)
    throw new WindowError(`cannot parse duration '${durationText.slice(0, maxShown)}': not a duration such as 1h30m`);
  const local = now + (offsetOf(window.timeZone ?? '', now) ?? 0);
  const next = nextActivation(schedule, local - duration);
  return next === undefined ? window.kind === 'deny' : next < local;
}
