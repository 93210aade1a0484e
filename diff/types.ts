import type { KubeObject, ResourceIgnoreDifferences, Settings } from '#model';

/** The rules under which one comparison runs. */
export interface DiffRules {
  readonly settings: Settings;
  /** `spec.ignoreDifferences` of the Application. */
  readonly ignoreDifferences: readonly ResourceIgnoreDifferences[];
}

/** The difference of one managed object. */
export interface DiffResult {
  readonly modified: boolean;
  /** Live, after normalisation and ignore rules. `null` when there is no live object. */
  readonly normalizedLive: KubeObject | null;
  /** What live would be after applying target, normalised the same way. `null` when there is no target (a prune candidate). */
  readonly predictedLive: KubeObject | null;
  /** JSON pointers of the first differing paths (at most 10), for people. */
  readonly paths: readonly string[];
}
