import { globMatch } from '#base';
import { appKeyOfInstance, partIndex } from '#model';
import type { FilteredResource, GroupKind, Settings } from '#model';
import type { BodyFilter } from './types.ts';

/**
 * Whether the settings keep a kind out of a cluster's cache (Argo CD: util/settings/resources_filter.go): excluded, else not excluded
 * when an inclusion names it, else excluded when the cluster has inclusions. Events, metrics and leases are always out: they change all
 * the time and nobody deploys them.
 */
export function isExcluded(
  settings: Pick<Settings, 'exclusions' | 'inclusions'>,
  gk: GroupKind,
  server: string,
): boolean {
  if (isBuiltIn(gk)) return true;
  const names = (rule: FilteredResource): boolean => matches(rule, gk, server);
  if (settings.exclusions.some(names)) return true;
  if (settings.inclusions.some(names)) return false;
  return settings.inclusions.some((rule) => anyGlob(rule.clusters, server));
}

/** Whether whole objects of an application are kept, by its instance name. */
export function bodyRule(filter: BodyFilter | undefined): (instance: string) => boolean {
  if (filter === undefined) return () => true;
  const owned = new Set(filter.owned);
  return (instance) => owned.has(partIndex(appKeyOfInstance(instance, filter.namespace), filter.of));
}

function isBuiltIn({ group, kind }: GroupKind): boolean {
  if (group === 'events.k8s.io' || group === 'metrics.k8s.io') return true;
  return (group === '' && kind === 'Event') || (group === 'coordination.k8s.io' && kind === 'Lease');
}

function matches(rule: FilteredResource, { group, kind }: GroupKind, server: string): boolean {
  const kindMatches = rule.kinds.length === 0 || rule.kinds.some((name) => name === '*' || name === kind);
  return kindMatches && anyGlob(rule.apiGroups, group) && anyGlob(rule.clusters, server);
}

/** An empty list means any. */
function anyGlob(patterns: readonly string[], text: string): boolean {
  return patterns.length === 0 || patterns.some((pattern) => globMatch(pattern, text));
}
