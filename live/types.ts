import type { Json, Runnable } from '#base';
import type { KindSchema } from '#diff';
import type { ChangedObject } from './store/changed-paths.ts';

export type { ChangedObject, ChangeSet, PathStep } from './store/changed-paths.ts';
import type { ApiDiscovery, NamedObject } from '#kube';
import type {
  Cluster,
  GroupKind,
  HealthStatus,
  KubeObject,
  ObjectName,
  ResourceKey,
  ResourceRef,
  Settings,
} from '#model';

/** An owner reference of an object. */
export interface LiveOwner {
  readonly key: ResourceKey;
  readonly version: string;
  /** "" for inferred owners, which are known by name only. */
  readonly uid: string;
}

/** A cached object in compact form: identity, owners, health. An immutable copy. */
export interface LiveRow extends ResourceRef {
  readonly key: ResourceKey;
  readonly version: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly createdAt: string;
  /** Owners in the same cluster, whether or not they exist. */
  readonly owners: readonly LiveOwner[];
  /** Keys of the owners that exist. */
  readonly parents: readonly ResourceKey[];
  /** Instance name of the Application that tracks it (roots only). */
  readonly app?: string;
  readonly health: HealthStatus | null;
  readonly deleting: boolean;
  readonly images: readonly string[];
  /** Details that the UI shows. */
  readonly info?: readonly InfoItem[];
  readonly networkingInfo?: NetworkingInfo;
  /** Result of `keep` of the caches, if they have one. */
  readonly kept?: Json;
}

/** Selects rows. Each member restricts the others; without members, all rows. */
export interface ListQuery {
  readonly kinds?: readonly GroupKind[];
  /** Leaves out cluster-scoped objects. */
  readonly namespaces?: readonly string[];
  /** Only objects without owners. */
  readonly topLevelOnly?: boolean;
}

/**
 * A change of one row, for consumers that follow every object. `created` and `deleted` also report
 * an object that was replaced by another one of its name.
 */
export interface RowChange extends ResourceRef {
  readonly server: string;
  readonly key: ResourceKey;
  readonly change: 'created' | 'updated' | 'deleted';
  /** The last row of a deleted object. Its parents are all owners that it named, gone or not. */
  readonly last?: LiveRow;
}

/**
 * A detail in the UI: `Revision`, `Containers`, a label listed in `resource.customLabels`, and so
 * on.
 */
export interface InfoItem {
  readonly name: string;
  readonly value: string;
}

/** A target of traffic. */
export interface TargetRef {
  readonly group?: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** Addresses of an object, and the targets of its traffic. */
export interface NetworkingInfo {
  readonly targetLabels?: Readonly<Record<string, string>>;
  readonly targetRefs?: readonly TargetRef[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly ingress?: readonly { readonly ip?: string; readonly hostname?: string }[];
  readonly externalURLs?: readonly string[];
}

/**
 * A Kubernetes Node that runs pods. Amounts are in milli-units, by resource: cpu, memory, storage.
 */
export interface LiveMachine {
  readonly name: string;
  readonly capacity: Readonly<Record<string, number>>;
  /** Sum of the requests of the queried pods. */
  readonly requestedByPods: Readonly<Record<string, number>>;
  /** Sum of the requests of all other pods on the Node that have not finished. */
  readonly requestedByOthers: Readonly<Record<string, number>>;
  /** `status.nodeInfo` of the Node. */
  readonly system: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}

export interface TreeQuery {
  readonly roots: readonly ResourceKey[];
  /** Left out of the tree, together with descendants that have no other parent. */
  readonly excluded: readonly ResourceKey[];
}

/** Changes in the cache since an earlier version of it. */
export interface LiveChangesSince {
  readonly version: number;
  /**
   * With current owners. Includes objects whose parents were added, removed or replaced. Undefined
   * if `version` is too old.
   */
  readonly changed: readonly { readonly key: ResourceKey; readonly owners: readonly LiveOwner[] }[] | undefined;
}

/** The APIs that a server serves. */
export interface LiveDiscovery extends ApiDiscovery {
  /** Changes whenever the served APIs change. */
  readonly version: number;
}

/** The APIs reported to charts and plugins. The same value is returned until something changes. */
export interface LiveCapabilities {
  /**
   * Sorted. Groups that discovery cannot read at the moment are taken from the last complete list.
   */
  readonly apiVersions: readonly string[];
  /**
   * Groups that are not fully known, with the reason ("*": all but core). Empty if the list is
   * complete.
   */
  readonly missing: ReadonlyMap<string, string>;
  /** If false, no complete list was ever read, and `apiVersions` may lack the missing groups. */
  readonly hasCompleteList: boolean;
}

/** OpenAPI schemas that a server publishes. */
export interface LiveSchemas {
  /** Changes whenever a schema changes; "" if there are none. */
  readonly version: string;
  /** By `apiVersion Kind`. */
  readonly kinds: ReadonlyMap<string, KindSchema>;
}

/**
 * Kinds whose cache is not fresh where the Application has objects, or that are not cached there.
 * Objects of these kinds must not be pruned.
 */
export interface DegradedKinds {
  /** Changes whenever such kinds of the cluster or their reasons change, apart from counts. */
  readonly version: number;
  readonly kinds: readonly KindState[];
}

/**
 * A change of a live object, without its body. Emitted once per object and batch. If the key has no
 * name, a kind is fresh again.
 */
export interface LiveChange {
  readonly server: string;
  readonly key: ResourceKey;
  /**
   * Affected Applications by instance name; `managed` if the object is a managed root, else it is a
   * descendant.
   */
  readonly apps: ReadonlyMap<string, { readonly managed: boolean }>;
  /**
   * Set for namespaced objects that no Application tracks, and for a Namespace itself: orphan
   * monitoring, and Applications that manage its metadata, may need them.
   */
  readonly orphanNamespace?: string;
}

export interface KindState extends GroupKind {
  readonly version: string;
  /**
   * The namespace of this state, in a cluster that is limited to namespaces; for display, that of
   * the worst state. Absent: all.
   */
  readonly namespace?: string;
  /**
   * `left-out`: listing is forbidden, and `resource.respectRBAC` accepts this. Objects are read one
   * by one. `polled`: it cannot be watched, but it is listed at least about once a minute.
   */
  readonly state: 'listing' | 'synced' | 'polled' | 'degraded' | 'forbidden' | 'left-out';
  /** The reason if not synced; if synced, the object that cannot be read. */
  readonly message?: string;
  /** Polled because it can never be watched; else because its watch is refused for now. */
  readonly isPolledByNature?: boolean;
  /** When the last complete list was read (wall time), if the state is not synced. */
  readonly listedAt?: number;
  readonly objects: number;
}

export interface ClusterInfo {
  readonly server: string;
  /** `connecting` until discovery has succeeded and every kind was listed or has failed once. */
  readonly state: 'connecting' | 'synced' | 'failed';
  readonly message?: string;
  readonly serverVersion?: string;
  readonly resourcesCount: number;
  readonly apisCount: number;
  /** Live events since the watch of the cluster began, without the initial lists. */
  readonly eventsCount: number;
  readonly lastSyncAt?: number;
  readonly kinds: readonly KindState[];
}

/** A watched kind, for display. Times are wall milliseconds. */
export interface KindReport extends KindState {
  /** Since when it has been in this state. */
  readonly since: number | undefined;
  /** Live events since its watch began. */
  readonly events: number;
  readonly lastEventAt: number | undefined;
  /** The last list or event. */
  readonly lastHeardAt: number | undefined;
  /** How long after its write the newest event arrived, to the second. */
  readonly lagMs: number | undefined;
  readonly lastError: { readonly at: number; readonly message: string } | undefined;
  /** Estimated memory of its objects. */
  readonly bytes: number;
}

/** A cluster that this replica owns, for display. */
export interface ClusterReport {
  readonly name: string;
  readonly info: ClusterInfo;
  readonly kinds: readonly KindReport[];
  /** Objects that change too often, the noisiest first. */
  readonly noisiest: readonly { readonly key: ResourceKey; readonly changes: number }[];
  /** Which paths changed in tracked objects that change too often. */
  readonly changed: readonly ChangedObject[];
  readonly bytes: number;
  readonly eventsPerSecond: number;
}

/** A desired or known object that could not be read: whether it exists is unknown. */
export interface UnreadObject extends ResourceRef {
  readonly key: ResourceKey;
  readonly version: string;
  /** Argo CD's text with the cause. */
  readonly message: string;
}

/** The live objects of an Application, as far as they could be read. */
export interface ManagedObjects {
  readonly objects: ReadonlyMap<ResourceKey, KubeObject>;
  /** Sorted by key. None of them is in `objects`. */
  readonly unread: readonly UnreadObject[];
  readonly degraded: DegradedKinds;
  /** The difference to `since`; absent if all objects were read again. */
  readonly changes?: ObjectChanges;
}

/** An answer relative to an earlier one: the same keys, with changed objects at `keys`. */
export interface ObjectChanges {
  readonly since: ReadonlyMap<ResourceKey, KubeObject>;
  readonly keys: ReadonlySet<ResourceKey>;
}

/** An Event of the core API about an object. */
export interface LiveEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly reporter: string;
  readonly count: number;
  /** RFC 3339; "" if unknown. */
  readonly lastAt: string;
}

export interface ContainerChoice {
  /** Undefined, or unknown to the pod: the one that kubectl chooses. */
  readonly container: string | undefined;
  /** The log of the container before its last restart. */
  readonly isPrevious: boolean;
}

/** The end of a container's log, without controls and credentials that are known by their form. */
export interface LiveLog {
  readonly container: string;
  readonly containers: readonly string[];
  readonly text: string;
  /** Why there is none. */
  readonly message?: string;
}

/** Events about objects, and logs of Pods. Reads throw KubeApiError and KubeConnectionError. */
export interface ObjectActivity {
  /** The newest first, at most 100. */
  events(ref: ResourceRef, signal: AbortSignal): Promise<readonly LiveEvent[]>;
  log(pod: NamedObject, choice: ContainerChoice, signal: AbortSignal): Promise<LiveLog>;
}

/** A query for the live objects of one Application. */
export interface ManagedQuery {
  /** Instance name of the Application. */
  readonly app: string;
  /** Desired objects; only their identity is used. */
  readonly targets: readonly ObjectName[];
  /**
   * Objects that the Application had at its last comparison. Those of kinds that were never listed
   * are read one by one, because they may exist although the cache has none.
   */
  readonly lastKnown?: readonly ObjectName[];
  /** Whether an object of {@link lastKnown} that nothing tracks by present settings is its own. */
  readonly isFormer?: (object: KubeObject) => boolean;
  /**
   * `objects` of an earlier answer for this Application. The answer may then be incremental: its
   * cost is proportional to what changed.
   */
  readonly since?: ReadonlyMap<ResourceKey, KubeObject> | undefined;
  /** Reads the objects of kinds that are not fresh from the server, one by one. */
  readonly readsStale?: boolean;
  /** A Namespace to look up, tracked or not. Left out if it is out of reach or unreadable. */
  readonly destination?: ObjectName;
}

/**
 * The live state of one cluster. Answers are immutable plain values without callbacks, clients or
 * cache nodes, so that a cluster may move to its own thread. Queries of the cache are asynchronous
 * for the same reason; discovery and info are small and rarely read.
 */
export interface LiveCluster {
  readonly server: string;
  /** Visits every kind: for reports, not for passes. */
  info(): ClusterInfo;
  /** The kinds whose cache is not fresh, with the namespace if the cluster is limited to some. */
  staleKinds(): readonly KindState[];
  /** Undefined until the server has answered. */
  serverVersion(): string | undefined;
  /** @throws ClusterUnavailable with Argo CD's text, until discovery has succeeded once. */
  discovery(): LiveDiscovery;
  /** @throws as {@link discovery}. */
  capabilities(): LiveCapabilities;
  /**
   * Why discovery may lack kinds outside of failed groups. Undefined once it agrees with the
   * definitions in the cluster or, without access to them, after a minute.
   */
  discoveryDoubt(): string | undefined;
  /**
   * Waits until discovery knows all kinds of these objects that have just been defined. A server
   * takes seconds to serve an accepted definition.
   * @param isFresh discovers again if a kind is unknown, even without a sign of a change.
   */
  knowKinds(objects: readonly ObjectName[], isFresh: boolean, signal: AbortSignal): Promise<void>;
  /**
   * Roots tracked by `app`, and the objects of the targets in their API versions, tracked or not
   * (gitops-engine pkg/cache GetManagedLiveObjs). Objects that cannot be read are in `unread`.
   * @throws LiveStateError if no object can be read, if one is out of reach in namespaced mode, or
   * if the objects are too large together.
   */
  managed(query: ManagedQuery, signal: AbortSignal): Promise<ManagedObjects>;
  /**
   * Identifies everything that {@link managed}, {@link tree} and {@link machines} read for the
   * Application of a query: equal evidence, equal answers. Undefined if the cache is in doubt (it
   * is not current, or no audit has confirmed it lately), or does not have all objects.
   */
  evidence(query: ManagedQuery, signal: AbortSignal): Promise<string | undefined>;
  /** Rows by key; keys that are not in the cache are left out. */
  rows(keys: readonly ResourceKey[], signal: AbortSignal): Promise<ReadonlyMap<ResourceKey, LiveRow>>;
  /** Owner tree from the roots down, breadth first. Each row appears once, so cycles end. */
  tree(query: TreeQuery, signal: AbortSignal): Promise<readonly LiveRow[]>;
  /**
   * Objects whose rows may differ from those read at an earlier version, and the current version.
   * Get the version before reading rows, so that concurrent changes are not missed.
   */
  changesSince(version: number | undefined, signal: AbortSignal): Promise<LiveChangesSince>;
  list(query: ListQuery, signal: AbortSignal): Promise<readonly LiveRow[]>;
  /** Read from the server; no cache has it. */
  readonly activity: ObjectActivity;
  /**
   * The Nodes of these pods, sorted by name. Empty if Nodes are not cached (excluded, forbidden, or
   * a cluster limited to namespaces).
   */
  machines(pods: readonly ResourceKey[], signal: AbortSignal): Promise<readonly LiveMachine[]>;
  /**
   * The schemas of these group versions, if the server publishes them. Only new documents are
   * requested.
   */
  schemas(apiVersions: readonly string[], signal: AbortSignal): Promise<LiveSchemas>;
  /** Whether a kind is namespaced; undefined if the server does not serve it. */
  isNamespaced(gk: GroupKind): boolean | undefined;
  /**
   * When a client other than this controller last changed a tracked object, in seconds since 1970,
   * by its managedFields; 0 if none did, undefined if the object is not in the cache.
   */
  foreignEditSeconds(key: ResourceKey): number | undefined;
  /**
   * Adds the response of a write to the cache, so that reads never return older state than our own
   * write.
   */
  observe(object: KubeObject): void;
}

/**
 * Selects the Applications whose objects are kept whole, if this replica owns only some parts of a
 * cluster. `partIndex` of #model maps an Application to its part.
 */
export interface BodyFilter {
  /** Number of parts of the cluster. */
  readonly of: number;
  /** Parts owned by this replica, ascending. */
  readonly owned: readonly number[];
  /** Namespace of Applications whose instance name contains none: the controller's own. */
  readonly namespace: string;
}

/**
 * The caches of all clusters that this replica owns, and of standby clusters that it may own next.
 */
export interface LiveClusters extends Runnable {
  /**
   * Sets the clusters to watch; each is started, stopped or reconfigured by what changed.
   * @param bodies filters for clusters that are owned in part; only selected Applications' objects
   * are kept whole.
   * @param spare standby clusters, watched only to fill their caches, without change events or
   * metrics.
   */
  setClusters(
    clusters: readonly Cluster[],
    settings: Settings,
    bodies?: ReadonlyMap<string, BodyFilter>,
    spare?: readonly Cluster[],
  ): void;
  /**
   * Waits until the cache is filled or discovery has failed.
   * @throws ClusterIgnored if this replica does not watch the cluster.
   */
  cluster(server: string, signal: AbortSignal): Promise<LiveCluster>;
  /** Like {@link cluster}, but does not wait; undefined if the cluster is not watched. */
  peek(server: string): LiveCluster | undefined;
  /** Clusters that this replica owns. */
  infos(): readonly ClusterInfo[];
  /** Watch events of each of them since its cache began, by server. */
  eventCounts(): ReadonlyMap<string, number>;
  /** The same, for display; takes time linear in the number of kinds. */
  reports(): readonly ClusterReport[];
  onChange(listener: (change: LiveChange) => void): () => void;
}
