import { formatGoFloat, labelText } from './exposition.ts';
import type { MetricLabels } from './exposition.ts';

/** Decides whether the subject of a series (an Application, a cluster) has left this replica. */
export type IsGone = (labels: MetricLabels) => boolean;

interface Series<V> {
  readonly labels: MetricLabels;
  readonly value: V;
}

/** The series of one metric, by the text of their labels. */
class SeriesTable<V> {
  readonly #name: string;
  readonly #labelNames: readonly string[];
  readonly #create: () => V;
  readonly #series = new Map<string, Series<V>>();
  #isGone: IsGone = () => false;

  constructor(name: string, labelNames: readonly string[], create: () => V) {
    this.#name = name;
    this.#labelNames = labelNames;
    this.#create = create;
  }

  /** @throws TypeError for a label that the metric does not declare. */
  at(labels: MetricLabels): V {
    const key = labelText(labels, this.#labelNames);
    const known = this.#series.get(key);
    if (known !== undefined) return known.value;
    const unknown = Object.keys(labels).find((name) => !this.#labelNames.includes(name));
    if (unknown !== undefined) throw new TypeError(`metric ${this.#name} has no label ${unknown}`);
    const value = this.#create();
    this.#series.set(key, { labels: { ...labels }, value });
    return value;
  }

  remove(labels: MetricLabels): void {
    this.#series.delete(labelText(labels, this.#labelNames));
  }

  reset(): void {
    this.#series.clear();
  }

  dropWhen(isGone: IsGone): void {
    this.#isGone = isGone;
  }

  /** Yields the series, and drops those that are gone. */
  *present(): Generator<readonly [labels: string, value: V] | undefined> {
    for (const [text, { labels, value }] of this.#series) {
      if (!this.#isGone(labels)) yield [text, value];
      else {
        this.#series.delete(text);
        // A step of its own: dropping many series must not block the event loop either.
        yield undefined;
      }
    }
  }
}

/** A metric whose series are kept between scrapes. */
export interface StoredMetric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Sample lines in small steps; an empty text is a step without a sample. */
  lines(): Iterable<string>;
  reset(): void;
  dropWhen(isGone: IsGone): void;
}

interface MetricHead {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

/** A counter or a gauge. */
export class NumberMetric implements StoredMetric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly #table: SeriesTable<{ number: number }>;

  constructor(type: 'counter' | 'gauge', { name, help, labelNames }: MetricHead) {
    this.name = name;
    this.help = help;
    this.type = type;
    this.#table = new SeriesTable(name, labelNames, () => ({ number: 0 }));
  }

  /** @throws RangeError if a counter would go down. */
  inc(labels: MetricLabels = {}, by = 1): void {
    if (!(by >= 0)) throw new RangeError(`counter ${this.name} cannot change by ${by}`);
    this.#table.at(labels).number += by;
  }

  set(value: number, labels: MetricLabels = {}): void {
    this.#table.at(labels).number = value;
  }

  remove(labels: MetricLabels): void {
    this.#table.remove(labels);
  }

  reset(): void {
    this.#table.reset();
  }

  dropWhen(isGone: IsGone): void {
    this.#table.dropWhen(isGone);
  }

  *lines(): Generator<string> {
    for (const series of this.#table.present())
      yield series === undefined ? '' : sample(this.name, series[0], series[1].number);
  }
}

interface Observations {
  /** By bucket, not cumulative; the last one is +Inf. */
  readonly counts: number[];
  sum: number;
}

export class HistogramSeries implements StoredMetric {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  readonly #bounds: readonly number[];
  readonly #bucketNames: readonly string[];
  readonly #table: SeriesTable<Observations>;

  constructor({ name, help, labelNames }: MetricHead, bounds: readonly number[]) {
    this.name = name;
    this.help = help;
    this.#bounds = bounds;
    this.#bucketNames = [...bounds.map(formatGoFloat), '+Inf'];
    const create = (): Observations => ({ counts: this.#bucketNames.map(() => 0), sum: 0 });
    this.#table = new SeriesTable(name, labelNames, create);
  }

  observe(value: number, labels: MetricLabels = {}): void {
    const observed = this.#table.at(labels);
    const found = this.#bounds.findIndex((bound) => value <= bound);
    const bucket = found < 0 ? this.#bounds.length : found;
    observed.counts[bucket] = (observed.counts[bucket] ?? 0) + 1;
    observed.sum += value;
  }

  remove(labels: MetricLabels): void {
    this.#table.remove(labels);
  }

  reset(): void {
    this.#table.reset();
  }

  dropWhen(isGone: IsGone): void {
    this.#table.dropWhen(isGone);
  }

  *lines(): Generator<string> {
    for (const series of this.#table.present()) yield series === undefined ? '' : this.#linesOf(...series);
  }

  #linesOf(labels: string, { counts, sum }: Observations): string {
    const suffix = labels === '' ? '' : `,${labels}`;
    let text = '';
    let total = 0;
    for (const [index, name] of this.#bucketNames.entries()) {
      total += counts[index] ?? 0;
      text += sample(`${this.name}_bucket`, `le="${name}"${suffix}`, total);
    }
    return `${text}${sample(`${this.name}_sum`, labels, sum)}${sample(`${this.name}_count`, labels, total)}`;
  }
}

function sample(name: string, labels: string, value: number): string {
  return `${name}${labels === '' ? '' : `{${labels}}`} ${formatGoFloat(value)}\n`;
}
