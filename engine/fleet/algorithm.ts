import { algorithms } from '#sharding';
import type { BalanceInputs, ShardedCluster } from '#sharding';
import {
  mustHaveMembers,
  mustBeListOf,
  mustBeMap,
  mustBeNonEmptyText,
  mustBeOneOf,
  mustBeText,
  mustBeWholeIn,
} from '../options/checks.ts';

/** Argo CD reads an unknown name as `legacy`; here it is an error. */
export const mustBeAlgorithm = mustBeOneOf(algorithms);
export const mustBeReplicaCount = mustBeWholeIn(1, 1_000_000);

const mustBeCluster = mustHaveMembers<Pick<ShardedCluster, 'id' | 'server'>>(
  { id: mustBeText, server: mustBeNonEmptyText },
  ['id', 'server'],
);

/** The inputs of `distribute` and `rebalance`. */
export const checkBalanceInputs = mustHaveMembers<BalanceInputs>(
  {
    algorithm: mustBeAlgorithm,
    clusters: mustBeListOf(mustBeCluster),
    weights: mustBeMap,
    replicas: mustBeReplicaCount,
  },
  ['algorithm', 'clusters', 'weights', 'replicas'],
);
