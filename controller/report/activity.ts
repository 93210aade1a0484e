import { RingBuffer } from '#base';
import type { AppKey, OperationPhase, ResourceKey } from '#model';
import type { Priority } from '#queues';
import type { CompareLevel, DueRefresh, RefreshCause } from '../application/freshness.ts';
import type { StageTimes } from '../write/apply-metrics.ts';

/** Changed objects of a pass that are named. */
const maxNamedObjects = 10;

/** One refresh pass of an Application. Changes until it has ended. Times are wall milliseconds. */
export interface PassRecord {
  readonly key: AppKey;
  readonly at: number;
  readonly queuedMs: number;
  readonly priority: Priority;
  readonly level: CompareLevel;
  readonly isHard: boolean;
  readonly reason: string;
  readonly cause: RefreshCause;
  /** The changed resources that led to it, the first ten. */
  readonly objects: readonly ResourceKey[];
  readonly objectsTotal: number;
  readonly stages: StageTimes;
  durationMs: number;
  result: 'running' | 'completed' | 'waiting' | 'failed';
  /** Why it failed or waits. */
  message?: string;
}

export function passRecord(
  key: AppKey,
  refresh: DueRefresh,
  taken: { readonly at: number; readonly queuedMs: number; readonly priority: Priority },
): PassRecord {
  const { level, hard, reason, cause, resources } = refresh;
  const objects = resources === undefined ? [] : [...resources].slice(0, maxNamedObjects);
  const described = { level, isHard: hard, reason, cause, objects, objectsTotal: resources?.size ?? 0 };
  return { key, ...taken, ...described, stages: {}, durationMs: 0, result: 'running' };
}

/** A sync or a deletion that ended. */
export interface SyncRecord {
  readonly key: AppKey;
  readonly at: number;
  readonly durationMs: number;
  readonly phase: OperationPhase;
  readonly message: string;
}

/** Work that failed with an error. */
export interface FaultRecord {
  readonly key: string;
  readonly at: number;
  readonly message: string;
}

const maxPasses = 5000;
const maxSyncs = 2000;
const maxFaults = 2000;

/** The newest passes, syncs and faults of this replica, each with a bound of its own. */
export class ActivityLog {
  readonly passes = new RingBuffer<PassRecord>(maxPasses);
  readonly syncs = new RingBuffer<SyncRecord>(maxSyncs);
  readonly faults = new RingBuffer<FaultRecord>(maxFaults);
}
