import { algorithms, clusterKey, rebalance, shardsOf } from '#sharding';
import type { Balanced, ShardingAlgorithm } from '#sharding';
import { distinctParts } from './source.ts';
import type { Part, Source } from './source.ts';

/** A whole table, and whether the controller has it or would make it. */
export interface Layout extends Balanced {
  readonly origin: 'published' | 'computed';
}

export interface Target {
  readonly algorithm: ShardingAlgorithm;
  readonly replicas: number;
}

/**
 * The table for an algorithm and a number of replicas: the published one when it has these; else what the controller would make of it, or
 * make without one. Under consistent hashing a table depends on the one before. Clusters that the published one lacks are placed as the
 * controller will.
 */
export function layoutFor(source: Source, { algorithm, replicas }: Target, now: number): Layout {
  const { published } = source;
  const current = published === undefined ? undefined : { ...published, shards: shardsOf(published) };
  const next = rebalance(current, { ...inputsOf(source), algorithm, replicas }, now);
  if (current?.algorithm !== algorithm || current.replicas !== replicas) return { ...next, origin: 'computed' };
  const shards = new Map([...next.shards].map(([key, shard]) => [key, current.shards.get(key) ?? shard]));
  return { replicas, algorithm, shards, movedAt: current.movedAt, origin: 'published' };
}

/** The replicas that have parts for others just now, by part: the shard of the part is held by nobody. */
export function standIns(source: Source): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  const entries = source.published?.entries;
  for (const { cluster, key, part, parts } of distinctParts(source.clusters)) {
    const entry = entries?.get(clusterKey(cluster.server));
    const shard = entry?.shards.length === parts ? entry.shards[part - 1] : undefined;
    if (shard !== undefined && shard !== entry?.homes[part - 1]) found.set(key, shard);
  }
  return found;
}

export interface Move extends Part {
  readonly from: number;
  readonly to: number;
  readonly applications: number;
}

export interface Outcome {
  readonly moves: readonly Move[];
  readonly movedApplications: number;
  /** Applications by shard, afterwards. */
  readonly load: readonly number[];
  readonly fullestToAverage: number | null;
}

/** What a change would move: from a table to the one that the controller would make of it. Each part of a cluster counts once. */
export function outcomeOf(source: Source, before: Layout, target: Target, now: number): Outcome {
  const { shards } = rebalance(before, { ...inputsOf(source), ...target }, now);
  const moves = distinctParts(source.clusters).flatMap((part): Move[] => {
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

/** The same change of replicas under each algorithm, so that people can choose. */
export function outcomes(
  source: Source,
  before: Layout,
  target: Target,
  now: number,
): readonly (readonly [ShardingAlgorithm, Outcome])[] {
  return algorithms.map((algorithm) => [algorithm, outcomeOf(source, before, { ...target, algorithm }, now)]);
}

/** The sum of each shard, every part counted once. */
export function loadsOf(
  values: ReadonlyMap<string, number>,
  shards: ReadonlyMap<string, number>,
  replicas: number,
): readonly number[] {
  const load = new Array<number>(replicas).fill(0);
  for (const [key, shard] of shards) load[shard] = (load[shard] ?? 0) + (values.get(key) ?? 0);
  return load;
}

/** 1 is even; null when there is nothing to spread. */
export function fullestToAverage(load: readonly number[]): number | null {
  const total = load.reduce((a, b) => a + b, 0);
  return total === 0 ? null : Math.round((10_000 * Math.max(...load) * load.length) / total) / 10_000;
}

function inputsOf({ clusters, weights }: Source): Pick<Source, 'clusters' | 'weights'> {
  return { clusters, weights };
}
