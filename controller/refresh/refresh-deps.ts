import type { WorkerSlot } from '#queues';
import type { Logger, Tracer } from '#telemetry';
import type { DueRefresh } from '../application/freshness.ts';
import type { Comparer } from '../comparison/comparer.ts';
import type { AppMemories } from '../comparison/memory.ts';
import type { TreeStore } from '../comparison/tree-store.ts';
import type { DueCapture } from '../recorder/capture.ts';
import type { PassLog } from '../recorder/pass-log.ts';
import type { AppMetrics } from '../report/metrics.ts';
import type { ApplyGate } from '../write/apply-gate.ts';
import type { WorkMetrics } from '../write/apply-metrics.ts';
import type { PassRecorderDeps, RunningRecord } from './pass-recorder.ts';
import type { RefreshEffects } from './pass.ts';
import type { PassReaderDeps } from './read-pass.ts';

/** `lookup` gives the cached Application with the status that this controller compared last. */
export interface RefreshDeps
  extends Omit<PassReaderDeps, 'comparer' | 'outage' | 'trees' | 'work'>, Pick<PassRecorderDeps, 'costs'> {
  readonly effects: RefreshEffects;
  readonly comparer: Pick<Comparer, 'compareUnless' | 'hasSeen'>;
  readonly memories: RefreshMemories;
  readonly metrics: Pick<AppMetrics, 'reconciled' | 'orphaned'>;
  readonly work: Pick<WorkMetrics, 'rows' | 'stage'>;
  readonly logger: Logger;
  readonly tracer?: Tracer | undefined;
}

/** The in-memory state that passes use. */
export interface RefreshMemories extends Pick<AppMemories, 'of' | 'note' | 'activity' | 'records'> {
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
