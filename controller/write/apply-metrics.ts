import type { Clock } from '#base';
import { rowMisses } from '#compare';
import type { RowMiss } from '#compare';
import { noTracer } from '#telemetry';
import type { HistogramMetric, MetricRegistry, SpanAttributes, Tracer } from '#telemetry';
import { gateMisses } from './gate-misses.ts';
import type { GateMiss } from './gate-misses.ts';

/** Counts the decisions of the gate. */
export interface GateCounts {
  hit(): void;
  miss(reason: GateMiss): void;
}

/** Reused and recomputed rows of a comparison. */
export interface RowCounts {
  readonly kept: number;
  readonly made: ReadonlyMap<RowMiss, number>;
}

/** A separately timed stage of a pass. */
export type PassStage = 'sources' | 'live' | 'comparison' | 'tree' | 'publishing' | 'status' | 'sync';

/** The span of each stage: Argo CD's name where it has one. */
const stageSpans: Readonly<Record<PassStage, string>> = {
  sources: 'controller.GetRepoObjs',
  live: 'controller.live',
  comparison: 'controller.diff',
  tree: 'controller.tree',
  publishing: 'controller.publish',
  status: 'controller.persistAppStatus',
  sync: 'controller.applyWave',
};
const noAttributes: SpanAttributes = {};

export interface WorkMetricsDeps {
  readonly metrics: MetricRegistry;
  readonly clock: Clock;
  readonly tracer?: Tracer | undefined;
}

/** Milliseconds of the stages of one pass, waiting included. */
export type StageTimes = Partial<Record<PassStage, number>>;

/**
 * Metrics of the work to keep Applications in sync, and of the work saved: applies sent and
 * skipped, rows compared and reused, each miss by reason, and stage times. These metrics are
 * additions to Argo CD's.
 */
export class WorkMetrics {
  readonly gate: GateCounts;
  readonly rows: (counts: RowCounts) => void;
  readonly #stages: HistogramMetric;
  readonly #clock: Clock;
  readonly #tracer: Tracer;

  constructor({ metrics, clock, tracer = noTracer }: WorkMetricsDeps) {
    this.#clock = clock;
    this.#tracer = tracer;
    const hits = metrics.counter(
      'driftless_apply_hits_total',
      'Objects of syncs that were not sent, because there was nothing to change.',
    );
    const misses = metrics.counter('driftless_apply_misses_total', 'Objects of syncs that were sent, by reason.', [
      'reason',
    ]);
    // Create each series at startup, so that rate() sees the first increment, and absence means
    // zero.
    hits.inc({}, 0);
    for (const reason of gateMisses) misses.inc({ reason }, 0);
    this.gate = { hit: () => hits.inc({}), miss: (reason) => misses.inc({ reason }) };
    const kept = metrics.counter('driftless_compare_rows_kept_total', 'Resources whose last comparison was reused.');
    const made = metrics.counter(
      'driftless_compare_rows_made_total',
      'Resources that were compared again, by reason.',
      ['reason'],
    );
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

  /** Measures and traces a stage, even if it fails; `times` adds up the stages of one pass. */
  async stage<T>(stage: PassStage, work: () => Promise<T>, times: StageTimes = {}): Promise<T> {
    const began = this.#clock.monotonic();
    try {
      return await this.#tracer.span(stageSpans[stage], noAttributes, work);
    } finally {
      const ms = this.#clock.monotonic() - began;
      this.#stages.observe(ms / 1000, { stage });
      times[stage] = (times[stage] ?? 0) + ms;
    }
  }
}
