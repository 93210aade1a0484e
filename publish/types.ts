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

/** One node of the resource tree (Argo CD: ResourceNode). */
export interface TreeNode {
  readonly group?: string;
  readonly version: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid?: string;
  readonly parentRefs?: readonly {
    readonly group?: string;
    readonly kind: string;
    readonly namespace?: string;
    readonly name: string;
    readonly uid?: string;
  }[];
  readonly resourceVersion?: string;
  readonly images?: readonly string[];
  readonly health?: HealthStatus;
  readonly createdAt?: string;
}

export interface ApplicationTree {
  readonly nodes: readonly TreeNode[];
  readonly orphanedNodes: readonly TreeNode[];
}

/** Writes are idempotent; an equal value is not sent again. A store that is down never holds a pass up: writes fail after their deadline and are logged by the caller. */
export interface Publisher extends Runnable {
  setManagedResources(instance: string, resources: readonly ManagedResource[], signal: AbortSignal): Promise<void>;
  managedResources(instance: string, signal: AbortSignal): Promise<readonly ManagedResource[] | undefined>;
  setTree(instance: string, tree: ApplicationTree, signal: AbortSignal): Promise<void>;
  tree(instance: string, signal: AbortSignal): Promise<ApplicationTree | undefined>;
  /** Forgets everything about an application. */
  remove(instance: string, signal: AbortSignal): Promise<void>;
}
