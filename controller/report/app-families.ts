import { splitUserInfo, valueAt } from '#base';
import { appKeyOf, destinationNamespaceOf, hydratorOf, isAutomated, normalizeGitUrl, sourceOf } from '#model';
import type { AppKey, Application } from '#model';
import { labelValues } from '#telemetry';
import type { MetricLabels, MetricRegistry } from '#telemetry';
import { lastComparedAt } from '../application/freshness.ts';
import { parseTime } from '../shared/kube-time.ts';
import { labelsOf } from './labels.ts';
import type { ServerOf } from './labels.ts';

export interface ExposedApplications {
  /** The Applications of this replica. */
  readonly mine: () => Iterable<Application>;
  readonly serverOf: ServerOf;
  /** --metrics-application-labels: labels of Applications to expose. */
  readonly labels: readonly string[];
  /** --metrics-application-conditions: types of conditions to expose. */
  readonly conditions: readonly string[];
}

/**
 * The gauges of Argo CD that are built at each scrape from the Applications of this replica:
 * `argocd_app_info`, `argocd_app_labels` and `argocd_app_condition`.
 */
export function exposeApplications(
  metrics: MetricRegistry,
  { mine, serverOf, labels, conditions }: ExposedApplications,
): void {
  metrics.family({
    name: 'argocd_app_info',
    help: 'Information about application.',
    type: 'gauge',
    *collect() {
      for (const app of mine()) yield { labels: infoLabels(app, serverOf), value: 1 };
    },
  });
  if (labels.length > 0)
    metrics.family({
      name: 'argocd_app_labels',
      help: 'Argo Application labels converted to Prometheus labels',
      type: 'gauge',
      *collect() {
        for (const app of mine())
          yield { labels: { ...labelsOf(app), ...labelValues(app.metadata.labels ?? {}, labels) }, value: 1 };
      },
    });
  if (conditions.length > 0)
    metrics.family({
      name: 'argocd_app_condition',
      help: 'Report application conditions.',
      type: 'gauge',
      *collect() {
        for (const app of mine()) {
          for (const [condition, value] of countConditions(app, conditions))
            yield { labels: { ...labelsOf(app), condition }, value };
          yield undefined;
        }
      },
    });
}

function countConditions(app: Application, types: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { type } of app.status?.conditions ?? [])
    if (types.includes(type)) counts.set(type, (counts.get(type) ?? 0) + 1);
  return counts;
}

function infoLabels(app: Application, serverOf: ServerOf): MetricLabels {
  return {
    ...labelsOf(app),
    autosync_enabled: String(isAutomated(app.spec)),
    repo: splitUserInfo(normalizeGitUrl(sourceOf(app.spec).repoURL)).url,
    dest_server: serverOf(app) ?? '',
    dest_namespace: destinationNamespaceOf(app),
    sync_status: app.status?.sync?.status ?? 'Unknown',
    health_status: app.status?.health?.status ?? 'Unknown',
    hydrator_status: hydratorStatus(app),
    operation: operationOf(app),
    phase: app.status?.operationState?.phase ?? '',
  };
}

/** Hydration phase, Unknown before the first one; empty without a source hydrator. */
function hydratorStatus(app: Application): string {
  if (hydratorOf(app.spec) === undefined) return '';
  const phase = valueAt(app.status?.sourceHydrator ?? {}, 'currentOperation', 'phase');
  return typeof phase === 'string' && phase !== '' ? phase : 'Unknown';
}

function operationOf(app: Application): string {
  if (app.metadata.deletionTimestamp !== undefined) return 'delete';
  return app.operation?.sync === undefined ? '' : 'sync';
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
    *collect() {
      const counts = new Map<string, number>();
      for (const app of facts.mine()) {
        const server = facts.serverOf(app) ?? '';
        counts.set(server, (counts.get(server) ?? 0) + Number(isOverdue(app, facts)));
        yield undefined;
      }
      for (const [server, value] of counts) yield { labels: { dest_server: server }, value };
    },
  });
}

function isOverdue(app: Application, { comparedAt, now, resyncMs }: OverdueFacts): boolean {
  if (resyncMs <= 0 || app.metadata.deletionTimestamp !== undefined) return false;
  const compared = lastComparedAt(app, { comparedAt: comparedAt(appKeyOf(app)), now: now() });
  const since = compared ?? parseTime(app.metadata.creationTimestamp) ?? 0;
  return now() - since > overdueResyncs * resyncMs;
}
