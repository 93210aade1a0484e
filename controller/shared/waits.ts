import type { ConditionType } from '#model';

/** The work of an Application that can wait. */
export type WaitType = 'operation' | 'deletion' | 'refresh' | 'comparison' | 'hand-over';

/** Everything that work can wait for. `waitCauses` has a row for each. */
export type WaitCause =
  /** The cache of a cluster, or a cluster that does not answer writes. */
  | 'cluster'
  /** A setting or Secret that cannot be read. */
  | 'settings'
  | 'source'
  /** The next step or pass: nothing is known that delays it. */
  | 'turn'
  // Operations.
  | 'hook'
  | 'health'
  | 'wave'
  | 'window'
  | 'retry'
  | 'object deletion'
  | 'confirmation'
  // Deletions.
  | 'failed step'
  | 'running operation'
  | 'delete hook'
  | 'foreign finalizer'
  // Comparisons, and automated syncs that follow from them.
  | 'rate limit'
  | 'automated sync'
  // Hand-overs.
  | 'owner';

/** The kinds of blockers in the read API. */
export type BlockerType =
  'hook' | 'health' | 'retry' | 'window' | 'source' | 'quota' | 'cluster' | 'finalizer' | 'wave' | 'other';

/** Why work waits: the cause, and its description for people. */
export interface WaitReason {
  readonly cause: WaitCause;
  readonly what: string;
}

interface WaitTypeRow {
  readonly subject: string;
  /** Conditions that already say that it waits, and why. */
  readonly shownBy: readonly ConditionType[];
}

export const waitTypes: Readonly<Record<WaitType, WaitTypeRow>> = {
  operation: { subject: 'The operation', shownBy: ['UnownedClusterWarning'] },
  deletion: { subject: 'The deletion', shownBy: ['UnownedClusterWarning'] },
  refresh: { subject: 'The requested refresh', shownBy: ['UnownedClusterWarning', 'QuarantineWarning'] },
  comparison: {
    subject: 'The comparison',
    shownBy: ['UnownedClusterWarning', 'QuarantineWarning', 'ComparisonError'],
  },
  'hand-over': { subject: 'The hand-over', shownBy: ['UnownedClusterWarning'] },
};

interface WaitCauseRow {
  readonly blocker: BlockerType;
  /** Conditions that already say what is waited for. */
  readonly shownBy: readonly ConditionType[];
}

/** One table for the conditions of long waits and for `explain`. */
export const waitCauses: Readonly<Record<WaitCause, WaitCauseRow>> = {
  cluster: { blocker: 'cluster', shownBy: ['DeletionError'] },
  settings: { blocker: 'cluster', shownBy: ['SettingsError', 'DeletionError'] },
  source: { blocker: 'source', shownBy: ['SourceUnavailableWarning'] },
  turn: { blocker: 'other', shownBy: [] },
  hook: { blocker: 'hook', shownBy: [] },
  health: { blocker: 'health', shownBy: [] },
  wave: { blocker: 'wave', shownBy: [] },
  window: { blocker: 'window', shownBy: [] },
  retry: { blocker: 'retry', shownBy: [] },
  'object deletion': { blocker: 'other', shownBy: ['DeletionError'] },
  confirmation: { blocker: 'other', shownBy: [] },
  'failed step': { blocker: 'other', shownBy: ['DeletionError'] },
  'running operation': { blocker: 'other', shownBy: ['DeletionError'] },
  'delete hook': { blocker: 'hook', shownBy: ['DeletionError'] },
  'foreign finalizer': { blocker: 'finalizer', shownBy: [] },
  'rate limit': { blocker: 'other', shownBy: [] },
  'automated sync': { blocker: 'other', shownBy: ['ContestedResourceWarning'] },
  owner: { blocker: 'other', shownBy: ['UnownedClusterWarning'] },
};
