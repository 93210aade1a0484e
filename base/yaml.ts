import type { LoadOptions } from 'js-yaml';
import { dump, FAILSAFE_SCHEMA, loadAll, Type, YAMLException } from 'js-yaml';
import { DriftlessError } from './errors.ts';
import { isObject, own, setOwn } from './json.ts';
import type { Json, MutableJson, MutableJsonObject } from './json.ts';
import { outsideText } from './outside.ts';

/** Text that is not the YAML of a Kubernetes object. */
export class YamlSyntaxError extends DriftlessError {
  /** What is wrong, without the place. Never a part of the text, which may be a Secret. */
  readonly reason: string;
  /** Counted from 1; undefined when the fault has no place (a null key, too many nodes). */
  readonly line: number | undefined;
  readonly column: number | undefined;

  constructor(reason: string, place?: { readonly line: number; readonly column: number }, cause?: unknown) {
    super('YAML_SYNTAX', worded(reason, place, 0), { retry: 'never', ...(cause === undefined ? {} : { cause }) });
    this.reason = reason;
    this.line = place?.line;
    this.column = place?.column;
  }

  /** The message for a text that was cut out of a file after `before` lines. */
  at(before: number): string {
    const { line, column } = this;
    return worded(this.reason, line === undefined || column === undefined ? undefined : { line, column }, before);
  }
}

function worded(reason: string, place: { line: number; column: number } | undefined, before: number): string {
  return place === undefined ? reason : `line ${place.line + before}, column ${place.column}: ${reason}`;
}

const maxNodes = 1_000_000;
const maxDepth = 500;

/**
 * js-yaml makes a string of every key before anyone can look at it. What must be told apart there is therefore built as an object whose
 * string form begins with this mark, and found again when the result is walked.
 */
const mark = '\u0000driftless:';

class Marked {
  /** What the scalar is as a value. */
  readonly value: Json;
  /** Why it cannot be a value, if it cannot. */
  readonly fault: string | undefined;
  readonly #key: string;

  constructor(key: string, value: Json, fault?: string) {
    this.#key = key;
    this.value = value;
    this.fault = fault;
  }

  /** Keeps js-yaml from taking it for a mapping when it is a key. */
  readonly [Symbol.toStringTag] = 'Marked';

  toString(): string {
    return this.#key;
  }
}

const truths = new Set(['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON']);
const lies = new Set(['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF']);
const nothing = /^(?:|~|null|Null|NULL)$/;
const notFinite = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;
const decimal = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;

/**
 * A plain scalar that begins with a digit, a sign or a dot, as go-yaml v2 reads it: integers as strconv.ParseInt with base 0 takes them
 * (0x, 0o, 0b, a leading 0 for octal) up to 64 bits, then decimal fractions, else undefined: it stays text.
 */
function numberOf(text: string): number | bigint | undefined {
  if (/^[1-9][0-9]{0,14}$/.test(text)) return Number(text);
  if (!/^[-+0-9.]/.test(text)) return undefined;
  if (text.startsWith('.')) return decimal.test(text) ? finite(text) : undefined;
  const plain = text.replaceAll('_', '');
  return integerOf(plain) ?? (decimal.test(plain) ? finite(plain) : undefined);
}

const integer = /^([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[oO]([0-7]+)|0[bB]([01]+)|0([0-7]+)|(0|[1-9][0-9]*))$/;

/** More digits than any integer of 64 bits has, in any base, with room for leading zeros: whether it is one need not be computed. */
const mostDigits = 200;

function integerOf(plain: string): number | bigint | undefined {
  const match = plain.length > mostDigits ? null : integer.exec(plain);
  if (match === null) return undefined;
  const [, sign, hex, octal, binary, oldOctal, digits] = match;
  const value = BigInt(
    hex !== undefined ? `0x${hex}` : binary !== undefined ? `0b${binary}` : (digits ?? `0o${octal ?? oldOctal ?? ''}`),
  );
  if (sign === '-' ? value > 2n ** 63n : value >= 2n ** 64n || (sign === '+' && value >= 2n ** 63n)) return undefined;
  const signed = sign === '-' ? -value : value;
  return Number.isSafeInteger(Number(signed)) ? Number(signed) : signed;
}

/** Beyond the range of a double Go reports an error, and the scalar stays text. */
function finite(text: string): number | undefined {
  const value = Number(text);
  if (!Number.isFinite(value)) return undefined;
  return value === 0 ? 0 : value;
}

const scalar = (tag: string, resolve: (text: string) => boolean, construct: (text: string) => unknown): Type =>
  new Type(`tag:yaml.org,2002:${tag}`, {
    kind: 'scalar',
    // Not a text: js-yaml has read the scalar by its looks already, and now comes back with an explicit tag that says something else.
    resolve: (text: unknown) => (typeof text === 'string' || text === null) && resolve(text ?? ''),
    construct: (text: string | null) => construct(text ?? ''),
  });

const implicit = [
  scalar(
    'null',
    (text) => nothing.test(text),
    () => new Marked(`${mark}null`, null),
  ),
  scalar(
    'bool',
    (text) => truths.has(text) || lies.has(text),
    (text) => truths.has(text),
  ),
  scalar(
    'float',
    (text) => notFinite.test(text),
    (text) => new Marked(text.toLowerCase().replace('+', ''), null, `${text} is not a number that JSON can hold`),
  ),
  scalar('int', (text) => numberOf(text) !== undefined, numberOf),
];

/** Merging is ours: js-yaml lets an explicit key win over a merge that is written after it, go-yaml v2 does not. */
class Merge extends Marked {
  static #count = 0;

  constructor() {
    Merge.#count = (Merge.#count + 1) % 1_000_000_007;
    super(`${mark}merge:${Merge.#count}`, '<<');
  }
}

const mergeKey = new Type('tag:driftless,2026:merge', {
  kind: 'scalar',
  resolve: (text: string | null) => text === '<<',
  construct: () => new Merge(),
});

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const explicit = [
  new Type('tag:yaml.org,2002:binary', {
    kind: 'scalar',
    resolve: (text: string | null) => base64.test((text ?? '').replace(/[\r\n]/g, '')),
    construct: (text: string | null) => Buffer.from(text ?? '', 'base64').toString('utf8'),
  }),
  // Unknown tags say nothing: scalars are text, collections what they look like.
  ...(['scalar', 'sequence', 'mapping'] as const).flatMap((kind) =>
    ['!', 'tag:'].map(
      (tag) => new Type(tag, { kind, multi: true, construct: (value: unknown) => value ?? emptyOf(kind) }),
    ),
  ),
];

function emptyOf(kind: 'scalar' | 'sequence' | 'mapping'): unknown {
  return kind === 'scalar' ? '' : kind === 'sequence' ? [] : {};
}

const schema = FAILSAFE_SCHEMA.extend({ implicit: [...implicit, mergeKey], explicit });

/**
 * Texts in which a collection may be a key: `? ` at the beginning of a line, or a colon after a closing bracket. The first part stays within its
 * line: across lines it would read a file of empty lines once for each of them.
 */
const maybeComplexKey = /^[ \t-]*\?\s|[\]}]\s*:/m;

/** What js-yaml makes of a sequence that is a key: a copy (by Array's species), then its string form. */
class SequenceKey extends Array<unknown> {
  override toString(): string {
    return `${mark}collection`;
  }
}

/** Gives what must not be a key a string form that shows when it has become one. */
function markKeys(event: string, state: { result: unknown }): void {
  if (event !== 'close') return;
  const { result } = state;
  if (result === null) state.result = new Marked(`${mark}null`, null);
  if (typeof result !== 'object' || result === null || result instanceof Marked) return;
  const form = { configurable: true, enumerable: false };
  if (Array.isArray(result)) {
    Object.defineProperty(result, 'constructor', { ...form, value: { [Symbol.species]: SequenceKey } });
    return;
  }
  Object.defineProperty(result, 'toString', { ...form, value: () => `${mark}collection` });
  Object.defineProperty(result, Symbol.toStringTag, { ...form, value: 'Collection' });
}

/**
 * The documents of a YAML (or JSON) text as sigs.k8s.io/yaml (go-yaml v2) reads them: YAML 1.1 booleans and octals, also as keys; dates as
 * strings; the last of duplicate keys wins; unknown tags ignored; integers of 64 bits exact. Empty documents are null. No documents for an
 * empty text.
 *
 * Known differences: a key that is not there at all (`? ` and nothing) is "null"; a key that is a float of more than six digits keeps
 * them; `<<` and keys that are integers do not keep their order
 * among each other.
 * @throws YamlSyntaxError with line and column; also for more than a million nodes once aliases are expanded
 */
export function parseYamlDocuments(text: string): Json[] {
  const listener = maybeComplexKey.test(text) ? { listener: markKeys } : {};
  try {
    // The types of js-yaml do not know its limits yet.
    const options: LoadOptions & Record<string, unknown> = {
      schema,
      json: true,
      maxDepth,
      maxTotalMergeKeys: -1,
      ...listener,
    };
    const documents: unknown[] = loadAll(text, undefined, options);
    const expander = new Expander();
    return documents.map((document) => expander.expand(document, 0));
  } catch (error) {
    if (error instanceof YAMLException) throw placed(error);
    if (error instanceof RangeError) throw new YamlSyntaxError('the document is nested too deeply', undefined, error);
    throw error;
  }
}

function placed(error: YAMLException): YamlSyntaxError {
  const at = error.mark as { line: number; column: number } | undefined;
  // js-yaml quotes what it took for a tag or an alias (a password that begins with `*`), and its error, which is no cause here, a piece of the text.
  return new YamlSyntaxError(
    outsideText('parser', error.reason),
    at === undefined ? undefined : { line: at.line + 1, column: at.column + 1 },
  );
}

/** Turns what js-yaml built into JSON: marks are read, merges carried out, aliases copied, within limits. */
class Expander {
  #nodes = 0;
  readonly #open = new Set<object>();

  expand(value: unknown, depth: number): MutableJson {
    this.#count(1);
    if (depth > maxDepth) throw new YamlSyntaxError('the document is nested too deeply');
    if (value instanceof Marked) {
      if (value.fault !== undefined) throw new YamlSyntaxError(value.fault);
      return value.value as MutableJson;
    }
    if (typeof value !== 'object' || value === null) return (value ?? null) as MutableJson;
    if (this.#open.has(value)) throw new YamlSyntaxError('an anchor contains itself');
    this.#open.add(value);
    const result = Array.isArray(value)
      ? value.map((item) => this.expand(item, depth + 1))
      : this.#mapping(value as Record<string, unknown>, depth);
    this.#open.delete(value);
    return result;
  }

  #count(nodes: number): void {
    this.#nodes += nodes;
    if (this.#nodes > maxNodes)
      throw new YamlSyntaxError(`the document has more than ${maxNodes} nodes (an alias bomb?)`);
  }

  #mapping(value: Record<string, unknown>, depth: number): MutableJsonObject {
    const result: MutableJsonObject = {};
    for (const key of Object.keys(value)) {
      const member = this.expand(value[key], depth + 1);
      if (!key.startsWith(mark)) setOwn(result, key, member);
      // What is merged is copied once more: it counts, so that a chain of merges cannot cost more than as many nodes.
      else if (key.startsWith(`${mark}merge`)) this.#count(merge(result, member));
      else throw new YamlSyntaxError(`a key must be a string: ${key.slice(mark.length)} is none`);
    }
    return result;
  }
}

/**
 * Of a list of maps the first has the last word; keys that were there before the merge are overridden (go-yaml v2 decode.go merge). Says how many
 * keys it has set.
 */
function merge(into: MutableJsonObject, from: MutableJson): number {
  let set = 0;
  const sources = Array.isArray(from) ? [...from].reverse() : [from];
  for (const source of sources) {
    if (!isObject(source)) throw new YamlSyntaxError('map merge requires map or sequence of maps as the value');
    const keys = Object.keys(source);
    for (const key of keys) setOwn(into, key, own(source, key) as MutableJson);
    set += keys.length;
  }
  return set;
}

/** A double beyond 2^53 is written as the fraction it is, so that it does not come back as an exact integer. -0 is 0. */
function numberText(value: unknown): string {
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? (value as number).toExponential() : String(value);
}

const sexagesimal = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;
const written = FAILSAFE_SCHEMA.extend({
  implicit: [
    // Each first recognises what a reader would take for it, so that such strings get quotes, then writes the real thing.
    new Type('tag:yaml.org,2002:null', {
      kind: 'scalar',
      resolve: (text: string) => nothing.test(text),
      predicate: (value: unknown) => value === null,
      represent: () => 'null',
    }),
    new Type('tag:yaml.org,2002:bool', {
      kind: 'scalar',
      resolve: (text: string) => truths.has(text) || lies.has(text),
      predicate: (value) => typeof value === 'boolean',
      represent: String,
    }),
    new Type('tag:yaml.org,2002:int', {
      kind: 'scalar',
      resolve: (text: string) => numberOf(text) !== undefined || notFinite.test(text) || sexagesimal.test(text),
      predicate: (value) => typeof value === 'number' || typeof value === 'bigint',
      represent: numberText,
    }),
    new Type('tag:yaml.org,2002:timestamp', {
      kind: 'scalar',
      resolve: (text: string) => /^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:$|[Tt\s])/.test(text),
    }),
    // Block scalars that begin with white space need an indentation indicator, which readers disagree about.
    new Type('tag:driftless,2026:blank', {
      kind: 'scalar',
      resolve: () => false,
      predicate: (value) => typeof value === 'string' && /^\s/.test(value),
      represent: (value: unknown) => JSON.stringify(value),
    }),
    new Type('tag:yaml.org,2002:merge', { kind: 'scalar', resolve: (text: string) => text === '<<' }),
  ],
});

/**
 * A value as YAML text for people: block style, two spaces, no references. Strings that a YAML 1.1 or 1.2 reader would take for something
 * else are quoted; integers are exact. `parseYamlDocuments(formatYaml(v))` is v.
 */
export function formatYaml(value: Json): string {
  return dump(value, { noRefs: true, lineWidth: -1, schema: written });
}
