/** `status.sync.status` and `status.resources[].status`. */
export type SyncStatusCode = 'Synced' | 'OutOfSync' | 'Unknown';

/** Best to worst; an unlisted code ranks like Healthy (Argo CD: gitops-engine/pkg/health). */
export const healthOrder = ['Healthy', 'Suspended', 'Progressing', 'Missing', 'Degraded', 'Unknown'] as const;
export type HealthStatusCode = (typeof healthOrder)[number];

export interface HealthStatus {
  readonly status: HealthStatusCode;
  readonly message?: string;
}

/** True if `candidate` is worse than `current`. */
export function isWorseHealth(current: HealthStatusCode, candidate: HealthStatusCode): boolean {
  return healthRank(candidate) > healthRank(current);
}

function healthRank(code: HealthStatusCode): number {
  return Math.max(0, healthOrder.indexOf(code));
}

/** `status.operationState.phase`. */
export type OperationPhase = 'Running' | 'Terminating' | 'Failed' | 'Error' | 'Succeeded';

/** Failed, Error and Succeeded are final. */
export function isCompleted(phase: OperationPhase): boolean {
  return phase === 'Failed' || phase === 'Error' || phase === 'Succeeded';
}

/** Result of one resource in a sync. */
export type ResultCode = 'Synced' | 'SyncFailed' | 'Pruned' | 'PruneSkipped';

export type SyncPhase = 'PreSync' | 'Sync' | 'PostSync' | 'SyncFail';
export type HookType = SyncPhase | 'Skip';

export type ConditionType =
  | 'DeletionError'
  | 'InvalidSpecError'
  | 'ComparisonError'
  | 'SyncError'
  | 'UnknownError'
  | 'SharedResourceWarning'
  | 'RepeatedResourceWarning'
  | 'ExcludedResourceWarning'
  | 'OrphanedResourceWarning'
  /** Ours: the live cache of a kind is stale (Argo CD has no equivalent). */
  | 'StaleResourceWarning'
  /**
   * Ours: discovery of the cluster is incomplete, so charts may render less. Nothing is pruned.
   */
  | 'IncompleteDiscoveryWarning'
  /** Ours: several cluster Secrets have the URL of the destination cluster. */
  | 'DuplicateClusterWarning'
  /** Ours: a source cannot be read; says since when, and with which commit drift is compared. */
  | 'SourceUnavailableWarning'
  /** Ours: an ignore rule that applies to resources here does not work as it suggests. */
  | 'IgnoreRuleWarning'
  /** Ours: the API server refuses a change of a server-side diff, such as an immutable field. */
  | 'RefusedChangeWarning'
  /** Ours: the last-applied annotation of an object is unreadable or another object's. */
  | 'LastAppliedWarning'
  /** Ours: a manifest has several items of one key in a list that is merged by keys. */
  | 'RepeatedItemWarning'
  /** Ours: an object of a source has no name. */
  | 'UnnamedResourceWarning'
  /** Ours: a file of a source has some keys of a manifest, but is none. */
  | 'IgnoredFileWarning'
  /** Ours: a setting that narrows every write cannot be read, and no value of it is known. */
  | 'SettingsError'
  /** Ours: the same, but its last readable value stays in force. */
  | 'SettingsWarning'
  /** Ours: another writer repeatedly undoes what self-heal writes. */
  | 'ContestedResourceWarning'
  /** Ours: automated sync leaves objects that a prune would not remove. */
  | 'KeptResourceWarning'
  /** Ours: an operation, deletion or refresh has made no progress for minutes. */
  | 'WaitingWarning'
  /** Ours: no replica owns the cluster, so the status is not updated. */
  | 'UnownedClusterWarning'
  /** Ours: hydration is requested, but no hydrator runs here. */
  | 'HydrationWarning'
  /** Ours: the Application blocked the controller and is quarantined for a while. */
  | 'QuarantineWarning';

export interface ApplicationCondition {
  readonly type: ConditionType;
  readonly message: string;
  readonly lastTransitionTime?: string;
}

export function isErrorCondition(condition: Pick<ApplicationCondition, 'type'>): boolean {
  return condition.type.endsWith('Error');
}
