/**
 * settings: what the administrators configured. argocd-cm, cluster Secrets, repository Secrets, watched and parsed into immutable
 * values. A malformed entry is left out, with a message that names the key; the others hold.
 *
 * Parsing is pure (parse, overrides, clusters, repositories); store.ts alone watches. Readers get snapshots: a pass of the controller
 * reads `settings()` once. It refuses to guess: what cannot be read is a problem with the object's name, never a half-read value.
 */
export { clusterList, indexClusters, parseClusterSecret, resolveDestination } from './clusters.ts';
export type { ClusterIndex, ParsedCluster } from './clusters.ts';
export { parseSettings } from './parse.ts';
export { findRepository, parseRepositorySecret } from './repositories.ts';
export type { RepositoryEntry } from './repositories.ts';
export { createSettingsStore } from './store.ts';
export type { SettingsStoreDeps } from './store.ts';
export type { SettingsStore, UnresolvedDestination } from './types.ts';
export type { Problem } from './values.ts';
