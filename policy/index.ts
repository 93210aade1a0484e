/**
 * policy: may this application put this kind there, from this source, now? AppProject rules and sync windows. Pure.
 *
 * Interface (project = effective AppProject, from effectiveProject):
 *   isSourcePermitted(project, url) · isDestinationPermitted(project, destination, scopedClusters) ·
 *   isGroupKindPermitted(project, gk & name, namespaced) · isResourcePermitted(project, gk, name, namespace, cluster, scopedClusters) ·
 *   isAppNamespacePermitted(appNamespace, project, controllerNamespace) · matchesNamespacePattern(pattern, namespace) ·
 *   namespacePatternFault(pattern) ·
 *   isOrphanIgnored(project, ref) · canSync(windows, facts, trigger, now) · validateSpec(app, project, cluster, scopedClusters) ·
 *   sourceDenied(project, url, name) · gitIntegrity(project, source) · effectiveProject(project, sources) ·
 *   impersonationTarget(project, server, destinationNamespace, appNamespace)
 *
 * Three matchers are in play, and they are Argo CD's: gobwas globs (with separator `/` for repositories, without for the rest), Go's
 * filepath.Match for kinds, regular expressions between slashes for namespaces. Nothing here trusts an AppProject: a bad pattern matches
 * nothing, a bad schedule is an error value, and what is not even a text or a list permits nothing and denies everything.
 */
export { effectiveProject, impersonationTarget } from './effective.ts';
export type { ImpersonationTarget, ProjectSources } from './effective.ts';
export { matchesNamespacePattern, namespacePatternFault } from './namespace-pattern.ts';
export {
  appNamespaceDenied,
  isAppNamespacePermitted,
  isDestinationPermitted,
  isGroupKindPermitted,
  isOrphanIgnored,
  isResourcePermitted,
  isSourcePermitted,
} from './project.ts';
export type { PermittedDestination } from './project.ts';
export { gitIntegrity, integrityOf } from './integrity.ts';
export type { GitIntegrity } from './integrity.ts';
export { destinationDenied, isReferenceOnly, sourceDenied, validateSpec } from './spec.ts';
export type { ResolvedCluster } from './spec.ts';
export { canSync } from './windows.ts';
export type { SyncTrigger, SyncVerdict, WindowFacts } from './windows.ts';
