import { fieldsOf, trimSpace } from './go-text.ts';
import { isTimeZone } from './time-zones.ts';

/** An invalid schedule; the text follows robfig/cron. */
export interface CronError {
  readonly error: string;
}

/** Longer schedules are rejected, to bound parsing time. */
export const maxScheduleLength = 2000;
const longest = 2n ** 63n - 1n;

/**
 * Bit set of allowed values, and whether the field was a star (then it is ignored in "day of month
 * or day of week").
 */
interface CronField {
  readonly bits: readonly boolean[];
  readonly star: boolean;
}

export interface CronSchedule {
  readonly minute: CronField;
  readonly hour: CronField;
  readonly dayOfMonth: CronField;
  readonly month: CronField;
  readonly dayOfWeek: CronField;
  /** From a `TZ=Zone ` prefix; undefined: the zone of the caller's time, UTC here. */
  readonly zone?: string;
}

interface FieldBounds {
  readonly min: number;
  readonly max: number;
  readonly names: readonly string[];
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const bounds: readonly FieldBounds[] = [
  { min: 0, max: 59, names: [] },
  { min: 0, max: 23, names: [] },
  { min: 1, max: 31, names: [] },
  { min: 1, max: 12, names: months },
  { min: 0, max: 6, names: days },
];

/**
 * Parses five fields like robfig/cron v3 with Argo CD's options: names of months and days, `?` as
 * `*`, `N/step` runs to the end of the range, day of week 0 to 6 (7 is an error), no seconds, no
 * `@daily`, an optional `TZ=Zone ` or `CRON_TZ=Zone ` prefix.
 */
export function parseCron(text: string): CronSchedule | CronError {
  if (text === '') return { error: 'empty spec string' };
  if (text.length > maxScheduleLength)
    return { error: `${text.length} characters are too many (at most ${maxScheduleLength})` };
  const { zone, spec } = splitZone(text);
  if (zone !== undefined && zone !== 'Local' && offsetOf(zone, 0) === undefined)
    return { error: `provided bad location ${zone}` };
  if (spec.startsWith('@')) return { error: `parser does not accept descriptors: ${spec}` };
  const words = fieldsOf(spec);
  if (words.length !== 5) return { error: `expected exactly 5 fields, found ${words.length}: [${words.join(' ')}]` };
  const fields: CronField[] = [];
  for (const [i, word] of words.entries()) {
    const field = parseField(word, bounds[i] ?? { min: 0, max: 0, names: [] });
    if ('error' in field) return field;
    fields.push(field);
  }
  const [minute, hour, dayOfMonth, month, dayOfWeek] = fields as [
    CronField,
    CronField,
    CronField,
    CronField,
    CronField,
  ];
  return { minute, hour, dayOfMonth, month, dayOfWeek, ...(zone === undefined || zone === 'Local' ? {} : { zone }) };
}

/**
 * Splits off the zone, which ends at a space (only, as upstream). Without one the whole text is an
 * unknown zone.
 */
function splitZone(text: string): { readonly zone?: string; readonly spec: string } {
  if (!/^(?:CRON_)?TZ=/.test(text)) return { spec: trimSpace(text) };
  const [, zone = text, fields = ''] = /^(?:CRON_)?TZ=([^ ]*) (.*)$/s.exec(text) ?? [];
  return { zone, spec: trimSpace(fields) };
}

function parseField(word: string, range: FieldBounds): CronField | CronError {
  const bits: boolean[] = [];
  let star = false;
  for (const part of word.split(',').filter((item) => item !== '')) {
    const parsed = parseRange(part, range);
    if ('error' in parsed) return parsed;
    star ||= parsed.star;
    for (let value = parsed.start; value <= parsed.end; value += parsed.step) bits[value] = true;
  }
  return { bits, star };
}

interface CronRange {
  readonly start: number;
  readonly end: number;
  readonly step: number;
  readonly star: boolean;
}

function parseRange(part: string, range: FieldBounds): CronRange | CronError {
  const [base = '', stepText, ...moreSteps] = part.split('/');
  const limits = parseLimits(base, range);
  if ('error' in limits) return limits;
  if (moreSteps.length > 0) return { error: `too many slashes: ${part}` };
  const step = stepText === undefined ? 1 : integer(stepText);
  if (typeof step !== 'number') return step;
  const { start, star } = limits;
  // "N/step" runs from N to the end of the range.
  const end = stepText !== undefined && !base.includes('-') ? range.max : limits.end;
  if (start < range.min) return { error: `beginning of range (${start}) below minimum (${range.min}): ${part}` };
  if (end > range.max) return { error: `end of range (${end}) above maximum (${range.max}): ${part}` };
  if (start > end) return { error: `beginning of range (${start}) beyond end of range (${end}): ${part}` };
  if (step === 0) return { error: `step of range should be a positive number: ${part}` };
  return { start, end, step, star: star && step <= 1 };
}

/**
 * The part before the slash: a star, a value, or a range. Text after a star is ignored, as
 * upstream.
 */
function parseLimits(base: string, range: FieldBounds): Omit<CronRange, 'step'> | CronError {
  const [low = '', high, ...more] = base.split('-');
  if (low === '*' || low === '?') return { start: range.min, end: range.max, star: true };
  const start = valueOf(low, range.names);
  if (typeof start !== 'number') return start;
  if (more.length > 0) return { error: `too many hyphens: ${base}` };
  const end = high === undefined ? start : valueOf(high, range.names);
  return typeof end === 'number' ? { start, end, star: false } : end;
}

function valueOf(text: string, names: readonly string[]): number | CronError {
  const index = names.indexOf(text.toLowerCase());
  if (index < 0) return integer(text);
  return names.length === 12 ? index + 1 : index;
}

function integer(text: string): number | CronError {
  if (!/^[+-]?[0-9]+$/.test(text)) return { error: `failed to parse int from ${text}` };
  const value = Number(text);
  if (BigInt(text.replace('+', '')) > longest) return { error: `failed to parse int from ${text}: value out of range` };
  return value < 0 ? { error: `negative number (${value}) not allowed: ${text}` } : value;
}

/** Enough for five years of days and months, and the hours, minutes and seconds of a day. */
const maxSearchSteps = 5000;

/**
 * The first activation strictly after `from` (milliseconds since the epoch); undefined if there is
 * none within five years. Follows the steps of robfig/cron's Next to match it around clock changes:
 * an activation in a skipped hour is skipped, one in a repeated hour happens twice. Difference:
 * around a skipped whole day (Samoa, 2011) upstream never returns; this search ends without a
 * result.
 */
export function nextActivation(schedule: CronSchedule, from: number): number | undefined {
  const zone = schedule.zone ?? 'UTC';
  let t = new ZonedTime(Math.floor(from / 1000) * 1000 + 1000, zone);
  const yearLimit = t.year + 5;
  let reset = false;
  const lower = (cleared: () => ZonedTime): void => {
    if (!reset) t = cleared();
    reset = true;
  };
  for (let steps = 0; steps < maxSearchSteps && t.year <= yearLimit; steps += 1) {
    if (schedule.month.bits[t.month] !== true) {
      lower(() => t.at(t.year, t.month, 1));
      t = t.at(t.year, t.month + 1, t.day, t.hour, t.minute, t.second);
    } else if (!dayMatches(schedule, t)) {
      lower(() => t.at(t.year, t.month, t.day));
      t = t.at(t.year, t.month, t.day + 1, t.hour, t.minute, t.second);
      if (t.hour !== 0) t = t.plus((t.hour > 12 ? 24 - t.hour : -t.hour) * 3_600_000);
    } else if (schedule.hour.bits[t.hour] !== true) {
      lower(() => t.at(t.year, t.month, t.day, t.hour));
      t = t.plus(3_600_000);
    } else if (schedule.minute.bits[t.minute] !== true) {
      lower(() => t.truncated(60_000));
      t = t.plus(60_000);
    } else if (t.second !== 0) {
      lower(() => t.truncated(1000));
      t = t.plus(1000);
    } else return t.ms;
  }
  return undefined;
}

function dayMatches(schedule: CronSchedule, t: ZonedTime): boolean {
  const dayOfMonth = schedule.dayOfMonth.bits[t.day] === true;
  const dayOfWeek = schedule.dayOfWeek.bits[t.weekday] === true;
  if (schedule.dayOfMonth.star || schedule.dayOfWeek.star) return dayOfMonth && dayOfWeek;
  return dayOfMonth || dayOfWeek;
}

/** The subset of Go's time.Time in a zone that Next needs. */
class ZonedTime {
  readonly ms: number;
  readonly #zone: string;
  readonly #local: Date;

  constructor(ms: number, zone: string) {
    this.ms = ms;
    this.#zone = zone;
    this.#local = new Date(ms + (offsetOf(zone, ms) ?? 0));
  }

  get year(): number {
    return this.#local.getUTCFullYear();
  }
  get month(): number {
    return this.#local.getUTCMonth() + 1;
  }
  get day(): number {
    return this.#local.getUTCDate();
  }
  get weekday(): number {
    return this.#local.getUTCDay();
  }
  get hour(): number {
    return this.#local.getUTCHours();
  }
  get minute(): number {
    return this.#local.getUTCMinutes();
  }
  get second(): number {
    return this.#local.getUTCSeconds();
  }

  /**
   * Like Go's time.Date: fields may overflow, and a local time that is skipped or repeated uses the
   * offset before the change.
   */
  // eslint-disable-next-line max-params -- the fields of a date
  at(year: number, month: number, day: number, hour = 0, minute = 0, second = 0): ZonedTime {
    const asUtc = Date.UTC(year, month - 1, day, hour, minute, second);
    const guess = offsetOf(this.#zone, asUtc) ?? 0;
    const offset = guess === 0 ? 0 : (offsetOf(this.#zone, asUtc - guess) ?? 0);
    return new ZonedTime(asUtc - offset, this.#zone);
  }

  plus(ms: number): ZonedTime {
    return new ZonedTime(this.ms + ms, this.#zone);
  }

  truncated(unitMs: number): ZonedTime {
    return new ZonedTime(Math.floor(this.ms / unitMs) * unitMs, this.#zone);
  }
}

const maxFormatters = 1000;
const formatters = new Map<string, Intl.DateTimeFormat | undefined>();

/**
 * Offset of an IANA zone from UTC in milliseconds at an instant; undefined for an unknown zone. ""
 * is UTC.
 */
export function offsetOf(zone: string, ms: number): number | undefined {
  if (zone === '' || zone === 'UTC') return 0;
  if (!formatters.has(zone)) {
    if (formatters.size >= maxFormatters) formatters.clear();
    formatters.set(zone, formatterFor(zone));
  }
  const parts = formatters.get(zone)?.formatToParts(ms);
  if (parts === undefined) return undefined;
  const part = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.find((p) => p.type === type)?.value ?? 0);
  const local = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
  return local - Math.floor(ms / 1000) * 1000;
}

function formatterFor(zone: string): Intl.DateTimeFormat | undefined {
  if (!isTimeZone(zone)) return undefined;
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch {
    // A zone of the table that this engine does not know yet.
    return undefined;
  }
}
