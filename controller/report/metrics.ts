import { appKeyOf, projectOf } from '#model';
import type { AppKey, Application, OperationState } from '#model';
import type { RequestRecord } from '#kube';
import type { CounterMetric, GaugeMetric, HistogramMetric, MetricLabels, MetricRegistry } from '#telemetry';
import { parseTime } from '../shared/kube-time.ts';
import { labelsOf, reconcileBuckets } from './labels.ts';
import type { ServerOf } from './labels.ts';

export interface AppMetricsDeps {
  readonly metrics: MetricRegistry;
  readonly serverOf: ServerOf;
  /** The Application, if this replica owns it. */
  readonly owned: (key: AppKey) => Application | undefined;
}

/** Series of one Application in `argocd_app_k8s_request_total`, before namespaces are left out. */
const maxRequestSeries = 1000;

/**
 * Counters of the Applications of this replica. Names, labels and buckets are Argo CD's
 * (controller/metrics/metrics.go).
 *
 * A scrape drops the series of an Application that is deleted, that moved to another replica, or
 * whose project or cluster changed. Argo CD keeps them until it restarts.
 */
export class AppMetrics {
  readonly #deps: AppMetricsDeps;
  readonly #syncs: CounterMetric;
  readonly #syncSeconds: CounterMetric;
  readonly #requests: CounterMetric;
  readonly #orphaned: GaugeMetric;
  readonly #reconcile: HistogramMetric;
  /** By labels of `argocd_app_reconcile`: the Applications that the series counts. */
  readonly #reconciledBy = new Map<string, Set<AppKey>>();
  /** By Application: combinations of kind and namespace in its requests. */
  readonly #requested = new Map<AppKey, Set<string>>();

  constructor(deps: AppMetricsDeps) {
    this.#deps = deps;
    const { metrics } = deps;
    const app = ['namespace', 'name', 'project'];
    this.#syncs = metrics.counter('argocd_app_sync_total', 'Number of application syncs.', [
      ...app,
      'dest_server',
      'phase',
      'dry_run',
    ]);
    this.#syncSeconds = metrics.counter(
      'argocd_app_sync_duration_seconds_total',
      'Application sync performance in seconds total.',
      [...app, 'dest_server'],
    );
    this.#requests = metrics.counter(
      'argocd_app_k8s_request_total',
      'Number of kubernetes requests executed during application reconciliation.',
      [...app, 'server', 'response_code', 'verb', 'resource_kind', 'resource_namespace', 'dry_run'],
    );
    this.#orphaned = metrics.gauge(
      'argocd_app_orphaned_resources_count',
      'Number of orphaned resources per application',
      app,
    );
    this.#reconcile = metrics.histogram(
      'argocd_app_reconcile',
      'Application reconciliation performance in seconds.',
      reconcileBuckets,
      ['namespace', 'dest_server'],
    );
    this.#dropGone(metrics);
  }

  #dropGone(metrics: MetricRegistry): void {
    const isGone = (labels: MetricLabels): boolean => this.#isGone(labels);
    metrics.dropWhen('argocd_app_sync_total', isGone);
    metrics.dropWhen('argocd_app_sync_duration_seconds_total', isGone);
    metrics.dropWhen('argocd_app_k8s_request_total', isGone);
    metrics.dropWhen('argocd_app_orphaned_resources_count', isGone);
    metrics.dropWhen('argocd_app_reconcile', (labels) => this.#isReconciledByNone(labels));
  }

  synced(app: Application, state: OperationState): void {
    const labels = { ...labelsOf(app), dest_server: this.#deps.serverOf(app) ?? '' };
    this.#syncs.inc({ ...labels, phase: state.phase, dry_run: String(isDryRun(state.operation)) });
    const [from, to] = [parseTime(state.startedAt), parseTime(state.finishedAt)];
    if (from !== undefined && to !== undefined) this.#syncSeconds.inc(labels, Math.max(0, to - from) / 1000);
  }

  reconciled(app: Application, durationMs: number): void {
    const labels = { namespace: app.metadata.namespace ?? '', dest_server: this.#deps.serverOf(app) ?? '' };
    const pair = pairOf(labels);
    const keys = this.#reconciledBy.get(pair) ?? new Set();
    this.#reconciledBy.set(pair, keys.add(appKeyOf(app)));
    this.#reconcile.observe(durationMs / 1000, labels);
  }

  orphaned(app: Application, count: number): void {
    this.#orphaned.set(count, labelsOf(app));
  }

  /** Counts a request that a sync or a cascade deletion sent to a cluster. */
  requested(app: Application, record: RequestRecord): void {
    const { resourceKind, resourceNamespace } = this.#boundedTarget(appKeyOf(app), record);
    this.#requests.inc({
      ...labelsOf(app),
      server: record.server,
      response_code: record.code,
      verb: record.requestVerb,
      resource_kind: resourceKind,
      resource_namespace: resourceNamespace,
      dry_run: String(isDryRun(app.operation)),
    });
  }

  /** An Application may write to any number of namespaces: beyond a bound they are left out. */
  #boundedTarget(key: AppKey, { resourceKind, resourceNamespace }: RequestRecord): RequestTarget {
    const known = this.#requested.get(key) ?? new Set();
    this.#requested.set(key, known);
    const target = `${resourceKind} ${resourceNamespace}`;
    if (!known.has(target) && known.size >= maxRequestSeries) return { resourceKind, resourceNamespace: '' };
    known.add(target);
    return { resourceKind, resourceNamespace };
  }

  #isGone({ namespace, name, project, dest_server: server }: MetricLabels): boolean {
    const key = appKeyOf({ metadata: { namespace: String(namespace), name: String(name) } });
    const app = this.#deps.owned(key);
    if (app === undefined) this.#requested.delete(key);
    if (app === undefined || projectOf(app) !== project) return true;
    return server !== undefined && (this.#deps.serverOf(app) ?? '') !== server;
  }

  /** Forgets the Applications that have left a series; it goes with the last one. */
  #isReconciledByNone(labels: MetricLabels): boolean {
    const pair = pairOf(labels);
    const keys = this.#reconciledBy.get(pair) ?? new Set();
    for (const key of keys) {
      const app = this.#deps.owned(key);
      if (app !== undefined && (this.#deps.serverOf(app) ?? '') === labels['dest_server']) return false;
      keys.delete(key);
    }
    this.#reconciledBy.delete(pair);
    return true;
  }
}

type RequestTarget = Pick<RequestRecord, 'resourceKind' | 'resourceNamespace'>;

function pairOf({ namespace, dest_server: server }: MetricLabels): string {
  return `${namespace} ${server}`;
}

function isDryRun(operation: Application['operation']): boolean {
  return operation?.sync?.dryRun === true;
}
