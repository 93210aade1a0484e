import type { Clock } from '#base';
import type { ApiDiscovery } from '#kube';
import type { GroupKind, HealthStatus, KubeObject, OperationPhase, ResourceResult } from '#model';

/** One managed resource: what it should be (null: prune candidate) and what it is (null: missing). */
export interface ReconciledResource {
  readonly target: KubeObject | null;
  readonly live: KubeObject | null;
  /** From the comparison: does live differ from target? */
  readonly modified: boolean;
}

/** Options of one operation, already read from operation and syncOptions (Argo CD controller/sync.go). */
export interface SyncOptions {
  readonly dryRun: boolean;
  readonly prune: boolean;
  readonly force: boolean;
  readonly replace: boolean;
  readonly serverSideApply: boolean;
  /** The manager of client-side apply whose fields a server-side apply takes over first; absent: none (`ClientSideApplyMigration=false`). */
  readonly migrationManager?: string;
  readonly validate: boolean;
  readonly skipHooks: boolean;
  readonly pruneLast: boolean;
  readonly applyOutOfSyncOnly: boolean;
  readonly createNamespace: boolean;
  readonly skipDryRunOnMissing: boolean;
  readonly prunePropagationPolicy: 'Foreground' | 'Background' | 'Orphan';
  /** `Prune=` default of the application: undefined, "false" or "confirm". */
  readonly defaultPrune?: string;
  /** deletion-approved is not older than the operation. */
  readonly pruneConfirmed: boolean;
  /** ARGOCD_SYNC_WAVE_DELAY. */
  readonly waveDelayMs: number;
}

/** What has become of a deletion. `accepted` also when there is no such object any more. */
export type Deletion = 'accepted' | 'changed';

/**
 * The one way to change a managed cluster (decision D9). Implemented by the controller: it checks ownership, project policy and
 * impersonation before each call, then uses the cluster's client. Every method throws KubeApiError as the client does, or
 * OwnershipLost, or PolicyDenied.
 */
export interface ClusterWriter {
  readonly discovery: ApiDiscovery;
  get(object: KubeObject, signal: AbortSignal): Promise<KubeObject | null>;
  /** kubectl apply: three-way merge with last-applied, or server-side apply. Creates when missing. */
  apply(target: KubeObject, live: KubeObject | null, how: ApplyHow, signal: AbortSignal): Promise<ApplyResult>;
  create(object: KubeObject, dryRun: boolean, signal: AbortSignal): Promise<ApplyResult>;
  /**
   * Deletes this object, as it was looked at. `changed`: it was not, because somebody has marked it otherwise since (for another Application, as one that
   * is to stay): look again.
   */
  delete(live: KubeObject, propagation: 'Foreground' | 'Background' | 'Orphan', signal: AbortSignal): Promise<Deletion>;
  /** JSON merge patch of metadata, for finalizers of hooks. */
  patchMetadata(
    live: KubeObject,
    patch: { readonly finalizers: readonly string[] | null },
    signal: AbortSignal,
  ): Promise<KubeObject>;
  /** May this application put this kind there? A refusal's text, Argo CD's wording, or undefined. */
  denied(object: KubeObject, namespaced: boolean): string | undefined;
}

export interface ApplyHow {
  readonly dryRun: boolean;
  readonly serverSide: boolean;
  readonly force: boolean;
  readonly replace: boolean;
  readonly validate: boolean;
  /** With server-side apply: take over the fields of this manager of client-side apply first. */
  readonly adoptFrom?: string;
  /**
   * What to send over `live` instead of the target. The writer then reads live first, sends under the version that it has read, and asks again
   * when somebody was faster: what is meant to stay as it is must not be what the cache remembers of it.
   */
  readonly over?: (live: KubeObject, signal: AbortSignal) => Promise<KubeObject>;
}

export interface ApplyResult {
  readonly object: KubeObject;
  /** kubectl's words: "deployment.apps/web created | configured | unchanged | serverside-applied | replaced". */
  readonly message: string;
}

export interface SyncRequest {
  readonly resources: readonly ReconciledResource[];
  /** Hook targets (not Pre/PostDelete). */
  readonly hooks: readonly KubeObject[];
  /** Live objects that are hooks, for pairing with `hooks`. */
  readonly liveHooks: readonly KubeObject[];
  readonly options: SyncOptions;
  readonly destinationNamespace: string;
  /** The resolved revision (names generateName hooks). */
  readonly revision: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Identity of this attempt of this operation, the same on every replica (start and retry count): hooks are marked with it. */
  readonly attempt: string;
  /** `operationState.syncResult.resources` of the steps before, in order; empty for the first. */
  readonly results: readonly ResourceResult[];
  readonly selected: (object: KubeObject) => boolean;
  readonly health: (object: KubeObject) => HealthStatus | null;
  /** Kinds whose live cache is not fresh: nothing of them is pruned. */
  readonly mayPrune: (gk: GroupKind) => boolean;
  /** Another application that has this object among its manifests, by its key: then it is not pruned. */
  readonly claimant: (object: KubeObject) => string | undefined;
  /** Metadata for the destination namespace with CreateNamespace; null: leave it alone. */
  readonly namespaceModifier: (live: KubeObject | null) => KubeObject | null;
  /** Must not be able to write when the operation is a dry run. */
  readonly writer: ClusterWriter;
  /** Something that people should know and that changes nothing in the outcome. */
  readonly warn: (message: string, error: unknown) => void;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface SyncOutcome {
  readonly phase: OperationPhase;
  readonly message: string;
  /** In execution order; hand them to the next step. */
  readonly results: readonly ResourceResult[];
}
