import { kindFinder, refOf } from '#model';
import type { NamespacedKind, ObjectName } from '#model';
import type { NodeStore } from '../store/node-store.ts';
import type { KindState, ManagedQuery } from '../types.ts';

/**
 * The kinds that are not fresh in the namespaces where the Application of a query has objects.
 * @param answered objects that an answer contains: they may have left the cache meanwhile.
 */
export function staleKindsOf(
  { app, targets, lastKnown = [] }: ManagedQuery,
  stale: readonly KindState[],
  store: Pick<NodeStore, 'ofApp'>,
  answered: Iterable<ObjectName> = [],
): readonly KindState[] {
  if (stale.length === 0) return stale;
  const find = kindFinder(stale);
  const found = new Set<KindState>();
  const add = (at: NamespacedKind): void => {
    const kind = find(at);
    if (kind !== undefined) found.add(kind);
  };
  for (const target of targets) add(refOf(target));
  for (const known of [...lastKnown, ...answered]) add(refOf(known));
  for (const node of store.ofApp(app)) add(node);
  return stale.filter((kind) => found.has(kind));
}

/** One state for each kind and namespace, with those of `later` first in doubt. */
export function unitedKinds(later: readonly KindState[], earlier: readonly KindState[]): readonly KindState[] {
  const placeOf = ({ group, kind, namespace = '*' }: KindState): string => `${group}/${kind} ${namespace}`;
  return [...new Map([...earlier, ...later].map((kind) => [placeOf(kind), kind])).values()];
}
