import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Label values of one sample. */
export type Labels = Readonly<Record<string, string | number>>;

export interface CounterMetric {
  inc(labels?: Labels, by?: number): void;
}
export interface GaugeMetric {
  set(value: number, labels?: Labels): void;
  /** Forgets one series. */
  remove(labels: Labels): void;
}
export interface HistogramMetric {
  observe(value: number, labels?: Labels): void;
}

/**
 * Creates metrics in one registry that is passed around, never a global. Asking for a name a second time gives the same metric.
 * Names, labels and buckets that Argo CD has are kept; our own start with `driftless_`.
 */
export interface Metrics {
  counter(name: string, help: string, labels?: readonly string[]): CounterMetric;
  gauge(name: string, help: string, labels?: readonly string[]): GaugeMetric;
  histogram(name: string, help: string, buckets: readonly number[], labels?: readonly string[]): HistogramMetric;
  /** A family whose samples are computed at scrape time: use it for values that live elsewhere (queue depth, per-application series). */
  family(family: MetricFamily): void;
  /** The exposition text of everything. */
  expose(): Promise<string>;
}

export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'gauge' | 'counter';
  readonly collect: () => Iterable<{ readonly labels: Labels; readonly value: number }>;
}

export class PromMetrics implements Metrics {
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
   * Adds what prom-client knows of this process: `process_*` (CPU, memory, files) and `nodejs_*` (event loop delay, heap, garbage
   * collection). Once for a process: it watches the event loop from then on.
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
