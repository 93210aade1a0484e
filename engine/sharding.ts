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
import {
  distribute as distributeClusters,
  legacyShard as legacyShardOf,
  rebalance as rebalanceClusters,
  shardOfText as shardOf,
} from '#sharding';
import { checkBalanceInputs, mustBeReplicaCount } from './fleet/algorithm.ts';
import { OpenedFleetMember } from './fleet/fleet-member.ts';
import type { FleetMember, FleetOptions } from './fleet/types.ts';
import { mustBeText } from './options/checks.ts';

export { algorithms } from '#sharding';
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
 * @throws an error with `code` `USAGE` for an unknown algorithm, or an input of another type
 */
export const distribute: typeof distributeClusters = (algorithm, clusters, weights, replicas) => {
  checkBalanceInputs({ algorithm, clusters, weights, replicas }, 'inputs');
  return distributeClusters(algorithm, clusters, weights, replicas);
};

/** The shard of an id by FNV-1a modulo replicas, as in Argo CD; 0 for an empty id. */
export const legacyShard: typeof legacyShardOf = (id, replicas) => {
  checkHashInputs(id, replicas);
  return legacyShardOf(id, replicas);
};

/** One shard for any text, an empty one included. */
export const shardOfText: typeof shardOf = (text, replicas) => {
  checkHashInputs(text, replicas);
  return shardOf(text, replicas);
};

function checkHashInputs(text: string, replicas: number): void {
  mustBeText(text, 'the text');
  mustBeReplicaCount(replicas, 'replicas');
}

/**
 * The table that follows a current one. With `consistent-hashing` only few clusters move.
 * @throws an error with `code` `USAGE` for an unknown algorithm, or an input of another type
 */
export const rebalance: typeof rebalanceClusters = (current, inputs, now) => {
  checkBalanceInputs(inputs, 'inputs');
  return rebalanceClusters(current, inputs, now);
};

/**
 * Joins a fleet of processes that share items. The member takes a free slot, or stands by.
 * @throws an error with `code` `USAGE` for an invalid option
 */
export function joinFleet(options: FleetOptions): FleetMember {
  return new OpenedFleetMember(options, {
    clock: systemClock,
    random: systemRandom,
    bootMs: () => uptime() * 1000,
    warn: (message) => emitWarning(message, 'DriftlessWarning'),
  });
}
