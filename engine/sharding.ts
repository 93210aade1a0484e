/**
 * driftless/sharding: which of N replicas gets which item. The three algorithms of Argo CD's
 * application controller: `legacy` (FNV-1a modulo replicas), `round-robin`, and
 * `consistent-hashing` with bounded loads. Pure functions, independent of the order of their input.
 */
export { algorithms, distribute, legacyShard, rebalance, shardOfText } from '#sharding';
export type { BalanceInputs, BalancedTable, ShardedCluster, ShardingAlgorithm } from '#sharding';
