import type { HistorySample, ReplicaHistory } from '../../../api/view-types.ts';

/** Lines over common times, as uPlot takes them. */
export interface ChartData {
  readonly labels: readonly string[];
  /** Seconds. */
  readonly times: readonly number[];
  readonly lines: readonly (readonly (number | null)[])[];
}

type SampleValue = (sample: HistorySample) => number | undefined;

/** One line for each replica. Samples of one interval share a time. */
export function linesByReplica(histories: readonly ReplicaHistory[], value: SampleValue): ChartData {
  const columns = histories.map((history) => columnOf(history, value));
  return aligned(
    histories.map(({ replica }) => replica),
    columns,
  );
}

/** One line for each of several values, of a single replica. */
export function linesByValue(history: ReplicaHistory, values: readonly (readonly [string, SampleValue])[]): ChartData {
  return aligned(
    values.map(([label]) => label),
    values.map(([, value]) => columnOf(history, value)),
  );
}

/** Passes by their cause, those of all replicas added up; the most frequent causes first. */
export function passesByCause(histories: readonly ReplicaHistory[]): ChartData {
  const totals = new Map<string, number>();
  for (const { samples } of histories)
    for (const { passes } of samples)
      for (const [cause, count] of Object.entries(passes)) totals.set(cause, (totals.get(cause) ?? 0) + count);
  const causes = [...totals].sort(([, a], [, b]) => b - a).map(([cause]) => cause);
  const columns = causes.map((cause) => {
    const sums = new Map<number, number>();
    for (const history of histories)
      for (const [time, count] of columnOf(history, ({ passes }) => passes[cause] ?? 0))
        sums.set(time, (sums.get(time) ?? 0) + count);
    return sums;
  });
  return aligned(causes, columns);
}

function columnOf({ samples, intervalMs }: ReplicaHistory, value: SampleValue): ReadonlyMap<number, number> {
  const column = new Map<number, number>();
  for (const sample of samples) {
    const at = Math.round(Date.parse(sample.at) / intervalMs) * (intervalMs / 1000);
    const figure = value(sample);
    if (figure !== undefined && !Number.isNaN(at)) column.set(at, figure);
  }
  return column;
}

function aligned(labels: readonly string[], columns: readonly ReadonlyMap<number, number>[]): ChartData {
  const times = [...new Set(columns.flatMap((column) => [...column.keys()]))].sort((a, b) => a - b);
  return { labels, times, lines: columns.map((column) => times.map((time) => column.get(time) ?? null)) };
}
