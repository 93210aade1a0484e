import { pino } from 'pino';
import type { DestinationStream } from 'pino';
import { DriftlessError, messageOf, outsideText, Secret } from '#base';

/**
 * Values of a log line. Nouns as keys, never manifests, never credentials (those are `Secret` and print as ***). Every text in it, however deep, and
 * its name pass through `outsideText` of #base: they may come from anywhere.
 */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Structured log. Messages are constant texts, what varies goes into fields; identity (application, cluster, shard) into a child
 * logger. Pass an error as field `error`: its code and fields are added.
 */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  child(fields: LogFields): Logger;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface LogOptions {
  readonly level: LogLevel;
  /** `json`: one object a line in Argo CD's envelope (time, level, msg). `text`: key=value for people. */
  readonly format: 'json' | 'text';
  /** Where lines go; stdout by default. */
  readonly destination?: { write(line: string): unknown };
}

/** A logger over pino. Lines are written synchronously, so that the last ones before an exit are not lost. */
export function createLogger(options: LogOptions): Logger {
  const target = options.destination ?? process.stdout;
  const stream: DestinationStream = {
    write: (line) => {
      target.write(options.format === 'json' ? line : textLine(line));
    },
  };
  const root = pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label === 'warn' ? 'warning' : label }) },
    },
    stream,
  );
  return wrap(root);
}

type Pino = Pick<ReturnType<typeof pino>, 'debug' | 'info' | 'warn' | 'error' | 'child'>;

function wrap(inner: Pino): Logger {
  return {
    debug: (message, fields) => inner.debug(printable(fields), clean(message)),
    info: (message, fields) => inner.info(printable(fields), clean(message)),
    warn: (message, fields) => inner.warn(printable(fields), clean(message)),
    error: (message, fields) => inner.error(printable(fields), clean(message)),
    child: (fields) => wrap(inner.child(printable(fields))),
  };
}

function printable(fields: LogFields | undefined): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields ?? {})) {
    if (value instanceof DriftlessError) Object.assign(out, plain({ ...value.fields, code: value.code }, 0));
    out[clean(key)] = plain(value, 0);
  }
  return out;
}

const deepest = 6;
const mostMembers = 200;

/** A value as plain JSON. What is too deep, or too much, is left out: a log line is no place for objects. */
function plain(value: unknown, depth: number): unknown {
  switch (typeof value) {
    case 'string':
      return clean(value);
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
  if (value instanceof Error) return clean(messageOf(value));
  if (value instanceof Secret || value instanceof URL) return clean(value.toString());
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  if (depth === deepest) return '…';
  if (value instanceof Map || value instanceof Set) return plain([...value], depth);
  if (Array.isArray(value)) return value.slice(0, mostMembers).map((item: unknown) => plain(item, depth + 1));
  const members = Object.entries(value).slice(0, mostMembers);
  return Object.fromEntries(members.map(([key, member]) => [clean(key), plain(member, depth + 1)]));
}

function clean(text: string): string {
  return outsideText('field', text);
}

function textLine(line: string): string {
  const { time, level, msg, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const fields = Object.entries(rest).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? quote(value) : JSON.stringify(value)}`,
  );
  return `${String(time)} ${String(level).toUpperCase().padEnd(7)} ${String(msg)}${fields.length > 0 ? ` ${fields.join(' ')}` : ''}\n`;
}

function quote(text: string): string {
  return /[\s"=]/.test(text) || text === '' ? JSON.stringify(text) : text;
}

/** A logger that says nothing. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLogger,
};
