import type { AppProject, Cluster, GroupKind } from '#model';
import { isDestinationPermitted, isGroupKindPermitted } from '../project.ts';

/**
 * Reports whether Applications of the project may contain this object. A namespaced object must
 * also be in a permitted destination.
 */
// eslint-disable-next-line max-params -- the parts that a table of tests varies
export function isResourcePermitted(
  project: AppProject,
  gk: GroupKind,
  name: string,
  namespace: string,
  cluster: { readonly server: string; readonly name: string },
  scopedClusters: readonly Pick<Cluster, 'server' | 'name'>[] = [],
): boolean {
  const namespaced = namespace !== '';
  if (!isGroupKindPermitted(project, { ...gk, name }, namespaced)) return false;
  return !namespaced || isDestinationPermitted(project, { ...cluster, namespace }, scopedClusters);
}
