import { fixedZone, utcZone } from './go-zone.ts';
import type { GoZone } from './go-zone.ts';
import { layoutForm, monthName, timeOf, weekdayName } from './go-time.ts';
import type { GoTime } from './template-values.ts';

/** The fields that were read from a text so far. */
interface ReadTime {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  nanosecond: number;
  yearDay: number | undefined;
  isPm: boolean | undefined;
  zone: GoZone;
}

/** Parses a time by Go's reference time, in UTC without a zone; undefined if the text differs. */
export function parseTime(layout: string, text: string): GoTime | undefined {
  const read: ReadTime = {
    year: 0,
    month: 1,
    day: 1,
    hour: 0,
    minute: 0,
    second: 0,
    nanosecond: 0,
    yearDay: undefined,
    isPm: undefined,
    zone: utcZone,
  };
  let at = 0;
  let rest: string | undefined = text;
  for (const match of layout.matchAll(layoutForm)) {
    rest = withoutPrefix(layout.slice(at, match.index), rest);
    rest = rest === undefined ? undefined : readPart(match[0], rest, read);
    if (rest === undefined) return undefined;
    at = match.index + match[0].length;
  }
  return withoutPrefix(layout.slice(at), rest) === '' ? built(read) : undefined;
}

function withoutPrefix(prefix: string, text: string): string | undefined {
  // A space of the layout stands for any number of spaces, as in Go.
  let at = 0;
  for (const char of prefix) {
    if (char === ' ') {
      if (at < text.length && text.charAt(at) !== ' ') return undefined;
      while (text.charAt(at) === ' ') at += 1;
    } else if (!text.startsWith(char, at)) return undefined;
    else at += char.length;
  }
  return text.slice(at);
}

type NumberField = 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second' | 'yearDay';

const numberParts: Readonly<Record<string, { readonly field: NumberField; readonly form: RegExp }>> = {
  '2006': { field: 'year', form: /^\d{4}/ },
  '1': { field: 'month', form: /^\d{1,2}/ },
  '01': { field: 'month', form: /^\d\d/ },
  '2': { field: 'day', form: /^\d{1,2}/ },
  _2: { field: 'day', form: /^ ?\d{1,2}/ },
  '02': { field: 'day', form: /^\d\d/ },
  __2: { field: 'yearDay', form: /^ {0,2}\d{1,3}/ },
  '002': { field: 'yearDay', form: /^\d{3}/ },
  '15': { field: 'hour', form: /^\d\d?/ },
  '3': { field: 'hour', form: /^\d{1,2}/ },
  '03': { field: 'hour', form: /^\d\d/ },
  '4': { field: 'minute', form: /^\d{1,2}/ },
  '04': { field: 'minute', form: /^\d\d/ },
  '5': { field: 'second', form: /^\d{1,2}/ },
  '05': { field: 'second', form: /^\d\d/ },
};

/** Reads one part of the layout, and returns the text behind it. */
function readPart(part: string, text: string, read: ReadTime): string | undefined {
  const number = numberParts[part];
  if (number !== undefined) return readNumber(number, text, read);
  if (/^[-Z]/.test(part)) return readZone(part, text, read);
  if (/^[.,]/.test(part)) return readFraction(part, text, read);
  switch (part) {
    case '06':
      return readShortYear(text, read);
    case 'PM':
    case 'pm':
      return readHalf(part, text, read);
    case 'MST':
      return readZoneName(text, read);
    default:
      return readName(part, text, read);
  }
}

function readShortYear(text: string, read: ReadTime): string | undefined {
  const year = /^\d\d/.exec(text)?.[0];
  if (year === undefined) return undefined;
  read.year = Number(year) + (Number(year) >= 69 ? 1900 : 2000);
  return text.slice(2);
}

/** Reads AM or PM, in the case of the layout. */
function readHalf(part: string, text: string, read: ReadTime): string | undefined {
  const half = text.slice(0, 2);
  const names = part === 'PM' ? ['AM', 'PM'] : ['am', 'pm'];
  if (!names.includes(half)) return undefined;
  read.isPm = half === part;
  return text.slice(2);
}

function readZoneName(text: string, read: ReadTime): string | undefined {
  const name = /^(?:[A-Z]{3,5}|[-+]\d\d)/.exec(text)?.[0];
  if (name === undefined) return undefined;
  if (name !== 'UTC') read.zone = fixedZone(0, name);
  return text.slice(name.length);
}

function readNumber(
  { field, form }: { readonly field: NumberField; readonly form: RegExp },
  text: string,
  read: ReadTime,
): string | undefined {
  const digits = form.exec(text)?.[0];
  if (digits === undefined) return undefined;
  read[field] = Number(digits.trim());
  const rest = text.slice(digits.length);
  // Go accepts a fraction behind the seconds that the layout does not name.
  const fraction = field === 'second' ? /^[.,](\d+)/.exec(rest) : null;
  if (fraction === null) return rest;
  read.nanosecond = nanoseconds(fraction[1] ?? '');
  return rest.slice(fraction[0].length);
}

function nanoseconds(digits: string): number {
  return Number(digits.slice(0, 9).padEnd(9, '0'));
}

function readFraction(part: string, text: string, read: ReadTime): string | undefined {
  // The seconds before it may have taken the fraction.
  if (!/^[.,]\d/.test(text)) return part.includes('9') || read.nanosecond > 0 ? text : undefined;
  const digits = /^[.,](\d+)/.exec(text)?.[1] ?? '';
  read.nanosecond = nanoseconds(digits);
  return text.slice(digits.length + 1);
}

function readZone(part: string, text: string, read: ReadTime): string | undefined {
  if (part.startsWith('Z') && text.startsWith('Z')) return text.slice(1);
  const hasColon = part.includes(':');
  const hasSeconds = /00:00$|0000$/.test(part);
  const form = hasColon ? /^([-+])(\d\d):(\d\d)(?::(\d\d))?/ : /^([-+])(\d\d)(\d\d)?(\d\d)?/;
  const match = form.exec(text);
  if (match === null) return undefined;
  const [, sign, hours, minutes, seconds] = match;
  const isShort = part.length === 3;
  if (isShort !== (minutes === undefined) || hasSeconds !== (seconds !== undefined)) return undefined;
  const size = Number(hours) * 3600 + Number(minutes ?? 0) * 60 + Number(seconds ?? 0);
  read.zone = fixedZone(sign === '-' ? -size : size);
  return text.slice(match[0].length);
}

function readName(part: string, text: string, read: ReadTime): string | undefined {
  const isMonth = part.startsWith('Jan');
  const isShort = part.length === 3;
  const names = isMonth
    ? [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map(monthName)
    : [0, 1, 2, 3, 4, 5, 6].map(weekdayName);
  const shown = names.map((name) => (isShort ? name.slice(0, 3) : name).toLowerCase());
  const index = shown.findIndex((name) => text.toLowerCase().startsWith(name));
  if (index < 0) return undefined;
  if (isMonth) read.month = index + 1;
  return text.slice(shown[index]?.length ?? 0);
}

/** The time that was read; undefined for a date or time of day that does not exist. */
function built(read: ReadTime): GoTime | undefined {
  const hour = hourOf(read);
  if (read.minute > 59 || read.second > 59 || hour > 23) return undefined;
  const { year, yearDay } = read;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const date = yearDay === undefined ? read : { month: 1, day: yearDay };
  const lastDay = yearDay === undefined ? daysOf(read.month, isLeap) : isLeap ? 366 : 365;
  if (date.day < 1 || date.day > lastDay) return undefined;
  return timeOf({ ...read, hour, month: date.month, day: date.day }, read.zone);
}

function hourOf({ hour, isPm }: ReadTime): number {
  if (isPm === true && hour < 12) return hour + 12;
  return isPm === false && hour === 12 ? 0 : hour;
}

/** The number of days; 0 for a month that does not exist. */
function daysOf(month: number, isLeap: boolean): number {
  if (month < 1 || month > 12) return 0;
  return new Date(Date.UTC(isLeap ? 2000 : 2001, month, 0)).getUTCDate();
}
