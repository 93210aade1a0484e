import type { Clock } from '#base';
import { labelValues } from '#telemetry';
import type { MetricRegistry, MetricSample } from '#telemetry';
import type { GroupKind } from '#model';
import { parseResourceKey } from '#model';
import type { ChattyObject } from './store/change-rate-limiter.ts';
import type { ClusterInfo } from './types.ts';

export interface MeasuredCluster {
  readonly name: string;
  /** Labels of its Secret; undefined for the implicit cluster, which has none. */
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly info: ClusterInfo;
  /** Watches that are in sync. */
  readonly openWatches: () => number;
  /** Objects whose changes are throttled. */
  readonly chatty: () => readonly ChattyObject[];
  /** Estimated memory of its live state. */
  readonly bytes: () => number;
}

export interface LiveInstruments {
  countEvent(server: string, group: string, kind: string): void;
  /** Reports a batch of watch events. */
  processed(server: string, durationMs: number, events: number): void;
  countAudit(server: string, gk: GroupKind, differing: number): void;
}

export interface MeasuredClusters {
  /** The clusters of this replica. */
  readonly all: () => Iterable<MeasuredCluster>;
  readonly has: (server: string) => boolean;
  /** --metrics-cluster-labels: labels of cluster Secrets to expose. */
  readonly labels: readonly string[];
}

/**
 * The cluster metrics of Argo CD (controller/metrics/clustercollector.go) and our own. Gauges are
 * computed at scrape time.
 */
export function registerMetrics(metrics: MetricRegistry, clock: Clock, clusters: MeasuredClusters): LiveInstruments {
  registerArgoGauges(metrics, clock, clusters);
  registerOwnGauges(metrics, clusters);
  const labels = ['server', 'group', 'kind'];
  const events = metrics.counter('argocd_cluster_events_total', 'Number of processes k8s resource events.', labels);
  const audits = metrics.counter(
    'driftless_cluster_cache_audits_total',
    'Comparisons of the cache of a kind with its API server.',
    ['server'],
  );
  const repairs = metrics.counter(
    'driftless_cluster_cache_repairs_total',
    'Objects of the cache that differed from the API server in a comparison.',
    labels,
  );
  const batch = registerBatches(metrics);
  for (const name of countedByServer) metrics.dropWhen(name, ({ server }) => !clusters.has(String(server)));
  return {
    processed: batch,
    countEvent: (server, group, kind) => events.inc({ server, group, kind }),
    countAudit: (server, { group, kind }, differing) => {
      audits.inc({ server });
      if (differing > 0) repairs.inc({ server, group, kind }, differing);
    },
  };
}

/** Counters whose series go with their cluster. */
const countedByServer = [
  'argocd_cluster_events_total',
  'argocd_resource_events_processing',
  'argocd_resource_events_processed_in_batch',
  'driftless_cluster_cache_audits_total',
  'driftless_cluster_cache_repairs_total',
];

function registerBatches(metrics: MetricRegistry): LiveInstruments['processed'] {
  const duration = metrics.histogram(
    'argocd_resource_events_processing',
    'Time to process resource events in seconds.',
    [0.25, 0.5, 1, 2, 4, 8, 16],
    ['server'],
  );
  const size = metrics.gauge(
    'argocd_resource_events_processed_in_batch',
    'Number of resource events processed in batch',
    ['server'],
  );
  return (server, durationMs, events) => {
    duration.observe(durationMs / 1000, { server });
    size.set(events, { server });
  };
}

function registerArgoGauges(metrics: MetricRegistry, clock: Clock, clusters: MeasuredClusters): void {
  const gauge = gaugesOf(metrics, clusters);
  const versionOf = ({ info }: MeasuredCluster): string => info.serverVersion ?? '';
  gauge('argocd_cluster_info', 'Information about cluster.', (c) => [
    { labels: { server: c.info.server, k8s_version: versionOf(c), name: c.name }, value: 1 },
  ]);
  gauge('argocd_cluster_api_resource_objects', 'Number of k8s resource objects in the cache.', ({ info }) => [
    { labels: { server: info.server }, value: info.resourcesCount },
  ]);
  gauge('argocd_cluster_api_resources', 'Number of monitored kubernetes API resources.', ({ info }) => [
    { labels: { server: info.server }, value: info.apisCount },
  ]);
  gauge('argocd_cluster_cache_age_seconds', 'Cluster cache age in seconds.', ({ info }) => {
    const age = info.lastSyncAt === undefined ? -1 : Math.floor((clock.now() - info.lastSyncAt) / 1000);
    return [{ labels: { server: info.server }, value: age }];
  });
  gauge('argocd_cluster_connection_status', 'The k8s cluster current connection status.', (c) => [
    { labels: { server: c.info.server, k8s_version: versionOf(c) }, value: c.info.message === undefined ? 1 : 0 },
  ]);
  if (clusters.labels.length === 0) return;
  gauge('argocd_cluster_labels', 'Argo Cluster labels converted to Prometheus labels', ({ info, name, labels }) =>
    labels === undefined
      ? []
      : [{ labels: { server: info.server, name, ...labelValues(labels, clusters.labels) }, value: 1 }],
  );
}

function registerOwnGauges(metrics: MetricRegistry, clusters: MeasuredClusters): void {
  const gauge = gaugesOf(metrics, clusters);
  gauge('driftless_cluster_kinds', 'Watched kinds by state.', ({ info }) => {
    const counts = new Map<string, number>();
    for (const { state } of info.kinds) counts.set(state, (counts.get(state) ?? 0) + 1);
    return [...counts].map(([state, value]) => ({ labels: { server: info.server, state }, value }));
  });
  const open = 'Watches in sync: one per kind, or per kind and namespace.';
  gauge('driftless_cluster_open_watches', open, ({ info, openWatches }) => [
    { labels: { server: info.server }, value: openWatches() },
  ]);
  const taken = 'Estimated memory of the live state of the cluster.';
  gauge('driftless_cluster_live_bytes', taken, ({ info, bytes }) => [
    { labels: { server: info.server }, value: bytes() },
  ]);
  const help = 'Changes of objects that change too often, since they are throttled, by object.';
  gauge('driftless_cluster_chatty_object_changes', help, ({ info, chatty }) =>
    chatty().map(({ key, changes }) => ({ labels: { server: info.server, ...parseResourceKey(key) }, value: changes })),
  );
}

type RegisterGauge = (
  name: string,
  help: string,
  collect: (cluster: MeasuredCluster) => Iterable<MetricSample>,
) => void;

function gaugesOf(metrics: MetricRegistry, clusters: MeasuredClusters): RegisterGauge {
  return (name, help, collect) =>
    metrics.family({
      name,
      help,
      type: 'gauge',
      *collect() {
        for (const cluster of clusters.all()) yield* collect(cluster);
      },
    });
}
