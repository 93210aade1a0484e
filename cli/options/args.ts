import { parseArgs } from 'node:util';
import { deepEqual, defined, parseArgoDuration, parseGoBool, parseGoFloat, parseGoInt, UsageError } from '#base';

/**
 * Kinds of option values. `seconds` is a whole number of seconds on the command line and
 * milliseconds in the program; a `quantity` (10M, 1Gi) is a number of bytes. `csv` is split at
 * commas; `list` is not: each repetition of the flag adds one entry.
 */
export type OptionKind =
  'string' | 'int' | 'number' | 'bool' | 'seconds' | 'duration' | 'csv' | 'list' | 'map' | 'ns' | 'quantity';

interface OptionBase {
  /** Long flag without dashes. */
  readonly flag: string;
  /** Alternative long names, such as Argo CD's. */
  readonly aliases?: readonly string[];
  readonly short?: string;
  readonly env?: string;
  /** Syntax of the environment variable, if it differs from the flag's (as some do in Argo CD). */
  readonly envKind?: OptionKind;
  readonly help: string;
  readonly min?: number;
  readonly max?: number;
  /** Minimum of the environment variable, if lower than the flag's. */
  readonly envMin?: number;
  /** The form of a text, and what errors say that it must be. */
  readonly pattern?: { readonly matches: RegExp; readonly expected: string };
  /** The values that are accepted. */
  readonly choices?: readonly string[];
  /** Whether upper case means the same; the value is lower case. */
  readonly ignoresCase?: boolean;
  /**
   * Key of argocd-cmd-params-cm (P:) or argocd-cm (C:) from which Argo CD's manifests fill the
   * variable.
   */
  readonly key?: string;
  /**
   * The default may write or trust more than a value: a variable that cannot be read is an error.
   */
  readonly narrows?: true;
  /** Accepted for compatibility without effect; setting the option logs this reason. */
  readonly noEffect?: string;
}

export type OptionSpec = OptionBase &
  (
    | { readonly kind: 'string'; readonly default?: string }
    | { readonly kind: 'int' | 'number' | 'seconds' | 'duration' | 'ns' | 'quantity'; readonly default?: number }
    | { readonly kind: 'bool'; readonly default?: boolean }
    | { readonly kind: 'csv' | 'list'; readonly default?: readonly string[] }
    | { readonly kind: 'map'; readonly default?: Readonly<Record<string, string>> }
  );

interface ValueOf {
  string: string;
  int: number;
  number: number;
  seconds: number;
  duration: number;
  ns: number;
  quantity: number;
  bool: boolean;
  csv: readonly string[];
  list: readonly string[];
  map: Readonly<Record<string, string>>;
}

/** Frozen values of an options table. Durations are in milliseconds. */
export type ConfigOf<T extends Readonly<Record<string, OptionSpec>>> = {
  readonly [K in keyof T]: ValueOf[T[K]['kind']];
};

export interface ParsedArgs<T extends Readonly<Record<string, OptionSpec>>> {
  readonly config: ConfigOf<T>;
  readonly positionals: readonly string[];
  /** Invalid environment values, and options without effect: to be logged once. */
  readonly warnings: readonly string[];
  /** Names of options that were set on the command line or in the environment. */
  readonly given: ReadonlySet<string>;
  /** Names of options that were set on the command line. */
  readonly flags: ReadonlySet<string>;
}

type OptionValue = string | number | boolean | readonly string[] | Readonly<Record<string, string>>;

/**
 * Parses a command line by a table. A flag wins over its environment variable, and the variable
 * over the default. As in Argo CD, an invalid environment value is a warning and the default
 * applies, unless the option narrows; an invalid flag is an error.
 * @throws UsageError in one line: what is wrong, and what is expected.
 */
export function readArgs<T extends Readonly<Record<string, OptionSpec>>>(
  table: T,
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): ParsedArgs<T> {
  const { values, positionals } = rawFlags(table, argv);
  const warnings: string[] = [];
  const given = new Set<string>();
  const flags = new Set<string>();
  const config: Record<string, OptionValue> = {};
  for (const [name, spec] of Object.entries(table)) {
    const raw = values[spec.flag];
    const fromEnv = spec.env === undefined ? undefined : env[spec.env];
    const unset = defaultOf(spec);
    config[name] = unset;
    if (raw !== undefined) {
      flags.add(name);
      config[name] = flagValue(spec, raw);
    } else if (fromEnv !== undefined && fromEnv !== '') {
      const { value, problem } = environmentValue(spec, fromEnv);
      if (problem === undefined) given.add(name);
      else warnings.push(`ignoring ${problem}`);
      config[name] = value ?? unset;
    }
    if (flags.has(name)) given.add(name);
    if (given.has(name) && spec.noEffect !== undefined && !deepEqual(config[name], unset))
      warnings.push(`--${spec.flag} has no effect: ${spec.noEffect}`);
  }
  return { config: Object.freeze(config) as ConfigOf<T>, positionals, warnings, given, flags };
}

/** The value of an option that is not set: empty, false or 0, unless the table names one. */
export function defaultOf({ kind, default: value }: OptionSpec): OptionValue {
  if (value !== undefined) return value;
  if (numeric.has(kind)) return 0;
  if (kind === 'bool') return false;
  return kind === 'map' ? {} : kind === 'string' ? '' : [];
}

/** @throws UsageError if the option narrows and the text cannot be read. */
function environmentValue(
  spec: OptionSpec,
  text: string,
): { readonly value: OptionValue | undefined; readonly problem?: string } {
  const rule = envRule(spec);
  const value = parseValue(rule, text, readEnvironment);
  const isEmptied = spec.narrows === true && Array.isArray(value) && value.length === 0;
  if (value !== undefined && !isEmptied) return { value };
  const problem = `${spec.env ?? ''}: ${expectation(rule, rule.kind)}`;
  if (spec.narrows === true) throw new UsageError(problem);
  return { value: undefined, problem };
}

/** Constraints on a value. */
type ValueRule = Pick<OptionSpec, 'min' | 'max' | 'choices' | 'ignoresCase' | 'pattern' | 'kind'>;

function envRule({ kind, envKind, min, envMin, max, choices, ignoresCase, pattern }: OptionSpec): ValueRule {
  const least = envMin ?? min;
  return {
    kind: envKind ?? kind,
    ...defined({ min: least, max, choices, ignoresCase, pattern }),
  };
}

type RawValues = Readonly<Record<string, string | boolean | readonly (string | boolean)[] | undefined>>;

function rawFlags(
  table: Readonly<Record<string, OptionSpec>>,
  argv: readonly string[],
): { values: RawValues; positionals: string[] } {
  const options: Record<string, { type: 'string' | 'boolean'; short?: string; multiple?: boolean }> = {};
  for (const spec of Object.values(table)) {
    options[spec.flag] = {
      type: spec.kind === 'bool' ? 'boolean' : 'string',
      ...defined({ short: spec.short }),
      ...(['csv', 'list', 'map'].includes(spec.kind) ? { multiple: true } : {}),
    };
  }
  try {
    const parsed = parseArgs({
      args: plainArgv(table, argv),
      options,
      allowPositionals: true,
      strict: true,
      allowNegative: true,
    });
    return { values: parsed.values, positionals: parsed.positionals };
  } catch (error) {
    throw new UsageError(usageText(error, table), { cause: error });
  }
}

const numeric: ReadonlySet<OptionKind> = new Set(['int', 'number', 'seconds', 'duration', 'ns', 'quantity']);

/**
 * Rewrites a command line for Node's parser, which knows no aliases, `--flag=true` or `--flag -1`.
 */
function plainArgv(table: Readonly<Record<string, OptionSpec>>, argv: readonly string[]): string[] {
  const specs = new Map(Object.values(table).flatMap((spec) => namesOf(spec).map((name) => [name, spec] as const)));
  const end = argv.indexOf('--');
  const words: string[] = [];
  for (const arg of end < 0 ? argv : argv.slice(0, end)) {
    const before = specs.get(words.at(-1) ?? '');
    if (before !== undefined && numeric.has(before.kind) && /^-[0-9.]/.test(arg))
      words[words.length - 1] = `--${before.flag}=${arg}`;
    else words.push(plainWord(arg, specs));
  }
  return end < 0 ? words : [...words, ...argv.slice(end)];
}

function namesOf({ flag, short, aliases = [] }: OptionSpec): string[] {
  return [flag, ...aliases].map((name) => `--${name}`).concat(short === undefined ? [] : [`-${short}`]);
}

/**
 * Go programs accept `--flag=true` and `--flag=false`; Node's parser accepts `--flag` and `--no-
 * flag`.
 */
function plainWord(arg: string, specs: ReadonlyMap<string, OptionSpec>): string {
  const [name = '', ...rest] = arg.split('=');
  const spec = name.startsWith('--') ? specs.get(name) : undefined;
  if (spec === undefined) return arg;
  if (rest.length === 0) return `--${spec.flag}`;
  const text = rest.join('=');
  if (spec.kind !== 'bool') return `--${spec.flag}=${text}`;
  const value = parseGoBool(text);
  if (value === undefined) throw new UsageError(`${name} takes true or false, not "${text}"`);
  return value ? `--${spec.flag}` : `--no-${spec.flag}`;
}

function usageText(error: unknown, table: Readonly<Record<string, OptionSpec>>): string {
  const text = error instanceof Error ? error.message : String(error);
  const incomplete = /Option '(?:-., )?(--?[^' ]+)[^']*' argument (?:missing|is ambiguous)/.exec(text)?.[1];
  if (incomplete !== undefined) return `${incomplete} needs a value`;
  const unknown = /Unknown option '([^']+)'/.exec(text)?.[1];
  if (unknown === undefined) return text.split(/[.\n]/)[0] ?? text;
  const near = nearest(
    unknown.replace(/^-+/, ''),
    Object.values(table).map((spec) => spec.flag),
  );
  return `unknown flag ${unknown}${near === undefined ? '' : `: did you mean --${near}?`} (run with --help for a list)`;
}

/**
 * The closest name by edit distance, up to a third of its length and at least two (swapped
 * letters).
 */
export function nearest(word: string, names: readonly string[]): string | undefined {
  let best: { name: string; distance: number } | undefined;
  for (const name of names) {
    const distance = edits(word, name);
    if (distance <= Math.max(2, Math.ceil(name.length / 3)) && (best === undefined || distance < best.distance))
      best = { name, distance };
  }
  return best?.name;
}

function edits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const substitute = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, substitute));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

function flagValue(spec: OptionSpec, raw: string | boolean | readonly (string | boolean)[]): OptionValue {
  if (typeof raw === 'boolean') return raw;
  if (spec.kind === 'list') return typeof raw === 'string' ? [raw] : raw.map(String);
  const text = typeof raw === 'string' ? raw : raw.map(String).join(',');
  const value = parseValue(spec, text, readFlag);
  if (value === undefined) throw new UsageError(`--${spec.flag}: ${expectation(spec, spec.kind)}, not "${text}"`);
  return value;
}

/** How Go reads booleans and integers; pflag and Argo CD's environment differ in these only. */
interface ScalarSyntax {
  readonly bool: (text: string) => boolean | undefined;
  readonly int: (text: string) => number | undefined;
}

const readFlag: ScalarSyntax = { bool: parseGoBool, int: (text) => parseGoInt(text, { prefixes: true }) };
const readEnvironment: ScalarSyntax = { bool: parseWordBool, int: (text) => parseGoInt(text) };

function parseValue(spec: ValueRule, text: string, syntax: ScalarSyntax): OptionValue | undefined {
  const { kind } = spec;
  const value = kind === 'quantity' ? parseBytes(text.trim()) : parseKind(cased(spec, text), kind, syntax);
  if (typeof value === 'number') {
    const inUnit = kind === 'seconds' ? value / 1000 : value;
    if (inUnit < (spec.min ?? -Infinity) || inUnit > (spec.max ?? Infinity)) return undefined;
  }
  if (spec.pattern !== undefined && typeof value === 'string' && !spec.pattern.matches.test(value)) return undefined;
  if (spec.choices !== undefined && typeof value === 'string' && !spec.choices.includes(value)) return undefined;
  return value;
}

function cased({ ignoresCase = false }: ValueRule, text: string): string {
  return ignoresCase ? text.toLowerCase() : text;
}

function parseKind(text: string, kind: Exclude<OptionKind, 'quantity'>, syntax: ScalarSyntax): OptionValue | undefined {
  switch (kind) {
    case 'string':
      return text.trim();
    case 'list':
      return [text];
    case 'bool':
      return syntax.bool(text);
    case 'int':
      return syntax.int(text);
    case 'number':
      return parseGoFloat(text);
    case 'seconds':
      return scaled(syntax.int(text), 1000);
    case 'ns':
      return scaled(syntax.int(text), 1e-6);
    case 'duration':
      return parseArgoDuration(text);
    case 'csv':
      return text
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== '');
    case 'map':
      return parseMap(text);
  }
}

/** A number of bytes as a Kubernetes quantity (resource.ParseQuantity, rounded up). */
function parseBytes(text: string): number | undefined {
  const [, number = '', suffix = ''] = /^\+?([0-9]{1,20}(?:\.[0-9]{0,9})?)([kMGTPE]|[KMGTPE]i)?$/.exec(text) ?? [];
  if (number === '') return undefined;
  const base = suffix.endsWith('i') ? 1024 : 1000;
  const bytes = Math.ceil(Number(number) * base ** ' KMGTPE'.indexOf(suffix.charAt(0).toUpperCase() || ' '));
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

function scaled(value: number | undefined, factor: number): number | undefined {
  return value === undefined ? undefined : factor < 1 ? value / Math.round(1 / factor) : value * factor;
}

/** Argo CD's environment: `true` or `false` in any letter case; it ignores `1` and `t`. */
function parseWordBool(text: string): boolean | undefined {
  const lower = text.toLowerCase();
  if (lower === 'true') return true;
  return lower === 'false' ? false : undefined;
}

/** One malformed or repeated pair invalidates the whole value, as in Argo CD. */
function parseMap(text: string): Readonly<Record<string, string>> | undefined {
  const map: Record<string, string> = {};
  for (const pair of text.split(',').filter((item) => item.trim() !== '')) {
    const eq = pair.indexOf('=');
    const key = pair.slice(0, eq).trim();
    if (eq < 1 || Object.hasOwn(map, key)) return undefined;
    map[key] = pair.slice(eq + 1).trim();
  }
  return map;
}

function expectation({ choices, pattern, min, max }: ValueRule, kind: OptionKind): string {
  if (pattern !== undefined) return `must be ${pattern.expected}`;
  if (choices !== undefined) {
    const named = choices.filter((choice) => choice !== '');
    return `must be ${named.length > 1 ? 'one of ' : ''}${named.join(', ')}`;
  }
  const words: Readonly<Record<OptionKind, string>> = {
    string: 'must be a string',
    bool: 'must be true or false',
    int: 'must be a whole number',
    number: 'must be a number',
    seconds: 'must be a whole number of seconds',
    ns: 'must be a whole number of nanoseconds',
    duration: 'must be a duration such as 90s, 5m or 1h30m',
    quantity: 'must be a size such as 10M, 1G or 512Mi',
    csv: 'must be a list separated by commas',
    list: 'must be a string',
    map: 'must be key=value pairs separated by commas',
  };
  return words[kind] + rangeText(min, max);
}

function rangeText(min: number | undefined, max: number | undefined): string {
  if (min === undefined) return max === undefined ? '' : `, at most ${max}`;
  return max === undefined ? `, at least ${min}` : ` between ${min} and ${max}`;
}

/** Prints the usage of a command with its flags. Returns the exit code. */
export function printHelp(
  output: { readonly out: (text: string) => void },
  usage: string,
  table: Readonly<Record<string, OptionSpec>>,
): 0 {
  output.out(`${usage}\n\n${describe(table)}`);
  return 0;
}

/** Describes the flags of a table for --help. */
export function describe(table: Readonly<Record<string, OptionSpec>>): string {
  const rows = Object.values(table).map((spec) => {
    const left = `  ${spec.short === undefined ? '    ' : `-${spec.short}, `}--${spec.flag}${spec.kind === 'bool' ? '' : ` ${spec.kind.toUpperCase()}`}`;
    const env = spec.env === undefined ? '' : ` [${spec.env}]`;
    const also = (spec.aliases ?? []).map((name) => ` Also --${name}.`).join('');
    const fallback = showDefault(spec);
    const effect = spec.noEffect === undefined ? '' : ` No effect: ${spec.noEffect}.`;
    return { left, right: `${spec.help}${also}${fallback}${env}${effect}` };
  });
  const width = Math.min(52, Math.max(...rows.map(({ left }) => left.length)));
  return rows.map(({ left, right }) => `${left.padEnd(width)}  ${right}`).join('\n');
}

function showDefault(spec: OptionSpec): string {
  const value = defaultOf(spec);
  if (spec.kind === 'seconds') return ` (default ${Number(value) / 1000})`;
  if (spec.kind === 'duration' || spec.kind === 'ns') return ` (default ${Number(value)}ms)`;
  // A default below the minimum stands for "not set".
  if (typeof value === 'object' || (typeof value === 'number' && value < (spec.min ?? value))) return '';
  return value === '' || value === false ? '' : ` (default ${String(value)})`;
}
