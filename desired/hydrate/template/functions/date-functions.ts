import { formatGoDuration, parseGoDuration } from '#base';
import { addDate, calendarOf, floorDiv, formatTime, zeroTimeNs } from '../go-time.ts';
import { utcZone, zoneOf } from '../go-zone.ts';
import { parseTime } from '../parse-time.ts';
import { TemplateError } from '../template-error.ts';
import { fn } from '../template-function.ts';
import type { FunctionCall, FunctionTable } from '../template-function.ts';
import { GoInt, GoTime } from '../template-values.ts';
import type { TemplateValue } from '../template-values.ts';

const nsPerMs = 1_000_000n;
const nsPerSecond = 1_000_000_000n;

const dateInZone = fn('string,any,string', (call) =>
  formatted(call, call.text(0), { of: call.value(1), zone: call.text(2) }),
);
const dateModify = fn('string,time', (call) => modified(call) ?? call.time(1));
const mustDateModify = fn('string,time', (call) => {
  const time = modified(call);
  if (time === undefined) throw new TemplateError(`time: invalid duration ${JSON.stringify(call.text(0))}`);
  return time;
});

/** Dates. The local time is UTC, and `now` is the time of the rendering. */
export const dateFunctions: FunctionTable = {
  now: fn('', (call) => nowOf(call)),
  date: fn('string,any', (call) => formatted(call, call.text(0), { of: call.value(1), zone: '' })),
  htmlDate: fn('any', (call) => formatted(call, '2006-01-02', { of: call.value(0), zone: '' })),
  htmlDateInZone: fn('any,string', (call) => formatted(call, '2006-01-02', { of: call.value(0), zone: call.text(1) })),
  dateInZone,
  date_in_zone: dateInZone,
  dateModify,
  date_modify: dateModify,
  mustDateModify,
  must_date_modify: mustDateModify,
  toDate: fn('string,string', (call) => parseTime(call.text(0), call.text(1)) ?? new GoTime(zeroTimeNs, utcZone)),
  mustToDate: fn('string,string', (call) => {
    const time = parseTime(call.text(0), call.text(1));
    if (time !== undefined) return time;
    throw new TemplateError(`parsing time ${JSON.stringify(call.text(1))} as ${JSON.stringify(call.text(0))} failed`);
  }),
  unixEpoch: fn('time', (call) => String(floorDiv(call.time(0).epochNs, nsPerSecond))),
  ago: fn('any', (call) => {
    const ns = BigInt(call.nowMs) * nsPerMs - timeFrom(call.value(0), call).epochNs;
    return formatGoDuration(roundedSeconds(ns) * 1000);
  }),
  duration: fn('any', (call) => formatGoDuration(secondsOf(call.value(0)) * 1000)),
  durationRound: fn('any', (call) => roundedDuration(durationNs(call.value(0), call))),
};

function nowOf({ nowMs }: FunctionCall): GoTime {
  return new GoTime(BigInt(nowMs) * nsPerMs, utcZone);
}

/** A time, or seconds since 1970; for other values it is now, as in Sprig. */
function timeFrom(value: TemplateValue, call: FunctionCall): GoTime {
  if (value instanceof GoTime) return value;
  const isSeconds =
    value instanceof GoInt && (value.type === 'int' || value.type === 'int64' || value.type === 'int32');
  return isSeconds ? new GoTime(value.value * nsPerSecond, utcZone) : nowOf(call);
}

function formatted(
  call: FunctionCall,
  layout: string,
  { of, zone }: { readonly of: TemplateValue; readonly zone: string },
): string {
  const { epochNs } = timeFrom(of, call);
  return formatTime(new GoTime(epochNs, zoneOf(zone) ?? utcZone), layout);
}

function modified(call: FunctionCall): GoTime | undefined {
  const ms = parseGoDuration(call.text(0));
  if (ms === undefined) return undefined;
  const { epochNs, zone } = call.time(1);
  return new GoTime(epochNs + BigInt(Math.round(ms * 1e6)), zone);
}

function roundedSeconds(ns: bigint): number {
  const size = ns < 0n ? -ns : ns;
  const seconds = Number((size + nsPerSecond / 2n) / nsPerSecond);
  return ns < 0n ? -seconds : seconds;
}

function secondsOf(value: TemplateValue): number {
  if (value instanceof GoInt && value.type === 'int64') return Number(value.value);
  return typeof value === 'string' && /^[-+]?\d{1,15}$/.test(value) ? Number(value) : 0;
}

function durationNs(value: TemplateValue, call: FunctionCall): bigint {
  if (value instanceof GoTime) return BigInt(call.nowMs) * nsPerMs - value.epochNs;
  if (value instanceof GoInt && value.type === 'int64') return value.value;
  return typeof value === 'string' ? BigInt(Math.round((parseGoDuration(value) ?? 0) * 1e6)) : 0n;
}

const hourNs = 3600n * nsPerSecond;
const roundUnits: readonly (readonly [string, bigint])[] = [
  ['y', hourNs * 24n * 365n],
  ['mo', hourNs * 24n * 30n],
  ['d', hourNs * 24n],
  ['h', hourNs],
  ['m', 60n * nsPerSecond],
  ['s', nsPerSecond],
];

/** The size of a duration in its biggest unit. */
function roundedDuration(ns: bigint): string {
  const size = ns < 0n ? -ns : ns;
  for (const [name, unit] of roundUnits) if (size > unit) return `${size / unit}${name}`;
  return '0s';
}

/** The methods of a time.Time. */
export function timeMethods(time: GoTime): FunctionTable {
  const field = (value: number, type?: 'time.Month' | 'time.Weekday') => fn('', () => new GoInt(value, type));
  const at = calendarOf(time);
  const since = (by: bigint) => fn('', () => new GoInt(floorDiv(time.epochNs, by), 'int64'));
  return {
    Year: field(at.year),
    Month: field(at.month, 'time.Month'),
    Day: field(at.day),
    Hour: field(at.hour),
    Minute: field(at.minute),
    Second: field(at.second),
    Nanosecond: field(at.nanosecond),
    Weekday: field(at.weekday, 'time.Weekday'),
    YearDay: field(at.yearDay),
    Unix: since(nsPerSecond),
    UnixMilli: since(nsPerMs),
    UnixMicro: since(1000n),
    UnixNano: since(1n),
    UTC: fn('', () => new GoTime(time.epochNs, utcZone)),
    Local: fn('', () => new GoTime(time.epochNs, utcZone)),
    IsZero: fn('', () => time.epochNs === zeroTimeNs),
    Before: fn('time', (call) => time.epochNs < call.time(0).epochNs),
    After: fn('time', (call) => time.epochNs > call.time(0).epochNs),
    Equal: fn('time', (call) => time.epochNs === call.time(0).epochNs),
    Compare: fn(
      'time',
      (call) => new GoInt(Number(time.epochNs > call.time(0).epochNs) - Number(time.epochNs < call.time(0).epochNs)),
    ),
    AddDate: fn('int,int,int', (call) => addDate(time, { years: call.int(0), months: call.int(1), days: call.int(2) })),
    Format: fn('string', (call) => formatTime(time, call.text(0))),
    String: fn('', () => formatTime(time, '2006-01-02 15:04:05.999999999 -0700 MST')),
  };
}
