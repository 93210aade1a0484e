import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Label values of one sample. */
export type MetricLabels = Readonly<Record<string, string | number>>;

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
  /** Returns the exposition text of all metrics. */
  expose(): Promise<string>;
}

export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'gauge' | 'counter';
  readonly collect: () => Iterable<{ readonly labels: MetricLabels; readonly value: number }>;
}

export class PromMetrics implements MetricRegistry {
  readonly #registry = new Registry();
  readonly #made = new Map<string, Counter | Gauge | Histogram>();
  readonly #families: MetricFamily[] = [];

  counter(name: string, help: string, labels: readonly string[] = []): CounterMetric {
    const metric = this.#once(
      name,
      () => new Counter({ name, help, labelNames: [...labels], registers: [this.#registry] }),
    );
    return { inc: (values = {}, by = 1) => metric.inc(values, by) };
  }

  gauge(name: string, help: string, labels: readonly string[] = []): GaugeMetric {
    const metric = this.#once<Gauge>(
      name,
      () => new Gauge({ name, help, labelNames: [...labels], registers: [this.#registry] }),
    );
    return { set: (value, values = {}) => metric.set(values, value), remove: (values) => metric.remove(values) };
  }

  histogram(name: string, help: string, buckets: readonly number[], labels: readonly string[] = []): HistogramMetric {
    const metric = this.#once<Histogram>(
      name,
      () => new Histogram({ name, help, buckets: [...buckets], labelNames: [...labels], registers: [this.#registry] }),
    );
    return { observe: (value, values = {}) => metric.observe(values, value) };
  }

  family(family: MetricFamily): void {
    this.#families.push(family);
  }

  /**
   * Adds prom-client's `process_*` (CPU, memory, files) and `nodejs_*` metrics (event loop delay,
   * heap, garbage collection). Call it once per process: it monitors the event loop from then on.
   */
  watchProcess(): void {
    collectDefaultMetrics({ register: this.#registry });
  }

  async expose(): Promise<string> {
    const own = this.#families.map(exposeFamily).join('');
    return `${await this.#registry.metrics()}${own}`;
  }

  #once<M extends Counter | Gauge | Histogram>(name: string, make: () => M): M {
    const known = this.#made.get(name) ?? make();
    this.#made.set(name, known);
    return known as M;
  }
}

function exposeFamily(family: MetricFamily): string {
  let text = `# HELP ${family.name} ${family.help}\n# TYPE ${family.name} ${family.type}\n`;
  for (const { labels, value } of family.collect()) {
    const pairs = Object.entries(labels).map(([key, label]) => `${key}="${escapeLabel(String(label))}"`);
    text += `${family.name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}\n`;
  }
  return text;
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
