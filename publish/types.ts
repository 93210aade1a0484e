import type { Runnable } from '#base';
import type { HealthStatus, KubeObject } from '#model';

/** One entry of `app|managed-resources|<instance>`: states are JSON texts there, Secrets are already masked here. */
export interface ManagedResource {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly targetState: KubeObject | null;
  readonly liveState: KubeObject | null;
  readonly normalizedLiveState: KubeObject | null;
  readonly predictedLiveState: KubeObject | null;
  readonly hook: boolean;
  readonly resourceVersion: string;
  readonly modified: boolean;
}

/** What names an object in the tree. */
export interface NodeRef {
  readonly group?: string;
  readonly version?: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid?: string;
}

/** A line of a node in the UI: `Revision`, `Containers`, labels that argocd-cm names, and so on. */
export interface InfoItem {
  readonly name: string;
  readonly value: string;
}

/** How traffic reaches a node, and what it sends it to. */
export interface NetworkingInfo {
  readonly targetLabels?: Readonly<Record<string, string>>;
  readonly targetRefs?: readonly NodeRef[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly ingress?: readonly { readonly ip?: string; readonly hostname?: string }[];
  readonly externalURLs?: readonly string[];
}

/** One node of the resource tree (Argo CD: ResourceNode). */
export interface TreeNode extends NodeRef {
  readonly version: string;
  readonly parentRefs?: readonly NodeRef[];
  readonly info?: readonly InfoItem[];
  readonly networkingInfo?: NetworkingInfo;
  readonly resourceVersion?: string;
  readonly images?: readonly string[];
  readonly health?: HealthStatus;
  readonly createdAt?: string;
}

/** What a machine has of one resource and who asks for it; numbers are thousandths of the unit. */
export interface HostResource {
  readonly resourceName: string;
  readonly requestedByApp?: number;
  readonly requestedByNeighbors?: number;
  readonly capacity?: number;
}

/** A machine that runs pods of the application (Argo CD: HostInfo). */
export interface HostInfo {
  readonly name: string;
  readonly resourcesInfo?: readonly HostResource[];
  /** `status.nodeInfo` of the Node, as it stands there. */
  readonly systemInfo: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface ApplicationTree {
  readonly nodes: readonly TreeNode[];
  readonly orphanedNodes: readonly TreeNode[];
  readonly hosts?: readonly HostInfo[];
}

/** `cluster|info|<server>` (Argo CD: ClusterInfo). */
export interface ClusterReport {
  readonly connectionState: {
    readonly status: 'Successful' | 'Failed' | 'Unknown';
    readonly message: string;
    /** RFC 3339, whole seconds. */
    readonly attemptedAt: string;
  };
  /** `v1.36.3`. */
  readonly serverVersion?: string;
  readonly cacheInfo: {
    readonly resourcesCount?: number;
    readonly apisCount?: number;
    readonly lastCacheSyncTime?: string;
  };
  readonly applicationsCount: number;
  readonly apiVersions?: readonly string[];
}

/**
 * Runs a write as long as this replica owns what it is about, and holds the hand-over to another one up until it has ended. Rejects with
 * `OwnershipLost`, without having begun, when it does not; the signal aborts when the right ends meanwhile.
 */
export type Fence = <T>(send: (signal: AbortSignal) => Promise<T>) => Promise<T>;

/** On what terms something is published. */
export interface PublishTerms {
  readonly signal: AbortSignal;
  /**
   * Around each write of the value, now and whenever it is repeated later. When the right to it is lost, the value is forgotten and nothing more is
   * written: what stands in the store belongs to the next owner.
   */
  readonly fence: Fence;
  /**
   * Nobody waits for this: where the same was published but a moment ago, it may be published a moment later, and of several such values only the last one is.
   * Not for what clients look for as soon as they see something else: a status that is written, a refresh that is answered.
   */
  readonly mayWait?: boolean;
}

/**
 * What others read instead of asking us. Write-only: nothing that stands in the store is ever read back, so nothing that somebody put there can
 * reach a decision.
 *
 * Publishing the same again costs nothing. A store that is down, slow or full never fails a pass and never holds it up for longer than a
 * short deadline: the last value of each key is kept and written when the store is back. Rejects only with the reason of an aborted signal.
 */
export interface Publisher extends Runnable {
  setTree(instance: string, tree: ApplicationTree, terms: PublishTerms): Promise<void>;
  /** Undefined: there are none to show, because the spec is invalid. The value goes, and readers tell the conditions instead. */
  setManagedResources(
    instance: string,
    resources: readonly ManagedResource[] | undefined,
    terms: PublishTerms,
  ): Promise<void>;
  setClusterInfo(server: string, report: ClusterReport, terms: PublishTerms): Promise<void>;
  /** Takes away everything about an application. */
  remove(instance: string, terms: PublishTerms): Promise<void>;
  /**
   * Another replica looks after the application now. Nothing in the store changes; what this one has published is no longer taken for what stands
   * there, also when the application comes back.
   */
  forget(instance: string): void;
  /**
   * Tells of applications whose values are not in the store any more and not in memory either: they must be compared and published
   * again. Returns how to stop listening.
   */
  onLost(listener: (instance: string) => void): () => void;
}
