import { globMatch } from '#base';
import type { FilteredResource, GroupKind, Settings } from '#model';

/**
 * Whether settings exclude a kind from the cache (Argo CD: util/settings/resources_filter.go).
 * Exclusions win over inclusions; if the cluster has inclusions, all other kinds are excluded.
 * Events, metrics and leases are always excluded: they change constantly and are never deployed.
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

function isBuiltIn({ group, kind }: GroupKind): boolean {
  if (group === 'events.k8s.io' || group === 'metrics.k8s.io') return true;
  return (group === '' && kind === 'Event') || (group === 'coordination.k8s.io' && kind === 'Lease');
}

function matches(rule: FilteredResource, { group, kind }: GroupKind, server: string): boolean {
  const kindMatches = rule.kinds.length === 0 || rule.kinds.some((name) => name === '*' || name === kind);
  return kindMatches && anyGlob(rule.apiGroups, group) && anyGlob(rule.clusters, server);
}

/** An empty list matches everything. */
function anyGlob(patterns: readonly string[], text: string): boolean {
  return patterns.length === 0 || patterns.some((pattern) => globMatch(pattern, text));
}
