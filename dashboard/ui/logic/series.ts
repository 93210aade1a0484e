import type { HistorySample, ReplicaHistory } from '../../../api/view-types.ts';

/** Lines over common times, as uPlot takes them. */
export interface ChartData {
  readonly labels: readonly string[];
  /** Seconds. */
  readonly times: readonly number[];
  /** null: a gap; undefined: another line has a time here. */
  readonly lines: readonly (readonly (number | null | undefined)[])[];
}

type SampleValue = (sample: HistorySample) => number | undefined;

/** One line for each replica. Samples of one interval share a time. */
export function linesByReplica(histories: readonly ReplicaHistory[], value: SampleValue): ChartData {
  const columns = histories.map((history) => columnOf(history, value));
  return aligned(
    histories.map(({ replica }) => replica),
    columns,
    stepOf(histories),
  );
}

/** One line for each of several values, of a single replica. */
export function linesByValue(history: ReplicaHistory, values: readonly (readonly [string, SampleValue])[]): ChartData {
  return aligned(
    values.map(([label]) => label),
    values.map(([, value]) => columnOf(history, value)),
    stepOf([history]),
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
  return aligned(causes, columns, stepOf(histories));
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

/** Seconds between two samples. */
function stepOf(histories: readonly ReplicaHistory[]): number {
  return Math.max(1, ...histories.map(({ intervalMs }) => intervalMs / 1000));
}

/** Samples that lie further apart than this many steps have a gap between them. */
const gapSteps = 2.5;

function aligned(labels: readonly string[], columns: readonly ReadonlyMap<number, number>[], step: number): ChartData {
  const known = [...new Set(columns.flatMap((column) => [...column.keys()]))].sort((a, b) => a - b);
  // A time without any sample breaks all lines.
  const times = known.flatMap((time, i) => {
    const next = known[i + 1];
    return next !== undefined && next - time > gapSteps * step ? [time, time + step] : [time];
  });
  return { labels, times, lines: columns.map((column) => lineOf(column, times, gapSteps * step)) };
}

function lineOf(
  column: ReadonlyMap<number, number>,
  times: readonly number[],
  longest: number,
): ChartData['lines'][number] {
  const own = [...column.keys()].sort((a, b) => a - b);
  let at = 0;
  return times.map((time) => {
    while ((own[at] ?? Infinity) < time) at += 1;
    const value = column.get(time);
    if (value !== undefined) return value;
    const [before, after] = [own[at - 1], own[at]];
    return before !== undefined && after !== undefined && after - before <= longest ? undefined : null;
  });
}

/** The values without a neighbour, which a line would not show. */
export function singlePoints(line: ChartData['lines'][number]): readonly number[] {
  const isKnown = (i: number, step: number): boolean => {
    let next = i + step;
    while (next >= 0 && next < line.length && line[next] === undefined) next += step;
    return typeof line[next] === 'number';
  };
  return line.flatMap((value, i) => (typeof value === 'number' && !isKnown(i, -1) && !isKnown(i, 1) ? [i] : []));
}
