import { pino } from 'pino';
import type { DestinationStream } from 'pino';
import { DriftlessError, messageOf, outsideText, SecretValue, systemClock } from '#base';
import type { Clock } from '#base';
import { goTimeFormat } from './go-time.ts';
import { logfmtLine, terminalLine } from './logfmt.ts';

/**
 * Fields of a log line. Keys are nouns; values are never manifests or credentials (a `Secret`
 * prints as ***). Every text at any depth passes `outsideText` of #base, because it may come from
 * anywhere.
 */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Structured log. Messages are constant, except those of Argo CD, by which users search; everything
 * else that varies is a field. Identity (application, cluster, shard) belongs into a child logger.
 * Pass an error as field `error`: its code and fields are added.
 */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  child(fields: LogFields): Logger;
}

/** The names of logrus. Empty is `info`; nothing is logged at `fatal` and `panic`. */
export type LogLevel = keyof typeof pinoLevels;

const pinoLevels = {
  trace: 'debug',
  debug: 'debug',
  info: 'info',
  '': 'info',
  warn: 'warn',
  warning: 'warn',
  error: 'error',
  fatal: 'silent',
  panic: 'silent',
} as const;

export interface LogOptions {
  readonly level: LogLevel;
  /** `json`: objects in the envelope of Argo CD (time, level, msg). `text` or empty: logfmt. */
  readonly format: 'json' | 'text' | '';
  /** The layout of times, as Go's time package reads it. Empty: ISO 8601 with milliseconds. */
  readonly timestamp?: string;
  /** Text as on a terminal: colored, with the seconds since the start instead of the time. */
  readonly isColored?: boolean;
  /** Colored text with the time. */
  readonly hasFullTimestamp?: boolean;
  /** Default: the clock of the system. */
  readonly clock?: Clock;
  /** Destination of the lines; stdout by default. */
  readonly destination?: { write(line: string): unknown };
}

/**
 * Creates a logger on pino. Lines are written synchronously, so that the last ones before an exit
 * are not lost.
 */
export function createLogger(options: LogOptions): Logger {
  const target = options.destination ?? process.stdout;
  const { format, timestamp = '', clock = systemClock } = options;
  const toText = textWriter(options);
  const stream: DestinationStream = {
    write: (line) => {
      target.write(format === 'json' ? line : toText(line));
    },
  };
  const timeOf = timestamp === '' ? undefined : goTimeFormat(timestamp);
  const root = pino(
    {
      level: pinoLevels[options.level],
      base: null,
      timestamp:
        timeOf === undefined ? pino.stdTimeFunctions.isoTime : () => `,"time":${JSON.stringify(timeOf(clock.now()))}`,
      formatters: { level: (label) => ({ level: label === 'warn' ? 'warning' : label }) },
    },
    stream,
  );
  return loggerOver(root);
}

type PinoLogger = Pick<ReturnType<typeof pino>, 'debug' | 'info' | 'warn' | 'error' | 'child'>;

function loggerOver(inner: PinoLogger): Logger {
  return {
    debug: (message, fields) => inner.debug(printable(fields), cleanText(message)),
    info: (message, fields) => inner.info(printable(fields), cleanText(message)),
    warn: (message, fields) => inner.warn(printable(fields), cleanText(message)),
    error: (message, fields) => inner.error(printable(fields), cleanText(message)),
    child: (fields) => loggerOver(inner.child(printable(fields))),
  };
}

function printable(fields: LogFields | undefined): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields ?? {})) {
    if (value instanceof DriftlessError)
      for (const [own, given] of Object.entries({ ...value.fields, code: value.code }))
        out[fieldKey(own)] = plainValue(given, 0);
    out[fieldKey(key)] = plainValue(value, 0);
  }
  return out;
}

/** A field that has the name of a part of the envelope gets logrus' prefix. */
function fieldKey(key: string): string {
  const clean = cleanText(key);
  return clean === 'time' || clean === 'level' || clean === 'msg' ? `fields.${clean}` : clean;
}

const maxDepth = 6;
const maxMembers = 200;

/** Converts a value to plain JSON. Parts that are too deep or too many are left out. */
function plainValue(value: unknown, depth: number): unknown {
  switch (typeof value) {
    case 'string':
      return cleanText(value);
    case 'bigint':
      return String(value);
    case 'function':
    case 'symbol':
      return undefined;
    case 'object':
      return value === null ? null : plainObject(value, depth);
    default:
      return value;
  }
}

function plainObject(value: object, depth: number): unknown {
  if (value instanceof Error) return cleanText(messageOf(value));
  if (value instanceof SecretValue || value instanceof URL) return cleanText(value.toString());
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  if (depth === maxDepth) return '…';
  if (value instanceof Map || value instanceof Set) return plainValue([...value], depth);
  if (Array.isArray(value)) return value.slice(0, maxMembers).map((item: unknown) => plainValue(item, depth + 1));
  const members = Object.entries(value).slice(0, maxMembers);
  return Object.fromEntries(members.map(([key, member]) => [cleanText(key), plainValue(member, depth + 1)]));
}

function cleanText(text: string): string {
  return outsideText('field', text);
}

/** Turns a line of JSON into one of text. */
function textWriter({
  isColored = false,
  hasFullTimestamp = false,
  clock = systemClock,
}: LogOptions): (line: string) => string {
  const startedAt = clock.monotonic();
  return (line) => {
    const { time, level, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
    const record = { time: String(time), level: String(level), msg: String(msg), fields };
    if (!isColored) return logfmtLine(record);
    const seconds = Math.floor((clock.monotonic() - startedAt) / 1000);
    return terminalLine(record, hasFullTimestamp ? record.time : String(seconds).padStart(4, '0'));
  };
}

/** A logger that discards everything. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLogger,
};
