import { omit } from '#base';
import type { CachePolicy } from '#desired';
import { appLogFields } from '#model';
import type { AppKey, Application } from '#model';
import type { ManagedResource } from '#publish';
import type { WorkerSlot } from '#queues';
import type { LogFields, Logger } from '#telemetry';
import type { StatusWrite } from '../application/application-writes.ts';
import { compareLevel } from '../application/freshness.ts';
import type { DueRefresh, RefreshRequest } from '../application/freshness.ts';
import type { RefreshAnnotation } from '../application/refresh-annotation.ts';
import type { RefreshCapture } from '../recorder/capture.ts';
import type { PassTimes } from '../report/pass-times.ts';
import type { AppMemory, MemoryChange } from '../comparison/memory.ts';
import type { RefreshDecision } from '../decide/decide-refresh.ts';
import type { DecisionConfig } from '../decide/refresh-facts.ts';
import type { StageTimes } from '../write/apply-metrics.ts';

export interface RefreshConfig extends DecisionConfig {
  readonly appResyncMs: number;
  readonly hardResyncMs: number;
  readonly jitterMs: number;
  readonly repoErrorGraceMs: number;
  /** How long the last good rendering serves while the source is unreadable; 0: no limit. */
  readonly lastGoodLimitMs?: number;
  readonly persistResourceHealth: boolean;
}

/** One pass over one application. */
export interface RefreshPass {
  readonly key: AppKey;
  readonly refresh: DueRefresh;
  readonly asked: RefreshAnnotation | undefined;
  /** The object as stored when the pass starts; the patch is computed against it. */
  readonly before: Application;
  /** The memory of now. */
  readonly memory: AppMemory;
  readonly note: (change: MemoryChange) => void;
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

/**
 * The result of a pass, before anything is published or written: the status that the application
 * should have, and the patch from {@link RefreshPass.before} to it.
 */
export interface PassAssessment extends RefreshDecision {
  /**
   * Undefined: keep what was published. 'none': remove it, so that clients show the conditions
   * instead.
   */
  readonly managed: readonly ManagedResource[] | 'none' | undefined;
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
   * possible. Remembers the decision ({@link rememberDecided}) as soon as it is stored.
   */
  settle(pass: RefreshPass, assessment: SettledAssessment): Promise<StatusWrite>;
}

/** The part of a {@link PassAssessment} that is stored, starts a sync, and is remembered. */
export type SettledAssessment = Pick<PassAssessment, 'status' | 'patch' | 'decisions' | 'memory' | 'decidedFrom'>;

export interface PassStart {
  readonly before: Application;
  readonly asked: RefreshAnnotation | undefined;
}

/** The capture of a pass that begins, with the memory that it changes. */
export function captureRefresh(
  pass: Pick<RefreshPass, 'key' | 'before' | 'refresh' | 'memory' | 'now' | 'startedAt'>,
): RefreshCapture {
  const { key, before, refresh, now, startedAt } = pass;
  const { driftSeenAt, sourceFailedAt, contests, roots } = pass.memory;
  const memory = { driftSeenAt, sourceFailedAt, contests, roots };
  return { kind: 'refresh', key, now, startedAt, refresh, before, memory, comparison: {}, isAsked: false };
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

/**
 * Remembers a decision whose writes have landed; without them, the next pass decides from what this
 * one began with. What a sync has recorded meanwhile about contests stays.
 */
export function rememberDecided({ memory: now, note }: RefreshPass, { memory, decidedFrom }: SettledAssessment): void {
  note(now.contests === decidedFrom.contests ? memory : omit(memory, 'contests'));
}
