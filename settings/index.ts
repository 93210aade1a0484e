/**
 * settings: what administrators configured. Watches argocd-cm, cluster Secrets and repository
 * Secrets, and parses them into immutable values. A malformed entry is skipped, with a message that
 * names its key; the others stay in effect. What narrows the controller's writes fails closed: the
 * last readable value stays in force, also while argocd-cm is missing, and across restarts (table:
 * setting-table.ts, decision: in-force.ts).
 *
 * Parsing is pure (parse, overrides, clusters, repositories); only store.ts watches, and only
 * settings-writer.ts writes. Readers get snapshots: one pass of the controller
 * reads `settings()` once. It never guesses: an unreadable
 * entry is a problem with the object's name, never a half-parsed value.
 */
export { chooseClusters, indexClusters } from './cluster-index.ts';
export { keptConfigMap } from './kept-settings.ts';
export { clusterList, parseClusterSecret, resolveDestination } from './clusters.ts';
export type { ParsedCluster } from './clusters.ts';
export { unreadableText } from './observed-settings.ts';
export { parseSettings } from './parse.ts';
export { parseRepositorySecret, RepositoryIndex } from './repositories.ts';
export { createSettingsWriter } from './settings-writer.ts';
export { createSettingsStore } from './store.ts';
export type { SettingsStoreDeps } from './store.ts';
export type { SettingsStore, SettingsWriter, UnresolvedDestination } from './types.ts';
export type { SettingsNote, SettingsProblem } from './values.ts';
