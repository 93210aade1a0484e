import type { Clock } from '#base';
import type { ApiDiscovery } from '#kube';
import type { HealthStatus, KubeObject, OperationPhase, ResourceRef, ResourceResult } from '#model';

/** A managed resource. */
export interface ReconciledResource {
  /** Desired state; null: prune candidate. */
  readonly target: KubeObject | null;
  /** Actual state; null: missing. */
  readonly live: KubeObject | null;
  /** Whether live differs from target, according to the comparison. */
  readonly modified: boolean;
}

/** Options of one operation, from its fields and syncOptions (Argo CD: controller/sync.go). */
export interface SyncOptions {
  readonly dryRun: boolean;
  readonly prune: boolean;
  readonly force: boolean;
  readonly replace: boolean;
  readonly serverSideApply: boolean;
  /**
   * Field manager of client-side applies whose fields server-side apply takes over first. Absent
   * with `ClientSideApplyMigration=false`.
   */
  readonly migrationManager?: string;
  readonly validate: boolean;
  readonly skipHooks: boolean;
  readonly pruneLast: boolean;
  readonly applyOutOfSyncOnly: boolean;
  readonly createNamespace: boolean;
  readonly skipDryRunOnMissing: boolean;
  readonly prunePropagationPolicy: 'Foreground' | 'Background' | 'Orphan';
  /** The Application's default for `Prune=`: undefined, "false" or "confirm". */
  readonly defaultPrune?: string;
  /** The deletion-approved annotation is not older than the operation. */
  readonly pruneConfirmed: boolean;
  /** ARGOCD_SYNC_WAVE_DELAY: pause between the end of one wave and the start of the next. */
  readonly waveDelayMs: number;
}

/** Result of a deletion. `accepted`: also if the object was gone. `changed`: not deleted. */
export type DeleteOutcome = 'accepted' | 'changed';

/**
 * The only way to change a managed cluster; in a dry-run operation it sends only dry runs. The
 * controller implements it and checks ownership, project policy and impersonation before each
 * call. Methods throw KubeApiError as the client does, OwnershipLost, PolicyDenied, or an error
 * with the code CLUSTER_NOT_READY, which postpones the whole step.
 */
export interface ClusterWriter {
  readonly discovery: ApiDiscovery;
  get(object: KubeObject, signal: AbortSignal): Promise<KubeObject | null>;
  /** As kubectl apply: three-way merge with last-applied, or server-side. Creates if missing. */
  apply(target: KubeObject, live: KubeObject | null, how: ApplyOptions, signal: AbortSignal): Promise<ApplyResult>;
  create(object: KubeObject, signal: AbortSignal): Promise<ApplyResult>;
  /**
   * Deletes this version of the object. `changed`: not deleted, because its tracking, owners or
   * annotations changed since it was read (moved to another Application, or `Prune=false`).
   */
  delete(
    live: KubeObject,
    propagation: 'Foreground' | 'Background' | 'Orphan',
    signal: AbortSignal,
  ): Promise<DeleteOutcome>;
  /** Merge patch of metadata, for finalizers of hooks. */
  patchMetadata(
    live: KubeObject,
    patch: { readonly finalizers: readonly string[] | null },
    signal: AbortSignal,
  ): Promise<KubeObject>;
  /** Why the project denies this object, in Argo CD's words; undefined if it permits it. */
  denied(object: KubeObject, namespaced: boolean): string | undefined;
}

export interface ApplyOptions {
  readonly serverSide: boolean;
  readonly force: boolean;
  readonly replace: boolean;
  readonly validate: boolean;
  /** Field manager whose fields server-side apply takes over first. */
  readonly adoptFrom?: string;
  /**
   * Builds the object to send from the current live object, which may be newer than the cached one.
   * The writer reads the live object, sends with its resourceVersion, and builds again on a
   * conflict.
   */
  readonly buildTarget?: (live: KubeObject, signal: AbortSignal) => Promise<KubeObject>;
}

export interface ApplyResult {
  readonly object: KubeObject;
  /** kubectl's words: "deployment.apps/web created", or configured, unchanged, replaced, … */
  readonly message: string;
  /** Warnings of the server: unknown fields, a deprecated version. Absent if there were none. */
  readonly warnings?: readonly string[];
}

export interface SyncRequest {
  readonly resources: readonly ReconciledResource[];
  /** Hook targets (not Pre/PostDelete). */
  readonly hooks: readonly KubeObject[];
  /** Live hooks, to pair with `hooks`. */
  readonly liveHooks: readonly KubeObject[];
  readonly options: SyncOptions;
  readonly destinationNamespace: string;
  /** The resolved revision; part of the names of hooks with generateName. */
  readonly revision: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Identifies this attempt on every replica (start and retry count). Annotated on hooks. */
  readonly attempt: string;
  /** `operationState.syncResult.resources` of the earlier steps, in order. */
  readonly results: readonly ResourceResult[];
  readonly isSelected: (object: KubeObject) => boolean;
  readonly health: (object: KubeObject) => HealthStatus | null;
  /** False for objects of kinds whose live cache is not fresh in their namespace. */
  readonly canPrune: (ref: ResourceRef) => boolean;
  /** Why nothing at all is pruned. Absent: pruning is possible. */
  readonly pruneBlocked?: string;
  /**
   * Whether CustomResourceDefinitions without a target are pruned, with all objects of their kind.
   * If false, a result gives the reason. Absent: the sync has no task for them.
   */
  readonly prunesDefinitions?: boolean;
  /**
   * Describes another owner of this object, such as `application b also manages it`. An object with
   * another owner is not pruned.
   */
  readonly otherOwner: (object: KubeObject) => string | undefined;
  /** With CreateNamespace: the desired destination namespace; null: no change. */
  readonly namespaceModifier: (live: KubeObject | null) => KubeObject | null;
  /** In a dry-run operation it must send only dry runs. */
  readonly writer: ClusterWriter;
  /** Monotonic time when a wave was applied. The first call for a wave records the current time. */
  readonly waveAppliedAt: (wave: string) => number;
  /** Waits for slow work on the cluster; frees the caller's worker slot meanwhile. */
  readonly releaseSlotWhile: <T>(work: Promise<T>) => Promise<T>;
  /** Reports a problem that does not change the outcome. */
  readonly warn: (message: string, error: unknown) => void;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface SyncOutcome {
  readonly phase: OperationPhase;
  readonly message: string;
  /** In execution order; pass them to the next step. */
  readonly results: readonly ResourceResult[];
}
