import type { Runnable } from '#base';
import type { KindSchema } from '#diff';
import type { ApiDiscovery } from '#kube';
import type {
  AppKey,
  Cluster,
  GroupKind,
  HealthStatus,
  KubeObject,
  ObjectName,
  ResourceKey,
  ResourceRef,
  Settings,
} from '#model';

/** An owner of an object, as the object names it. */
export interface LiveOwner {
  readonly key: ResourceKey;
  readonly version: string;
  /** "" where only the name is known. */
  readonly uid: string;
}

/**
 * One object of a cluster in compact form: identity, owners, health. A copy of what the cache says, which does not change any more.
 */
export interface LiveRow extends ResourceRef {
  readonly key: ResourceKey;
  readonly version: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly createdAt: string;
  /** Owners that exist or may exist, in the same cluster. */
  readonly owners: readonly LiveOwner[];
  /** Keys of those of them that exist. */
  readonly parents: readonly ResourceKey[];
  /** Application instance that tracks it (roots only). */
  readonly app?: string;
  readonly health: HealthStatus | null;
  readonly deleting: boolean;
  readonly images: readonly string[];
  /** Lines that the UI shows of it. */
  readonly info?: readonly InfoItem[];
  readonly networkingInfo?: NetworkingInfo;
}

/** A line of the UI: `Revision`, `Containers`, labels that argocd-cm names, and so on. */
export interface InfoItem {
  readonly name: string;
  readonly value: string;
}

/** An object that traffic is sent to. */
export interface TargetRef {
  readonly group?: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** How traffic reaches an object, and what it sends it to. */
export interface NetworkingInfo {
  readonly targetLabels?: Readonly<Record<string, string>>;
  readonly targetRefs?: readonly TargetRef[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly ingress?: readonly { readonly ip?: string; readonly hostname?: string }[];
  readonly externalURLs?: readonly string[];
}

/** A machine that runs pods, by its Node object. Amounts are in thousandths of the unit, by resource: cpu, memory, storage. */
export interface LiveMachine {
  readonly name: string;
  readonly capacity: Readonly<Record<string, number>>;
  /** What the pods that were asked about ask for. */
  readonly requestedByPods: Readonly<Record<string, number>>;
  /** What all other pods of the machine ask for that have not ended. */
  readonly requestedByOthers: Readonly<Record<string, number>>;
  /** `status.nodeInfo`. */
  readonly system: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}

export interface TreeQuery {
  readonly roots: readonly ResourceKey[];
  /** Left out, and with each what hangs on nothing else. */
  readonly leaveOut: readonly ResourceKey[];
}

/** What has changed in the cache since some version of it. */
export interface LiveNews {
  readonly version: number;
  /** With the owners that each names. What begins or ceases to hang on another object is among them. Undefined: that is too long ago. */
  readonly changed: readonly { readonly key: ResourceKey; readonly owners: readonly LiveOwner[] }[] | undefined;
}

/** What a server can serve. */
export interface LiveDiscovery extends ApiDiscovery {
  /** Another number whenever the server serves something else. */
  readonly version: number;
}

/** Schemas that a server publishes. */
export interface LiveSchemas {
  /** Another text whenever one of them is another; "" when there are none. */
  readonly version: string;
  /** By `apiVersion Kind`. */
  readonly kinds: ReadonlyMap<string, KindSchema>;
}

/** Kinds whose cache is not fresh, or that are left out of it: nothing of them may be pruned. */
export interface DegradedKinds {
  /** Another number whenever other kinds are, or one for another reason. The counts of objects do not matter. */
  readonly version: number;
  readonly kinds: readonly KindState[];
}

/** A live object changed. One event per object and batch; no body. */
export interface LiveChange {
  readonly server: string;
  readonly key: ResourceKey;
  /** Instance names of the applications that this concerns, and whether the object is a managed root of each (else: a child in its tree). */
  readonly apps: ReadonlyMap<string, { readonly managed: boolean }>;
  /** Namespaced objects that no application tracks: orphan monitors of the namespace may care. */
  readonly orphanNamespace?: string;
}

export interface KindState extends GroupKind {
  readonly version: string;
  /** `left-out`: it may not be listed, and `resource.respectRBAC` says that this is meant so. Its objects are read one by one. */
  readonly state: 'listing' | 'synced' | 'degraded' | 'forbidden' | 'left-out';
  /** Why, when degraded, forbidden or left out; when synced: which object of it cannot be read. */
  readonly message?: string;
  readonly objects: number;
}

export interface ClusterInfo {
  readonly server: string;
  /** `connecting` until discovery worked once and every kind has been listed or has failed once. */
  readonly state: 'connecting' | 'synced' | 'failed';
  readonly message?: string;
  readonly serverVersion?: string;
  readonly resourcesCount: number;
  readonly apisCount: number;
  /** Live events since the watch of the cluster began, without the first lists. */
  readonly eventsCount: number;
  readonly lastSyncAt?: number;
  readonly kinds: readonly KindState[];
}

/** An object that an application wants, or has, and that could not be read just now: whether it exists, and how it is, nobody knows. */
export interface UnreadObject extends ResourceRef {
  readonly key: ResourceKey;
  readonly version: string;
  /** Argo CD's words, and why. */
  readonly message: string;
}

/** The live objects of an application, as far as they could be read. */
export interface ManagedObjects {
  readonly objects: ReadonlyMap<ResourceKey, KubeObject>;
  /** By key. None of them is in `objects`. */
  readonly unread: readonly UnreadObject[];
  readonly degraded: DegradedKinds;
  /** Absent: `objects` was read anew. */
  readonly changes?: ObjectChanges;
}

/** Objects that are those of an earlier answer, but for some: each of these was there already, and is another one now. */
export interface ObjectChanges {
  readonly since: ReadonlyMap<ResourceKey, KubeObject>;
  readonly keys: ReadonlySet<ResourceKey>;
}

/** Whose live objects are asked for. */
export interface ManagedQuery {
  /** The instance name of the application. */
  readonly app: string;
  /** Only their names are read. */
  readonly targets: readonly ObjectName[];
  /**
   * What the application had when somebody looked last. Of kinds that could never be listed these are read one by one: what is not in the cache may
   * exist nevertheless.
   */
  readonly had?: readonly ObjectName[];
  /** `objects` of an earlier answer about the application: then the answer may say what is another since then, at the cost of that. */
  readonly since?: ReadonlyMap<ResourceKey, KubeObject> | undefined;
}

/**
 * What one cluster says. Every answer is a plain value that does not change afterwards: no callback, no client and no node of the cache goes out,
 * so that a cluster may live on a thread of its own. What needs the cache comes as a promise for the same reason; discovery and info are small,
 * and have a version or are asked for rarely.
 */
export interface LiveCluster {
  readonly server: string;
  info(): ClusterInfo;
  /** Throws CLUSTER_UNAVAILABLE (with Argo CD's text) while discovery has never worked. */
  discovery(): LiveDiscovery;
  /**
   * Why a kind may be served that discovery does not name, beside those of its failed groups: nobody has compared it with what the cluster defines. Undefined
   * once that is done, or, where the definitions cannot be read, a while after the first discovery.
   */
  unsure(): string | undefined;
  /**
   * "Live objects for the application" (gitops-engine pkg/cache GetManagedLiveObjs): roots tracked by `app`, plus for each target the existing object of the
   * same key even if untracked, converted to the target's API version where needed. With `since` the answer may be given by its difference to that
   * one, which is then in `changes`; it is the one that would be given without. What cannot be read is in `unread`; it throws only when nothing can (LIVE_STATE).
   */
  managed(query: ManagedQuery, signal: AbortSignal): Promise<ManagedObjects>;
  /** Rows by key; of what the cache does not know there is none. */
  rows(keys: readonly ResourceKey[], signal: AbortSignal): Promise<ReadonlyMap<ResourceKey, LiveRow>>;
  /** Owner tree from the roots downwards, each row once, after the first of its parents; cycles end where they meet themselves. */
  tree(query: TreeQuery, signal: AbortSignal): Promise<readonly LiveRow[]>;
  /**
   * Of which objects somebody who read rows at a version of the cache may see something else now, and the version of today. Ask for the version before you
   * read: then nothing that changes meanwhile is missed.
   */
  news(version: number | undefined, signal: AbortSignal): Promise<LiveNews>;
  /** Top-level objects of a namespace (for orphan monitoring). */
  topLevel(namespace: string, signal: AbortSignal): Promise<readonly LiveRow[]>;
  /** The machines of these pods, by name. None while the cache has no Nodes (excluded, forbidden, or a cluster of single namespaces). */
  machines(pods: readonly ResourceKey[], signal: AbortSignal): Promise<readonly LiveMachine[]>;
  /** The schemas of these group versions, as far as the server publishes them and they can be read. Asks the server only for what is new. */
  schemas(apiVersions: readonly string[], signal: AbortSignal): Promise<LiveSchemas>;
  /** Whether a kind is namespaced; undefined when the server does not know it. */
  isNamespaced(gk: GroupKind): boolean | undefined;
  /** Puts an object that a write returned into the cache, so that the next read is not older than our own write. */
  observe(object: KubeObject): void;
}

/**
 * Of which applications whole objects are kept, where this replica owns some parts of a split cluster only. `partIndex` of #model tells the
 * part of an application.
 */
export interface BodyFilter {
  /** How many parts the cluster has. */
  readonly of: number;
  /** Parts of this replica, ascending. */
  readonly owned: readonly number[];
  /** The controller's own namespace: where applications are whose instance name says no other. */
  readonly namespace: string;
}

/** All clusters that this replica owns, and some that it does not: their caches are filled for when it does. */
export interface LiveClusters extends Runnable {
  /**
   * Sets which clusters to keep; starts, stops or adapts each by what changed (credentials are swapped in place). `bodies` has, by server,
   * the clusters of which not everything is ours: objects of other applications are then kept in compact form only. Those of `spare` are watched
   * without being this replica's: no change of them is told, and neither `infos` nor metrics have them.
   */
  setClusters(
    clusters: readonly Cluster[],
    settings: Settings,
    bodies?: ReadonlyMap<string, BodyFilter>,
    spare?: readonly Cluster[],
  ): void;
  /** Undefined when this replica does not keep that cluster. Waits (until `signal`) for its filled cache. */
  cluster(server: string, signal: AbortSignal): Promise<LiveCluster>;
  /** Without waiting. */
  peek(server: string): LiveCluster | undefined;
  /** Of the clusters that this replica owns. */
  infos(): readonly ClusterInfo[];
  onChange(listener: (change: LiveChange) => void): () => void;
}

/** Instance name to queue key; the controller provides it. */
export type AppKeyOf = (instance: string) => AppKey;
