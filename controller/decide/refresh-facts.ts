import type { Comparison, TreeRoot, TreeRows } from '#compare';
import type { AppKey, Application, ResourceKey } from '#model';
import type { BoundApplication, SpecVerdict } from '../admission/bound.ts';
import type { SelfHealBackoff } from '../application/autosync.ts';
import type { DueRefresh } from '../application/freshness.ts';
import type { ComparisonBasis, LiveSight } from '../comparison/basis.ts';
import type { AppMemory } from '../comparison/memory.ts';
import type { SourceOutage } from '../comparison/rendering.ts';

/** The options that decisions of a refresh depend on. */
export interface DecisionConfig {
  readonly namespace: string;
  readonly selfHeal: SelfHealBackoff;
  readonly retryLatestRevision?: boolean;
  /** Hydration is on. */
  readonly hydrates?: boolean;
}

/** The memory of earlier passes that a decision uses. */
export type RememberedPasses = Pick<
  AppMemory,
  'contests' | 'driftSeenAt' | 'lastGood' | 'sourceError' | 'sourceFailedAt' | 'sourceRetryAt'
>;

/** Both sides of a comparison, and its result. */
export interface ComparedFacts {
  readonly comparison: Comparison;
  readonly revisions: readonly string[];
  /** The sources could not be read, and the last good rendering was compared. */
  readonly outage?: SourceOutage | undefined;
  readonly basis: ComparisonBasis | undefined;
  readonly sight: LiveSight | undefined;
  /** All resources are compared again after this time; undefined: only some were compared. */
  readonly nextFullMs: number | undefined;
}

/** All that a refresh is decided from, as it was read. */
export interface RefreshFacts {
  readonly key: AppKey;
  readonly refresh: DueRefresh;
  /** A user waits for this refresh. */
  readonly isAsked: boolean;
  /** The object as stored when the pass began; the patch is computed against it. */
  readonly before: Application;
  readonly memory: RememberedPasses;
  /** One time for the whole pass, as a timestamp and in milliseconds. */
  readonly time: string;
  readonly now: number;
  /** When the pass began, by the monotonic clock. */
  readonly startedAt: number;
  readonly config: DecisionConfig;
  readonly verdict: SpecVerdict;
  /** Undefined: the spec is invalid. */
  readonly read: ReadFacts | undefined;
}

/** The facts that exist only for a valid spec. */
export interface ReadFacts {
  readonly bound: BoundApplication;
  /** No sync window forbids automated sync. */
  readonly isWindowOpen: boolean;
  /** Undefined: only its tree was read. */
  readonly compared: ComparedFacts | undefined;
  readonly roots: readonly TreeRoot[];
  readonly rows: TreeRows;
  /** Resources to be pruned that other Applications declare too. */
  readonly claimed: ReadonlySet<ResourceKey>;
}
