/**
 * sharding: which replica owns which cluster. The unit is the destination cluster, or one part of a
 * split cluster.
 * One replica publishes a table in the hub, built by pure functions (distribution/). Every replica
 * obeys it under a lease (protocol/; docs/adr/0010-ownership-handover.md). `Ownership` answers "is
 * this mine?", also right before a write; nothing is owned before the first full list.
 * protocol/ and ownership/ separate observations, intents and effects.
 */
export {
  algorithms,
  countApplications,
  distribute,
  legacyShard,
  parseAlgorithm,
  partFinder,
  rankClusters,
  shardOfText,
} from './distribution/distribution.ts';
export type { ShardedCluster, ShardingAlgorithm } from './distribution/distribution.ts';
export { reportedRates } from './load/event-rates.ts';
export { HubTime } from './timing/hub-time.ts';
export { createOwnership } from './ownership/ownership.ts';
export type { OwnershipDeps } from './ownership/ownership.ts';
export { clusterKey, maxParts, partKey, partsOf } from './distribution/parts.ts';
export type { ClusterReach } from './protocol/member-types.ts';
export { shardsOf } from './protocol/plan.ts';
export { rebalance } from './distribution/rebalance.ts';
export type { BalancedTable, BalanceInputs } from './distribution/rebalance.ts';
export { heldSlots, isForeign, parseSlots, slotsConfigMap, slotsKey } from './documents/slots-document.ts';
export type { ApiAddress, SlotHolders, SlotRecord } from './documents/slots-document.ts';
export { createStaticOwnership } from './ownership/static-ownership.ts';
export { timingOf } from './timing/timing.ts';
export { parseTable, tableConfigMap, tableKey } from './documents/table-document.ts';
export type { TableDocument } from './documents/table-document.ts';
export type {
  OwnedParts,
  Ownership,
  OwnershipChange,
  OwnershipCondition,
  NextTableFacts,
  OwnershipFacts,
} from './ownership/types.ts';
export type { ForeignStatusWrite } from './ownership/foreign-controller.ts';
export type { HandOver } from './ownership/hand-over-log.ts';
export type { HandOverReason } from './documents/moves.ts';
export { clusterWeightings, weightsOf, addEventWeights } from './load/weights.ts';
export type { ClusterWeighting } from './load/weights.ts';
