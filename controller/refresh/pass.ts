import type { BuiltTree, Comparison } from '#compare';
import type { CachePolicy } from '#desired';
import { appLogFields } from '#model';
import type { AppKey, Application, ApplicationCondition } from '#model';
import type { ManagedResource } from '#publish';
import type { WorkerSlot } from '#queues';
import type { LogFields, Logger } from '#telemetry';
import type { StatusWrite } from '../application/application-writes.ts';
import type { AutosyncDecision, SelfHealBackoff } from '../application/autosync.ts';
import { compareLevel } from '../application/freshness.ts';
import type { DueRefresh, RefreshRequest } from '../application/freshness.ts';
import type { RefreshAnnotation } from '../application/refresh-annotation.ts';
import type { StatusChange } from '../application/status-patch.ts';
import type { RefreshCapture } from '../recorder/capture.ts';
import type { PassTimes } from '../report/pass-times.ts';
import type { ComparisonBasis, LiveSight } from '../comparison/basis.ts';
import type { AppMemory } from '../comparison/memory.ts';
import type { StageTimes } from '../write/apply-metrics.ts';

/** One pass over one application. */
export interface RefreshConfig {
  readonly namespace: string;
  readonly appResyncMs: number;
  readonly hardResyncMs: number;
  readonly jitterMs: number;
  readonly repoErrorGraceMs: number;
  /** How long the last good rendering serves while the source is unreadable; 0: no limit. */
  readonly lastGoodLimitMs?: number;
  readonly persistResourceHealth: boolean;
  readonly selfHeal: SelfHealBackoff;
  readonly retryLatestRevision?: boolean;
  /** Hydration is on. */
  readonly hydrates?: boolean;
}

export interface RefreshPass {
  readonly key: AppKey;
  readonly refresh: DueRefresh;
  readonly asked: RefreshAnnotation | undefined;
  /** The object as stored when the pass starts; the patch is computed against it. */
  readonly before: Application;
  readonly memory: AppMemory;
  /** One timestamp for the whole pass; the settings snapshot is in {@link BoundApplication}. */
  readonly time: string;
  readonly now: number;
  /** When the pass began, by the monotonic clock. */
  readonly startedAt: number;
  /** The times that are logged. */
  readonly times: PassTimes;
  /** Adds the application and the id of the pass to each line. */
  readonly logger: Logger;
  /** The refresh was requested no later than this, by the monotonic clock. */
  readonly askedAt?: number | undefined;
  /** Gets the time of each stage. */
  readonly stages: StageTimes;
  /** Collects references to what the pass reads and decides. */
  readonly capture: RefreshCapture;
  /** The worker slot of the pass. */
  readonly place?: WorkerSlot | undefined;
}

/** The result of one pass, for the caller to store. */
export interface PassResult {
  readonly pass: RefreshPass;
  /** By the monotonic clock. */
  readonly started: number;
  readonly assessment: PassAssessment;
}

/** A comparison and the decisions that follow from it. */
export interface Decisions {
  readonly comparison: Comparison;
  /** The finalizers that the application should have; undefined when it has them. */
  readonly finalizers: readonly string[] | undefined;
  /** The decision about automated sync; undefined while a sync window forbids it. */
  readonly decision: AutosyncDecision | undefined;
  /** The inputs of comparison and tree; undefined if the result may change without them. */
  readonly basis: ComparisonBasis | undefined;
  /** The live objects that were compared, if all of them are known. */
  readonly sight: LiveSight | undefined;
}

/**
 * The result of a pass, before anything is published or written: the status that the application
 * should have, and the patch from {@link RefreshPass.before} to it.
 */
export interface PassAssessment extends StatusChange {
  readonly tree: BuiltTree['tree'];
  /**
   * Undefined: keep what was published. 'none': remove it, so that clients show the conditions
   * instead.
   */
  readonly managed: readonly ManagedResource[] | 'none' | undefined;
  /** Conditions of this pass only; `status` also has those of other steps. */
  readonly conditions: readonly ApplicationCondition[];
  /** Undefined: nothing was compared, because the spec is invalid or only the tree changed. */
  readonly decisions: Decisions | undefined;
}

/**
 * All side effects of a pass, in call order. The seam between the controller in charge
 * (`refresh-writes`) and the shadow, which must not write (`shadow`).
 */
export interface RefreshEffects {
  /** The refresh request to serve: the queued one, or a deeper one. */
  request(key: AppKey, queued: RefreshRequest | undefined): RefreshRequest | undefined;
  /**
   * Returns the Application that the pass works on, and its refresh request as stored from now on.
   * @param requested the refresh request in `app`.
   */
  begin(app: Application, requested: RefreshAnnotation | undefined): Promise<PassStart>;
  publish(pass: RefreshPass, assessment: PassAssessment, signal: AbortSignal): Promise<void>;
  /**
   * Whether what the last pass stored and published still stands, so that an equal result has no
   * effects.
   */
  stands(pass: Pick<RefreshPass, 'key' | 'before'>): boolean;
  /**
   * Stores the status, starts a sync and removes the answered refresh request, in as few writes as
   * possible.
   */
  settle(pass: RefreshPass, assessment: SettledAssessment): Promise<StatusWrite>;
}

/** The part of a {@link PassAssessment} that is stored, and that starts a sync. */
export type SettledAssessment = Pick<PassAssessment, 'status' | 'patch' | 'decisions'>;

export interface PassStart {
  readonly before: Application;
  readonly asked: RefreshAnnotation | undefined;
}

/** The fields of each line of a pass, with Argo CD's names. */
export function passLogFields(app: Application, { level }: DueRefresh): LogFields {
  const { server = '', name = '', namespace = '' } = app.spec.destination;
  const destination = { 'dest-server': server, 'dest-name': name, 'dest-namespace': namespace };
  return { ...appLogFields(app), 'comparison-level': level, ...destination };
}

/**
 * A hard refresh renders again. Level 3 accepts only revisions resolved since it was requested.
 */
export function cachePolicyOf({ refresh, askedAt }: RefreshPass): CachePolicy {
  const current = askedAt === undefined ? 'current' : { notBefore: askedAt };
  return {
    revision: refresh.level === compareLevel.forceResolve ? current : 'cached',
    manifests: refresh.hard ? 'rerender' : 'cached',
  };
}

/** For a result that may change although its inputs do not. */
export function withoutBasis(assessment: PassAssessment): PassAssessment {
  const { decisions } = assessment;
  if (decisions === undefined) return assessment;
  return { ...assessment, decisions: { ...decisions, basis: undefined, sight: undefined } };
}
