import type {
  AppKey,
  Application,
  ApplicationCondition,
  AppProject,
  Cluster,
  KubeObject,
  OperationState,
  ResourceRef,
  Settings,
} from '#model';

/** The objects that an Application may have on its cluster, according to its project. */
export interface ResourceGate {
  /** Changes whenever the answer of any other member may change. */
  readonly version: string;
  readonly permits: (object: KubeObject) => boolean;
  readonly permitsRef: (ref: ResourceRef) => boolean;
  /** Checks kind and name only, regardless of the namespace. */
  readonly permitsKind: (object: KubeObject, namespaced: boolean) => boolean;
  /**
   * Why nothing may be created at the Application's destination. Namespaced objects are also
   * checked in their own namespace.
   */
  readonly misplaced: string | undefined;
  /** Argo CD's message for a refusal; undefined when the object is permitted. */
  readonly denied: (object: KubeObject, namespaced: boolean) => string | undefined;
}

/**
 * When syncs may run, according to the project's sync windows. Each call evaluates the current
 * time.
 */
export interface WindowGate {
  /** Whether automated syncs may start now; false when a window cannot be parsed. */
  readonly automated: () => boolean;
  /** Why an operation may not start or continue now; undefined when it may. */
  readonly blocks: (state: OperationState) => string | undefined;
}

/**
 * The user to impersonate on the cluster. Both return undefined for the controller's own identity.
 */
export interface ImpersonationUsers {
  /**
   * @throws with Argo CD's message when impersonation is enforced and no service account matches.
   */
  readonly syncs: () => string | undefined;
  /**
   * Falls back to our own identity even under enforcement: objects created before enforcement, or
   * before the service account left the project, must remain deletable.
   * @throws with Argo CD's message when the project's service account is invalid.
   */
  readonly deletes: () => string | undefined;
}

/**
 * An Application with everything that decides what a pass may do for it. Bound once when the pass
 * begins, so that the pass works with one project, one cluster and one settings snapshot, even if
 * they change meanwhile.
 */
export interface BoundApplication {
  readonly app: Application;
  readonly key: AppKey;
  /**
   * The effective project: allowed sources, required signatures, permitted resources and
   * destinations.
   */
  readonly project: AppProject;
  readonly cluster: Cluster;
  readonly settings: Settings;
  readonly gate: ResourceGate;
  readonly windows: WindowGate;
  readonly identity: ImpersonationUsers;
}

/**
 * A valid spec bound to its project and cluster, or the conditions that explain why it is invalid.
 */
export type SpecVerdict =
  | { readonly ok: true; readonly bound: BoundApplication }
  | { readonly ok: false; readonly conditions: readonly ApplicationCondition[] };
