/**
 * sharding: who does what. Distribution of clusters over replicas as pure functions, this replica's identity, and the table of what it
 * owns.
 */
export type { Ownership, OwnershipChange, ShardIdentity } from './types.ts';
