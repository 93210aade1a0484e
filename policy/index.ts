/**
 * policy: AppProject rules and sync windows. May this Application put this kind there, from this
 * source, now? Pure.
 * All functions take the effective project, from `effectiveProject`. Three matchers, as in Argo CD:
 * gobwas globs (with separator `/` for repositories), Go's filepath.Match for kinds, and regular
 * expressions between slashes for namespaces.
 * An AppProject is never trusted: an invalid pattern matches nothing, an invalid schedule is an
 * error value, and a member of the wrong type permits nothing and denies everything.
 */
export { effectiveProject, globalProjectFault, impersonationTarget } from './effective.ts';
export type { ProjectSources } from './effective.ts';
export { matchesNamespacePattern, namespacePatternFault } from './namespace-pattern.ts';
export {
  appNamespaceDenied,
  isAppNamespacePermitted,
  isDestinationPermitted,
  isGroupKindPermitted,
  isOrphanIgnored,
} from './project.ts';
export type { PermittedDestination } from './project.ts';
export { decryptionSecret } from './decryption.ts';
export { projectFaults } from './project-faults.ts';
export type { ProjectFaultReason } from './project-faults.ts';
export { isSourcePermitted } from './source-repos.ts';
export { gitIntegrity, integrityOf } from './integrity.ts';
export type { GitIntegrity } from './integrity.ts';
export { destinationDenied, isReferenceOnly, sourceDenied, validateSpec } from './spec.ts';
export type { ResolvedCluster } from './spec.ts';
export { windowHold } from './window-hold.ts';
export type { WindowHold } from './window-hold.ts';
export { canSync } from './windows.ts';
export type { SyncTrigger, WindowFacts } from './windows.ts';
