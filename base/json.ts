import { DriftlessError } from './errors.ts';

/**
 * A JSON value that keeps everything a Kubernetes object can hold: an integer that a double cannot
 * represent is a bigint (decision D13). Objects may come from JSON.parse, so an own key `__proto__`
 * is possible: use the functions here, never merge by plain assignment.
 */
export type Json = null | boolean | number | bigint | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}
/** The mutable form, for building values. */
export type MutableJson = null | boolean | number | bigint | string | MutableJson[] | MutableJsonObject;
export interface MutableJsonObject {
  [key: string]: MutableJson | undefined;
}

/**
 * Text that is not JSON. The message states position and cause, and never quotes the text: it may
 * be a Secret.
 */
export class JsonSyntaxError extends DriftlessError {
  constructor(message: string) {
    super('JSON_SYNTAX', message, { retry: 'never' });
  }
}

/** A value nested so deeply that recursive functions would exhaust the stack. */
export class JsonTooDeepError extends JsonSyntaxError {
  constructor() {
    super(`nested deeper than ${maxDepth} levels, the limit of Driftless`);
  }
}

/** The limit of YAML documents too. A CRD with a schema has about 60 levels. */
const maxDepth = 500;

// Sixteen digits in a row may be an integer beyond 2^53; shorter ones never are. A three-digit
// exponent, or 200 digits before a shorter one, may exceed a double. The scan costs 1 % of the
// parse.
const maybeBig = /[0-9]{16}|[0-9][eE]\+?[0-9]{3,}\s*(?:[,}\]]|$)/;
// Strings are matched only to skip them: a long number inside one (a time stamp, an id) needs no
// exact parser. One that is not closed reaches to the end: else each quote in it begins another.
const stringOrBig = /"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?$)|[0-9]{16,}(?![0-9.eE])|[0-9]{200}|[0-9][eE]\+?[0-9]{3}/gs;

/**
 * Parses JSON exactly: integers outside ±(2^53-1) become bigint, everything else is as in
 * JSON.parse. Refuses a number beyond a double, as Go's encoding/json does: JSON.parse turns it
 * into Infinity, which would be written back as null. Refuses deep nesting, so that all later code
 * may recurse.
 * @throws JsonSyntaxError with line and column; JsonTooDeepError
 */
export function parseJson(text: string): Json {
  if (mayHoldBig(text)) return new ExactParser(text).parse();
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    // The runtime's message quotes the text and lacks a position for short texts; ours does
    // neither.
    return new ExactParser(text).parse();
  }
  if (mayBeDeep(text) && isDeeperThan(value, maxDepth)) throw new JsonTooDeepError();
  return value;
}

/**
 * True if the text opens more than `maxDepth` brackets. Rare, and the check costs 1 % of the parse.
 */
function mayBeDeep(text: string): boolean {
  let left = maxDepth;
  for (const opening of '{[')
    for (let i = text.indexOf(opening); i >= 0; i = text.indexOf(opening, i + 1)) {
      left -= 1;
      if (left < 0) return true;
    }
  return false;
}

/** Whether the value is nested deeper. A value that contains itself is. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  for (const member of Array.isArray(value) ? (value as unknown[]) : Object.values(value))
    if (isDeeperThan(member, levels - 1)) return true;
  return false;
}

function mayHoldBig(text: string): boolean {
  if (!maybeBig.test(text)) return false;
  for (const [token] of text.matchAll(stringOrBig)) if (!token.startsWith('"')) return true;
  return false;
}

const whitespaceToken = /[ \t\n\r]*/y;
const stringToken = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y;
const numberToken = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
const wordToken = /true|false|null/y;

/** The slow path, for texts with a long integer or a syntax error. */
class ExactParser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): Json {
    const value = this.#value(0);
    this.#space();
    if (this.#at !== this.#text.length) this.#fail('unexpected text after the value');
    return value;
  }

  #value(depth: number): Json {
    this.#space();
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object(depth);
      case '[':
        return this.#array(depth);
      case '"':
        return this.#string();
      default:
        return this.#scalar();
    }
  }

  #object(depth: number): Json {
    if (depth >= maxDepth) throw new JsonTooDeepError();
    const result: MutableJsonObject = {};
    this.#at += 1;
    this.#space();
    if (this.#skip('}')) return result;
    for (;;) {
      this.#space();
      if (this.#text[this.#at] !== '"') this.#fail('expected a quoted key');
      const key = this.#string();
      this.#space();
      if (!this.#skip(':')) this.#fail("expected ':' after the key");
      setOwnMember(result, key, this.#value(depth + 1) as MutableJson);
      this.#space();
      if (this.#skip('}')) return result;
      if (!this.#skip(',')) this.#fail("expected ',' or '}'");
    }
  }

  #array(depth: number): Json {
    if (depth >= maxDepth) throw new JsonTooDeepError();
    const result: Json[] = [];
    this.#at += 1;
    this.#space();
    if (this.#skip(']')) return result;
    for (;;) {
      result.push(this.#value(depth + 1));
      this.#space();
      if (this.#skip(']')) return result;
      if (!this.#skip(',')) this.#fail("expected ',' or ']'");
    }
  }

  #string(): string {
    const token = this.#token(stringToken);
    if (token === undefined) this.#fail('unterminated string, invalid escape, or unescaped control character');
    const text = token[0];
    return text.includes('\\') ? (JSON.parse(text) as string) : text.slice(1, -1);
  }

  #scalar(): Json {
    const word = this.#token(wordToken)?.[0];
    if (word !== undefined) return JSON.parse(word) as Json;
    const token = this.#token(numberToken);
    if (token === undefined) this.#fail(this.#at >= this.#text.length ? 'unexpected end of text' : 'expected a value');
    const [digits, fraction, exponent] = token;
    const value = Number(digits);
    // Go refuses a number beyond a double too; converting a million digits to a bigint would also
    // be slow.
    if (!Number.isFinite(value)) this.#fail('number too large');
    const exact = fraction !== undefined || exponent !== undefined || Number.isSafeInteger(value);
    return exact ? value : BigInt(digits);
  }

  #token(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match !== null) this.#at += match[0].length;
    return match ?? undefined;
  }

  #skip(char: string): boolean {
    if (this.#text[this.#at] !== char) return false;
    this.#at += 1;
    return true;
  }

  #space(): void {
    this.#token(whitespaceToken);
  }

  #fail(why: string): never {
    const before = this.#text.slice(0, this.#at);
    const line = before.split('\n').length;
    const column = this.#at - before.lastIndexOf('\n');
    throw new JsonSyntaxError(`not valid JSON at line ${line}, column ${column}: ${why}`);
  }
}

/**
 * JSON text with bigints as bare integers. Keeps the key order and drops undefined members.
 * Undefined values, undefined items and numbers that JSON cannot represent become null.
 */
export function stringifyJson(value: Json | undefined, indent = 0): string {
  if (value === undefined) return 'null';
  try {
    return JSON.stringify(value, undefined, indent);
  } catch (error) {
    // The runtime refuses bigints and no other Json value.
    if (!(error instanceof TypeError) || !hasBigint(value)) throw error;
    return writeWithBigints(value, indent, '\n');
  }
}

/** JSON.stringify for values with bigints; `line` is a line break plus the current indentation. */
function writeWithBigints(value: Json, indent: number, line: string): string {
  if (typeof value === 'bigint') return String(value);
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const inner = line + ' '.repeat(indent);
  const colon = indent > 0 ? ': ' : ':';
  const isArray = Array.isArray(value);
  const parts: string[] = [];
  if (isArray)
    for (const item of value as readonly (Json | undefined)[])
      parts.push(writeWithBigints(item ?? null, indent, inner));
  else
    for (const [key, member] of Object.entries(value))
      if (member !== undefined) parts.push(`${JSON.stringify(key)}${colon}${writeWithBigints(member, indent, inner)}`);
  const [open, close] = isArray ? '[]' : '{}';
  if (parts.length === 0 || indent === 0) return `${open}${parts.join(',')}${close}`;
  return `${open}${inner}${parts.join(`,${inner}`)}${line}${close}`;
}

function hasBigint(value: Json | undefined): boolean {
  if (typeof value === 'bigint') return true;
  if (value === null || typeof value !== 'object') return false;
  for (const item of Array.isArray(value) ? value : Object.values(value)) if (hasBigint(item as Json)) return true;
  return false;
}

/**
 * The canonical text of a value, for hashing: keys sorted by code unit, no white space. Values that
 * `deepEqual` considers equal have equal texts, so an integer is written in full whether a number
 * or a bigint holds it.
 */
export function canonicalJson(value: Json | undefined): string {
  return writeSorted(value, (number) =>
    Number.isInteger(number) && !Number.isSafeInteger(number) ? String(BigInt(number)) : JSON.stringify(number),
  );
}

/**
 * Go's encoding/json form, for bytes that Go programs compare: sorted keys; `<`, `>`, `&`, U+2028
 * and U+2029 escaped.
 */
export function goJson(value: Json | undefined): string {
  return writeSorted(value, (number) => JSON.stringify(number)).replace(
    /[<>&\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function writeSorted(value: Json | undefined, number: (value: number) => string): string {
  if (value === undefined) return 'null';
  if (typeof value === 'number') return number(value);
  if (typeof value === 'bigint') return String(value);
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map((item) => writeSorted(item, number)).join(',')}]`;
  const object = value as JsonObject;
  const parts: string[] = [];
  for (const key of Object.keys(object).sort()) {
    const member = object[key];
    if (member !== undefined) parts.push(`${JSON.stringify(key)}:${writeSorted(member, number)}`);
  }
  return `{${parts.join(',')}}`;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Deep equality of JSON values. An undefined member equals an absent one; 1 equals 1n. */
export function deepEqual(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (typeof a === 'bigint' || typeof b === 'bigint') return isNumeric(a) && isNumeric(b) && a == b;
  if (Array.isArray(a) || Array.isArray(b)) return Array.isArray(a) && Array.isArray(b) && equalArrays(a, b);
  return isObject(a) && isObject(b) && equalObjects(a, b);
}

function isNumeric(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

function equalArrays(a: readonly Json[], b: readonly Json[]): boolean {
  return a.length === b.length && a.every((item, i) => deepEqual(item, b[i]));
}

function equalObjects(a: JsonObject, b: JsonObject): boolean {
  for (const key of Object.keys(a)) if (a[key] !== undefined && !deepEqual(a[key], ownMember(b, key))) return false;
  for (const key of Object.keys(b)) if (b[key] !== undefined && ownMember(a, key) === undefined) return false;
  return true;
}

/** The object's own member, never one of Object.prototype. */
export function ownMember(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets an own member, even if its name is `__proto__`. */
export function setOwnMember(object: MutableJsonObject, key: string, value: MutableJson | undefined): void {
  if (key === '__proto__')
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  else object[key] = value;
}

/** A mutable deep copy. Undefined members are dropped. */
export function cloneJson<T>(value: T): T {
  return copyJson(value) as T;
}

function copyJson(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(copyJson);
  const result: MutableJsonObject = {};
  for (const [key, member] of Object.entries(value))
    if (member !== undefined) setOwnMember(result, key, copyJson(member) as MutableJson);
  return result;
}

/** The value at a path of keys and indexes, undefined if the path does not exist. */
export function valueAt(value: Json | undefined, ...path: readonly (string | number)[]): Json | undefined {
  let here: Json | undefined = value;
  for (const step of path) {
    if (Array.isArray(here))
      here = typeof step === 'number' || /^[0-9]+$/.test(step) ? (here as readonly Json[])[Number(step)] : undefined;
    else if (isObject(here)) here = ownMember(here, String(step));
    else return undefined;
  }
  return here;
}
