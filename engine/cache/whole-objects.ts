import type { LiveCluster } from '#live';
import { keyOf, refOf } from '#model';
import type { ObjectName, ResourceKey } from '#model';
import type { CacheRead } from './types.ts';

/** Older ones are forgotten first: a reader asks for them again. */
const maxFollowed = 100_000;
/** No Application has this name, so that queries find objects by their names only. */
const noApplication = '\u0000';

/** Names of the objects that a cache keeps whole, because a reader has asked for them. */
export class FollowedObjects {
  readonly #keys = new Set<ResourceKey>();

  has(key: ResourceKey): boolean {
    return this.#keys.has(key);
  }

  add(key: ResourceKey): void {
    this.#keys.delete(key);
    this.#keys.add(key);
    if (this.#keys.size <= maxFollowed) return;
    for (const oldest of this.#keys) {
      this.#keys.delete(oldest);
      return;
    }
  }
}

/** Namespaces of a cache in namespaced mode; empty: all. */
export interface CacheReach {
  readonly namespaces: readonly string[];
  readonly clusterScoped: boolean;
}

/**
 * Whole objects by name, from the cache if it is current, else from the server. One request per
 * object until the cache has it whole.
 */
export async function readWhole(
  cluster: LiveCluster,
  names: readonly ObjectName[],
  { namespaces, clusterScoped }: CacheReach,
  signal: AbortSignal,
): Promise<CacheRead> {
  const isReached = ({ metadata: { namespace = '' } }: ObjectName): boolean =>
    namespaces.length === 0 || (namespace === '' ? clusterScoped : namespaces.includes(namespace));
  const query = { app: noApplication, targets: names.filter(isReached), readsStale: true };
  const { objects, unread } = await cluster.managed(query, signal);
  const asked = new Set(names.map(keyOf));
  return {
    objects: [...objects].flatMap(([key, object]) => (asked.has(key) ? [object] : [])),
    unread: [
      ...names
        .filter((name) => !isReached(name))
        .map((name) => ({ ...refOf(name), reason: 'outside of the namespaces of the cache' })),
      ...unread.map(({ group, kind, namespace, name, message }) => ({ group, kind, namespace, name, reason: message })),
    ],
  };
}
