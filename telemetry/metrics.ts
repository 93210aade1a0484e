import { collectDefaultMetrics, Registry } from 'prom-client';
import { systemClock, yieldToLoop } from '#base';
import type { Clock } from '#base';
import { escapeHelp, formatGoFloat, labelText } from './exposition.ts';
import type { EventLoopDelay, EventLoopDelays } from './event-loop-delay.ts';
import type { MetricLabels } from './exposition.ts';
import { HistogramSeries, NumberMetric } from './series.ts';
import type { IsGone, StoredMetric } from './series.ts';

export interface CounterMetric {
  inc(labels?: MetricLabels, by?: number): void;
}
export interface GaugeMetric {
  set(value: number, labels?: MetricLabels): void;
  /** Removes one series. */
  remove(labels: MetricLabels): void;
}
export interface HistogramMetric {
  observe(value: number, labels?: MetricLabels): void;
}

/**
 * Creates metrics in one registry, which is injected and never global. The same name returns the
 * same metric. Argo CD's names, labels and buckets are kept; ours start with `driftless_`.
 */
export interface MetricRegistry {
  counter(name: string, help: string, labels?: readonly string[]): CounterMetric;
  gauge(name: string, help: string, labels?: readonly string[]): GaugeMetric;
  histogram(name: string, help: string, buckets: readonly number[], labels?: readonly string[]): HistogramMetric;
  /**
   * Registers a family whose samples are computed at scrape time, for values that live elsewhere
   * (queue depth, per-application series).
   */
  family(family: MetricFamily): void;
  /**
   * Each scrape removes the series of a counter, gauge or histogram for which `isGone` is true,
   * instead of showing them. Replaces an earlier rule of the same metric.
   */
  dropWhen(name: string, isGone: IsGone): void;
}

/** prom-client's names for the delay of the event loop. */
const eventLoopLags: readonly (readonly [string, keyof EventLoopDelays])[] = [
  ['nodejs_eventloop_lag_seconds', 'p50'],
  ['nodejs_eventloop_lag_min_seconds', 'min'],
  ['nodejs_eventloop_lag_max_seconds', 'max'],
  ['nodejs_eventloop_lag_mean_seconds', 'mean'],
  ['nodejs_eventloop_lag_stddev_seconds', 'stddev'],
  ['nodejs_eventloop_lag_p50_seconds', 'p50'],
  ['nodejs_eventloop_lag_p90_seconds', 'p90'],
  ['nodejs_eventloop_lag_p99_seconds', 'p99'],
];

/** Source of a scrape. */
export interface MetricSource {
  /**
   * The text of all metrics in Prometheus' format 0.0.4, in chunks. The event loop turns in
   * between, however many series there are.
   */
  chunks(): AsyncIterable<string>;
  /** The whole text. */
  expose(): Promise<string>;
}

export interface MetricSample {
  readonly labels: MetricLabels;
  readonly value: number;
}

export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'gauge' | 'counter';
  /**
   * A generator is read in slices, so that many samples do not block the event loop. `undefined` is
   * a step without a sample.
   */
  readonly collect: () => Iterable<MetricSample | undefined>;
}

/** Upper bound on blocking the event loop with one slice of a scrape. */
const scrapeSliceMs = 5;
/** Chunks of a scrape are about as long. */
const chunkLength = 64 * 1024;

/**
 * The registry of a process. Series are stored and written by this module, because prom-client
 * builds the text of a metric in one go: 50,000 series would block the event loop. prom-client
 * measures the process itself.
 */
export class PromMetrics implements MetricRegistry, MetricSource {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #process = new Registry();
  readonly #stored = new Map<string, StoredMetric>();
  readonly #families: MetricFamily[] = [];
  #readAt: number | undefined;

  constructor({ clock = systemClock }: { readonly clock?: Pick<Clock, 'monotonic'> } = {}) {
    this.#clock = clock;
  }

  counter(name: string, help: string, labelNames: readonly string[] = []): CounterMetric {
    return this.#once(name, () => new NumberMetric('counter', { name, help, labelNames }));
  }

  gauge(name: string, help: string, labelNames: readonly string[] = []): GaugeMetric {
    return this.#once(name, () => new NumberMetric('gauge', { name, help, labelNames }));
  }

  histogram(
    name: string,
    help: string,
    buckets: readonly number[],
    labelNames: readonly string[] = [],
  ): HistogramMetric {
    return this.#once(name, () => new HistogramSeries({ name, help, labelNames }, buckets));
  }

  family(family: MetricFamily): void {
    this.#families.push(family);
  }

  dropWhen(name: string, isGone: IsGone): void {
    this.#stored.get(name)?.dropWhen(isGone);
  }

  /** Monotonic time of the last complete scrape. */
  get scrapedAt(): number | undefined {
    return this.#readAt;
  }

  /** Removes all series of the metrics that `isReset` selects by name. */
  reset(isReset: (name: string) => boolean): void {
    for (const metric of this.#stored.values()) if (isReset(metric.name)) metric.reset();
  }

  /**
   * Adds prom-client's `process_*` (CPU, memory, files) and `nodejs_*` metrics (heap, garbage
   * collection), with the delay of the event loop from `delay`. Call it once per process.
   */
  watchProcess(delay: Pick<EventLoopDelay, 'read'>): void {
    // prom-client's own monitor of the event loop cannot be switched off: it gets no turn.
    collectDefaultMetrics({ register: this.#process, eventLoopMonitoringPrecision: 2 ** 31 - 1 });
    for (const [name, part] of eventLoopLags) {
      this.#process.removeSingleMetric(name);
      this.family({
        name,
        help: `Lag of the event loop in seconds over two minutes: ${part}.`,
        type: 'gauge',
        collect: () => [{ labels: {}, value: delay.read()[part] / 1000 }],
      });
    }
  }

  async *chunks(): AsyncGenerator<string, void, undefined> {
    let text = await this.#process.metrics();
    let sliceEnd = this.#clock.monotonic() + scrapeSliceMs;
    for (const line of this.#lines()) {
      text += line;
      const isSliceOver = this.#clock.monotonic() >= sliceEnd;
      if (text.length >= chunkLength) {
        yield text;
        text = '';
      }
      if (!isSliceOver) continue;
      await yieldToLoop();
      sliceEnd = this.#clock.monotonic() + scrapeSliceMs;
    }
    if (text !== '') yield text;
    this.#readAt = this.#clock.monotonic();
  }

  async expose(): Promise<string> {
    let text = '';
    for await (const chunk of this.chunks()) text += chunk;
    return text;
  }

  *#lines(): Generator<string> {
    for (const metric of this.#stored.values()) {
      yield headOf(metric);
      yield* metric.lines();
    }
    for (const family of this.#families) {
      yield headOf(family);
      for (const sample of family.collect()) yield sample === undefined ? '' : sampleOf(family.name, sample);
    }
  }

  #once<M extends StoredMetric>(name: string, make: () => M): M {
    const known = this.#stored.get(name) ?? make();
    this.#stored.set(name, known);
    return known as M;
  }
}

function headOf({ name, help, type }: Pick<StoredMetric, 'name' | 'help' | 'type'>): string {
  return `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`;
}

function sampleOf(name: string, { labels, value }: MetricSample): string {
  const text = labelText(labels);
  return `${name}${text === '' ? '' : `{${text}}`} ${formatGoFloat(value)}\n`;
}
