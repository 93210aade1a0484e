import type { Metrics } from '#telemetry';
import type { Ownership } from './types.ts';

export interface OwnershipMetricSources {
  readonly ownership: Pick<Ownership, 'identity' | 'conditions'>;
  /** Of how many clusters this replica owns everything or a part. */
  readonly ownedClusters: () => number;
  /** What they weigh. */
  readonly load: () => number;
  /** Servers without a live owner, and for how many milliseconds. */
  readonly unowned: () => ReadonlyMap<string, number>;
}

/** The metrics of ownership, computed when they are scraped. All ours: Argo CD has none. */
export function registerMetrics(metrics: Metrics, { ownership, ...sources }: OwnershipMetricSources): void {
  metrics.family({
    name: 'driftless_cluster_unowned_seconds',
    help: 'How long a cluster has had no live owner; absent while it has one, or until two leases have passed.',
    type: 'gauge',
    collect: () => [...sources.unowned()].map(([server, ms]) => ({ labels: { server }, value: ms / 1000 })),
  });
  metrics.family({
    name: 'driftless_ownership_condition',
    help: '1 for each condition of cluster ownership that people should look at.',
    type: 'gauge',
    collect: () => ownership.conditions().map(({ type }) => ({ labels: { type }, value: 1 })),
  });
  const gauge = (name: string, help: string, value: () => number): void =>
    metrics.family({ name, help, type: 'gauge', collect: () => [{ labels: {}, value: value() }] });
  gauge('driftless_shard', 'The shard of this replica, -1 on standby.', () => ownership.identity().shard ?? -1);
  gauge(
    'driftless_shard_owned_clusters',
    'Clusters of which this replica owns everything or a part.',
    sources.ownedClusters,
  );
  gauge(
    'driftless_shard_load',
    'What the clusters of this replica weigh, in Applications: what to scale by.',
    sources.load,
  );
}
