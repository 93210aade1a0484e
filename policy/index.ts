/**
 * policy: may this application put this kind there, from this source, now? AppProject rules and sync windows. Pure.
 *
 * Doors (project = effective AppProject):
 *   isSourcePermitted(project, url) · isDestinationPermitted(project, destination, scopedClusters) ·
 *   isResourcePermitted(project, gk & name, namespaced) · isAppNamespacePermitted(app, project, controllerNamespace) ·
 *   canSync(windows, facts, now)
 */
export {};
