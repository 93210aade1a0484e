import type { Clock } from '#base';
import { rowMisses } from '#compare';
import type { RowMiss } from '#compare';
import type { HistogramMetric, Metrics } from '#telemetry';
import { gateMisses } from './gate-misses.ts';
import type { GateMiss } from './gate-misses.ts';

/** What a gate tells. */
export interface GateCounts {
  hit(): void;
  miss(reason: GateMiss): void;
}

/** What became of the rows of a comparison. */
export interface RowCounts {
  readonly kept: number;
  readonly made: ReadonlyMap<RowMiss, number>;
}

/** A part of a pass that takes time of its own. */
export type PassStage = 'sources' | 'live' | 'comparison' | 'tree' | 'publishing' | 'status' | 'sync';

/**
 * What it costs to keep Applications in sync, and what is saved: applies that were sent and that were not, rows that were compared and that were
 * kept, each miss with its reason, and the time of the stages of a pass. Our own, beside those of Argo CD.
 */
export class WorkMetrics {
  readonly gate: GateCounts;
  readonly rows: (counts: RowCounts) => void;
  readonly #stages: HistogramMetric;
  readonly #clock: Clock;

  constructor({ metrics, clock }: { readonly metrics: Metrics; readonly clock: Clock }) {
    this.#clock = clock;
    const hits = metrics.counter(
      'driftless_apply_hits_total',
      'Objects of syncs that were not sent: nothing to change.',
    );
    const misses = metrics.counter('driftless_apply_misses_total', 'Objects of syncs that were sent, by why.', [
      'reason',
    ]);
    // A series exists from the start, so that a rate over it sees the first event, and that there was none.
    hits.inc({}, 0);
    for (const reason of gateMisses) misses.inc({ reason }, 0);
    this.gate = { hit: () => hits.inc({}), miss: (reason) => misses.inc({ reason }) };
    const kept = metrics.counter('driftless_compare_rows_kept_total', 'Resources whose last comparison still held.');
    const made = metrics.counter('driftless_compare_rows_made_total', 'Resources that were compared anew, by why.', [
      'reason',
    ]);
    kept.inc({}, 0);
    for (const reason of rowMisses) made.inc({ reason }, 0);
    this.rows = (counts) => {
      kept.inc({}, counts.kept);
      for (const [reason, count] of counts.made) made.inc({ reason }, count);
    };
    const buckets = [0.001, 0.005, 0.025, 0.1, 0.5, 2, 10];
    const help = 'Time of the stages of passes, waiting included, in seconds.';
    this.#stages = metrics.histogram('driftless_stage_seconds', help, buckets, ['stage']);
  }

  /** Measures a stage; also one that fails. */
  async stage<T>(stage: PassStage, work: () => Promise<T>): Promise<T> {
    const began = this.#clock.monotonic();
    try {
      return await work();
    } finally {
      this.#stages.observe((this.#clock.monotonic() - began) / 1000, { stage });
    }
  }
}
