import type { Verdict } from '../words/explanation.ts';

/**
 * Every cause of a verdict, the most urgent first. docs/troubleshooting.md has a row for each that
 * is waiting or broken: its meaning, and what to do.
 */
export const verdictCauses = {
  'no-owner': 'broken',
  settings: 'broken',
  cluster: 'broken',
  project: 'broken',
  'source-denied': 'broken',
  destination: 'broken',
  'destination-denied': 'broken',
  spec: 'broken',
  credentials: 'broken',
  repository: 'broken',
  revision: 'broken',
  path: 'broken',
  manifest: 'broken',
  signature: 'broken',
  rendering: 'broken',
  renderer: 'broken',
  kind: 'broken',
  comparison: 'broken',
  deletion: 'broken',
  'kind-missing': 'broken',
  'kind-denied': 'broken',
  rights: 'broken',
  hook: 'broken',
  object: 'broken',
  operation: 'broken',
  contested: 'broken',
  degraded: 'broken',
  missing: 'broken',
  error: 'broken',
  queue: 'waiting',
  retry: 'waiting',
  'sync-blocked': 'waiting',
  syncing: 'waiting',
  deleting: 'waiting',
  'first-comparison': 'waiting',
  'sync-off': 'waiting',
  'sync-held': 'waiting',
  progressing: 'waiting',
  suspended: 'waiting',
  listing: 'waiting',
  'owner-silent': 'waiting',
  stale: 'waiting',
  other: 'waiting',
  fine: 'healthy',
} as const satisfies Readonly<Record<string, Verdict>>;

export type VerdictCause = keyof typeof verdictCauses;

const ranks = new Map(Object.keys(verdictCauses).map((cause, i) => [cause, i]));

/** The position of a cause in the order of urgency. A newer replica may name another one. */
export function urgencyOfCause(cause: string): number {
  return ranks.get(cause) ?? ranks.size;
}

/** A pattern of messages, and the cause that it shows. The first rule that matches counts. */
type MessageRule = readonly [RegExp, VerdictCause];

const specRules: readonly MessageRule[] = [
  [/do not match any of the allowed destinations/, 'destination-denied'],
  [/^application repo .* is (?:not permitted in project|refused)|^sync source repo /, 'source-denied'],
  [/referencing project .* which does not exist|is not permitted to use project/, 'project'],
  [/^error getting cluster by|^application destination|is scoped to project|^cluster ".*" is disabled/, 'destination'],
];

const sourceRules: readonly MessageRule[] = [
  [
    /the renderer is unavailable|rpc error: code = (?:Unavailable|DeadlineExceeded)|the cache on disk cannot be written|is not installed/,
    'renderer',
  ],
  [/app path (?:does not exist|is (?:absolute|not a directory))/, 'path'],
  [/unable to resolve '.*' to a commit SHA|revision not found|cannot get digest for revision/, 'revision'],
  [/GIT\/GPG:|gpg is not installed|verifying the signatures/, 'signature'],
  [/Failed to unmarshal "/, 'manifest'],
  [
    /failed to authenticate|authentication (?:required|failed)|repository not found|ssh host key|access denied/i,
    'credentials',
  ],
  [/failed to list refs|cannot reach|connection refused|no such host|network is unreachable/i, 'repository'],
];

/** The kind of fault that a condition reports; undefined: the type of the condition says it all. */
export function causeOfCondition(type: string, message: string): VerdictCause | undefined {
  switch (type) {
    case 'SettingsError':
      return 'settings';
    case 'InvalidSpecError':
      return firstMatch(specRules, message) ?? 'spec';
    case 'ComparisonError':
      return causeOfComparison(message);
    case 'DeletionError':
      return 'deletion';
    case 'ContestedResourceWarning':
      return 'contested';
    case 'UnownedClusterWarning':
      return 'no-owner';
    case 'SyncError':
      return causeOfResult(message) ?? 'operation';
    default:
      return type.endsWith('Error') ? 'error' : undefined;
  }
}

function causeOfComparison(message: string): VerdictCause {
  if (/failed to (?:sync|connect to) cluster|failed to get server version/.test(message)) return 'cluster';
  if (message.startsWith('Failed to load live state: ')) return 'kind';
  if (!message.startsWith('Failed to load target state: ')) return 'comparison';
  const cause = firstMatch(sourceRules, message);
  return cause ?? 'rendering';
}

const resultRules: readonly MessageRule[] = [
  [
    /Kubernetes API could not find|could not find the requested resource|no matches for kind|failed to discover server resources/,
    'kind-missing',
  ],
  [/\bis not permitted in project\b/, 'kind-denied'],
  [/\bis forbidden: User\b|\bcannot \w+ resource\b|\bis attempting to grant RBAC permissions\b/, 'rights'],
];

/** Faults of a result that no retry repairs; undefined: another one. */
export function causeOfResult(message: string): VerdictCause | undefined {
  return firstMatch(resultRules, message);
}

function firstMatch(rules: readonly MessageRule[], message: string): VerdictCause | undefined {
  return rules.find(([pattern]) => pattern.test(message))?.[1];
}

const targetPrefix = /^Failed to load target state: (?:failed to generate manifest for (source \d+ of \d+): )?/;

/** The telling part of a condition: without the words that all of its type begin with. */
export function tellingPart(message: string): string {
  const source = targetPrefix.exec(message)?.[1];
  const rest = message
    .replace(targetPrefix, '')
    .replace(/^rpc error: code = \w+ desc = /, '')
    .replace(/^Manifest generation error \(cached\): /, '')
    .replace(/^Failed to load live state: /, '');
  return source === undefined || source.endsWith(' of 1') ? rest : `${source}: ${rest}`;
}
