import type { Metrics } from '#telemetry';
import { moveReasons } from './moves.ts';
import type { MoveReason } from './moves.ts';
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

export interface LeaseMetricSources {
  readonly leaseLeftMs: () => number;
  readonly plans: () => boolean;
  /** Of the table in the hub; undefined: there is none. */
  readonly epoch: () => number | undefined;
  /** Since this replica saw that table first. */
  readonly tableAgeMs: () => number;
  /** Clusters that this replica sees and the table does not have. */
  readonly offTable: () => number;
  readonly shard: () => number | undefined;
  /** Servers of which this replica owns everything or a part. */
  readonly owned: () => readonly string[];
}

/** What the hand-over protocol counts. */
export interface LeaseMeters {
  /** A write to the hub, by its reason, and what became of it. */
  wrote(write: string, outcome: 'done' | 'conflict' | 'failed'): void;
  moved(moves: ReadonlyMap<MoveReason, number>): void;
  /** Everything that a table gives to this replica was taken up so long after it was seen. */
  tookUp(ms: number): void;
}

/** The metrics of leases and of the table: of a replica that shares with others only. */
export function registerLeaseMetrics(metrics: Metrics, sources: LeaseMetricSources): LeaseMeters {
  const gauge = (name: string, help: string, value: () => number): void =>
    metrics.family({ name, help, type: 'gauge', collect: () => [{ labels: {}, value: value() }] });
  gauge('driftless_shard_lease_seconds', 'How long this replica may write without a renewal.', () => {
    return sources.leaseLeftMs() / 1000;
  });
  gauge('driftless_shard_planner', '1 on the replica that plans the table.', () => (sources.plans() ? 1 : 0));
  gauge('driftless_shard_table_epoch', 'Number of the published table of clusters, 0 without one.', () => {
    return sources.epoch() ?? 0;
  });
  gauge('driftless_shard_table_age_seconds', 'Since this replica first saw the published table.', () => {
    return sources.tableAgeMs() / 1000;
  });
  gauge('driftless_shard_clusters_off_table', 'Clusters that this replica sees and the table does not have.', () => {
    return sources.offTable();
  });
  metrics.family({
    name: 'driftless_shard_cluster_owner',
    help: '1 for each cluster of which this replica owns everything or a part.',
    type: 'gauge',
    collect: () => sources.owned().map((server) => ({ labels: { server, shard: sources.shard() ?? -1 }, value: 1 })),
  });
  const writes = metrics.counter('driftless_shard_writes_total', 'Writes of the hand-over protocol to the hub.', [
    'write',
    'outcome',
  ]);
  const moves = metrics.counter(
    'driftless_shard_moves_total',
    'Parts of clusters that this replica gave to another shard in tables that it published.',
    ['reason'],
  );
  for (const reason of moveReasons) moves.inc({ reason }, 0);
  const takeUp = metrics.histogram(
    'driftless_shard_handover_seconds',
    'From a new table to having taken up all that it gives to this replica.',
    [0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120],
  );
  return {
    wrote: (write, outcome) => writes.inc({ write, outcome }),
    moved: (counts) => {
      for (const [reason, count] of counts) moves.inc({ reason }, count);
    },
    tookUp: (ms) => takeUp.observe(ms / 1000),
  };
}
