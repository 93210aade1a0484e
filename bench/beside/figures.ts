import type { BenchMetrics } from '../harness.ts';

/** The names of the controllers in metrics. */
export type Side = 'argo_cd' | 'ours';

export type FigureName = keyof typeof figureSpecs;

/** The figures of one controller. */
export type SideFigures = Readonly<Record<FigureName, number>>;

export interface FigureSpec {
  readonly label: string;
  readonly unit: 's' | 'ms' | 'MiB' | 'count';
  /** Argo CD's figure must be at least this many times ours. */
  readonly leastRatio?: number;
  /** Upper limit of our figure. */
  readonly most?: number;
}

/** The measured figures in the order of the table, and their goals. */
export const figureSpecs = {
  first_sync_seconds: { label: 'first sync', unit: 's', leastRatio: 8 },
  first_sync_cpu_seconds: { label: 'first sync: CPU, with the repo-server', unit: 's', leastRatio: 20 },
  first_sync_controller_cpu_seconds: { label: 'first sync: CPU of the controller', unit: 's' },
  rest_rss_bytes: { label: 'memory at rest: RSS', unit: 'MiB', leastRatio: 3 },
  rest_pss_bytes: { label: 'memory at rest: PSS', unit: 'MiB', leastRatio: 3 },
  rest_all_pss_bytes: { label: 'memory at rest: PSS, with the repo-server', unit: 'MiB' },
  rest_cpu_seconds: { label: 'CPU of 20 s at rest, with the repo-server', unit: 's', leastRatio: 3 },
  rest_controller_cpu_seconds: { label: 'CPU of 20 s at rest: the controller', unit: 's' },
  refresh_seconds: { label: 'refresh of all', unit: 's', leastRatio: 3 },
  refresh_asked_seconds: { label: 'refresh of all: the requests of the script', unit: 's' },
  refresh_cpu_seconds: { label: 'refresh of all: CPU, with the repo-server', unit: 's', leastRatio: 6 },
  refresh_controller_cpu_seconds: { label: 'refresh of all: CPU of the controller', unit: 's' },
  refresh_patches_per_application_count: { label: 'refresh of all: writes per Application', unit: 'count', most: 1 },
  drift_p50_ms: { label: 'drift to repaired: p50', unit: 'ms', leastRatio: 100 },
  drift_p99_ms: { label: 'drift to repaired: p99', unit: 'ms', leastRatio: 100 },
  push_seconds: { label: 'push to Synced', unit: 's' },
  push_cpu_seconds: { label: 'push to Synced: CPU, with the repo-server', unit: 's' },
  restart_seconds: { label: 'kill -9 to first repair', unit: 's', most: 2 },
} as const satisfies Record<string, FigureSpec>;

/** One comparison: this many Applications, and the client rate if it is not the default. */
export interface Round {
  readonly size: number;
  readonly qps: number | undefined;
}

/** The metrics of one controller: `apps_200_ours_first_sync_seconds`. */
export function metricsOf(round: Round, side: Side, figures: SideFigures): BenchMetrics {
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [metricName(round, side, name), value]));
}

/** Argo CD's figures divided by ours, where both were measured and ours is not 0. */
export function ratiosOf(round: Round, metrics: BenchMetrics): BenchMetrics {
  const ratios = Object.keys(figureSpecs).flatMap((name) => {
    const [argo, ours] = [metrics[metricName(round, 'argo_cd', name)], metrics[metricName(round, 'ours', name)]];
    return argo === undefined || ours === undefined || ours === 0
      ? []
      : [[metricName(round, 'argo_cd_to_ours', `${name}_ratio`), argo / ours] as const];
  });
  return Object.fromEntries(ratios);
}

/** The rounds that metrics contain, in their order. */
export function roundsOf(metrics: BenchMetrics): readonly Round[] {
  const rounds = new Map<string, Round>();
  for (const name of Object.keys(metrics)) {
    const [prefix, size, qps] = /^apps_(\d+)_(?:qps_(\d+)_)?/.exec(name) ?? [];
    if (prefix !== undefined)
      rounds.set(prefix, { size: Number(size), qps: qps === undefined ? undefined : Number(qps) });
  }
  return [...rounds.values()];
}

function metricName({ size, qps }: Round, side: string, figure: string): string {
  return `apps_${size}_${qps === undefined ? '' : `qps_${qps}_`}${side}_${figure}`;
}

const headings = ['', 'Argo CD', 'ours', 'ratio', 'goal'];

/** Both controllers side by side, with the ratio and the goal. */
export function besideTable(rounds: readonly Round[], metrics: BenchMetrics): string {
  return rounds.map((round) => roundTable(round, metrics)).join('\n');
}

function roundTable(round: Round, metrics: BenchMetrics): string {
  const rate =
    round.qps === undefined ? 'the default client rate, 50 requests a second' : `${round.qps} requests a second`;
  const rows = (Object.entries(figureSpecs) as [FigureName, FigureSpec][]).map(([name, spec]) => {
    const [argo, ours] = [metrics[metricName(round, 'argo_cd', name)], metrics[metricName(round, 'ours', name)]];
    const ratio = metrics[metricName(round, 'argo_cd_to_ours', `${name}_ratio`)];
    return [spec.label, valueText(argo, spec), valueText(ours, spec), ratioText(ratio), goalText(spec, ratio, ours)];
  });
  const widths = headings.map((heading, i) => Math.max(heading.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const lines = [headings, ...rows].map((row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  '),
  );
  const body = lines.map((line) => `  ${line.trimEnd()}\n`).join('');
  return `${round.size} Applications, ${rate}\n${body}`;
}

function valueText(value: number | undefined, { unit }: FigureSpec): string {
  if (value === undefined) return '-';
  if (unit === 'MiB') return `${Math.round(value / 2 ** 20)} MiB`;
  const text = value >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)));
  return unit === 'count' ? text : `${text} ${unit}`;
}

function ratioText(ratio: number | undefined): string {
  return ratio === undefined ? '-' : `${Number(ratio.toPrecision(3))} x`;
}

function goalText({ unit, leastRatio, most }: FigureSpec, ratio: number | undefined, ours: number | undefined): string {
  if (leastRatio !== undefined) return `${leastRatio} x, ${verdict(ratio, (value) => value >= leastRatio)}`;
  if (most === undefined) return '';
  return `${most}${unit === 'count' ? '' : ` ${unit}`}, ${verdict(ours, (value) => value <= most)}`;
}

function verdict(value: number | undefined, isMet: (value: number) => boolean): string {
  if (value === undefined) return 'not measured';
  return isMet(value) ? 'met' : 'missed';
}
