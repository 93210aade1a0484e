/**
 * @driftless/engine/sharding: which of N replicas gets which item, and who may write to it now.
 * `distribute` and its neighbours are the three algorithms of Argo CD's application controller:
 * `legacy` (FNV-1a modulo replicas), `round-robin`, and `consistent-hashing` with bounded loads.
 * They are pure and independent of the order of their input. `joinFleet` is the hand-over protocol
 * of the controller over any two documents.
 */
import { uptime } from 'node:os';
import { emitWarning } from 'node:process';
import { systemClock, systemRandom } from '#base';
import { distribute as distributeClusters, rebalance as rebalanceClusters } from '#sharding';
import { checkedAlgorithm } from './fleet/algorithm.ts';
import { OpenedFleetMember } from './fleet/fleet-member.ts';
import type { FleetMember, FleetOptions } from './fleet/types.ts';

export { algorithms, legacyShard, shardOfText } from '#sharding';
export type { BalanceInputs, BalancedTable, ShardedCluster, ShardingAlgorithm } from '#sharding';
export type {
  FleetChange,
  FleetDocument,
  FleetDocumentName,
  FleetDocuments,
  FleetMember,
  FleetOptions,
} from './fleet/types.ts';

/**
 * Assigns every cluster, or part of a split one, to one shard, whatever the order of the input.
 * @throws an error with `code` `USAGE` for an unknown algorithm
 */
export const distribute: typeof distributeClusters = (algorithm, ...inputs) =>
  distributeClusters(checkedAlgorithm(algorithm), ...inputs);

/**
 * The table that follows a current one. With `consistent-hashing` only few clusters move.
 * @throws an error with `code` `USAGE` for an unknown algorithm
 */
export const rebalance: typeof rebalanceClusters = (current, inputs, now) =>
  rebalanceClusters(current, { ...inputs, algorithm: checkedAlgorithm(inputs.algorithm) }, now);

/**
 * Joins a fleet of processes that share items. The member takes a free slot, or stands by.
 * @throws an error with `code` `USAGE` for an empty name, an unknown algorithm, or figures out
 * of range
 */
export function joinFleet(options: FleetOptions): FleetMember {
  return new OpenedFleetMember(options, {
    clock: systemClock,
    random: systemRandom,
    bootMs: () => uptime() * 1000,
    warn: (message) => emitWarning(message, 'DriftlessWarning'),
  });
}
