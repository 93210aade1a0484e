import { DriftlessError } from '#base';
import type { CounterMetric, HistogramMetric, MetricLabels, MetricFamily, MetricRegistry } from '#telemetry';

/** Values of a queue that are read at scrape time. */
export interface QueueGauges {
  readonly name: string;
  /** Keys that are due: waiting for a worker, or due again when their current run ends. */
  dirty(): number;
  /** Ages of the runs in flight, in milliseconds. */
  inFlightMs(): Iterable<number>;
}

/** Events that a queue reports. */
export interface QueueEvents {
  added(): void;
  retried(): void;
  taken(waitedMs: number): void;
  worked(tookMs: number): void;
}

const itemResults = ['done', 'requeued', 'retried', 'failed', 'aborted'] as const;

/** How one run of an item ended. */
export type ItemResult = (typeof itemResults)[number];

// As client-go's ExponentialBuckets: repeated multiplication gives the same doubles as Go.
function exponentialBuckets(start: number, factor: number, count: number): number[] {
  const bounds: number[] = [];
  for (let bound = start; bounds.length < count; bound *= factor) bounds.push(bound);
  return bounds;
}

/**
 * The `workqueue_*` metrics with client-go's names and controller-runtime's labels: `controller`
 * repeats `name`, and `workqueue_depth` has an empty `priority`. Dashboards and alerts select by
 * them. One instance serves all queues of a registry; a queue without a name has no series.
 *
 * Gauges are computed at scrape time, not every half second as in client-go. Not in client-go:
 * `driftless_workqueue_items_total{name,outcome}`.
 */
export class QueueMetrics {
  readonly #queues = new Map<string, QueueGauges>();
  readonly #adds: CounterMetric;
  readonly #retries: CounterMetric;
  readonly #waited: HistogramMetric;
  readonly #worked: HistogramMetric;
  readonly #items: CounterMetric;

  constructor(metrics: MetricRegistry) {
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
   * Registers a queue and returns the callbacks for its events.
   * @throws DriftlessError QUEUE_NAME_TAKEN if another queue has this name.
   */
  register(queue: QueueGauges): QueueEvents | undefined {
    if (queue.name === '') return undefined;
    if (this.#queues.has(queue.name))
      throw new DriftlessError('QUEUE_NAME_TAKEN', `two work queues are named ${queue.name}: give each its own name`, {
        retry: 'never',
      });
    this.#queues.set(queue.name, queue);
    const labels: MetricLabels = { name: queue.name, controller: queue.name };
    // Create the series at 0: a rate needs a sample before the first event to count it.
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
    const gauge = (
      name: string,
      help: string,
      value: (queue: QueueGauges) => number,
      more?: MetricLabels,
    ): MetricFamily => ({
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
