import type { KindState, UnreadObject } from '#live';
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
import { fold } from './fold.ts';
import type { ComparedRow } from './fold.ts';
import { pairUp } from './pairing.ts';
import { makeRow } from './row.ts';
import type { DiffSides, DiffVerdict, RowRules } from './row.ts';

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
  readonly diff: DiffVerdict;
  /** Absent when this pair was compared earlier: `managedResources` makes them again. */
  readonly sides?: DiffSides;
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
  /** What could not be read, although the cluster as a whole can be. */
  readonly unread?: readonly UnreadObject[];
  /** Kinds whose cache is not fresh. */
  readonly degraded: readonly KindState[];
  readonly conditions: readonly ApplicationCondition[];
  readonly failed: boolean;
}

export interface CompareFacts {
  readonly app: Application;
  readonly key: AppKey;
  readonly instance: string;
  readonly controllerNamespace: string;
  readonly settings: Settings;
  readonly rendered: RenderedTargets;
  readonly live: LiveState;
  /** The revisions that were asked for, one per source: kept in the status when nothing could be resolved. */
  readonly requested: readonly string[];
  readonly isNamespaced: (gk: GroupKind) => boolean | undefined;
  /** May this application, by its project, have this object in this place? */
  readonly permitted: (object: KubeObject) => boolean;
  readonly persistResourceHealth: boolean;
  /** Instead of {@link jqSteps}. */
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

/** Steps of all jq programs in one comparison, a second or two: with ten rules, enough for ten thousand objects. */
export const jqSteps = 20_000_000;

/**
 * Compares what should be with what is, every resource anew: pairs them up, makes a row of each, and folds the rows. Equal facts give equal
 * comparisons. Source: Argo CD controller/state.go CompareAppState, steps 8 to 13.
 *
 * Differences: resources are in rendering order before they are sorted; a kind that could not be watched makes its own missing resources
 * Unknown, and objects that could not be read are Unknown themselves, never the whole application.
 */
export function compareState(facts: CompareFacts): Comparison {
  const { frame, resources } = pairUp(facts);
  const rules = rulesOf(facts);
  const rows = resources.map((resource): ComparedRow => ({ facts: resource, ...makeRow(resource, rules) }));
  return fold(facts, frame, rows).comparison;
}

/** What all rows of a comparison have in common. */
export function rulesOf(facts: CompareFacts, work = { left: facts.jqSteps ?? jqSteps }): RowRules {
  const { app, key, instance, controllerNamespace, settings, persistResourceHealth, rendered, live } = facts;
  const failed = rendered.failed || live.failed;
  return { app, key, instance, controllerNamespace, settings, persistResourceHealth, failed, work };
}
