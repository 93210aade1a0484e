import type { ApiResponse, CostRow, Degradation, ObjectName, QueuePriority, RecentEvent, Time } from './types.ts';

/** GET /api/v1/applications: by namespace and name. */
export interface ApplicationsResponse extends ApiResponse<'Applications'> {
  readonly items: readonly ApplicationSummary[];
  /** Number of Applications that the filters select and the caller may read, on all pages. */
  readonly total: number;
  /** Pass it as `continue` to get the next page; absent on the last one. */
  readonly continue?: string;
}

/** GET /api/v1/applications/{namespace}/{name} */
export interface ApplicationResponse extends ApiResponse<'Application'> {
  readonly application: Application;
}

/** GET /api/v1/applications/{namespace}/{name}/recording */
export interface RecordingResponse extends ApiResponse<'Recording'> {
  readonly recording: RecordingPiece;
}

/** The next lines of a recording. */
export interface RecordingPiece {
  readonly lines: readonly string[];
  /** Confirms these lines: give it as `after` of the next request. */
  readonly next: string;
  /** Why no more lines follow; absent: more may. */
  readonly end?: string;
}

export interface ApplicationSummary {
  readonly namespace: string;
  readonly name: string;
  readonly project: string;
  /** The replica that owns it, and its shard. */
  readonly owner: string;
  readonly shard?: number;
  /** URL of the destination cluster; "" if it cannot be resolved. */
  readonly server: string;
  readonly clusterName: string;
  readonly destinationNamespace: string;
  /** Without user and password. */
  readonly repositories: readonly string[];
  readonly revisions: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  /** "" before the first comparison. */
  readonly sync: 'Synced' | 'OutOfSync' | 'Unknown' | '';
  readonly health: string;
  /** Phase of the last or the running operation; "" if there was none. */
  readonly operation: string;
  readonly isAutomated: boolean;
  readonly isDeleting: boolean;
  /** When it was last compared. */
  readonly comparedAt?: Time;
  /** Why it deserves a look, the most urgent reason; absent: it is fine. */
  readonly attention?: string;
}

export interface Application extends ApplicationSummary {
  readonly ownership: ApplicationOwnership;
  readonly waiting?: Waiting;
  /** The last pass; absent: none since this replica became the owner. */
  readonly lastPass?: Pass;
  readonly resources: ResourceCounts;
  /** The first resources that differ, at most 100. */
  readonly differences: readonly ResourceDifference[];
  readonly differencesTotal: number;
  /** Resources that ignore rules apply to, whether or not they differ; at most 50. */
  readonly ignored: readonly (ObjectName & { readonly rules: readonly IgnoredDifference[] })[];
  readonly healthDetails: ApplicationHealth;
  readonly lastOperation?: ApplicationOperation;
  readonly automatedSync: AutomatedSync;
  readonly conditions: readonly Condition[];
  readonly degraded: readonly Degradation[];
  /** Its passes, syncs and faults within the last hour, the newest first. */
  readonly recent: readonly RecentEvent[];
  readonly cost: CostRow;
}

export interface ApplicationOwnership {
  readonly replica: string;
  readonly shard?: number;
  /** When this replica took it up, and why. */
  readonly since: Time;
  readonly reason: string;
  /** The part of its cluster, and the number of parts. */
  readonly part: number;
  readonly parts: number;
  readonly epoch?: number;
}

/** Its present wait. */
export interface Waiting {
  readonly what: string;
  readonly since: Time;
  /** Absent: unknown. */
  readonly until?: Time;
}

export interface Pass {
  readonly at: Time;
  readonly durationMs: number;
  /** Time in the queue, after it became due. */
  readonly queuedMs: number;
  readonly priority: QueuePriority;
  /** 0: the tree only; 1: known revisions; 2: latest revisions; 3: revisions resolved again. */
  readonly level: 0 | 1 | 2 | 3;
  readonly isHard: boolean;
  readonly cause: PassCause;
  readonly stages: PassStages;
  readonly result: 'running' | 'completed' | 'waiting' | 'failed';
  /** Why it failed or waits. */
  readonly message?: string;
}

/** Why a pass ran. */
export interface PassCause {
  readonly type:
    | 'object'
    | 'user'
    | 'timer'
    | 'application'
    | 'ownership'
    | 'project'
    | 'settings'
    | 'operation'
    | 'retry'
    | 'other';
  /** The reason in words. */
  readonly message: string;
  /** The changed objects, the first ten. */
  readonly objects: readonly ObjectName[];
  readonly objectsTotal: number;
}

/** Milliseconds in each stage, waiting included; absent: the pass did not reach it. */
export interface PassStages {
  readonly sources?: number;
  readonly live?: number;
  readonly comparison?: number;
  readonly tree?: number;
  readonly publishing?: number;
  readonly status?: number;
}

export interface ResourceCounts {
  readonly synced: number;
  readonly outOfSync: number;
  readonly unknown: number;
}

export interface ResourceDifference extends ObjectName {
  readonly version: string;
  /** `extra`: it is not in the manifests. `unread`: whether it exists is unknown. */
  readonly state: 'modified' | 'missing' | 'extra' | 'unread';
  /** The first ten; empty unless modified. */
  readonly fields: readonly FieldDifference[];
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

/** An entry of `metadata.managedFields`. */
export interface FieldWriter {
  readonly manager: string;
  readonly operation: string;
  /** "" unless the write went to a subresource, such as `scale`. */
  readonly subresource: string;
  readonly time?: Time;
  /** Driftless itself wrote it. */
  readonly isOurs: boolean;
}

/** A rule that hides differences of a resource. */
export interface IgnoredDifference {
  /**
   * `application`: spec.ignoreDifferences; `manifest`: the annotation ignore-differences;
   * `settings`: resource.customizations of argocd-cm.
   */
  readonly origin: 'application' | 'manifest' | 'settings';
  /** The rule as written: a JSON pointer, a jq expression or a manager. */
  readonly rule: string;
  readonly type: 'jsonPointer' | 'jq' | 'manager';
}

export interface ApplicationHealth {
  readonly status: string;
  readonly message: string;
  readonly since?: Time;
  /** The first resource with the status that the Application has. */
  readonly decidedBy?: ObjectName & { readonly status: string; readonly message: string };
}

export interface ApplicationOperation {
  readonly type: 'sync' | 'deletion';
  readonly phase: string;
  readonly message: string;
  readonly startedAt: Time;
  readonly finishedAt?: Time;
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
  readonly type:
    'hook' | 'health' | 'retry' | 'window' | 'source' | 'quota' | 'cluster' | 'finalizer' | 'wave' | 'other';
  readonly message: string;
  readonly object?: ObjectName;
  readonly since?: Time;
  readonly until?: Time;
}

export interface OperationResource extends ObjectName {
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
  readonly at?: Time;
  /** For `wait`. */
  readonly until?: Time;
  /** All conditions of a start, in the order in which they are checked. */
  readonly checks: readonly AutomatedSyncCheck[];
}

export interface AutomatedSyncCheck {
  /** `enabled`, `window`, `operation`, `deletion`, `status`, `live-state`, `prune`, … */
  readonly name: string;
  readonly passes: boolean;
  /** The values that decide, in words. */
  readonly message: string;
}

export interface Condition {
  readonly type: string;
  readonly message: string;
  readonly since?: Time;
}
