/**
 * live: the live state of clusters. There is one cache per cluster, filled by one watch per kind. A
 * failing kind degrades alone: its old rows stay, its objects are not pruned, and other kinds are
 * unaffected.
 *
 *   LiveClusters ── WatchedCluster ──┬─ ClusterWatch (discovery) ── KindWatch ── reflector of #kube
 *     (clusters)       (queries)     ├─ ClusterCache (version order) ── NodeStore (indexes)
 *                                    └─ ChangeBatch (one event per object and batch)
 *
 * Invariants:
 * - A list or event from before our own write never replaces the result of that write. Otherwise
 *   the last message wins, because a restored server has older versions.
 * - Rows are removed only by a complete list, a deletion, or the end or suspension of their kind.
 *   If a list turns out to be endless, the rows that it wrote are removed, too.
 * - An Application gets at most one event per object and batch, and none for irrelevant changes.
 * - Answers are immutable plain values.
 * - live never writes. Writers borrow clients from `SharedClients` of #kube, which live opens.
 *
 * Parts, from below: objects (one cached object) · store (cache of a cluster, change events) ·
 * bytes (memory limits) · discovery (kinds and API versions) · watch (filling the cache) · queries.
 */
export { ChangedPaths } from './store/changed-paths.ts';
export { ApiVersionFiles } from './discovery/api-version-files.ts';
export type { LiveLimits } from './bytes/live-budget.ts';
export type { LiveTuning } from './watch/cluster-watch.ts';
export { ClusterIgnored, ClusterUnavailable } from './errors.ts';
export { failureOf } from './discovery/discovery.ts';
export { isExcluded } from './discovery/exclusions.ts';
export { KindsInUse } from './discovery/kinds-in-use.ts';
export { createLiveClusters } from './live-clusters.ts';
export { ClusterSchemas, SchemaStore } from './queries/cluster-schemas.ts';
export type {
  BodyFilter,
  ClusterInfo,
  ClusterReport,
  ContainerChoice,
  DegradedKinds,
  ChangedObject,
  ChangeSet,
  KindReport,
  PathStep,
  RowChange,
  KindState,
  LiveCapabilities,
  LiveChange,
  LiveCluster,
  LiveClusters,
  LiveDiscovery,
  LiveEvent,
  LiveLog,
  LiveMachine,
  LiveOwner,
  LiveRow,
  LiveSchemas,
  ManagedObjects,
  ManagedQuery,
  ObjectChanges,
  UnreadObject,
} from './types.ts';
