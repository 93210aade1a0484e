import type { Runnable } from '#base';
import type { HealthStatus, KubeObject } from '#model';

/**
 * An entry of `app|managed-resources|<instance>`. States are JSON texts; Secrets are already
 * masked.
 */
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

/** Identifies an object in the tree. */
export interface NodeRef {
  readonly group?: string;
  readonly version?: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid?: string;
}

/** An info line of a node in the UI: `Revision`, `Containers`, labels from argocd-cm. */
export interface InfoItem {
  readonly name: string;
  readonly value: string;
}

/** How traffic reaches a node, and where it sends traffic. */
export interface NetworkingInfo {
  readonly targetLabels?: Readonly<Record<string, string>>;
  readonly targetRefs?: readonly NodeRef[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly ingress?: readonly { readonly ip?: string; readonly hostname?: string }[];
  readonly externalURLs?: readonly string[];
}

/** A node of the resource tree (Argo CD: ResourceNode). */
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

/** Capacity and requests of one resource on a host, in thousandths of the unit. */
export interface HostResource {
  readonly resourceName: string;
  readonly requestedByApp?: number;
  readonly requestedByNeighbors?: number;
  readonly capacity?: number;
}

/** A host that runs pods of the application (Argo CD: HostInfo). */
export interface HostInfo {
  readonly name: string;
  readonly resourcesInfo?: readonly HostResource[];
  /** `status.nodeInfo` of the Node, unchanged. */
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
  /** For example `v1.36.3`. */
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
 * Runs a write while this replica owns its subject, and delays a hand-over until it ended. Without
 * ownership it rejects with `OwnershipLost` and does not begin; the signal aborts when ownership
 * ends meanwhile. `check` throws `OwnershipLost` right before a command: after a stop of the
 * process, the delay of a retry may end before the timer of the lease.
 */
export type OwnershipFence = <T>(send: (signal: AbortSignal, check?: () => void) => Promise<T>) => Promise<T>;

/** Terms of publishing a value. */
export interface PublishTerms {
  readonly signal: AbortSignal;
  /**
   * Wraps each write of the value, also renewals. After a loss of ownership the value is dropped
   * and never written again: its keys belong to the next owner.
   */
  readonly fence: OwnershipFence;
  /**
   * The value may be delayed after a recent one, and replaced by a newer one. Not for values that
   * clients look for at once: after a status write, or the answer to a refresh.
   */
  readonly mayWait?: boolean;
}

/**
 * Publishes data for other components. Write-only: stored data is never read back, so manipulated
 * data cannot affect decisions. Publishing an equal value costs nothing. A failing store never
 * fails a pass, and delays it at most by a short deadline: the last value of each key is written
 * when the store recovers. Rejects only with the reason of an aborted signal.
 */
export interface Publisher extends Runnable {
  setTree(instance: string, tree: ApplicationTree, terms: PublishTerms): Promise<void>;
  /**
   * Undefined: none, because the spec is invalid. The value is deleted, and readers show the
   * conditions.
   */
  setManagedResources(
    instance: string,
    resources: readonly ManagedResource[] | undefined,
    terms: PublishTerms,
  ): Promise<void>;
  /**
   * Whether the last tree and managed resources are published, and stay so without being set again.
   * False while a newer value waits (`mayWait`).
   */
  stands(instance: string): boolean;
  setClusterInfo(server: string, report: ClusterReport, terms: PublishTerms): Promise<void>;
  /** Deletes everything about an application. */
  remove(instance: string, terms: PublishTerms): Promise<void>;
  /** Another replica owns the application now: keeps the store, but forgets its known state. */
  forget(instance: string): void;
  /**
   * Reports applications whose values are neither in the store nor in memory, so that they are
   * published again. Returns a function that unsubscribes.
   */
  onLost(listener: (instance: string) => void): () => void;
}
