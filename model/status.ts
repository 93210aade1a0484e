/** `status.sync.status` and `status.resources[].status`. */
export type SyncStatusCode = 'Synced' | 'OutOfSync' | 'Unknown';

/** Best to worst; a code that is not listed ranks like Healthy (Argo CD: gitops-engine/pkg/health). */
export const healthOrder = ['Healthy', 'Suspended', 'Progressing', 'Missing', 'Degraded', 'Unknown'] as const;
export type HealthStatusCode = (typeof healthOrder)[number];

export interface HealthStatus {
  readonly status: HealthStatusCode;
  readonly message?: string;
}

/** True if `candidate` is worse than `current`. */
export function isWorseHealth(current: HealthStatusCode, candidate: HealthStatusCode): boolean {
  return rank(candidate) > rank(current);
}

function rank(code: HealthStatusCode): number {
  return Math.max(0, healthOrder.indexOf(code));
}

/** `status.operationState.phase`. */
export type OperationPhase = 'Running' | 'Terminating' | 'Failed' | 'Error' | 'Succeeded';

/** Failed, Error and Succeeded are final; the others go on. */
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
  /** Ours: a kind whose live cache is not up to date (Argo CD has no word for it). */
  | 'StaleResourceWarning'
  /** Ours: an ignore rule that applies to resources here does not do what it looks like. */
  | 'IgnoreRuleWarning'
  /** Ours: no replica looks after the cluster, so the status stands still. */
  | 'UnownedClusterWarning'
  /** Ours: hydration was asked for, and nobody here does it. */
  | 'HydrationWarning'
  /** Ours: it kept the controller from everything else, and is left alone for a while. */
  | 'QuarantineWarning';

export interface ApplicationCondition {
  readonly type: ConditionType;
  readonly message: string;
  readonly lastTransitionTime?: string;
}

export function isErrorCondition(condition: Pick<ApplicationCondition, 'type'>): boolean {
  return condition.type.endsWith('Error');
}
