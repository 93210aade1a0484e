import { failureOf, isExcluded } from '#live';
import type { LiveCluster } from '#live';
import { findResource } from '#kube';
import { groupKindName } from '#model';
import type { GroupKind, ResourceRef, Settings } from '#model';
import type { CacheReach } from './whole-objects.ts';
import type { IncompleteKind } from './types.ts';

/** Namespaces, kinds and settings that a cache covers. */
export interface CacheScope extends CacheReach {
  readonly settings: Settings;
}

/** Why the cache does not know whether an object exists. */
export interface UnknownExistence {
  readonly reason: string;
  /** Waiting does not help: rights, filters or the kinds of the server must change. */
  readonly isLasting: boolean;
}

const lastingStates: readonly string[] = ['forbidden', 'left-out'];

/** The kinds, all by default, that the cache does not have or cannot vouch for. */
export function incompleteKinds(
  cluster: LiveCluster,
  { settings }: CacheScope,
  kinds: readonly GroupKind[] | undefined,
): readonly IncompleteKind[] {
  const states = cluster.info().kinds;
  const failed = [...cluster.discovery().failedGroups].map(([group, reason]) => ({ group, kind: '*', reason }));
  const bad = states
    .filter(({ state }) => state !== 'synced')
    .map(({ group, kind, state, message }) => ({ group, kind, reason: message ?? state }));
  if (kinds === undefined) return [...failed, ...bad];
  return kinds.flatMap((kind): readonly IncompleteKind[] => {
    const found = bad.find((other) => isSameKind(other, kind));
    if (found !== undefined) return [found];
    if (states.some((other) => isSameKind(other, kind))) return [];
    return [{ group: kind.group, kind: kind.kind, reason: absenceOf(cluster, settings, kind).reason }];
  });
}

/**
 * Why it is unknown whether an object exists that the cache does not have. Undefined: it does not
 * exist. A kind that is polled is known as of its last list.
 */
export function unknownExistence(
  cluster: LiveCluster,
  { settings, namespaces }: CacheScope,
  ref: ResourceRef,
): UnknownExistence | undefined {
  if (namespaces.length > 0 && ref.namespace !== '' && !namespaces.includes(ref.namespace))
    return { reason: 'outside of the namespaces of the cache', isLasting: true };
  const stale = cluster
    .staleKinds()
    .find((kind) => isSameKind(kind, ref) && (kind.namespace ?? ref.namespace) === ref.namespace);
  if (stale !== undefined && stale.state !== 'polled')
    return { reason: stale.message ?? stale.state, isLasting: lastingStates.includes(stale.state) };
  if (cluster.info().kinds.some((kind) => isSameKind(kind, ref))) return undefined;
  return absenceOf(cluster, settings, ref);
}

/** Why a kind is not watched. */
function absenceOf(cluster: LiveCluster, settings: Settings, kind: GroupKind): UnknownExistence {
  const discovery = cluster.discovery();
  const failure = failureOf(discovery, kind.group);
  if (failure !== undefined) return { reason: failure, isLasting: false };
  const lasting = (reason: string): UnknownExistence => ({ reason, isLasting: true });
  const found = findResource(discovery, kind);
  if (found === undefined) return lasting(`the server does not serve ${groupKindName(kind)}`);
  if (isExcluded(settings, kind, cluster.server)) return lasting('excluded by the filters of the cache');
  if (!found.verbs.includes('list') || !found.verbs.includes('watch'))
    return lasting('it cannot be listed and watched');
  return found.namespaced
    ? { reason: 'its watch has not begun yet', isLasting: false }
    : lasting('cluster-scoped, and the cache is limited to namespaces');
}

function isSameKind(a: GroupKind, b: GroupKind): boolean {
  return a.group === b.group && a.kind === b.kind;
}
