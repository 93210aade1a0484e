import { splitUserInfo } from '#base';
import { destinationNamespaceOf, isAutomated, normalizeGitUrl, projectOf, sourceOf } from '#model';
import type { Application, OperationState } from '#model';
import type { CounterMetric, HistogramMetric, Labels, Metrics } from '#telemetry';
import { parseTime } from './kube-time.ts';

/** The server of the cluster that an application goes to, also where its destination is a name; undefined when that cannot be told. */
export type ServerOf = (app: Application) => string | undefined;

/** Names, labels and buckets of Argo CD (controller/metrics/metrics.go). */
export class AppMetrics {
  readonly #syncs: CounterMetric;
  readonly #syncSeconds: CounterMetric;
  readonly #reconcile: HistogramMetric;

  readonly #serverOf: ServerOf;

  constructor(metrics: Metrics, serverOf: ServerOf) {
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

/** `argocd_app_info` over the applications of this replica, made at each scrape: one series per application, no state between. */
export function exposeApplications(metrics: Metrics, mine: () => Iterable<Application>, serverOf: ServerOf): void {
  metrics.family({
    name: 'argocd_app_info',
    help: 'Information about application.',
    type: 'gauge',
    collect: () => [...mine()].map((app) => ({ labels: infoLabels(app, serverOf), value: 1 })),
  });
}

function appLabels(app: Application, serverOf: ServerOf): Labels {
  return {
    namespace: app.metadata.namespace ?? '',
    name: app.metadata.name ?? '',
    project: projectOf(app),
    dest_server: serverOf(app) ?? '',
  };
}

function infoLabels(app: Application, serverOf: ServerOf): Labels {
  const deleting = app.metadata.deletionTimestamp !== undefined;
  const syncing = (app.operation ?? undefined) !== undefined;
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
