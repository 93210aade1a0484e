import { splitUserInfo } from '#base';
import { appKeyOf, destinationNamespaceOf, isAutomated, normalizeGitUrl, projectOf, sourceOf } from '#model';
import type { AppKey, Application, OperationState } from '#model';
import type { CounterMetric, HistogramMetric, MetricLabels, MetricRegistry } from '#telemetry';
import { lastComparedAt } from '../application/freshness.ts';
import { parseTime } from '../shared/kube-time.ts';

/**
 * The server of an Application's destination cluster, also if given by name; undefined when it
 * cannot be resolved.
 */
export type ServerOf = (app: Application) => string | undefined;

/** Names, labels and buckets are Argo CD's (controller/metrics/metrics.go). */
export class AppMetrics {
  readonly #syncs: CounterMetric;
  readonly #syncSeconds: CounterMetric;
  readonly #reconcile: HistogramMetric;

  readonly #serverOf: ServerOf;

  constructor(metrics: MetricRegistry, serverOf: ServerOf) {
    this.#serverOf = serverOf;
    const app = ['namespace', 'name', 'project', 'dest_server'];
    this.#syncs = metrics.counter('argocd_app_sync_total', 'Number of application syncs.', [
      ...app,
      'phase',
      'dry_run',
    ]);
    this.#syncSeconds = metrics.counter(
      'argocd_app_sync_duration_seconds_total',
      'Application sync performance in seconds total.',
      app,
    );
    const buckets = [0.25, 0.5, 1, 2, 4, 8, 16];
    this.#reconcile = metrics.histogram(
      'argocd_app_reconcile',
      'Application reconciliation performance in seconds.',
      buckets,
      ['namespace', 'dest_server'],
    );
  }

  synced(app: Application, state: OperationState): void {
    const labels = appLabels(app, this.#serverOf);
    const dryRun = state.operation.sync?.dryRun === true;
    this.#syncs.inc({ ...labels, phase: state.phase, dry_run: String(dryRun) });
    const [from, to] = [parseTime(state.startedAt), parseTime(state.finishedAt)];
    if (from !== undefined && to !== undefined) this.#syncSeconds.inc(labels, Math.max(0, to - from) / 1000);
  }

  reconciled(app: Application, durationMs: number): void {
    const labels = { namespace: app.metadata.namespace ?? '', dest_server: this.#serverOf(app) ?? '' };
    this.#reconcile.observe(durationMs / 1000, labels);
  }
}

/**
 * `argocd_app_info` for the Applications of this replica, built at each scrape: one series per
 * Application, no state in between.
 */
export function exposeApplications(
  metrics: MetricRegistry,
  mine: () => Iterable<Application>,
  serverOf: ServerOf,
): void {
  metrics.family({
    name: 'argocd_app_info',
    help: 'Information about application.',
    type: 'gauge',
    collect: () => [...mine()].map((app) => ({ labels: infoLabels(app, serverOf), value: 1 })),
  });
}

export interface OverdueFacts {
  readonly mine: () => Iterable<Application>;
  readonly serverOf: ServerOf;
  readonly comparedAt: (key: AppKey) => number | undefined;
  readonly now: () => number;
  /** Resync period; 0: Applications are never compared on a timer, and none is overdue. */
  readonly resyncMs: number;
}

/** An Application is overdue after this many resync periods without a comparison. */
const overdueResyncs = 3;

/**
 * Counts this replica's Applications whose status is long out of date, at each scrape and by
 * destination cluster.
 */
export function exposeOverdue(metrics: MetricRegistry, facts: OverdueFacts): void {
  metrics.family({
    name: 'driftless_applications_overdue',
    help: 'Applications of this replica that have not been compared for three resyncs.',
    type: 'gauge',
    collect: () => {
      const counts = new Map<string, number>();
      for (const app of facts.mine()) {
        const server = facts.serverOf(app) ?? '';
        counts.set(server, (counts.get(server) ?? 0) + Number(isOverdue(app, facts)));
      }
      return [...counts].map(([server, value]) => ({ labels: { dest_server: server }, value }));
    },
  });
}

function isOverdue(app: Application, { comparedAt, now, resyncMs }: OverdueFacts): boolean {
  if (resyncMs <= 0 || app.metadata.deletionTimestamp !== undefined) return false;
  const compared = lastComparedAt(app, { comparedAt: comparedAt(appKeyOf(app)) });
  const since = compared ?? parseTime(app.metadata.creationTimestamp) ?? 0;
  return now() - since > overdueResyncs * resyncMs;
}

function appLabels(app: Application, serverOf: ServerOf): MetricLabels {
  return {
    namespace: app.metadata.namespace ?? '',
    name: app.metadata.name ?? '',
    project: projectOf(app),
    dest_server: serverOf(app) ?? '',
  };
}

function infoLabels(app: Application, serverOf: ServerOf): MetricLabels {
  const deleting = app.metadata.deletionTimestamp !== undefined;
  const syncing = app.operation !== undefined;
  return {
    ...appLabels(app, serverOf),
    autosync_enabled: String(isAutomated(app.spec)),
    repo: splitUserInfo(normalizeGitUrl(sourceOf(app.spec).repoURL)).url,
    dest_namespace: destinationNamespaceOf(app),
    sync_status: app.status?.sync?.status ?? 'Unknown',
    health_status: app.status?.health?.status ?? 'Unknown',
    operation: deleting ? 'delete' : syncing ? 'sync' : '',
  };
}
