import { recordedText } from '#base';
import type { Clock } from '#base';
import type { AppKey } from '#model';
import type { TakenItem } from '#queues';
import type { DueRefresh, RefreshRequest } from '../application/freshness.ts';
import type { AppMemories } from '../comparison/memory.ts';
import { passRecord } from '../report/activity.ts';
import type { PassRecord } from '../report/activity.ts';
import type { CostBook } from '../report/costs.ts';
import type { StageTimes } from '../write/apply-metrics.ts';
import type { RefreshPass } from './pass.ts';

/** The record of a pass that runs. */
export interface RunningRecord {
  readonly stages: StageTimes;
  readonly end: (result: PassRecord['result'], message?: string) => void;
}

export interface PassRecorderDeps {
  readonly clock: Clock;
  readonly memories: Pick<AppMemories, 'activity' | 'note'>;
  /** Counts passes. */
  readonly costs?: Pick<CostBook, 'ofApp'> | undefined;
}

/** Keeps a record of each pass, for display. */
export class PassRecorder {
  readonly #deps: PassRecorderDeps;

  constructor(deps: PassRecorderDeps) {
    this.#deps = deps;
  }

  begin(due: DueRefresh, { key, priority, waitedMs }: TakenItem<AppKey, RefreshRequest>): RunningRecord {
    const { clock } = this.#deps;
    const record = passRecord(key, due, { at: clock.now(), queuedMs: waitedMs, priority });
    const started = clock.monotonic();
    this.#keep(record);
    return { stages: record.stages, end: (result, message) => this.#ended(record, started, result, message) };
  }

  /** Records a comparison that another queue ran. */
  compared({ key, refresh, now, stages }: RefreshPass, started: number): void {
    const record = { ...passRecord(key, refresh, { at: now, queuedMs: 0, priority: 'live' }), stages };
    this.#keep(record);
    this.#ended(record, started, 'completed');
  }

  #keep(record: PassRecord): void {
    this.#deps.memories.note(record.key, { lastPass: record });
    this.#deps.memories.activity.passes.push(record);
    this.#deps.costs?.ofApp(record.key, 'passes');
  }

  #ended(record: PassRecord, started: number, result: PassRecord['result'], message?: string): void {
    record.durationMs = this.#deps.clock.monotonic() - started;
    record.result = result;
    if (message === undefined) delete record.message;
    else record.message = recordedText(message);
  }
}
