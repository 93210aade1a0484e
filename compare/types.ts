import type { ApplyMethod, DiffResult, JqAnswers, WebhookMutations } from '#diff';
import type { KindState, LiveSchemas, ObjectChanges, UnreadObject } from '#live';
import type {
  AppKey,
  Application,
  ApplicationCondition,
  GroupKind,
  HealthStatus,
  HealthStatusCode,
  KubeObject,
  ResourceKey,
  ResourceRef,
  ResourceStatus,
  Settings,
  SyncStatus,
} from '#model';
import type { NamespaceSharer } from './namespaces.ts';

/** A live object that the sources no longer have, and that no prune may touch. */
export interface LeftObject {
  readonly ref: ResourceRef;
  /** Its entry in `status.resources`, which keeps it in memory. */
  readonly status: ResourceStatus;
  /** `Kind/namespace/name (why it stays)`. */
  readonly text: string;
}

/** One managed resource of a comparison. At least one of `target` and `live` is set. */
export interface ManagedPair {
  readonly key: ResourceKey;
  readonly target: KubeObject | null;
  readonly live: KubeObject | null;
  readonly hook: boolean;
  /** False if the live object is a copy that carries another object's tracking: not ours. */
  readonly own: boolean;
  /** The live object could not be read, so `live: null` does not mean that it is missing. */
  readonly unread?: true;
  readonly diff: DiffResult;
}

/** Desired state, from the sources. */
export interface RenderedTargets {
  /** Normalized; empty if `failed`. */
  readonly targets: readonly KubeObject[];
  /** Resolved revisions, one per source; empty if the manifests could not be loaded. */
  readonly revisions: readonly string[];
  readonly sourceTypes: readonly string[];
  readonly conditions: readonly ApplicationCondition[];
  readonly failed: boolean;
  /** False if the manifests are known to equal those of the last compared revision. */
  readonly mayHaveChanges: boolean;
}

/** Live state, from the cluster. */
export interface LiveState {
  readonly objects: ReadonlyMap<ResourceKey, KubeObject>;
  /** The objects that changed since an earlier comparison, if known. */
  readonly changes?: ObjectChanges | undefined;
  /** Objects that could not be read although the cluster as a whole can be. */
  readonly unread?: readonly UnreadObject[];
  /** Kinds whose cache is not fresh. */
  readonly degraded: readonly KindState[];
  readonly conditions: readonly ApplicationCondition[];
  readonly failed: boolean;
}

/**
 * Result of a dry run: the predicted live object, or why the API server refused it. `final`: it
 * would refuse the sync for the same reason, a field that is immutable or invalid.
 */
export type DryRunOutcome = { readonly predicted: KubeObject } | { readonly refused: string; readonly final?: boolean };

/** A live resource with a manifest: a server-side diff dry-runs the request that a sync sends. */
export interface DryRunPair {
  readonly key: ResourceKey;
  readonly target: KubeObject;
  readonly live: KubeObject;
  /**
   * Changes with the target or the live object, so that outcomes can be cached. Undefined if the
   * live object has no version.
   */
  readonly id: string | undefined;
  /** How a sync sends the target. */
  readonly method: ApplyMethod;
}

/** Server-side diff. Absent if objects are compared locally. */
export interface ServerSideDiff {
  readonly mutations: WebhookMutations;
  /** The impersonated user; '' for the controller itself. */
  readonly user: string;
  /** Outcomes of each {@link DryRunPair}, by key. */
  readonly outcomes: ReadonlyMap<ResourceKey, DryRunOutcome>;
}

export interface CompareFacts {
  readonly app: Application;
  readonly key: AppKey;
  readonly instance: string;
  readonly settings: Settings;
  readonly rendered: RenderedTargets;
  readonly live: LiveState;
  /** The requested revisions, one per source: kept in the status if nothing could be resolved. */
  readonly requested: readonly string[];
  readonly isNamespaced: (gk: GroupKind) => boolean | undefined;
  /** Whether the project permits this object in its namespace. */
  readonly permitted: (object: KubeObject) => boolean;
  /**
   * Whether the project permits this kind and name at all. Ask for an unknown kind as
   * cluster-scoped.
   */
  readonly permittedKind: (object: KubeObject, namespaced: boolean) => boolean;
  /**
   * Changes whenever `isNamespaced` or `permitted` may answer differently. Absent: never reuse
   * rows.
   */
  readonly policyVersion?: string;
  readonly persistResourceHealth: boolean;
  /** Published schemas of the kinds that are sent by server-side apply. */
  readonly schemas?: LiveSchemas;
  readonly serverSideDiff?: ServerSideDiff;
  /** Other Applications that manage metadata of the destination Namespace, by key. */
  readonly namespaceSharers?: readonly NamespaceSharer[];
  /**
   * Answers of jq programs that only jq can run. Open questions are answered after the comparison,
   * which then runs again.
   */
  readonly jq?: JqAnswers;
  /** Budget of jq steps for all resources; by default {@link maxJqSteps}. */
  readonly jqSteps?: number;
}

/** The result of one comparison: an immutable value that status, tree, auto-sync and sync read. */
export interface Comparison {
  readonly syncStatus: SyncStatus;
  readonly health: { readonly status: HealthStatusCode; readonly message: string };
  readonly resourceHealthSource: '' | 'appTree';
  readonly resources: readonly ResourceStatus[];
  /** Health of each resource that has one, even if `resources` leaves it out. */
  readonly resourceHealth: ReadonlyMap<ResourceKey, HealthStatus>;
  /** Conditions of the types that a comparison owns (and sometimes InvalidSpecError). */
  readonly conditions: readonly ApplicationCondition[];
  readonly pairs: readonly ManagedPair[];
  readonly hooks: readonly KubeObject[];
  readonly liveHooks: readonly KubeObject[];
  /** Objects that the sources no longer have, and that are not this sync's to prune. */
  readonly left: readonly LeftObject[];
  readonly sourceTypes: readonly string[];
  readonly hasPreDeleteHooks: boolean;
  readonly hasPostDeleteHooks: boolean;
  readonly mayHaveChanges: boolean;
  /** Manifests or live state could not be loaded: do not act on this comparison. */
  readonly failed: boolean;
  readonly degraded: readonly KindState[];
  /** Objects that could not be read: do not act on them. All others are unaffected. */
  readonly unread: readonly UnreadObject[];
  /** Objects whose change the API server could not predict. They stop no sync. */
  readonly refusals: readonly ApplicationCondition[];
  /** Why nothing at all may be pruned: the sources may be incomplete. */
  readonly pruneBlocked?: string;
  /** True if the sources may have rendered fewer objects than they should. */
  readonly mayLack?: boolean;
}
