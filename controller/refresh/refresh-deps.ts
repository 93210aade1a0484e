import type { WorkerSlot } from '#queues';
import type { DueRefresh } from '../application/freshness.ts';
import type { DueCapture } from '../recorder/capture.ts';
import type { BuiltTree, Comparison } from '#compare';
import type { BoundApplication, SpecVerdict } from '../admission/bound.ts';
import type { ManagedResource } from '#publish';
import type { Clock, RandomSource } from '#base';
import type { LiveCluster } from '#live';
import type { AppKey, Application, ApplicationStatus } from '#model';
import type { Logger, Tracer } from '#telemetry';
import type { ManifestClaims } from '../admission/claims.ts';
import type { PolicyFacts } from '../admission/policy-facts.ts';
import type { ShownOutage } from './source-outage.ts';
import type { ComparisonBasis, LiveSight } from '../comparison/basis.ts';
import type { Comparer } from '../comparison/comparer.ts';
import type { AppMemories } from '../comparison/memory.ts';
import type { TreeStore } from '../comparison/tree-store.ts';
import type { PassLog } from '../recorder/pass-log.ts';
import type { AppMetrics } from '../report/metrics.ts';
import type { ApplyGate } from '../write/apply-gate.ts';
import type { WorkMetrics } from '../write/apply-metrics.ts';
import type { PassRecorderDeps, RunningRecord } from './pass-recorder.ts';
import type { RefreshEffects, RefreshPass } from './pass.ts';

export interface RefreshDeps extends Pick<PassRecorderDeps, 'costs'> {
  /** The cached Application, with the status that this controller compared last. */
  readonly lookup: (key: AppKey) => Application | undefined;
  readonly effects: RefreshEffects;
  readonly comparer: Pick<Comparer, 'compareUnless' | 'hasSeen'>;
  readonly memories: RefreshMemories;
  readonly metrics: Pick<AppMetrics, 'reconciled' | 'orphaned'>;
  readonly work: Pick<WorkMetrics, 'rows' | 'stage'>;
  readonly claims: Pick<ManifestClaims, 'claimants'>;
  readonly validate: (app: Application) => SpecVerdict;
  /** Inputs of `validate`. */
  readonly policyFacts: (app: Application) => PolicyFacts;
  readonly peek: (server: string) => LiveCluster | undefined;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  readonly tracer?: Tracer | undefined;
}

/** The in-memory state that passes use. */
export interface RefreshMemories extends Pick<AppMemories, 'of' | 'activity'> {
  readonly gate: Pick<ApplyGate, 'forget'> | undefined;
  readonly trees: Pick<TreeStore, 'read'>;
  readonly passLog: Pick<PassLog, 'keep' | 'isFollowed'>;
}

export interface PassRun {
  readonly due: DueRefresh;
  readonly decidedBy: DueCapture;
  readonly record: RunningRecord;
  readonly place: WorkerSlot | undefined;
}

/** A comparison and what is published from it. */
export interface ComparisonResult {
  readonly comparison: Comparison;
  readonly built: BuiltTree;
  readonly bound: BoundApplication;
  readonly managed: readonly ManagedResource[];
  readonly basis: ComparisonBasis | undefined;
  readonly sight: LiveSight | undefined;
  /** How the status shows that the sources are unreadable. */
  readonly outage: ShownOutage;
}

/** A comparison to run, unless its basis still holds. */
export interface BegunComparison {
  readonly pass: RefreshPass;
  readonly status: ApplicationStatus;
  readonly basis: ComparisonBasis | undefined;
}
