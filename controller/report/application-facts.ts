/**
 * What the owner of an Application knows about it, for display. These are wire types of the read
 * API: a field may be added, none changes its meaning or disappears. Times are RFC 3339 in UTC with
 * milliseconds, texts are bounded, values are masked.
 */
import type { WrittenRule } from '#diff';
import type { ResourceRef } from '#model';
import type { Priority } from '#queues';
import type { AutosyncCheck } from '../application/autosync-checks.ts';
import type { CompareLevel, RefreshCause } from '../application/freshness.ts';
import type { FieldWriter as ObjectWriter } from '../comparison/last-writer.ts';
import type { BlockerType } from '../shared/waits.ts';
import type { StageTimes } from '../write/apply-metrics.ts';
import type { LiveAge } from './live-age.ts';

export type { LiveAge } from './live-age.ts';

/** What the owner has in memory about an Application, beside its object. */
export interface ApplicationState {
  /** When this replica took it up, and why. */
  readonly since: string;
  readonly reason: string;
  /** When this process last compared it with its sources; absent: not yet. */
  readonly comparedAt?: string;
  readonly waiting?: Waiting;
  readonly healthDetails: ApplicationHealth;
  readonly lastOperation?: ApplicationOperation;
  readonly automatedSync: AutomatedSync;
}

export interface ApplicationReport extends ApplicationState {
  /** The last pass; absent: none since this replica became the owner. */
  readonly lastPass?: Pass;
  readonly resources: ResourceCounts;
  /** The first resources that differ, at most 100. */
  readonly differences: readonly ResourceDifference[];
  readonly differencesTotal: number;
  /** Resources that ignore rules apply to, whether or not they differ; at most 50. */
  readonly ignored: readonly (ResourceRef & { readonly rules: readonly IgnoredDifference[] })[];
  /** In the order of the spec, at most 20. */
  readonly sources: readonly ReportedSource[];
}

/** One source, and the commit that was compared last. */
export interface ReportedSource {
  /** Without user and password. */
  readonly repository: string;
  /** The path, or the name of the chart. */
  readonly path: string;
  readonly targetRevision: string;
  /** "" before the first comparison. */
  readonly revision: string;
  /** Absent: no commit, or one that this replica has not fetched. */
  readonly commit?: ReportedCommit;
}

export interface ReportedCommit {
  /** Name and e-mail address, at most 200 characters. */
  readonly author: string;
  readonly at: string;
  /** The first line of the message, at most 500 characters. */
  readonly subject: string;
}

/** Its present wait. */
export interface Waiting {
  readonly what: string;
  readonly since: string;
  /** Absent: unknown. */
  readonly until?: string;
  /** It waits for a worker of this queue. */
  readonly queue?: FullQueue;
}

/** A queue whose workers are all busy. */
export interface FullQueue {
  readonly name: string;
  readonly workers: number;
  /** Items that are due. */
  readonly depth: number;
  /** The item that has occupied a worker for the longest time; "" if the caller may not read it. */
  readonly longest?: { readonly key: string; readonly since: string };
}

export interface Pass {
  readonly at: string;
  readonly durationMs: number;
  /** Time in the queue, after it became due. */
  readonly queuedMs: number;
  readonly priority: Priority;
  /** 0: the tree only; 1: known revisions; 2: latest revisions; 3: revisions resolved again. */
  readonly level: CompareLevel;
  readonly isHard: boolean;
  readonly cause: PassCause;
  /** Milliseconds in each stage, waiting included; absent: the pass did not reach it. */
  readonly stages: PassStages;
  readonly result: 'running' | 'completed' | 'waiting' | 'failed';
  /** Why it failed or waits. */
  readonly message?: string;
}

export type PassStages = StageTimes;

/** Why a pass ran. */
export interface PassCause {
  readonly type: RefreshCause;
  /** The reason in words. */
  readonly message: string;
  /** The changed objects, the first ten. */
  readonly objects: readonly ResourceRef[];
  readonly objectsTotal: number;
}

export interface ResourceCounts {
  readonly synced: number;
  readonly outOfSync: number;
  readonly unknown: number;
}

export interface ResourceDifference extends ResourceRef {
  readonly version: string;
  /**
   * `extra`: it is not in the manifests. `unread`: whether it exists is unknown. `refused`: the
   * project does not permit it.
   */
  readonly state: 'modified' | 'missing' | 'extra' | 'unread' | 'refused';
  /** The first ten; empty unless modified. */
  readonly fields: readonly FieldDifference[];
  /**
   * YAML of the whole object with masked values, cut after 8 KiB: of a missing one the desired
   * state, of an extra one the live state. Absent otherwise, and after the first 20 differences.
   */
  readonly manifest?: string;
  /** Only while its kind is not fresh. */
  readonly liveAge?: LiveAge;
  /** The last write to the object of anything but its status. */
  readonly lastWriter?: FieldWriter;
  /** Why it was not compared with confidence: rules that failed. */
  readonly faults: readonly string[];
  readonly ignored: readonly IgnoredDifference[];
  /** The rival that undoes self-heal; absent: none is known. */
  readonly contestedBy?: string;
}

export interface FieldDifference {
  /** JSON pointer. */
  readonly path: string;
  /**
   * JSON text of the two values, cut after 256 characters; absent: there is none. Values of Secrets
   * and of members that look like credentials are masked.
   */
  readonly desired?: string;
  readonly live?: string;
  readonly isMasked: boolean;
  /** Last writer of the field, by managedFields. */
  readonly changedBy?: FieldWriter;
}

/** An entry of `metadata.managedFields`: manager, operation, subresource ("" for none) and time. */
export interface FieldWriter extends ObjectWriter {
  /** Driftless itself wrote it. */
  readonly isOurs: boolean;
}

/** A rule that hides differences of a resource: a JSON pointer, a jq expression or a manager. */
export type IgnoredDifference = WrittenRule;

export interface ApplicationHealth {
  readonly status: string;
  readonly message: string;
  readonly since?: string;
  /** The first resource with the status that the Application has. */
  readonly decidedBy?: ObjectHealth;
}

export interface ObjectHealth extends ResourceRef {
  readonly status: string;
  readonly message: string;
  /** The object below it that is to blame, such as one of its Pods. */
  readonly culprit?: ResourceRef & { readonly status: string; readonly message: string };
}

export interface ApplicationOperation {
  readonly type: 'sync' | 'deletion';
  readonly phase: string;
  readonly message: string;
  readonly startedAt: string;
  readonly finishedAt?: string;
  /** A user's name, or `automated sync`. */
  readonly initiatedBy: string;
  readonly revisions: readonly string[];
  readonly retries: number;
  readonly retryLimit?: number;
  /** `PreSync`, `Sync`, `PostSync` or `SyncFail`. */
  readonly syncPhase?: string;
  readonly wave?: number;
  /** Blocks a running operation; absent: nothing does. */
  readonly blockedBy?: OperationBlocker;
  /** Results that are not plainly good, at most 100. */
  readonly resources: readonly OperationResource[];
}

export interface OperationBlocker {
  readonly type: BlockerType;
  readonly message: string;
  readonly object?: ResourceRef;
  /** The object below it that is to blame, such as a Pod of a hook. */
  readonly culprit?: ObjectHealth['culprit'];
  readonly since?: string;
  /** Absent: unknown. A hook or a wave without it waits for ever, unless --sync-timeout is set. */
  readonly until?: string;
}

export interface OperationResource extends ResourceRef {
  readonly status: string;
  readonly message: string;
  readonly hookType?: string;
  readonly hookPhase?: string;
  readonly syncPhase?: string;
}

/** The last decision about automated sync. */
export interface AutomatedSync {
  /** `none`: it was not asked since this replica became the owner. */
  readonly decision: 'start' | 'wait' | 'skip' | 'refuse' | 'none';
  readonly reason: string;
  readonly at?: string;
  /** For `wait`, and for a sync window that forbids it. */
  readonly until?: string;
  /** Conditions of a start with the values that decide, in the order in which they are checked. */
  readonly checks: readonly AutosyncCheck[];
}
