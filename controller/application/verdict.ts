import type { AppKey, Application, ApplicationStatus, HealthStatusCode, ResourceKey, SyncStatusCode } from '#model';

/**
 * A difference between our comparison and the status written by another controller. Holds status
 * codes and condition messages, never object contents: safe to log and show.
 */
export interface StatusDisagreement {
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
  /** Set for fields about one resource. */
  readonly resource?: ResourceKey;
  /** "" if absent on their side. */
  readonly theirs: string;
  /** "" if absent on our side. */
  readonly ours: string;
  /** The first differing paths of the resource, without values. */
  readonly paths: readonly string[];
}

/** A write that this controller would make now if it were in charge. */
export interface PlannedWrite {
  readonly what: 'spec' | 'finalizers' | 'status' | 'operation' | 'object';
  /** A resource key for `object`, otherwise the Application's key. */
  readonly target: string;
  readonly reason: string;
}

/** The result of a shadow comparison of one Application. */
/** Fields of an object that the other controller calls Synced, and that a sync would remove. */
export interface DroppedFields {
  readonly resource: ResourceKey;
  /** JSON pointers; of a list that would lose items, the list. */
  readonly paths: readonly string[];
}

export interface ShadowVerdict {
  readonly key: AppKey;
  /** The Application as read. */
  readonly app: Application;
  readonly theirs: { readonly sync: SyncStatusCode | ''; readonly health: HealthStatusCode | '' };
  readonly ours: { readonly sync: SyncStatusCode; readonly health: HealthStatusCode };
  readonly disagreements: readonly StatusDisagreement[];
  readonly writes: readonly PlannedWrite[];
  /** Fields that Git dropped earlier and the first sync removes. Absent: none. */
  readonly dropped?: readonly DroppedFields[];
  /** The status that this controller would write. */
  readonly status: Pick<ApplicationStatus, 'sync' | 'health' | 'conditions'>;
  /** Conditions of our comparison, errors and warnings. */
  readonly conditions: readonly { readonly type: string; readonly message: string }[];
}
