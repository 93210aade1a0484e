import type { LiveAge, ReportedEvents, ReportedLog, ReportedObject } from '#controller';
import type { ApiResponse, ObjectName, Time } from './types.ts';
import type { ApplicationSummary } from './application-types.ts';

/** GET /api/v1/applications/{namespace}/{name}/tree */
export interface TreeResponse extends ApiResponse<'Tree'> {
  /** At most 5000. */
  readonly nodes: readonly TreeNode[];
  readonly total: number;
  /** Why there are no nodes. */
  readonly message?: string;
}

/** GET /api/v1/applications/{namespace}/{name}/object, with group, kind, namespace and name. */
export interface ObjectResponse extends ApiResponse<'Object'> {
  readonly object: ReportedObject;
}

/** GET /api/v1/applications/{namespace}/{name}/object/events, with the same parameters. */
export interface ObjectEventsResponse extends ApiResponse<'ObjectEvents'> {
  readonly events: ReportedEvents;
}

/** GET /api/v1/applications/{namespace}/{name}/object/log, also with `container` and `previous`. */
export interface LogResponse extends ApiResponse<'Log'> {
  readonly log: ReportedLog;
}

/** An object of an Application, or one that it owns. */
export interface TreeNode extends ObjectName {
  readonly version: string;
  /** Positions in `nodes`. Empty: a managed object, or an orphan. */
  readonly parents: readonly number[];
  readonly health?: string;
  readonly healthMessage?: string;
  /** Only of managed objects. */
  readonly sync?: string;
  readonly wave?: number;
  readonly isHook: boolean;
  /** It is in the manifests, and not in the cluster. */
  readonly isMissing: boolean;
  readonly createdAt?: Time;
  /** How old its live state may be, only while its kind is not fresh. */
  readonly liveAge?: LiveAge;
  readonly images: readonly string[];
  readonly details: readonly { readonly name: string; readonly value: string }[];
}

/** GET /api/v1/plan?replicas=5: what would move. Nothing moves. */
export interface PlanResponse extends ApiResponse<'Plan'> {
  readonly from: PlanTarget;
  readonly to: PlanTarget;
  /** Parts of clusters that would change their shard. */
  readonly moves: readonly PlannedMove[];
  readonly movedApplications: number;
  readonly parts: number;
  readonly applications: number;
  /** Applications by shard, before and after. */
  readonly loadBefore: readonly number[];
  readonly loadAfter: readonly number[];
  /** The same change under each algorithm, for comparison. */
  readonly algorithms: readonly {
    readonly algorithm: string;
    readonly moved: number;
    readonly movedApplications: number;
    /** Load of the fullest shard by the average; absent: nothing to spread. */
    readonly fullestToAverage?: number;
  }[];
}

export interface PlanTarget {
  readonly algorithm: string;
  readonly replicas: number;
}

export interface PlannedMove {
  readonly server: string;
  readonly name: string;
  readonly part: number;
  readonly parts: number;
  readonly from: number;
  readonly to: number;
  readonly applications: number;
}

/** GET /api/v1/history: figures of the last hour, from each replica's memory. */
export interface HistoryResponse extends ApiResponse<'History'> {
  /** One for each replica, by name. */
  readonly items: readonly ReplicaHistory[];
}

export interface ReplicaHistory {
  readonly replica: string;
  readonly intervalMs: number;
  /** The oldest first. */
  readonly samples: readonly HistorySample[];
}

/** Counts are those of the interval that ends at `at`. */
export interface HistorySample {
  readonly at: Time;
  readonly heapBytes: number;
  readonly rssBytes: number;
  readonly eventLoopDelayMs: number;
  /** Share of one CPU. */
  readonly cpu: number;
  readonly queueDepth: number;
  readonly oldestQueuedMs: number;
  readonly apiRequests: number;
  readonly watchEvents: number;
  /** Passes by the type of their cause. */
  readonly passes: Readonly<Record<string, number>>;
  readonly passP50Ms?: number;
  readonly passP99Ms?: number;
  /** Syncs and deletions that ended, and how long they took. */
  readonly syncs: number;
  readonly syncFailures: number;
  /** From the start of an operation to its end. */
  readonly syncP50Ms?: number;
  readonly syncP99Ms?: number;
}

/** An event of GET /api/v1/stream: `event:` is its type, `data:` the rest as JSON. */
export type StreamEvent =
  /** Read everything again: the stream does not continue where the last one ended. */
  | { readonly type: 'reset' }
  | {
      readonly type: 'applications';
      readonly changed: readonly ApplicationSummary[];
      readonly removed: readonly string[];
    }
  /** Owners of clusters or holders of slots changed: read `ownership` again. */
  | { readonly type: 'ownership' };
