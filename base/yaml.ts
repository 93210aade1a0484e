import { dump, DEFAULT_SCHEMA, FAILSAFE_SCHEMA, loadAll, Type, YAMLException } from 'js-yaml';
import { DriftlessError, messageOf } from './errors.ts';
import type { Json } from './json.ts';

/** Text that is not the YAML of a Kubernetes object. */
export class YamlSyntaxError extends DriftlessError {
  constructor(message: string, cause?: unknown) {
    super('YAML_SYNTAX', message, { retry: 'never', ...(cause === undefined ? {} : { cause }) });
  }
}

const truths = new Set(['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON']);
const lies = new Set(['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF']);
const integer = /^[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)$/;
const float = /^[-+]?(?:[0-9][0-9_]*)?(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?$/;
const maxNodes = 1_000_000;

function toInteger(text: string): number | bigint {
  const plain = text.replaceAll('_', '');
  const negative = plain.startsWith('-');
  const digits = plain.replace(/^[-+]/, '');
  const value = BigInt(/^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits.replace(/^0+(?=[0-9])/, ''));
  const signed = negative ? -value : value;
  return Number.isSafeInteger(Number(signed)) ? Number(signed) : signed;
}

/** The scalars of go-yaml v2 (YAML 1.1 without sexagesimals and dates), which sigs.k8s.io/yaml builds on. */
const schema = FAILSAFE_SCHEMA.extend({
  implicit: [
    new Type('tag:yaml.org,2002:null', {
      kind: 'scalar',
      resolve: (text: string | null) => text === null || /^(?:|~|null|Null|NULL)$/.test(text),
      construct: () => null,
    }),
    new Type('tag:yaml.org,2002:bool', {
      kind: 'scalar',
      resolve: (text: string | null) => text !== null && (truths.has(text) || lies.has(text)),
      construct: (text: string) => truths.has(text),
    }),
    new Type('tag:yaml.org,2002:int', {
      kind: 'scalar',
      resolve: (text: string | null) => text !== null && integer.test(text) && /[0-9a-fA-F]$/.test(text),
      construct: toInteger,
    }),
    new Type('tag:yaml.org,2002:float', {
      kind: 'scalar',
      resolve: (text: string | null) =>
        text !== null && float.test(text) && /[0-9]/.test(text) && Number.isFinite(Number(text.replaceAll('_', ''))),
      construct: (text: string) => Number(text.replaceAll('_', '')),
    }),
    new Type('tag:yaml.org,2002:merge', { kind: 'scalar', resolve: (text: string | null) => text === '<<' }),
  ],
  explicit: [
    new Type('tag:yaml.org,2002:binary', {
      kind: 'scalar',
      construct: (text: string) => Buffer.from(text, 'base64').toString('utf8'),
    }),
  ],
});

/**
 * The documents of a YAML (or JSON) text as sigs.k8s.io/yaml reads them: YAML 1.1 booleans and octals, dates as strings, the last
 * of duplicate keys wins, unknown tags ignored, exact integers. Empty documents are null.
 * @throws YamlSyntaxError with line and column; also for more than a million nodes once aliases are expanded.
 */
export function parseYamlDocuments(text: string): Json[] {
  try {
    const documents = loadAll(text, undefined, { schema, json: true });
    let nodes = 0;
    const expand = (value: unknown): Json => {
      nodes += 1;
      if (nodes > maxNodes) throw new YamlSyntaxError(`the document has more than ${maxNodes} nodes (an alias bomb?)`);
      if (Array.isArray(value)) return value.map(expand);
      if (typeof value === 'object' && value !== null) {
        return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, expand(member)]));
      }
      return (value ?? null) as Json;
    };
    return documents.map(expand);
  } catch (error) {
    if (error instanceof YamlSyntaxError) throw error;
    if (error instanceof YAMLException) throw new YamlSyntaxError(whereAndWhy(error), error);
    throw new YamlSyntaxError(messageOf(error), error);
  }
}

function whereAndWhy(error: YAMLException): string {
  const mark = error.mark as { line: number; column: number } | undefined;
  return mark === undefined ? error.reason : `line ${mark.line + 1}, column ${mark.column + 1}: ${error.reason}`;
}

/** A value as YAML text for people: block style, two spaces, no references. */
export function formatYaml(value: Json): string {
  return dump(value, {
    noRefs: true,
    lineWidth: -1,
    schema: DEFAULT_SCHEMA,
    replacer: (_key, item: unknown) => (typeof item === 'bigint' ? Number(item) : item),
  });
}
