/**
 * Wire types of version v1 of the read API: what `GET /api/v1/…` answers as JSON. A field is added
 * at any time; none changes its meaning or disappears within a version. Absent means unknown.
 * Application pages are in application-types.ts.
 */
export const apiVersion = 'driftless.io/v1';

/** RFC 3339 in UTC with milliseconds. */
export type Time = string;

/** A link to a page of another program. */
export interface Link {
  readonly name: string;
  readonly url: string;
}

/** The head of every answer. */
export interface ApiResponse<Kind extends string> {
  readonly apiVersion: typeof apiVersion;
  readonly kind: Kind;
  /** When the answer was assembled, by the clock of `replica`. */
  readonly time: Time;
  /** Host name of the replica that assembled it. */
  readonly replica: string;
  /** Replicas whose part is missing; empty if the answer is complete. */
  readonly incomplete: readonly IncompletePart[];
  /** Counts what was left out for lack of a right; absent: the page is whole. */
  readonly hidden?: readonly HiddenPart[];
}

/** Values and objects that a page leaves out. Hidden Applications are not counted. */
export interface HiddenPart {
  /** The right that would show them, such as `get pods in namespace "shop"`. */
  readonly needs: string;
  readonly count: number;
}

export interface IncompletePart {
  /** Host name, or the slot if its holder is unknown. */
  readonly replica: string;
  readonly reason: string;
}

/** The body of every status other than 200. */
export interface ApiError {
  readonly apiVersion: typeof apiVersion;
  readonly kind: 'Error';
  /** HTTP status. */
  readonly code: number;
  /** States the failure, and the right, parameter or object that is missing. */
  readonly message: string;
  /** For programs; absent: the status is enough. */
  readonly reason?: ApiErrorReason;
}

/** An Application that no replica can have, as none watches its namespace. */
export type ApiErrorReason = 'NamespaceNotWatched';

/** A Kubernetes object by name; `namespace` is "" for cluster-scoped ones. */
export interface ObjectName {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** A part that does not work in full, and how to repair it. */
export interface Degradation {
  readonly type: 'cluster' | 'kind' | 'repository' | 'source' | 'ownership' | 'application' | 'replica' | 'settings';
  /** The cluster, `<group>/<Kind>`, URL, condition type or Application. */
  readonly subject: string;
  readonly message: string;
  readonly since?: Time;
  /** When it is tried again; absent: unknown. */
  readonly until?: Time;
  /** Its effect on the verdict of an Application that uses it; absent: `broken`. */
  readonly effect?: 'waiting' | 'none';
  /** Advice in one line. */
  readonly advice: string;
}

/** GET /api/v1/replica */
export interface ReplicaResponse extends ApiResponse<'Replicas'> {
  /** By name. */
  readonly items: readonly ReplicaInfo[];
}

export interface ReplicaInfo {
  /** Host name (the name of its pod). */
  readonly name: string;
  readonly version: string;
  /** Absent: a standby without a shard. */
  readonly shard?: number;
  readonly startedAt: Time;
  readonly ready: boolean;
  /** Why it is not ready, or not healthy. */
  readonly reason?: string;
  readonly applications: number;
  /** URLs of clusters that it owns at least partly. */
  readonly clusters: readonly string[];
  readonly heapBytes: number;
  readonly heapLimitBytes: number;
  readonly rssBytes: number;
  /** CPU time of the process since its start. */
  readonly cpuMs: number;
  /** 99th percentile of the event loop's delay over two minutes. */
  readonly eventLoopDelayMs?: number;
  readonly degraded: readonly Degradation[];
}

/** GET /api/v1/ownership */
export interface OwnershipResponse extends ApiResponse<'Ownership'> {
  /** Number of the published table; absent while there is none. */
  readonly epoch?: number;
  /** When the replica that answers saw this epoch first. */
  readonly epochSince?: Time;
  readonly algorithm: string;
  /** Number of shards. */
  readonly shards: number;
  /** By number. */
  readonly slots: readonly Slot[];
  /** By URL. */
  readonly clusters: readonly OwnedCluster[];
  /** The newest first, at most an hour old. */
  readonly handOvers: readonly HandOver[];
  readonly conditions: readonly OwnershipCondition[];
}

export interface Slot {
  readonly slot: number;
  /** Host name; absent: free. */
  readonly holder?: string;
  /** Its last renewal, by its own clock. */
  readonly renewedAt?: Time;
  readonly leaseMs?: number;
  /** The newest epoch that it acknowledged. */
  readonly acknowledgedEpoch: number;
  /** A replica of Argo CD, which obeys no table. */
  readonly isForeign: boolean;
  /** Whether it publishes where its API listens; false: an older release, or `--api-port 0`. */
  readonly hasAddress: boolean;
}

export interface OwnedCluster {
  readonly server: string;
  /** Names of its cluster Secrets. */
  readonly names: readonly string[];
  readonly parts: readonly ClusterPart[];
  /** Since when no replica has attended it. */
  readonly unownedSince?: Time;
}

/** One part of a cluster; a cluster that is not split has part 0 only. */
export interface ClusterPart {
  readonly part: number;
  readonly slot: number;
  /** Holder of the slot; absent: the slot is free. */
  readonly owner?: string;
  /** The shard that the algorithm assigns; another than `slot` while a stand-in owns the part. */
  readonly home: number;
  /** Slots that must release the part before its new owner takes it up. */
  readonly waitsFor: readonly number[];
}

export type HandOverReason =
  | 'first-assignment'
  | 'replicas-changed'
  | 'algorithm-changed'
  | 'split-changed'
  | 'stand-in'
  | 'returned-home'
  | 'rebalanced'
  | 'reassigned'
  | 'cluster-removed';

/** A part that changed its owner in the published table, as one replica saw it. */
export interface HandOver {
  readonly at: Time;
  readonly server: string;
  readonly part: number;
  /** Slots; absent `from`: had none. Absent `to`: the cluster was removed. */
  readonly from?: number;
  readonly to?: number;
  readonly epoch: number;
  readonly reason: HandOverReason;
  /** The reason in words, with its values. */
  readonly message: string;
}

export interface OwnershipCondition {
  readonly replica: string;
  readonly type: string;
  readonly message: string;
  readonly since: Time;
}

/** GET /api/v1/clusters */
export interface ClustersResponse extends ApiResponse<'Clusters'> {
  /** By URL. A split cluster has one item for each replica that owns a part of it. */
  readonly items: readonly ClusterSummary[];
}

/** GET /api/v1/clusters/{name}: by name or (URL-encoded) URL. */
export interface ClusterResponse extends ApiResponse<'Cluster'> {
  readonly server: string;
  readonly names: readonly string[];
  /** One for each replica that owns a part of it; empty: it has no owner. */
  readonly owners: readonly ClusterOwner[];
  readonly handOvers: readonly HandOver[];
}

export interface ClusterSummary {
  readonly server: string;
  readonly name: string;
  readonly replica: string;
  readonly state: 'connecting' | 'synced' | 'failed';
  readonly message?: string;
  readonly serverVersion?: string;
  /** When discovery last succeeded. */
  readonly lastSyncAt?: Time;
  readonly objects: number;
  readonly kinds: number;
  /** Kinds that are not synced. */
  readonly degradedKinds: number;
  readonly applications: number;
  /** Live events since its watch began. */
  readonly events: number;
  /** Live events per second over the last minute or so. */
  readonly eventsPerSecond: number;
  /** Time since anything last arrived from its watches. */
  readonly silentMs?: number;
}

/** One replica's view of a cluster. */
export interface ClusterOwner extends ClusterSummary {
  readonly watched: readonly ClusterKind[];
  /** The objects that change most often, the noisiest first. */
  readonly noisiest: readonly NoisyObject[];
  /** Pages about the cluster in other programs, such as Grafana. */
  readonly links: readonly Link[];
}

export interface ClusterKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** `left-out`: may not be listed, and `resource.respectRBAC` accepts that. */
  readonly state: 'listing' | 'synced' | 'polled' | 'degraded' | 'forbidden' | 'left-out';
  readonly since?: Time;
  readonly objects: number;
  /** Live events since its watch began. */
  readonly events: number;
  readonly lastEventAt?: Time;
  /** The last list, event or bookmark: the watch was alive then. */
  readonly lastHeardAt?: Time;
  /** How long after its write the newest event arrived, to the second; absent: no event yet. */
  readonly lagMs?: number;
  /** Why it is not synced now. */
  readonly message?: string;
  readonly lastError?: { readonly at: Time; readonly message: string };
}

export interface NoisyObject extends ObjectName {
  /** Changes within the last minute or so that were held back because there were too many. */
  readonly changes: number;
}

/** GET /api/v1/queues */
export interface QueuesResponse extends ApiResponse<'Queues'> {
  /** By replica, then by name. */
  readonly items: readonly Queue[];
}

export type QueuePriority = 'user' | 'live' | 'resync';

export interface Queue {
  readonly replica: string;
  /** As in the metrics: `app_reconciliation_queue`, `app_operation_processing_queue`, … */
  readonly name: string;
  readonly workers: number;
  readonly running: number;
  /** Items that are due. */
  readonly depth: number;
  readonly depthByPriority: Readonly<Record<QueuePriority, number>>;
  /** Items that become due later. */
  readonly delayed: number;
  /** The item that has been due for the longest time. */
  readonly oldest?: QueueItem;
  /** In the order in which they were taken. */
  readonly inProgress: readonly QueueItem[];
  readonly takenTotal: number;
  readonly lastTakenAt: Time;
  /** Items taken over the last hour. */
  readonly rates: readonly QueueRate[];
  /** Why the queue makes no progress. */
  readonly stalled?: string;
}

export interface QueueItem {
  /** `<namespace>/<name>`; "" if the caller may not read that namespace. */
  readonly key: string;
  readonly since: Time;
  readonly priority: QueuePriority;
  readonly reason?: string;
}

export interface QueueRate {
  readonly priority: QueuePriority;
  /** Why the items were queued: `object`, `timer`, `user`, … ({@link PassCause.type}). */
  readonly reason: string;
  readonly perMinute: number;
  readonly total: number;
}

/** GET /api/v1/repositories */
export interface RepositoriesResponse extends ApiResponse<'Repositories'> {
  /** By URL, then by replica. */
  readonly items: readonly Repository[];
}

export interface Repository {
  /** Without user and password. */
  readonly url: string;
  readonly replica: string;
  readonly applications: number;
  readonly lastFetch?: {
    readonly at: Time;
    readonly durationMs: number;
    readonly ok: boolean;
    readonly message?: string;
  };
  /** Failures since the last success, and since when. */
  readonly failuresInRow: number;
  readonly failingSince?: Time;
  readonly lastSuccessAt?: Time;
  readonly fetches: number;
  readonly renders: number;
  /** Sources that are not rendered for now because they failed several times in a row. */
  readonly paused: readonly PausedSource[];
}

export interface PausedSource {
  readonly path: string;
  readonly revision: string;
  readonly message: string;
  readonly since: Time;
  /** Another commit or a hard refresh ends it earlier; absent: only those do. */
  readonly until?: Time;
}

export type EventType = 'pass' | 'sync' | 'hand-over' | 'fault';

/** GET /api/v1/events: the last hour, the newest first. */
export interface EventsResponse extends ApiResponse<'Events'> {
  readonly items: readonly RecentEvent[];
  /** The oldest event that is kept; earlier ones were overwritten. By replica. */
  readonly oldest: Readonly<Record<string, Time>>;
}

export interface RecentEvent {
  readonly at: Time;
  readonly type: EventType;
  readonly replica: string;
  /** The Application that it is about. */
  readonly namespace?: string;
  readonly name?: string;
  /** URL of the cluster that it is about. */
  readonly server?: string;
  readonly message: string;
  readonly durationMs?: number;
  readonly ok: boolean;
}

export const costSubjects = ['apps', 'clusters', 'kinds', 'repositories', 'projects'] as const;
export type CostSubject = (typeof costSubjects)[number];

/** GET /api/v1/costs/{apps|clusters|kinds|repositories|projects}: over the last hour. */
export interface CostsResponse extends ApiResponse<'Costs'> {
  readonly subject: CostSubject;
  /** The length of the measured time: an hour, or since the start of the youngest replica. */
  readonly windowMs: number;
  /** The most expensive first, by CPU time and then by events. */
  readonly items: readonly CostRow[];
  /** Of kinds only: rules that would spare changes, those that spare the most first. */
  readonly rules?: readonly UpdateRule[];
}

/** A proposed rule of `ignoreResourceUpdates`, from changes of the last hour. */
export interface UpdateRule {
  readonly server: string;
  readonly group: string;
  readonly kind: string;
  /** Number of objects that changed too often. */
  readonly objects: number;
  /** Their recorded changes, and how many of them the rule would have hidden. */
  readonly changes: number;
  readonly saved: number;
  /** Key of argocd-cm. */
  readonly setting: string;
  /** Both are empty if no rule can be proposed. */
  readonly jsonPointers: readonly string[];
  readonly jqPathExpressions: readonly string[];
  /** Other changed paths, at most five: to hide their updates would hide drift. */
  readonly notProposed: readonly string[];
}

/** A figure is 0 where the subject cannot have it: a kind is not rendered. */
export interface CostRow {
  /** `<namespace>/<name>`, URL of the cluster, `<group>/<Kind>`, URL of the repository, project. */
  readonly name: string;
  /** Time on the main thread in comparisons, without waiting. */
  readonly cpuMs: number;
  readonly passes: number;
  readonly renders: number;
  readonly apiRequests: number;
  readonly watchEvents: number;
  readonly bytes: number;
}
