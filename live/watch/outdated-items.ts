import { isOlderVersion } from '#kube';
import { keyOf } from '#model';
import type { KubeObject, ResourceKey } from '#model';
import type { ClusterCache } from '../store/cluster-cache.ts';

/**
 * Items of a streamed list that are older than what the cache has. A stream may start with the
 * objects of a server whose own cache is late; their later states follow before the list is
 * complete. Items that none followed are current: the server was restored.
 */
export class OutdatedItems {
  readonly #cache: Pick<ClusterCache, 'store' | 'deleted'>;
  readonly #items = new Map<ResourceKey, KubeObject>();

  constructor(cache: Pick<ClusterCache, 'store' | 'deleted'>) {
    this.#cache = cache;
  }

  /** Keeps an outdated item until the end of the list. Returns false if it is not outdated. */
  defer(item: KubeObject): boolean {
    const key = keyOf(item);
    this.#items.delete(key);
    if (!this.#isOlder(item) && !this.#cache.deleted().has(item.metadata.uid ?? '')) return false;
    this.#items.set(key, item);
    return true;
  }

  /** Notes that an object was deleted. Returns true if the cache has a later object of its name. */
  isOutdatedDeletion(object: KubeObject): boolean {
    this.#items.delete(keyOf(object));
    return this.#isOlder(object);
  }

  /** The items that are current after all, when the list is complete. */
  values(): Iterable<KubeObject> {
    return this.#items.values();
  }

  #isOlder(item: KubeObject): boolean {
    const row = this.#cache.store.get(keyOf(item));
    return row !== undefined && isOlderVersion(item.metadata.resourceVersion ?? '', row.resourceVersion);
  }
}
