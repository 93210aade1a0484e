import { readFileSync } from 'node:fs';
import { messageOf, parseYamlNodes, UsageError, YamlSyntaxError } from '#base';
import type { YamlNode } from '#base';
import type { ResourceIgnoreDifferences } from '#model';
import { nearest } from '../options/args.ts';

/** The settings of `--config`. */
export interface AgentFile {
  readonly syncOptions: readonly string[];
  readonly ignoreDifferences: readonly ResourceIgnoreDifferences[];
  readonly exclusions: readonly KindFilter[];
  /** Lua by `group/Kind`, or by `Kind` without a group. */
  readonly health: Readonly<Record<string, string>>;
}

interface KindFilter {
  readonly apiGroups?: readonly string[];
  readonly kinds?: readonly string[];
}

export const noAgentFile: AgentFile = { syncOptions: [], ignoreDifferences: [], exclusions: [], health: {} };

type Schema =
  | { readonly kind: 'text'; readonly pattern: RegExp; readonly expected: string }
  | { readonly kind: 'list'; readonly of: Schema }
  | { readonly kind: 'map'; readonly key: RegExp; readonly expected: string; readonly of: Schema }
  | {
      readonly kind: 'object';
      readonly members: Readonly<Record<string, Schema>>;
      readonly required?: readonly string[];
      /** At least one of these must be there. */
      readonly oneOf?: readonly string[];
    };

const text = (pattern: RegExp, expected: string): Schema => ({ kind: 'text', pattern, expected });
const list = (of: Schema): Schema => ({ kind: 'list', of });
const anyText = text(/./s, 'a text');
/** "" is the core group. */
const group = text(/^[^\s/]*$/, 'an API group such as apps, or "" for the core group');

/** Values of sync options; the first ones of a kind are those of an Application. */
const syncOption = text(
  /^(?:(?:ApplyOutOfSyncOnly|ClientSideApplyMigration|CreateNamespace|FailOnSharedResource|PruneLast|Replace|RespectIgnoreDifferences|ServerSideApply|SkipDryRunOnMissingResource|Validate)=(?:true|false)|Prune=(?:true|false|confirm)|PrunePropagationPolicy=(?:foreground|background|orphan))$/,
  'a sync option such as CreateNamespace=true or ServerSideApply=true (docs/agent.md lists them)',
);

const schema: Schema = {
  kind: 'object',
  members: {
    syncOptions: list(syncOption),
    ignoreDifferences: list({
      kind: 'object',
      members: {
        group,
        kind: anyText,
        name: anyText,
        namespace: anyText,
        jsonPointers: list(text(/^\//, 'a JSON pointer such as /spec/replicas')),
        jqPathExpressions: list(anyText),
        managedFieldsManagers: list(anyText),
      },
      required: ['kind'],
      oneOf: ['jsonPointers', 'jqPathExpressions', 'managedFieldsManagers'],
    }),
    exclusions: list({
      kind: 'object',
      members: { apiGroups: list(group), kinds: list(anyText) },
      oneOf: ['apiGroups', 'kinds'],
    }),
    health: {
      kind: 'map',
      key: /^(?:[a-z0-9.-]+\/)?[A-Z][A-Za-z0-9]*$/,
      expected: 'group/Kind, or Kind of the core group',
      of: anyText,
    },
  },
};

/** @throws UsageError with the file and the line of each problem */
export function readAgentFile(path: string): AgentFile {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`--config ${path}: ${messageOf(error)}`, { cause: error });
  }
  return parseAgentFile(path, content);
}

/** @throws UsageError with the file and the line of each problem */
export function parseAgentFile(path: string, content: string): AgentFile {
  let root: YamlNode;
  try {
    root = parseYamlNodes(content);
  } catch (error) {
    if (!(error instanceof YamlSyntaxError)) throw error;
    throw new UsageError(`${path}:${error.line ?? 1}: ${error.reason}`, { cause: error });
  }
  if (root.value === undefined) return noAgentFile;
  const problems: string[] = [];
  const value = read(root, schema, '', (line, problem) => problems.push(`${path}:${line}: ${problem}`));
  if (problems.length > 0) throw new UsageError(problems.join('; '));
  return { ...noAgentFile, ...(value as Partial<AgentFile>) };
}

type Report = (line: number, problem: string) => void;

function read(node: YamlNode, wanted: Schema, at: string, report: Report): unknown {
  const { line, value } = node;
  const where = at === '' ? 'the file' : at;
  switch (wanted.kind) {
    case 'text':
      if (typeof value !== 'string' || !wanted.pattern.test(value))
        report(line, `${where}: expected ${wanted.expected}`);
      return value;
    case 'list':
      if (Array.isArray(value))
        return (value as readonly YamlNode[]).map((item, index) => read(item, wanted.of, `${at}[${index}]`, report));
      report(line, `${where}: expected a list`);
      return undefined;
    case 'map':
    case 'object':
      if (value instanceof Map) return readMembers(node, wanted, at, report);
      report(line, `${where}: expected members`);
      return undefined;
  }
}

function readMembers(
  { line, value }: YamlNode,
  wanted: Extract<Schema, { readonly kind: 'map' | 'object' }>,
  at: string,
  report: Report,
): unknown {
  const members = value as Extract<YamlNode['value'], ReadonlyMap<string, unknown>>;
  const result: Record<string, unknown> = {};
  for (const [key, member] of members) {
    const path = at === '' ? key : `${at}.${key}`;
    const of = memberSchema(key, wanted);
    if (typeof of === 'string') report(member.line, `${path}: ${of}`);
    else result[key] = read(member.node, of, path, report);
  }
  if (wanted.kind === 'map') return result;
  const has = (key: string): boolean => members.has(key);
  for (const key of wanted.required ?? []) if (!has(key)) report(line, `${at}: ${key} is missing`);
  if (wanted.oneOf !== undefined && !wanted.oneOf.some(has))
    report(line, `${at}: needs one of ${wanted.oneOf.join(', ')}`);
  return result;
}

/** The schema of a member, or why it is refused. */
function memberSchema(key: string, wanted: Extract<Schema, { readonly kind: 'map' | 'object' }>): Schema | string {
  if (wanted.kind === 'map') return wanted.key.test(key) ? wanted.of : `expected ${wanted.expected}`;
  const known = Object.keys(wanted.members);
  const near = nearest(key, known);
  return (
    wanted.members[key] ??
    `unknown member${near === undefined ? `: known are ${known.join(', ')}` : `: did you mean ${near}?`}`
  );
}
