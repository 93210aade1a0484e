import type { DiffResult, JqAnswers, Mutations } from '#diff';
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
  ResourceStatus,
  Settings,
  SyncStatus,
} from '#model';

/** One managed resource of a comparison. Never neither target nor live. */
export interface ManagedPair {
  readonly key: ResourceKey;
  readonly target: KubeObject | null;
  readonly live: KubeObject | null;
  readonly hook: boolean;
  /** False: the live object carries the tracking of another one (a copy); it is none of our business. */
  readonly own: boolean;
  /** The live object could not be read: that there is none says nothing. */
  readonly unread?: true;
  readonly diff: DiffResult;
}

/** What the sources said. */
export interface RenderedTargets {
  /** Normalized; empty when `failed`. */
  readonly targets: readonly KubeObject[];
  /** Resolved revisions, one per source; empty when the manifests could not be loaded. */
  readonly revisions: readonly string[];
  readonly sourceTypes: readonly string[];
  readonly conditions: readonly ApplicationCondition[];
  readonly failed: boolean;
  /** False: the manifests are known to equal those of the revision that was compared last. */
  readonly mayHaveChanges: boolean;
}

/** What the cluster said. */
export interface LiveState {
  readonly objects: ReadonlyMap<ResourceKey, KubeObject>;
  /** Where the objects are known to be those of an earlier comparison, but for some. */
  readonly changes?: ObjectChanges | undefined;
  /** What could not be read, although the cluster as a whole can be. */
  readonly unread?: readonly UnreadObject[];
  /** Kinds whose cache is not fresh. */
  readonly degraded: readonly KindState[];
  readonly conditions: readonly ApplicationCondition[];
  readonly failed: boolean;
}

/** What the API server said to the dry-run apply of a target: what live would be after it, or why it refuses. */
export type DryRunOutcome = { readonly predicted: KubeObject } | { readonly refused: string };

/** A resource that is there and that a manifest names: with server-side diff, its difference is what an apply would change. */
export interface DryRunPair {
  readonly key: ResourceKey;
  readonly target: KubeObject;
  readonly live: KubeObject;
  /** What the outcome follows from, beside who asks: another one whenever the target or the live object is another. Undefined: nobody can tell. */
  readonly id: string | undefined;
}

/** Server-side diff. Absent from the facts: compared here. */
export interface ServerSideDiff {
  readonly mutations: Mutations;
  /** Who the server was asked as; "": ourselves. */
  readonly user: string;
  /** By key, of each {@link DryRunPair}. */
  readonly outcomes: ReadonlyMap<ResourceKey, DryRunOutcome>;
}

export interface CompareFacts {
  readonly app: Application;
  readonly key: AppKey;
  readonly instance: string;
  readonly settings: Settings;
  readonly rendered: RenderedTargets;
  readonly live: LiveState;
  /** The revisions that were asked for, one per source: kept in the status when nothing could be resolved. */
  readonly requested: readonly string[];
  readonly isNamespaced: (gk: GroupKind) => boolean | undefined;
  /** May this application, by its project, have this object in this place? */
  readonly permitted: (object: KubeObject) => boolean;
  /** May it have an object of this kind and name at all? A kind that the cluster does not know is asked about as one without namespaces. */
  readonly permittedKind: (object: KubeObject, namespaced: boolean) => boolean;
  /** Another text whenever `isNamespaced` or `permitted` may say something else. Absent: nobody can tell. */
  readonly premises?: string;
  readonly persistResourceHealth: boolean;
  /** What the cluster publishes of the kinds that are sent by server-side apply. */
  readonly schemas?: LiveSchemas;
  readonly serverSideDiff?: ServerSideDiff;
  /** What jq says, for programs of ignore rules that only jq can run. What is open after a comparison is to be answered, and compared again. */
  readonly jq?: JqAnswers;
  /** How much the jq programs of all resources may do together; absent: `jqSteps`. */
  readonly jqSteps?: number;
}

/** The outcome of one comparison: an immutable value from which status, tree, auto-sync and sync work. */
export interface Comparison {
  readonly syncStatus: SyncStatus;
  readonly health: { readonly status: HealthStatusCode; readonly message: string };
  readonly resourceHealthSource: '' | 'appTree';
  readonly resources: readonly ResourceStatus[];
  /** Of the resources that have one, also where `resources` does not say it. */
  readonly resourceHealth: ReadonlyMap<ResourceKey, HealthStatus>;
  /** Of the types that a comparison owns (and sometimes InvalidSpecError). */
  readonly conditions: readonly ApplicationCondition[];
  readonly pairs: readonly ManagedPair[];
  readonly hooks: readonly KubeObject[];
  readonly liveHooks: readonly KubeObject[];
  readonly sourceTypes: readonly string[];
  readonly hasPreDeleteHooks: boolean;
  readonly hasPostDeleteHooks: boolean;
  readonly mayHaveChanges: boolean;
  /** Manifests or live state could not be loaded: nothing here is good enough to act on. */
  readonly failed: boolean;
  readonly degraded: readonly KindState[];
  /** Objects of which nothing is known: nothing may be done with them. The rest is as good as ever. */
  readonly unread: readonly UnreadObject[];
}
