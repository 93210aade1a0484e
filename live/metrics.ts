import type { Clock } from '#base';
import type { Labels, Metrics } from '#telemetry';
import type { GroupKind } from '#model';
import { parseResourceKey } from '#model';
import type { ChattyObject } from './budgets.ts';
import type { ClusterInfo } from './types.ts';

interface Named {
  readonly name: string;
  readonly info: ClusterInfo;
  /** Watches that follow what they have listed. */
  readonly openWatches: () => number;
  /** Objects that change too often. */
  readonly chatty: () => readonly ChattyObject[];
}

export interface LiveInstruments {
  countEvent(server: string, group: string, kind: string): void;
  countAudit(server: string, gk: GroupKind, differing: number): void;
}

/**
 * The cluster metrics of Argo CD (controller/metrics/clustercollector.go), computed when they are scraped, and one of ours: kinds by
 * state, which tells a degraded kind from a healthy cluster.
 */
export function registerMetrics(metrics: Metrics, clock: Clock, clusters: () => readonly Named[]): LiveInstruments {
  const family = (
    name: string,
    help: string,
    collect: (cluster: Named) => Iterable<{ readonly labels: Labels; readonly value: number }>,
  ): void => metrics.family({ name, help, type: 'gauge', collect: () => clusters().flatMap((c) => [...collect(c)]) });
  const versionOf = ({ info }: Named): string => info.serverVersion ?? '';

  family('argocd_cluster_info', 'Information about cluster.', (c) => [
    { labels: { server: c.info.server, k8s_version: versionOf(c), name: c.name }, value: 1 },
  ]);
  family('argocd_cluster_api_resource_objects', 'Number of k8s resource objects in the cache.', ({ info }) => [
    { labels: { server: info.server }, value: info.resourcesCount },
  ]);
  family('argocd_cluster_api_resources', 'Number of monitored Kubernetes API resources.', ({ info }) => [
    { labels: { server: info.server }, value: info.apisCount },
  ]);
  family('argocd_cluster_cache_age_seconds', 'Cluster cache age in seconds.', ({ info }) => {
    const age = info.lastSyncAt === undefined ? -1 : Math.floor((clock.now() - info.lastSyncAt) / 1000);
    return [{ labels: { server: info.server }, value: age }];
  });
  family('argocd_cluster_connection_status', 'The k8s cluster current connection status.', (c) => [
    { labels: { server: c.info.server, k8s_version: versionOf(c) }, value: c.info.message === undefined ? 1 : 0 },
  ]);
  family('driftless_cluster_kinds', 'Watched kinds by state.', ({ info }) => {
    const counts = new Map<string, number>();
    for (const { state } of info.kinds) counts.set(state, (counts.get(state) ?? 0) + 1);
    return [...counts].map(([state, value]) => ({ labels: { server: info.server, state }, value }));
  });
  const open = 'Watches that follow what they have listed: one for each kind, or for each kind and namespace.';
  family('driftless_cluster_open_watches', open, ({ info, openWatches }) => [
    { labels: { server: info.server }, value: openWatches() },
  ]);
  const labels = ['server', 'group', 'kind'];
  const events = metrics.counter('argocd_cluster_events_total', 'Number of processes k8s resource events.', labels);
  const help = 'Changes of objects that change too often, since they are told less often, by object.';
  family('driftless_cluster_chatty_object_changes', help, ({ info, chatty }) =>
    chatty().map(({ key, changes }) => ({ labels: { server: info.server, ...parseResourceKey(key) }, value: changes })),
  );
  const audits = metrics.counter(
    'driftless_cluster_cache_audits_total',
    'Comparisons of the cache of a kind with its API server.',
    ['server'],
  );
  const repairs = metrics.counter(
    'driftless_cluster_cache_repairs_total',
    'Objects that were wrong in the cache, by a comparison with the API server.',
    labels,
  );
  return {
    countEvent: (server, group, kind) => events.inc({ server, group, kind }),
    countAudit: (server, { group, kind }, differing) => {
      audits.inc({ server });
      if (differing > 0) repairs.inc({ server, group, kind }, differing);
    },
  };
}
