import { DriftlessError, messageOf } from './errors.ts';

/**
 * A JSON value that loses nothing a Kubernetes object can hold: an integer that a double cannot represent is a bigint
 * (DESIGN D13). Objects may come from JSON.parse, so an own key `__proto__` is possible: never merge with plain assignment,
 * use the functions here.
 */
export type Json = null | boolean | number | bigint | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}
/** The same while it is being built. */
export type MutableJson = null | boolean | number | bigint | string | MutableJson[] | MutableJsonObject;
export interface MutableJsonObject {
  [key: string]: MutableJson | undefined;
}

/** Text that is not JSON. */
export class JsonSyntaxError extends DriftlessError {
  constructor(message: string, cause?: unknown) {
    super('JSON_SYNTAX', message, { retry: 'never', ...(cause === undefined ? {} : { cause }) });
  }
}

// Sixteen digits in a row may be an integer beyond 2^53; anything shorter never is. The scan costs a hundredth of the parse.
const maybeBig = /[0-9]{16}/;

/**
 * Parses JSON exactly: integers outside ±(2^53-1) become bigint, all else is what JSON.parse gives.
 * @throws JsonSyntaxError
 */
export function parseJson(text: string): Json {
  try {
    if (!maybeBig.test(text)) return JSON.parse(text) as Json;
    return new ExactParser(text).parse();
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw error;
    throw new JsonSyntaxError(`not valid JSON: ${messageOf(error)}`, error);
  }
}

/** The slow path: only texts with a long run of digits come here. Strings are left to JSON.parse. */
class ExactParser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): Json {
    const value = this.#value(0);
    this.#space();
    if (this.#at !== this.#text.length) this.#fail();
    return value;
  }

  #value(depth: number): Json {
    if (depth > 10_000) throw new JsonSyntaxError('not valid JSON: nested deeper than 10000');
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
    const result: MutableJsonObject = {};
    this.#at += 1;
    this.#space();
    if (this.#skip('}')) return result;
    for (;;) {
      this.#space();
      if (this.#text[this.#at] !== '"') this.#fail();
      const key = this.#string();
      this.#space();
      if (!this.#skip(':')) this.#fail();
      setOwn(result, key, this.#value(depth + 1) as MutableJson);
      this.#space();
      if (this.#skip('}')) return result;
      if (!this.#skip(',')) this.#fail();
    }
  }

  #array(depth: number): Json {
    const result: Json[] = [];
    this.#at += 1;
    this.#space();
    if (this.#skip(']')) return result;
    for (;;) {
      result.push(this.#value(depth + 1));
      this.#space();
      if (this.#skip(']')) return result;
      if (!this.#skip(',')) this.#fail();
    }
  }

  #string(): string {
    const from = this.#at;
    this.#at += 1;
    while (this.#at < this.#text.length && this.#text[this.#at] !== '"')
      this.#at += this.#text[this.#at] === '\\' ? 2 : 1;
    this.#at += 1;
    return JSON.parse(this.#text.slice(from, this.#at)) as string;
  }

  #scalar(): Json {
    const token = /[^\s,\]}]*/y;
    token.lastIndex = this.#at;
    const word = token.exec(this.#text)?.[0] ?? '';
    this.#at += word.length;
    const value = JSON.parse(word) as Json;
    if (typeof value !== 'number' || Number.isSafeInteger(value) || !/^-?[0-9]+$/.test(word)) return value;
    return BigInt(word);
  }

  #skip(char: string): boolean {
    if (this.#text[this.#at] !== char) return false;
    this.#at += 1;
    return true;
  }

  #space(): void {
    while (/[\s]/.test(this.#text[this.#at] ?? '')) this.#at += 1;
  }

  #fail(): never {
    throw new JsonSyntaxError(`not valid JSON at position ${this.#at}`);
  }
}

/** JSON text with bigints as bare integers. Key order is kept; undefined members are left out. */
export function stringifyJson(value: Json | undefined, indent?: number): string {
  if (!hasBigint(value)) return JSON.stringify(value, undefined, indent);
  const bigs: bigint[] = [];
  const mark = '\u0000big';
  const text = JSON.stringify(
    value,
    (_key, item: unknown) => {
      if (typeof item !== 'bigint') return item;
      bigs.push(item);
      return `${mark}${bigs.length - 1}`;
    },
    indent,
  );
  return text.replace(/"\\u0000big([0-9]+)"/g, (_all, index: string) => String(bigs[Number(index)]));
}

function hasBigint(value: Json | undefined): boolean {
  if (typeof value === 'bigint') return true;
  if (value === null || typeof value !== 'object') return false;
  for (const item of Array.isArray(value) ? value : Object.values(value)) if (hasBigint(item as Json)) return true;
  return false;
}

/** The one text of a value: keys sorted by code unit, no white space. Equal values have equal texts; hash this. */
export function canonicalJson(value: Json | undefined): string {
  if (value === undefined) return 'null';
  if (value === null || typeof value !== 'object') return stringifyJson(value);
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(canonicalJson).join(',')}]`;
  const object = value as JsonObject;
  const parts: string[] = [];
  for (const key of Object.keys(object).sort()) {
    const member = object[key];
    if (member !== undefined) parts.push(`${JSON.stringify(key)}:${canonicalJson(member)}`);
  }
  return `{${parts.join(',')}}`;
}

/** As Go's encoding/json writes it: sorted keys and `<`, `>`, `&`, U+2028, U+2029 escaped. For bytes that Go programs compare. */
export function goJson(value: Json | undefined): string {
  return canonicalJson(value).replace(
    /[<>&\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
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
  for (const key of Object.keys(a)) if (a[key] !== undefined && !deepEqual(a[key], own(b, key))) return false;
  for (const key of Object.keys(b)) if (b[key] !== undefined && own(a, key) === undefined) return false;
  return true;
}

/** The object's own member, never one of Object.prototype. */
export function own(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets an own member, also when its name is `__proto__`. */
export function setOwn(object: MutableJsonObject, key: string, value: MutableJson | undefined): void {
  if (key === '__proto__')
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  else object[key] = value;
}

/** A deep copy that may be changed. Undefined members are dropped. */
export function cloneJson<T>(value: T): T {
  return copy(value) as T;
}

function copy(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(copy);
  const result: MutableJsonObject = {};
  for (const [key, member] of Object.entries(value))
    if (member !== undefined) setOwn(result, key, copy(member) as MutableJson);
  return result;
}

/** The value at a path of keys and indexes, undefined where the path ends early. */
export function at(value: Json | undefined, ...path: readonly (string | number)[]): Json | undefined {
  let here: Json | undefined = value;
  for (const step of path) {
    if (Array.isArray(here)) here = (here as readonly Json[])[Number(step)];
    else if (isObject(here)) here = own(here, String(step));
    else return undefined;
  }
  return here;
}
