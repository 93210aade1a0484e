/** Formats a time, in milliseconds since the epoch, in UTC. */
export type TimeFormat = (ms: number) => string;

const months = 'January February March April May June July August September October November December'.split(' ');
const days = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

/** The elements of a layout, each before those that are a prefix of it. */
const elements =
  /January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|_?2006|__2|_2|002|0[1-6]|15|[12345]|PM|pm|[-Z]07(?:0000|:00:00|00|:00)?|[.,](?:0+|9+)(?!\d)/g;

/**
 * Compiles a layout of Go's time package (`2006-01-02T15:04:05.000Z07:00`), which Argo CD takes for
 * the times of log lines. Times are in UTC with milliseconds. Everything that is no element of a
 * layout is literal text, as in Go.
 */
export function goTimeFormat(layout: string): TimeFormat {
  const parts: ((date: Date) => string)[] = [];
  let at = 0;
  for (const match of layout.matchAll(elements)) {
    const literal = layout.slice(at, match.index);
    const [element] = match;
    parts.push(() => literal, formatOf(element));
    at = match.index + element.length;
  }
  const rest = layout.slice(at);
  return (ms) => {
    const date = new Date(ms);
    return parts.map((part) => part(date)).join('') + rest;
  };
}

const simple: Readonly<Record<string, (date: Date) => string>> = {
  January: (date) => months[date.getUTCMonth()] ?? '',
  Jan: (date) => (months[date.getUTCMonth()] ?? '').slice(0, 3),
  Monday: (date) => days[date.getUTCDay()] ?? '',
  Mon: (date) => (days[date.getUTCDay()] ?? '').slice(0, 3),
  MST: () => 'UTC',
  '2006': (date) => padded(date.getUTCFullYear(), 4),
  _2006: (date) => `_${padded(date.getUTCFullYear(), 4)}`,
  '06': (date) => padded(date.getUTCFullYear() % 100, 2),
  '01': (date) => padded(date.getUTCMonth() + 1, 2),
  '1': (date) => String(date.getUTCMonth() + 1),
  '02': (date) => padded(date.getUTCDate(), 2),
  _2: (date) => String(date.getUTCDate()).padStart(2),
  '2': (date) => String(date.getUTCDate()),
  '002': (date) => padded(dayOfYear(date), 3),
  __2: (date) => String(dayOfYear(date)).padStart(3),
  '15': (date) => padded(date.getUTCHours(), 2),
  '03': (date) => padded(date.getUTCHours() % 12 || 12, 2),
  '3': (date) => String(date.getUTCHours() % 12 || 12),
  '04': (date) => padded(date.getUTCMinutes(), 2),
  '4': (date) => String(date.getUTCMinutes()),
  '05': (date) => padded(date.getUTCSeconds(), 2),
  '5': (date) => String(date.getUTCSeconds()),
  PM: (date) => (date.getUTCHours() < 12 ? 'AM' : 'PM'),
  pm: (date) => (date.getUTCHours() < 12 ? 'am' : 'pm'),
};

function formatOf(element: string): (date: Date) => string {
  const known = simple[element];
  if (known !== undefined) return known;
  if (element.startsWith('Z')) return () => 'Z';
  if (element.startsWith('-')) return () => element.replace('-', '+').replace('7', '0');
  return fractionFormat(element);
}

/** `.000` has fixed digits; `.999` has no trailing zeros, and nothing at all for a whole second. */
function fractionFormat(element: string): (date: Date) => string {
  const [separator = '', digit] = element;
  const count = Math.min(element.length - 1, 9);
  return (date) => {
    const digits = padded(date.getUTCMilliseconds(), 3).padEnd(count, '0').slice(0, count);
    const shown = digit === '0' ? digits : digits.replace(/0+$/, '');
    return shown === '' ? '' : separator + shown;
  };
}

function dayOfYear(date: Date): number {
  return Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / 86_400_000) + 1;
}

function padded(value: number, width: number): string {
  return String(value).padStart(width, '0');
}
