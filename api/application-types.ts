import type { ApplicationReport } from '#controller';
import type { ApiResponse, CostRow, Degradation, Link, RecentEvent, Time } from './types.ts';
import type { VerdictCause } from './verdict/causes.ts';
import type { Verdict } from './words/explanation.ts';

export type {
  ApplicationHealth,
  ApplicationOperation,
  AutomatedSync,
  FieldDifference,
  FieldWriter,
  FullQueue,
  IgnoredDifference,
  ObjectHealth,
  OperationBlocker,
  OperationResource,
  Pass,
  PassCause,
  PassStages,
  ReportedCommit,
  ReportedSource,
  ResourceCounts,
  ResourceDifference,
  Waiting,
} from '#controller';
export type { AutosyncCheck as AutomatedSyncCheck } from '#controller';

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
  /** The first twenty images of its live objects. */
  readonly images: readonly string[];
  /** "" before the first comparison. */
  readonly sync: 'Synced' | 'OutOfSync' | 'Unknown' | '';
  readonly health: string;
  /** Phase of the last or the running operation; "" if there was none. */
  readonly operation: string;
  readonly isAutomated: boolean;
  readonly isDeleting: boolean;
  /** When it was last compared. */
  readonly comparedAt?: Time;
  readonly verdict: ApplicationVerdict;
  /** The reason of its verdict; absent: it is fine. */
  readonly attention?: string;
}

/** Whether an Application works, and the most important fact if it does not. */
export interface ApplicationVerdict {
  readonly verdict: Verdict;
  /** A row of the table "Verdicts" in docs/troubleshooting.md. */
  readonly cause: VerdictCause;
  /** Absent: it is fine. */
  readonly reason?: string;
  readonly since?: Time;
  readonly until?: Time;
  /** The next step in one line; absent if there is none, or if the reason names it. */
  readonly next?: string;
  /** When the compared state was read; absent: it was never compared. */
  readonly comparedAt?: Time;
  /** `status`: the owner did not answer, or is unknown, so only the stored status is known. */
  readonly source: 'owner' | 'former-owner' | 'status';
  /** The owner; absent: it did not answer. */
  readonly by?: string;
}

/** All that its owner knows about it; its controller fills what {@link ApplicationReport} has. */
export interface Application extends ApplicationSummary, Omit<ApplicationReport, 'since' | 'reason' | 'comparedAt'> {
  readonly ownership: ApplicationOwnership;
  readonly conditions: readonly Condition[];
  readonly degraded: readonly Degradation[];
  /** Its passes, syncs and faults within the last hour, the newest first. */
  readonly recent: readonly RecentEvent[];
  readonly cost: CostRow;
  /** Pages about it in other programs, such as Grafana. */
  readonly links: readonly Link[];
}

/** A page as its owner assembles it: the replica that answers judges what the caller may see. */
export type UnjudgedApplication = Omit<Application, 'verdict' | 'attention'>;

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
  /** The shard that the cluster Secret names. */
  readonly pinnedTo?: number;
  /** Since when no replica has attended its cluster. */
  readonly unownedSince?: Time;
}

export interface Condition {
  readonly type: string;
  readonly message: string;
  readonly since?: Time;
}
