import { offsetText } from './go-zone.ts';
import { GoTime } from './template-values.ts';

const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

export function monthName(month: number): string {
  return months[month - 1] ?? `%!Month(${month})`;
}

export function weekdayName(day: number): string {
  return weekdays[day] ?? `%!Weekday(${day})`;
}

/** 0001-01-01T00:00:00Z, the zero of time.Time. */
export const zeroTimeNs = -62_135_596_800_000_000_000n;

/** The calendar of a time in its zone. */
export interface GoCalendar {
  readonly year: number;
  /** From 1. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly nanosecond: number;
  /** From Sunday, which is 0. */
  readonly weekday: number;
  /** From 1. */
  readonly yearDay: number;
  readonly offset: number;
}

export function epochMsOf({ epochNs }: GoTime): number {
  return Number(floorDiv(epochNs, 1_000_000n));
}

export function floorDiv(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value % by < 0n ? quotient - 1n : quotient;
}

export function calendarOf(time: GoTime): GoCalendar {
  const offset = time.zone.offsetSeconds(epochMsOf(time));
  const seconds = floorDiv(time.epochNs, 1_000_000_000n);
  const local = new Date(Number(seconds) * 1000 + offset * 1000);
  const year = local.getUTCFullYear();
  const start = new Date(0).setUTCFullYear(year, 0, 1);
  return {
    year,
    month: local.getUTCMonth() + 1,
    day: local.getUTCDate(),
    hour: local.getUTCHours(),
    minute: local.getUTCMinutes(),
    second: local.getUTCSeconds(),
    nanosecond: Number(time.epochNs - seconds * 1_000_000_000n),
    weekday: local.getUTCDay(),
    yearDay: Math.floor((local.getTime() - start) / 86_400_000) + 1,
    offset,
  };
}

/** The parts of Go's reference time that a layout consists of; the first that fits wins. */
export const layoutForm =
  /January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|2006|_2006|__2|_2|002|01|02|03|04|05|06|15|PM|pm|-07:00:00|-07:00|-070000|-0700|-07|Z07:00:00|Z07:00|Z070000|Z0700|Z07|[.,](?:0+|9+)(?![0-9])|[1-5]/g;

/** Formats a time by Go's reference time (`2006-01-02`). @throws TemplateError */
export function formatTime(time: GoTime, layout: string): string {
  const at = calendarOf(time);
  return layout.replace(layoutForm, (part) => {
    if (part === 'MST') return time.zone.abbreviation(epochMsOf(time));
    if (part === '_2006') return `_${yearText(at.year)}`;
    if (/^[.,]/.test(part)) return fractionText(at.nanosecond, part);
    if (/^[-Z]/.test(part)) return zonePart(at.offset, part);
    return calendarParts[part]?.(at) ?? part;
  });
}

function pad(value: number, width = 2, fill = '0'): string {
  return String(value).padStart(width, fill);
}

function yearText(year: number): string {
  return year < 0 ? `-${pad(-year, 4)}` : pad(year, 4);
}

const calendarParts: Readonly<Record<string, (at: GoCalendar) => string>> = {
  January: ({ month }) => monthName(month),
  Jan: ({ month }) => monthName(month).slice(0, 3),
  '1': ({ month }) => String(month),
  '01': ({ month }) => pad(month),
  Monday: ({ weekday }) => weekdayName(weekday),
  Mon: ({ weekday }) => weekdayName(weekday).slice(0, 3),
  '2': ({ day }) => String(day),
  _2: ({ day }) => pad(day, 2, ' '),
  '02': ({ day }) => pad(day),
  __2: ({ yearDay }) => pad(yearDay, 3, ' '),
  '002': ({ yearDay }) => pad(yearDay, 3),
  '15': ({ hour }) => pad(hour),
  '3': ({ hour }) => String(hour % 12 || 12),
  '03': ({ hour }) => pad(hour % 12 || 12),
  '4': ({ minute }) => String(minute),
  '04': ({ minute }) => pad(minute),
  '5': ({ second }) => String(second),
  '05': ({ second }) => pad(second),
  '2006': ({ year }) => yearText(year),
  '06': ({ year }) => pad(((year % 100) + 100) % 100),
  PM: ({ hour }) => (hour >= 12 ? 'PM' : 'AM'),
  pm: ({ hour }) => (hour >= 12 ? 'pm' : 'am'),
};

function fractionText(nanosecond: number, part: string): string {
  const digits = pad(nanosecond, 9)
    .slice(0, part.length - 1)
    .padEnd(part.length - 1, '0');
  if (!part.includes('9')) return part.charAt(0) + digits;
  const shown = digits.replace(/0+$/, '');
  return shown === '' ? '' : part.charAt(0) + shown;
}

function zonePart(offset: number, part: string): string {
  if (part.startsWith('Z') && offset === 0) return 'Z';
  const colon = part.includes(':') ? ':' : '';
  const shown = offsetText(offset, colon);
  if (part.length === 3) return shown.slice(0, 3);
  if (!/00:00$|0000$/.test(part)) return shown;
  return `${shown}${colon}${pad(Math.abs(offset) % 60)}`;
}

/** The time `months` and so on later, as time.AddDate: the 31st of February is the 3rd of March. */
export function addDate(
  time: GoTime,
  { years, months: more, days }: { readonly years: number; readonly months: number; readonly days: number },
): GoTime {
  const at = calendarOf(time);
  return timeOf({ ...at, year: at.year + years, month: at.month + more, day: at.day + days }, time.zone);
}

/** The time of a calendar in a zone; fields beyond their range carry over. */
export function timeOf(
  at: Pick<GoCalendar, 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second' | 'nanosecond'>,
  zone: GoTime['zone'],
): GoTime {
  const date = new Date(0);
  date.setUTCFullYear(at.year, at.month - 1, at.day);
  date.setUTCHours(at.hour, at.minute, at.second);
  const guess = date.getTime() - zone.offsetSeconds(date.getTime()) * 1000;
  const epochMs = date.getTime() - zone.offsetSeconds(guess) * 1000;
  return new GoTime(BigInt(epochMs || 0) * 1_000_000n + BigInt(at.nanosecond), zone);
}
