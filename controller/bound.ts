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

/** What one application may have on its cluster, by its project. */
export interface ResourceGate {
  /** Another text whenever one of the others may say something else. */
  readonly version: string;
  readonly permits: (object: KubeObject) => boolean;
  readonly permitsRef: (ref: ResourceRef) => boolean;
  /** The same of its kind and name alone, wherever it is. */
  readonly permitsKind: (object: KubeObject, namespaced: boolean) => boolean;
  /** Why nothing at all may be created where the application goes; for objects of a namespace, theirs counts as well. */
  readonly misplaced: string | undefined;
  /** Argo CD's words for a refusal, undefined when it is permitted. */
  readonly denied: (object: KubeObject, namespaced: boolean) => string | undefined;
}

/** When syncs may run, by the project's windows. Each question is answered for the time at which it is asked. */
export interface WindowGate {
  /** Whether automated syncs may start now; an unreadable window says no. */
  readonly automated: () => boolean;
  /** Why an operation may not start or go on now; undefined when it may. */
  readonly blocks: (state: OperationState) => string | undefined;
}

/** Whom to act as on the cluster. Both answer undefined for ourselves. */
export interface Identity {
  /** @throws with Argo CD's text when impersonation is on and does not say whom. */
  readonly syncs: () => string | undefined;
  /**
   * Where the project names nobody, ourselves, also under enforcement: what was made before enforcement, or before the service account was taken out
   * of the project, could never be deleted otherwise.
   * @throws with Argo CD's text when the project's answer cannot be understood.
   */
  readonly deletes: () => string | undefined;
}

/**
 * An application with everything that decides what may be done for it, bound once when a pass begins: the pass works with one project, one
 * cluster and one snapshot of the settings, whatever changes meanwhile.
 */
export interface BoundApplication {
  readonly app: Application;
  readonly key: AppKey;
  /** The effective project: where sources may come from, who must have signed them, what may go where. */
  readonly project: AppProject;
  readonly cluster: Cluster;
  readonly settings: Settings;
  readonly gate: ResourceGate;
  readonly windows: WindowGate;
  readonly identity: Identity;
}

/** What an application's spec and project say, or why they say nothing good. */
export type SpecVerdict =
  | { readonly ok: true; readonly bound: BoundApplication }
  | { readonly ok: false; readonly conditions: readonly ApplicationCondition[] };
