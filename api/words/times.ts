const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** A duration with at most two units, as kubectl prints ages: 40ms, 12s, 3m20s, 5h, 2d4h. */
export function shortDuration(ms: number): string {
  if (ms < secondMs) return `${Math.max(0, Math.round(ms))}ms`;
  if (ms < minuteMs) return `${Math.floor(ms / secondMs)}s`;
  if (ms < hourMs) return twoUnits(ms, [minuteMs, 'm'], [secondMs, 's']);
  if (ms < dayMs) return twoUnits(ms, [hourMs, 'h'], [minuteMs, 'm']);
  return twoUnits(ms, [dayMs, 'd'], [hourMs, 'h']);
}

type TimeUnit = readonly [number, string];

function twoUnits(ms: number, [bigMs, big]: TimeUnit, [smallMs, small]: TimeUnit): string {
  const rest = Math.floor((ms % bigMs) / smallMs);
  return `${Math.floor(ms / bigMs)}${big}${rest === 0 ? '' : `${rest}${small}`}`;
}

/** Times relative to the moment at which a replica assembled its answer. */
export class RelativeTimes {
  readonly #nowMs: number;

  /** @param now RFC 3339 */
  constructor(now: string) {
    this.#nowMs = Date.parse(now);
  }

  /** `3m20s ago`; undefined for an absent or unreadable time. */
  ago(time: string | undefined): string | undefined {
    const age = this.#ageMs(time);
    return age === undefined ? undefined : `${shortDuration(Math.max(0, age))} ago`;
  }

  /** `for 3m20s`. */
  lasting(time: string | undefined): string | undefined {
    const age = this.#ageMs(time);
    return age === undefined ? undefined : `for ${shortDuration(Math.max(0, age))}`;
  }

  /** `until 14:02:11 UTC (in 40s)`; a time that has passed is `due`. */
  until(time: string | undefined): string | undefined {
    const age = this.#ageMs(time);
    if (time === undefined || age === undefined) return undefined;
    if (age >= 0) return 'due now';
    return `until ${this.#clockTime(time)} (in ${shortDuration(-age)})`;
  }

  /** `since 14:02:11 UTC (20m)`. */
  since(time: string | undefined): string | undefined {
    const age = this.#ageMs(time);
    if (time === undefined || age === undefined) return undefined;
    return `since ${this.#clockTime(time)} (${shortDuration(Math.max(0, age))})`;
  }

  #ageMs(time: string | undefined): number | undefined {
    const at = Date.parse(time ?? '');
    return Number.isNaN(at) ? undefined : this.#nowMs - at;
  }

  /** With the date unless it is today's. */
  #clockTime(time: string): string {
    const text = new Date(time).toISOString();
    const [day, clock] = [text.slice(0, 10), text.slice(11, 19)];
    const today = new Date(this.#nowMs).toISOString().slice(0, 10);
    return `${day === today ? '' : `${day} `}${clock} UTC`;
  }
}
