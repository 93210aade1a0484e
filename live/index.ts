/**
 * live: what the clusters say. One cache of each cluster that this replica owns, kept by one watch per kind. A kind that fails is
 * degraded alone: its old cache stays, nothing of it may be pruned, and no other kind notices.
 *
 *   LiveClusters ── WatchedCluster ──┬─ ClusterWatch (discovery) ── KindWatch ── reflector of #kube
 *     (which)         (questions)    ├─ ClusterCache (which of two versions counts) ── NodeStore (indexes)
 *                                    └─ ChangeBatch (tells applications, once per object and batch)
 *
 * Invariants: an older version of an object never replaces a newer one, whichever path it came by; rows go only when a complete list, a
 * deletion or the end of their kind says so; an application hears of an object at most once per batch, and not at all when nothing
 * changed that matters to it; every answer is a plain value that does not change afterwards. It writes nothing, and gives no client away: who
 * writes borrows one from `SharedClients` of #kube, which is also where live opens them.
 */
export { defaultTuning } from './cluster-watch.ts';
export type { LiveTuning } from './cluster-watch.ts';
export { ClusterIgnored, ClusterUnavailable, LiveStateError } from './errors.ts';
export { failureOf } from './discovery.ts';
export { isExcluded } from './filter.ts';
export { createLiveClusters } from './live-clusters.ts';
export type { LiveClustersDeps } from './live-clusters.ts';
export type {
  BodyFilter,
  ClusterInfo,
  DegradedKinds,
  KindState,
  LiveChange,
  LiveCluster,
  LiveClusters,
  LiveDiscovery,
  LiveMachine,
  LiveNews,
  LiveOwner,
  LiveRow,
  LiveSchemas,
  ManagedObjects,
  ManagedQuery,
  ObjectChanges,
  TreeQuery,
  UnreadObject,
} from './types.ts';
