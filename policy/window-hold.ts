import type { SyncWindow } from '#model';
import { nextActivation, offsetOf } from './cron.ts';
import { canSync, isActive, matchingWindows, timesOf, WindowError } from './windows.ts';
import type { SyncTrigger, WindowFacts } from './windows.ts';

/** Why sync windows forbid a sync now, for display. */
export interface WindowHold {
  /** The windows in the way: `deny "0 22 * * *" for 8h in Europe/Berlin`. */
  readonly windows: readonly string[];
  /** Why a window is invalid; it forbids all syncs until it is corrected. */
  readonly error?: string;
  /** When a sync is permitted again, if nothing changes; absent: unknown. */
  readonly until?: number;
}

const horizonMs = 7 * 24 * 3_600_000;
/** Upper bound for the begins of one window that are considered. */
const maxBegins = 200;
const maxShownWindows = 3;
const maxShownLength = 100;

/** The windows for which {@link canSync} forbids a sync, and until when; undefined: none. */
export function windowHold(
  windows: readonly SyncWindow[] | undefined,
  app: WindowFacts,
  trigger: SyncTrigger,
  now: number,
): WindowHold | undefined {
  const { allowed, error } = canSync(windows, app, trigger, now);
  if (allowed) return undefined;
  if (error !== undefined) return { windows: [], error };
  try {
    const matched = matchingWindows(windows, app);
    const until = edgesAfter(matched, now).find((at) => canSync(matched, app, trigger, at + 1).allowed);
    return {
      windows: blocking(matched, now).slice(0, maxShownWindows).map(windowText),
      ...(until === undefined ? {} : { until }),
    };
  } catch (failure) {
    if (failure instanceof WindowError) return { windows: [], error: failure.message };
    throw failure;
  }
}

/** Active deny windows win; without one, all allow windows, none of which is active. */
function blocking(windows: readonly SyncWindow[], now: number): readonly SyncWindow[] {
  const denies = windows.filter((window) => window.kind === 'deny' && isActive(window, now));
  return denies.length > 0 ? denies : windows.filter(({ kind }) => kind === 'allow');
}

/** When windows begin and end within the horizon, in order. */
function edgesAfter(windows: readonly SyncWindow[], now: number): readonly number[] {
  const edges = windows.flatMap((window) => {
    const { schedule, durationMs } = timesOf(window);
    const offset = offsetOf(window.timeZone ?? '', now) ?? 0;
    const found: number[] = [];
    let begin = nextActivation(schedule, now + offset - durationMs);
    for (let i = 0; i < maxBegins && begin !== undefined && begin < now + offset + horizonMs; i += 1) {
      found.push(begin - offset, begin - offset + durationMs);
      begin = nextActivation(schedule, begin);
    }
    return found;
  });
  return [...new Set(edges)].filter((at) => at > now).sort((a, b) => a - b);
}

function windowText({ kind, schedule, duration, timeZone }: SyncWindow): string {
  const shown = (text: string | undefined): string => (text ?? '').slice(0, maxShownLength);
  const zone = ['', 'UTC'].includes(timeZone ?? '') ? '' : ` in ${shown(timeZone)}`;
  return `${shown(kind)} "${shown(schedule)}" for ${shown(duration)}${zone}`;
}
