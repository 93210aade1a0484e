import type { AppKey, Application, HealthStatusCode, ResourceKey, SyncStatusCode } from '#model';

/**
 * One point on which our comparison and the status that another controller wrote disagree. Values are status codes or texts of conditions,
 * never values of objects: a disagreement may be logged and shown.
 */
export interface Disagreement {
  readonly field:
    | 'sync'
    | 'health'
    | 'revision'
    | 'condition'
    | 'resource-sync'
    | 'resource-health'
    /** Only they list the resource. */
    | 'resource-missing'
    /** Only we list the resource. */
    | 'resource-extra';
  /** For the fields about one resource. */
  readonly resource?: ResourceKey;
  /** "" when they say nothing. */
  readonly theirs: string;
  /** "" when we say nothing. */
  readonly ours: string;
  /** The first differing paths of the resource, without values. */
  readonly paths: readonly string[];
}

/** Something that this controller would write at once if it were in charge. */
export interface PlannedWrite {
  readonly what: 'spec' | 'finalizers' | 'status' | 'operation' | 'object';
  /** A resource key for `object`, otherwise the Application's key. */
  readonly target: string;
  readonly reason: string;
}

/** What a controller that must not write found out about one Application. */
export interface Verdict {
  readonly key: AppKey;
  /** As it was read. */
  readonly app: Application;
  readonly theirs: { readonly sync: SyncStatusCode | ''; readonly health: HealthStatusCode | '' };
  readonly ours: { readonly sync: SyncStatusCode; readonly health: HealthStatusCode };
  readonly disagreements: readonly Disagreement[];
  readonly writes: readonly PlannedWrite[];
  /** Conditions of our comparison, errors and warnings. */
  readonly conditions: readonly { readonly type: string; readonly message: string }[];
}
