import { algorithms, clusterKey, rebalance, shardsOf } from '#sharding';
import type { BalancedTable, ShardingAlgorithm } from '#sharding';
import { distinctParts } from './source.ts';
import type { ClusterPart, FleetSource } from './source.ts';

/** A complete table, and whether it is published or computed. */
export interface TableLayout extends BalancedTable {
  readonly origin: 'published' | 'computed';
}

export interface LayoutTarget {
  readonly algorithm: ShardingAlgorithm;
  readonly replicas: number;
}

/**
 * The table for an algorithm and a number of replicas: the published one if it matches; otherwise
 * the table that the controller would compute, starting from the published one if there is one
 * (consistent hashing depends on the previous table). Clusters off the published table are placed
 * as the controller will place them.
 */
export function layoutFor(source: FleetSource, { algorithm, replicas }: LayoutTarget, now: number): TableLayout {
  const { published } = source;
  const current = published === undefined ? undefined : { ...published, shards: shardsOf(published) };
  const next = rebalance(current, { ...inputsOf(source), algorithm, replicas }, now);
  if (current?.algorithm !== algorithm || current.replicas !== replicas) return { ...next, origin: 'computed' };
  const shards = new Map([...next.shards].map(([key, shard]) => [key, current.shards.get(key) ?? shard]));
  return { replicas, algorithm, shards, movedAt: current.movedAt, origin: 'published' };
}

/** Replicas that stand in for others, by part: the part's own shard has no holder. */
export function standIns(source: FleetSource): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  const entries = source.published?.entries;
  for (const { cluster, key, part, parts } of distinctParts(source.clusters)) {
    const entry = entries?.get(clusterKey(cluster.server));
    const shard = entry?.shards.length === parts ? entry.shards[part - 1] : undefined;
    if (shard !== undefined && shard !== entry?.homes[part - 1]) found.set(key, shard);
  }
  return found;
}

export interface PartMove extends ClusterPart {
  readonly from: number;
  readonly to: number;
  readonly applications: number;
}

export interface MoveOutcome {
  readonly moves: readonly PartMove[];
  readonly movedApplications: number;
  /** Applications by shard after the change. */
  readonly load: readonly number[];
  readonly fullestToAverage: number | null;
}

/**
 * Moves between a table and the one that the controller would compute from it. Each part of a
 * cluster counts once.
 */
export function outcomeOf(source: FleetSource, before: TableLayout, target: LayoutTarget, now: number): MoveOutcome {
  const { shards } = rebalance(before, { ...inputsOf(source), ...target }, now);
  const moves = distinctParts(source.clusters).flatMap((part): PartMove[] => {
    const [from, to] = [before.shards.get(part.key) ?? 0, shards.get(part.key) ?? 0];
    return from === to ? [] : [{ ...part, from, to, applications: source.applications.get(part.key) ?? 0 }];
  });
  return {
    moves,
    movedApplications: moves.reduce((sum, { applications }) => sum + applications, 0),
    load: loadsOf(source.applications, shards, target.replicas),
    fullestToAverage: fullestToAverage(loadsOf(source.weights, shards, target.replicas)),
  };
}

/** Weight of the fullest shard after a change. */
export function fullestAfter(source: FleetSource, before: TableLayout, target: LayoutTarget, now: number): number {
  const { shards } = rebalance(before, { ...inputsOf(source), ...target }, now);
  return Math.max(...loadsOf(source.weights, shards, target.replicas));
}

/** The same change of replicas under each algorithm, for comparison. */
export function outcomes(
  source: FleetSource,
  before: TableLayout,
  target: LayoutTarget,
  now: number,
): readonly (readonly [ShardingAlgorithm, MoveOutcome])[] {
  return algorithms.map((algorithm) => [algorithm, outcomeOf(source, before, { ...target, algorithm }, now)]);
}

/** Sum per shard, every part counted once. */
export function loadsOf(
  values: ReadonlyMap<string, number>,
  shards: ReadonlyMap<string, number>,
  replicas: number,
): readonly number[] {
  const load = new Array<number>(replicas).fill(0);
  for (const [key, shard] of shards) load[shard] = (load[shard] ?? 0) + (values.get(key) ?? 0);
  return load;
}

/** 1 is even; null if there is nothing to spread. */
export function fullestToAverage(load: readonly number[]): number | null {
  const total = load.reduce((a, b) => a + b, 0);
  return total === 0 ? null : Math.round((10_000 * Math.max(...load) * load.length) / total) / 10_000;
}

function inputsOf({ clusters, weights }: FleetSource): Pick<FleetSource, 'clusters' | 'weights'> {
  return { clusters, weights };
}
