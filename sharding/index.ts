/**
 * sharding: who does what. Distribution of clusters over replicas as pure functions, this replica's identity, and the table of what it
 * owns.
 *
 * The unit is the destination cluster, or a part of a split one. distribution.ts and rebalance.ts make the table, as pure functions; one
 * replica publishes it in the hub, and all obey it under a lease (member.ts; docs/adr/0010-ownership-handover.md). ownership.ts answers "is
 * this mine?", also right before a write. It refuses to own anything before the first full list, and what it does not know.
 *
 * Both are split in three: what is observed (hub-knowledge.ts, rights.ts), what is wanted (intents.ts, planner.ts, ownership-world.ts), and
 * what follows (tenure.ts, writes-under-way.ts, announcements.ts).
 */
export {
  algorithms,
  countApplications,
  distribute,
  legacyShard,
  parseAlgorithm,
  rankClusters,
  shardOfText,
} from './distribution.ts';
export type { ShardedCluster, ShardingAlgorithm } from './distribution.ts';
export { reportedRates } from './event-rates.ts';
export { HubTime } from './hub-time.ts';
export { createOwnership } from './ownership.ts';
export type { OwnershipDeps } from './ownership.ts';
export { clusterKey, mostParts, partKey, partsOf, splitAnnotation } from './parts.ts';
export { shardsOf } from './plan.ts';
export { rebalance } from './rebalance.ts';
export type { Balanced, BalanceInputs } from './rebalance.ts';
export { parseSlots, slotsConfigMap } from './slots-document.ts';
export type { Slots } from './slots-document.ts';
export { createStaticOwnership } from './static-ownership.ts';
export type { StaticOwnershipDeps } from './static-ownership.ts';
export { timingOf } from './timing.ts';
export type { Timing } from './timing.ts';
export { parseTable, tableConfigMap } from './table-document.ts';
export type { TableDocument } from './table-document.ts';
export type { OwnedParts, Ownership, OwnershipChange, OwnershipCondition, ShardIdentity } from './types.ts';
export { weightings, weightsOf, withEvents } from './weights.ts';
export type { Weighting } from './weights.ts';
