import { DriftlessError } from '#base';
import type { CounterMetric, HistogramMetric, Labels, MetricFamily, Metrics } from '#telemetry';

/** What a queue shows at scrape time. */
export interface QueueGauges {
  readonly name: string;
  /** Keys that somebody has asked to run: due and waiting, or due again as soon as its present run ends. */
  dirty(): number;
  /** Ages in milliseconds of the runs that are going on. */
  inFlightMs(): Iterable<number>;
}

/** What a queue tells as it happens. */
export interface QueueEvents {
  added(): void;
  retried(): void;
  taken(waitedMs: number): void;
  worked(tookMs: number): void;
}

const itemResults = ['done', 'requeued', 'retried', 'failed', 'aborted'] as const;

/** How the run of one item ended. */
export type ItemResult = (typeof itemResults)[number];

// client-go's ExponentialBuckets(1e-8, 10, 12): repeated multiplication, so that the bounds are the same doubles as Go's.
function exponentialBuckets(start: number, factor: number, count: number): number[] {
  const bounds: number[] = [];
  for (let bound = start; bounds.length < count; bound *= factor) bounds.push(bound);
  return bounds;
}

/**
 * The `workqueue_*` metrics with client-go's names and labels as controller-runtime registers them, where `controller` repeats `name` and
 * `workqueue_depth` has an empty `priority`; dashboards and alerts select by them. One instance serves all queues of a registry.
 *
 * Gauges are computed when they are scraped, not refreshed every half second. A queue without a name has no series, as in
 * client-go. Our own: `driftless_workqueue_items_total{name,outcome}`.
 */
export class QueueMetrics {
  readonly #queues = new Map<string, QueueGauges>();
  readonly #adds: CounterMetric;
  readonly #retries: CounterMetric;
  readonly #waited: HistogramMetric;
  readonly #worked: HistogramMetric;
  readonly #items: CounterMetric;

  constructor(metrics: Metrics) {
    const labels = ['name', 'controller'];
    const bounds = exponentialBuckets(1e-8, 10, 12);
    this.#adds = metrics.counter('workqueue_adds_total', 'Keys that became due in a work queue', labels);
    this.#retries = metrics.counter('workqueue_retries_total', 'Adds with a delay, rate-limited ones included', labels);
    this.#waited = metrics.histogram(
      'workqueue_queue_duration_seconds',
      'How long a due key waited until it was taken, in seconds',
      bounds,
      labels,
    );
    this.#worked = metrics.histogram(
      'workqueue_work_duration_seconds',
      'How long the processing of a key took, in seconds',
      bounds,
      labels,
    );
    this.#items = metrics.counter('driftless_workqueue_items_total', 'Items that processors ran, by how it ended', [
      'name',
      'outcome',
    ]);
    for (const family of this.#families()) metrics.family(family);
  }

  /**
   * Shows a queue, and returns what it has to call.
   * @throws DriftlessError QUEUE_NAME_TAKEN when another queue has this name: their series would be one.
   */
  register(queue: QueueGauges): QueueEvents | undefined {
    if (queue.name === '') return undefined;
    if (this.#queues.has(queue.name))
      throw new DriftlessError('QUEUE_NAME_TAKEN', `two work queues are named ${queue.name}: give each its own name`, {
        retry: 'never',
      });
    this.#queues.set(queue.name, queue);
    const labels: Labels = { name: queue.name, controller: queue.name };
    // A series exists from the start, so that a rate over it sees the first event, and that there was none.
    this.#adds.inc(labels, 0);
    this.#retries.inc(labels, 0);
    for (const outcome of itemResults) this.#items.inc({ name: queue.name, outcome }, 0);
    return {
      added: () => this.#adds.inc(labels),
      retried: () => this.#retries.inc(labels),
      taken: (waitedMs) => this.#waited.observe(waitedMs / 1000, labels),
      worked: (tookMs) => this.#worked.observe(tookMs / 1000, labels),
    };
  }

  /** Counts one item of a processor pool. */
  ended(name: string, outcome: ItemResult): void {
    if (name !== '') this.#items.inc({ name, outcome });
  }

  #families(): MetricFamily[] {
    const gauge = (name: string, help: string, value: (queue: QueueGauges) => number, more?: Labels): MetricFamily => ({
      name,
      help,
      type: 'gauge',
      collect: () =>
        [...this.#queues.values()].map((queue) => ({
          labels: { name: queue.name, controller: queue.name, ...more },
          value: value(queue),
        })),
    });
    const seconds = (queue: QueueGauges): number[] => [...queue.inFlightMs()].map((ms) => ms / 1000);
    return [
      gauge('workqueue_depth', 'Keys that are due in a work queue', (queue) => queue.dirty(), { priority: '' }),
      gauge(
        'workqueue_unfinished_work_seconds',
        'Time that the keys being processed have taken so far, summed up, in seconds; it grows when processors are stuck',
        (queue) => seconds(queue).reduce((sum, age) => sum + age, 0),
      ),
      gauge(
        'workqueue_longest_running_processor_seconds',
        'Time that the longest running key has been processed, in seconds',
        (queue) => Math.max(0, ...seconds(queue)),
      ),
    ];
  }
}
