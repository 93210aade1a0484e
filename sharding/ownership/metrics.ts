import type { MetricRegistry } from '#telemetry';
import { moveReasons } from '../documents/moves.ts';
import type { MoveReason } from '../documents/moves.ts';
import type { Ownership } from './types.ts';
import type { LapseReason } from './write-pauses.ts';

export interface OwnershipMetricSources {
  readonly ownership: Pick<Ownership, 'identity' | 'conditions'>;
  /** Number of clusters of which this replica owns all or some parts. */
  readonly ownedClusters: () => number;
  /** Weight of the owned parts. */
  readonly load: () => number;
  /** Servers without a live owner, with the milliseconds since then. */
  readonly unowned: () => ReadonlyMap<string, number>;
}

/** Registers the ownership metrics, computed at scrape time. Argo CD has none of them. */
export function registerMetrics(metrics: MetricRegistry, { ownership, ...sources }: OwnershipMetricSources): void {
  metrics.family({
    name: 'driftless_cluster_unowned_seconds',
    help: 'How long a cluster has had no live owner; absent while it has one, or until two leases have passed.',
    type: 'gauge',
    collect: () => [...sources.unowned()].map(([server, ms]) => ({ labels: { server }, value: ms / 1000 })),
  });
  metrics.family({
    name: 'driftless_ownership_condition',
    help: '1 for each condition of cluster ownership that needs attention.',
    type: 'gauge',
    collect: () => ownership.conditions().map(({ type }) => ({ labels: { type }, value: 1 })),
  });
  const gauge = (name: string, help: string, value: () => number): void =>
    metrics.family({ name, help, type: 'gauge', collect: () => [{ labels: {}, value: value() }] });
  gauge('driftless_shard', 'The shard of this replica, -1 on standby.', () => ownership.identity().shard ?? -1);
  gauge('driftless_shard_owned_clusters', 'Clusters that this replica owns, at least partly.', sources.ownedClusters);
  gauge(
    'driftless_shard_load',
    'Weight of the clusters of this replica, in Applications; use it to scale.',
    sources.load,
  );
}

export interface LeaseMetricSources {
  readonly leaseLeftMs: () => number;
  readonly plans: () => boolean;
  /** Epoch of the table in the hub; undefined: there is none. */
  readonly epoch: () => number | undefined;
  /** Time since this replica first saw that table. */
  readonly tableAgeMs: () => number;
  /** Number of clusters that this replica sees and the table lacks. */
  readonly offTable: () => number;
  readonly shard: () => number | undefined;
  /** Servers of which this replica owns all or some parts. */
  readonly owned: () => readonly string[];
}

/** Counters of the hand-over protocol. */
export interface LeaseMeters {
  /** Counts a write to the hub by reason and outcome. */
  wrote(write: string, outcome: 'done' | 'conflict' | 'failed'): void;
  moved(moves: ReadonlyMap<MoveReason, number>): void;
  /** Counts a lease that ran out while its holder lived. */
  lapsed(reason: LapseReason): void;
  /** Records how long taking up a new table's parts took. */
  tookUp(ms: number): void;
}

/** Registers the metrics of leases and of the table, for replicas that share clusters. */
export function registerLeaseMetrics(metrics: MetricRegistry, sources: LeaseMetricSources): LeaseMeters {
  const gauge = (name: string, help: string, value: () => number): void =>
    metrics.family({ name, help, type: 'gauge', collect: () => [{ labels: {}, value: value() }] });
  gauge('driftless_shard_lease_seconds', 'Time for which this replica may write without a renewal.', () => {
    return sources.leaseLeftMs() / 1000;
  });
  gauge('driftless_shard_planner', '1 on the replica that plans the table.', () => (sources.plans() ? 1 : 0));
  gauge('driftless_shard_table_epoch', 'Number of the published table of clusters, 0 without one.', () => {
    return sources.epoch() ?? 0;
  });
  gauge('driftless_shard_table_age_seconds', 'Time since this replica first saw the published table.', () => {
    return sources.tableAgeMs() / 1000;
  });
  gauge(
    'driftless_shard_clusters_off_table',
    'Clusters that this replica sees and that are missing from the table.',
    () => {
      return sources.offTable();
    },
  );
  metrics.family({
    name: 'driftless_shard_cluster_owner',
    help: '1 for each cluster that this replica owns, at least partly.',
    type: 'gauge',
    collect: () => sources.owned().map((server) => ({ labels: { server, shard: sources.shard() ?? -1 }, value: 1 })),
  });
  const writes = metrics.counter('driftless_shard_writes_total', 'Writes of the hand-over protocol to the hub.', [
    'write',
    'outcome',
  ]);
  const moves = metrics.counter(
    'driftless_shard_moves_total',
    'Parts of clusters that this replica moved to another shard in tables that it published.',
    ['reason'],
  );
  for (const reason of moveReasons) moves.inc({ reason }, 0);
  const lapses = metrics.counter(
    'driftless_shard_lease_lapses_total',
    'Leases that ran out before a renewal, so that writes paused: cpu: this process did not run; hub: no answer.',
    ['reason'],
  );
  for (const reason of ['cpu', 'hub']) lapses.inc({ reason }, 0);
  const takeUp = metrics.histogram(
    'driftless_shard_handover_seconds',
    'Time from a new table until this replica has taken up all its new parts.',
    [0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120],
  );
  return {
    wrote: (write, outcome) => writes.inc({ write, outcome }),
    moved: (counts) => {
      for (const [reason, count] of counts) moves.inc({ reason }, count);
    },
    lapsed: (reason) => lapses.inc({ reason }),
    tookUp: (ms) => takeUp.observe(ms / 1000),
  };
}
