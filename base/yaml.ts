import type { LoadOptions } from 'js-yaml';
import { dump, FAILSAFE_SCHEMA, loadAll, Type, YAMLException } from 'js-yaml';
import { DriftlessError } from './errors.ts';
import { isObject, ownMember, setOwnMember } from './json.ts';
import type { Json, MutableJson, MutableJsonObject } from './json.ts';
import { outsideText } from './outside.ts';

/** Text that is not the YAML of a Kubernetes object. */
export class YamlSyntaxError extends DriftlessError {
  /** The cause without the position. Never contains the text, which may be a Secret. */
  readonly reason: string;
  /** Counted from 1; undefined if the error has no position (a null key, too many nodes). */
  readonly line: number | undefined;
  readonly column: number | undefined;

  constructor(reason: string, place?: { readonly line: number; readonly column: number }, cause?: unknown) {
    super('YAML_SYNTAX', messageWithPosition(reason, place, 0), {
      retry: 'never',
      ...(cause === undefined ? {} : { cause }),
    });
    this.reason = reason;
    this.line = place?.line;
    this.column = place?.column;
  }

  /** The message for a text that was cut out of a file after `before` lines. */
  at(before: number): string {
    const { line, column } = this;
    return messageWithPosition(
      this.reason,
      line === undefined || column === undefined ? undefined : { line, column },
      before,
    );
  }
}

function messageWithPosition(
  reason: string,
  place: { line: number; column: number } | undefined,
  before: number,
): string {
  return place === undefined ? reason : `line ${place.line + before}, column ${place.column}: ${reason}`;
}

const maxNodes = 1_000_000;
const maxDepth = 500;

/**
 * js-yaml converts every key to a string before callers see it. Keys that must be distinguished are
 * built as objects whose string form begins with this mark; the expander recognizes them.
 */
const markPrefix = '\u0000driftless:';
const collectionMark = `${markPrefix}collection:`;

class MarkedScalar {
  /** The scalar as a value. */
  readonly value: Json;
  /** Why the scalar cannot be a value, if it cannot. */
  readonly fault: string | undefined;
  readonly #key: string;

  constructor(key: string, value: Json, fault?: string) {
    this.#key = key;
    this.value = value;
    this.fault = fault;
  }

  /** Keeps js-yaml from treating it as a mapping when it is a key. */
  readonly [Symbol.toStringTag] = 'Marked';

  toString(): string {
    return this.#key;
  }
}

const trueTexts = new Set(['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON']);
const falseTexts = new Set(['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF']);
const nullText = /^(?:|~|null|Null|NULL)$/;
const notFiniteText = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;
const decimalText = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;

/**
 * Reads a plain scalar that begins with a digit, a sign or a dot as go-yaml v2 does: integers as
 * strconv.ParseInt with base 0 (0x, 0o, 0b, a leading 0 for octal) up to 64 bits, then decimal
 * fractions. Returns undefined for anything else, which stays text.
 */
function numberOf(text: string): number | bigint | undefined {
  if (/^[1-9][0-9]{0,14}$/.test(text)) return Number(text);
  if (!/^[-+0-9.]/.test(text)) return undefined;
  if (text.startsWith('.')) return decimalText.test(text) ? finiteNumber(text) : undefined;
  const plain = text.replaceAll('_', '');
  return integerOf(plain) ?? (decimalText.test(plain) ? finiteNumber(plain) : undefined);
}

const integerText = /^([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[oO]([0-7]+)|0[bB]([01]+)|0([0-7]+)|(0|[1-9][0-9]*))$/;

/** Longer than any 64-bit integer in any base with leading zeros, so it need not be parsed. */
const maxIntegerDigits = 200;

function integerOf(plain: string): number | bigint | undefined {
  const match = plain.length > maxIntegerDigits ? null : integerText.exec(plain);
  if (match === null) return undefined;
  const [, sign, hex, octal, binary, oldOctal, digits] = match;
  const value = BigInt(
    hex !== undefined ? `0x${hex}` : binary !== undefined ? `0b${binary}` : (digits ?? `0o${octal ?? oldOctal ?? ''}`),
  );
  if (sign === '-' ? value > 2n ** 63n : value >= 2n ** 64n || (sign === '+' && value >= 2n ** 63n)) return undefined;
  const signed = sign === '-' ? -value : value;
  return Number.isSafeInteger(Number(signed)) ? Number(signed) : signed;
}

/** Go reports an error beyond the range of a double, and the scalar stays text. */
function finiteNumber(text: string): number | undefined {
  const value = Number(text);
  if (!Number.isFinite(value)) return undefined;
  return value === 0 ? 0 : value;
}

const scalarType = (tag: string, resolve: (text: string) => boolean, construct: (text: string) => unknown): Type =>
  new Type(`tag:yaml.org,2002:${tag}`, {
    kind: 'scalar',
    // Not a string if js-yaml has resolved the scalar already and now applies a conflicting
    // explicit tag.
    resolve: (text: unknown) => (typeof text === 'string' || text === null) && resolve(text ?? ''),
    construct: (text: string | null) => construct(text ?? ''),
  });

const coreTrueTexts = new Set(['true', 'True', 'TRUE']);
const coreFalseTexts = new Set(['false', 'False', 'FALSE']);

const implicitTypes = (trueWords: ReadonlySet<string>, falseWords: ReadonlySet<string>): Type[] => [
  scalarType(
    'null',
    (text) => nullText.test(text),
    () => new MarkedScalar(`${markPrefix}null`, null),
  ),
  scalarType(
    'bool',
    (text) => trueWords.has(text) || falseWords.has(text),
    (text) => trueWords.has(text),
  ),
  scalarType(
    'float',
    (text) => notFiniteText.test(text),
    (text) => new MarkedScalar(text.toLowerCase().replace('+', ''), null, `${text} is not a number that JSON can hold`),
  ),
  scalarType('int', (text) => numberOf(text) !== undefined, numberOrMark),
];

/** A number; a fraction with its form as a key. */
function numberOrMark(text: string): number | bigint | MarkedScalar {
  const value = numberOf(text) ?? 0;
  if (typeof value === 'bigint' || integerOf(text.replaceAll('_', '')) !== undefined) return value;
  return new MarkedScalar(fractionKey(value), value);
}

/** As Go's FormatFloat(value, 'g', -1, 32), which sigs.k8s.io/yaml uses for keys. */
function fractionKey(value: number): string {
  const single = Math.fround(value);
  if (!Number.isFinite(single)) return single > 0 ? '.inf' : '-.inf';
  let digits = 0;
  while (Math.fround(Number(single.toExponential(digits))) !== single) digits += 1;
  const [mantissa = '', exponent = '0'] = single.toExponential(digits).split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 6) return single.toFixed(Math.max(0, digits - power));
  return `${mantissa}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

/**
 * We merge ourselves: in js-yaml an explicit key wins over a later merge, in go-yaml v2 it does
 * not.
 */
class MergeKey extends MarkedScalar {
  static #count = 0;

  constructor() {
    MergeKey.#count = (MergeKey.#count + 1) % 1_000_000_007;
    super(`${markPrefix}merge:${MergeKey.#count}`, '<<');
  }
}

const mergeKey = new Type('tag:driftless,2026:merge', {
  kind: 'scalar',
  resolve: (text: string | null) => text === '<<',
  construct: () => new MergeKey(),
});

const base64Text = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const explicitTypes = [
  new Type('tag:yaml.org,2002:binary', {
    kind: 'scalar',
    resolve: (text: string | null) => base64Text.test((text ?? '').replace(/[\r\n]/g, '')),
    construct: (text: string | null) => Buffer.from(text ?? '', 'base64').toString('utf8'),
  }),
  // Unknown tags have no effect: scalars are text, collections keep their type.
  ...(['scalar', 'sequence', 'mapping'] as const).flatMap((kind) =>
    ['!', 'tag:'].map(
      (tag) => new Type(tag, { kind, multi: true, construct: (value: unknown) => value ?? emptyValueOf(kind) }),
    ),
  ),
];

function emptyValueOf(kind: 'scalar' | 'sequence' | 'mapping'): unknown {
  return kind === 'scalar' ? '' : kind === 'sequence' ? [] : {};
}

const schemas = {
  v2: FAILSAFE_SCHEMA.extend({
    implicit: [...implicitTypes(trueTexts, falseTexts), mergeKey],
    explicit: explicitTypes,
  }),
  v3: FAILSAFE_SCHEMA.extend({
    implicit: [...implicitTypes(coreTrueTexts, coreFalseTexts), mergeKey],
    explicit: explicitTypes,
  }),
};

/**
 * Texts in which a collection may be a key: after `? `, before a colon, or first in a flow mapping
 * or after a comma. A mapping after a comma, as JSON has it, is found by its string form instead.
 */
const maybeComplexKey = /^[ \t-]*\?\s|[\]}]\s*:|[{,[]\s*\?|[{,]\s*[[&!#*]|\{\s*\{|[ \t]:(?:\s|$)/m;

/** The string form of a mapping as a key. */
const plainObjectKey = '[object Object]';

/** The members of js-yaml's state that a listener may read. */
interface ReaderState {
  result: unknown;
  readonly line: number;
  readonly lineStart: number;
  readonly position: number;
}

/** Gives values that must not be keys a string form that is recognized later. */
function markKeys(event: string, state: ReaderState): void {
  if (event !== 'close') return;
  const { result } = state;
  if (result === null) state.result = new MarkedScalar(`${markPrefix}null`, null);
  if (typeof result !== 'object' || result === null || result instanceof MarkedScalar) return;
  const form = { configurable: true, enumerable: false };
  const mark = `${collectionMark}${state.line + 1}:${state.position - state.lineStart}`;
  const toString = { ...form, value: () => mark };
  if (Array.isArray(result)) {
    // js-yaml copies a sequence that is a key, by Array's species, then takes its string form.
    const species = function copied(): unknown[] {
      return Object.defineProperty([], 'toString', toString);
    };
    Object.defineProperty(result, 'constructor', { ...form, value: { [Symbol.species]: species } });
    return;
  }
  Object.defineProperty(result, 'toString', toString);
  Object.defineProperty(result, Symbol.toStringTag, { ...form, value: 'Collection' });
}

/**
 * Parses the documents of a YAML (or JSON) text as sigs.k8s.io/yaml (go-yaml v2) does: YAML 1.1
 * booleans and octals, also as keys; dates as strings; the last duplicate key wins; unknown tags
 * ignored; 64-bit integers exact. An empty document is null; an empty text has no documents.
 * Known differences: a missing key (`? ` and nothing) is "null"; `<<` and integer keys lose their
 * relative order; U+0085, U+2028 and U+2029 end no line; a sequence that ends with `- -` takes the
 * items of the one around it; `!` and nothing is null.
 * @param dialect `v3`: as go-yaml v3 (kustomize), which reads "yes", "on" and "y" as strings
 * @throws YamlSyntaxError with line and column; also beyond a million nodes after expanding aliases
 */
export function parseYamlDocuments(text: string, dialect: 'v2' | 'v3' = 'v2'): Json[] {
  const marked = { listener: markKeys };
  if (dialect === 'v2') checkVersion(text);
  try {
    if (maybeComplexKey.test(text)) return documentsOf(text, dialect, marked).values;
    const plain = documentsOf(text, dialect, {});
    return plain.hasObjectKey ? documentsOf(text, dialect, marked).values : plain.values;
  } catch (error) {
    if (error instanceof YAMLException) throw syntaxErrorOf(error);
    if (error instanceof RangeError) throw new YamlSyntaxError('the document is nested too deeply', undefined, error);
    throw error;
  }
}

/** go-yaml v2 reads YAML 1.1 only: in 1.2, `no` would be a text. */
function checkVersion(text: string): void {
  const directive = /^%YAML[ \t]+(?!1\.1\s)/m.exec(text);
  if (directive === null) return;
  const line = text.slice(0, directive.index).split('\n').length;
  throw new YamlSyntaxError('only %YAML 1.1 is supported, or no %YAML line', { line, column: 1 });
}

/** An escape that may be half of a character; Go refuses them, and JSON cannot hold a half. */
const surrogateEscape = /\\u[dD][89a-fA-F]/;
const halfCharacter = /\p{Surrogate}/u;

function documentsOf(
  text: string,
  dialect: keyof typeof schemas,
  listener: { readonly listener?: typeof markKeys },
): { readonly values: Json[]; readonly hasObjectKey: boolean } {
  // The types of js-yaml lack these limits.
  const options: LoadOptions & Record<string, unknown> = {
    schema: schemas[dialect],
    json: true,
    maxDepth,
    maxTotalMergeKeys: -1,
    ...listener,
  };
  const documents: unknown[] = loadAll(text, undefined, options);
  const expander = new YamlExpander(surrogateEscape.test(text));
  const values = documents.map((document) => expander.expand(document, 0));
  return { values, hasObjectKey: expander.hasObjectKey };
}

function syntaxErrorOf(error: YAMLException): YamlSyntaxError {
  const at = error.mark as { line: number; column: number } | undefined;
  // js-yaml quotes the supposed tag or alias (a password that begins with `*`), and its error,
  // which is not kept as the cause, quotes the text.
  return new YamlSyntaxError(
    outsideText('parser', error.reason),
    at === undefined ? undefined : { line: at.line + 1, column: at.column + 1 },
  );
}

/**
 * Converts js-yaml's result to JSON within limits: resolves marks, applies merges, copies aliases.
 */
class YamlExpander {
  #nodes = 0;
  readonly #open = new Set<object>();
  readonly #mayHaveHalves: boolean;
  /** Whether a key may be the string form of a mapping. */
  hasObjectKey = false;

  constructor(mayHaveHalves: boolean) {
    this.#mayHaveHalves = mayHaveHalves;
  }

  expand(value: unknown, depth: number): MutableJson {
    this.#count(1);
    if (depth > maxDepth) throw new YamlSyntaxError('the document is nested too deeply');
    if (value instanceof MarkedScalar) {
      if (value.fault !== undefined) throw new YamlSyntaxError(value.fault);
      return value.value as MutableJson;
    }
    if (typeof value === 'string') this.#checkText(value);
    if (typeof value !== 'object' || value === null) return (value ?? null) as MutableJson;
    if (this.#open.has(value)) throw new YamlSyntaxError('an anchor contains itself');
    this.#open.add(value);
    const result = Array.isArray(value)
      ? value.map((item) => this.expand(item, depth + 1))
      : this.#mapping(value as Record<string, unknown>, depth);
    this.#open.delete(value);
    return result;
  }

  #checkText(text: string): void {
    if (this.#mayHaveHalves && halfCharacter.test(text))
      throw new YamlSyntaxError('a text contains half of a character: an escape such as \\ud83d needs its second half');
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
      if (key === plainObjectKey) this.hasObjectKey = true;
      this.#checkText(key);
      if (!key.startsWith(markPrefix)) setOwnMember(result, key, member);
      // Merged keys are copied again, so they count: a chain of merges must not exceed the node
      // limit.
      else if (key.startsWith(`${markPrefix}merge`)) this.#count(mergeMaps(result, member));
      else throw keyErrorOf(key);
    }
    return result;
  }
}

function keyErrorOf(key: string): YamlSyntaxError {
  if (!key.startsWith(collectionMark))
    return new YamlSyntaxError(`a key must be a string: got a ${key.slice(markPrefix.length)}`);
  const [line, column] = key.slice(collectionMark.length).split(':').map(Number);
  return new YamlSyntaxError(
    'a key must be a string: got a collection (a template such as {{ x }} needs a Helm chart; text with braces needs quotes)',
    { line: line ?? 1, column: column ?? 1 },
  );
}

/**
 * In a list of maps the first map wins; keys set before the merge are overridden (go-yaml v2
 * decode.go merge). Returns the number of keys set.
 */
function mergeMaps(into: MutableJsonObject, from: MutableJson): number {
  let set = 0;
  const sources = Array.isArray(from) ? [...from].reverse() : [from];
  for (const source of sources) {
    if (!isObject(source)) throw new YamlSyntaxError('map merge requires map or sequence of maps as the value');
    const keys = Object.keys(source);
    for (const key of keys) setOwnMember(into, key, ownMember(source, key) as MutableJson);
    set += keys.length;
  }
  return set;
}

/**
 * A double beyond 2^53 is written in exponent form, so that it does not read back as an exact
 * integer. -0 is 0.
 */
function numberText(value: unknown): string {
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? (value as number).toExponential() : String(value);
}

const sexagesimalText = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;
const writerSchema = FAILSAFE_SCHEMA.extend({
  implicit: [
    // `resolve` recognizes strings that a reader would take for this type, so that they get quotes;
    // `represent` writes real values.
    new Type('tag:yaml.org,2002:null', {
      kind: 'scalar',
      resolve: (text: string) => nullText.test(text),
      predicate: (value: unknown) => value === null,
      represent: () => 'null',
    }),
    new Type('tag:yaml.org,2002:bool', {
      kind: 'scalar',
      resolve: (text: string) => trueTexts.has(text) || falseTexts.has(text),
      predicate: (value) => typeof value === 'boolean',
      represent: String,
    }),
    new Type('tag:yaml.org,2002:int', {
      kind: 'scalar',
      resolve: (text: string) => numberOf(text) !== undefined || notFiniteText.test(text) || sexagesimalText.test(text),
      predicate: (value) => typeof value === 'number' || typeof value === 'bigint',
      represent: numberText,
    }),
    new Type('tag:yaml.org,2002:timestamp', {
      kind: 'scalar',
      resolve: (text: string) => /^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:$|[Tt\s])/.test(text),
    }),
    // Block scalars that begin with white space need an indentation indicator, which readers
    // disagree about.
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
 * Formats a value as block-style YAML without references. Strings that a YAML 1.1 or 1.2 reader
 * would read as another type are quoted; integers are exact. `parseYamlDocuments(formatYaml(v))`
 * equals v.
 * @param style `go`: lists start in the column of their key, and quotes are double
 */
export function formatYaml(value: Json, style: 'plain' | 'go' = 'plain'): string {
  const asGo = style === 'go' ? ({ noArrayIndent: true, quotingType: '"' } as const) : {};
  return dump(value, { noRefs: true, lineWidth: -1, schema: writerSchema, ...asGo });
}
