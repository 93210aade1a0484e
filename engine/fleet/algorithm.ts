import { algorithms } from '#sharding';
import type { BalanceInputs, ShardedCluster } from '#sharding';
import { hasMembers, isListOf, isMap, isNonEmptyText, isOneOf, isText, isWholeIn } from '../options/checks.ts';

/** Argo CD reads an unknown name as `legacy`; here it is an error. */
export const isAlgorithm = isOneOf(algorithms);
export const isReplicaCount = isWholeIn(1, 1_000_000);

const isCluster = hasMembers<Pick<ShardedCluster, 'id' | 'server'>>({ id: isText, server: isNonEmptyText }, [
  'id',
  'server',
]);

/** The inputs of `distribute` and `rebalance`. */
export const checkBalanceInputs = hasMembers<BalanceInputs>(
  { algorithm: isAlgorithm, clusters: isListOf(isCluster), weights: isMap, replicas: isReplicaCount },
  ['algorithm', 'clusters', 'weights', 'replicas'],
);
