/**
 * live: what the clusters say. One picture of each cluster that this replica owns, kept by one watch per kind. A kind that fails is
 * degraded alone: its old picture stays, nothing of it may be pruned, and no other kind notices.
 */
export type { ClusterInfo, KindState, LiveChange, LiveCluster, LiveClusters, LiveNode } from './types.ts';
