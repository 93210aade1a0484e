import type { Clock, ConcurrencyLimiter } from '#base';
import { KubeApiError, ListBounds, listLimits } from '#kube';
import type { KubeClient, ListLimits } from '#kube';
import { groupKindName, resourceKey } from '#model';
import type { ApiResource, KubeObject, ResourceKey } from '#model';
import type { ClusterCache } from '../store/cluster-cache.ts';
import type { StoredNode } from '../objects/stored-node.ts';

export interface CacheAuditDeps {
  readonly client: Pick<KubeClient, 'list'>;
  readonly cache: ClusterCache;
  readonly clock: Clock;
  readonly lists: ConcurrencyLimiter;
  readonly pageSize: number;
  readonly resource: ApiResource;
  readonly namespace: string | undefined;
  /** The rows filled by the watch. */
  readonly rows: () => Iterable<StoredNode>;
  /** Whether a row agrees with a whole object of the same version. */
  readonly isSame: (row: StoredNode, object: KubeObject) => boolean;
}

export interface AuditResult {
  /** resourceVersion of the list. */
  readonly version: string;
  /** Objects whose rows are wrong. */
  readonly differing: readonly ResourceKey[];
}

/** A difference between list and cache: the cached UID and version, and the listed UID. */
interface RowDifference {
  readonly row: string;
  readonly listedUid: string | undefined;
}

/** One page in this many is read whole; a different one in each round. */
export const fullReadInterval = 12;
/** Delay before differences are checked again; a watch may lag behind the list by this much. */
const watchLagMs = 10_000;
/** A list is rejected beyond twice the number of cached objects plus this many. */
const auditTolerance = 10_000;
const pageDeadlineMs = 60_000;

/**
 * Compares the cache of a kind with its server, by UID and resourceVersion: a list of metadata,
 * page by page. The watch may be ahead of the list or behind it. So a difference counts only if it
 * persists for `watchLagMs`, in a row that has not changed since and is older than the list. This
 * detects lost events, and servers that were restored and have passed our versions since.
 *
 * A restored server reuses versions, so an object may differ under the same UID and version. For
 * this, one page in {@link fullReadInterval} is read whole and compared with the rows, a different
 * page in each round: all objects in that many rounds, at the cost of one list.
 */
export class CacheAudit {
  readonly #deps: CacheAuditDeps;
  /** Some extension API servers cannot list metadata. */
  #isFullOnly = false;

  constructor(deps: CacheAuditDeps) {
    this.#deps = deps;
  }

  /** @throws the error of the list. */
  async compare(round: number, signal: AbortSignal): Promise<AuditResult> {
    const { clock, cache, lists } = this.#deps;
    const gone = new Set(cache.deleted());
    const { stamp } = cache.store;
    const { version, differences } = await lists.run(signal, () => this.#listDifferences(round, signal));
    if (differences.size === 0) return { version, differing: [] };
    await clock.sleep(watchLagMs, signal);
    const explained = (key: ResourceKey, { row, listedUid }: RowDifference): boolean => {
      const node = cache.store.get(key);
      if (versionText(node) !== row) return true;
      // A row written after the list began may be newer. Versions do not show it: they are reused.
      if (node !== undefined) return node.stamp > stamp;
      return listedUid !== undefined && !gone.has(listedUid) && cache.deleted().has(listedUid);
    };
    const left = [...differences].filter(([key, difference]) => !explained(key, difference));
    return { version, differing: left.map(([key]) => key) };
  }

  async #listDifferences(
    round: number,
    signal: AbortSignal,
  ): Promise<{ readonly version: string; readonly differences: ReadonlyMap<ResourceKey, RowDifference> }> {
    const { client, resource, namespace, pageSize, cache, clock, rows } = this.#deps;
    // All listed keys stay in memory until the end, so an endless list must be bounded.
    const maxItems = 2 * cache.store.countOfKind(resource.group, resource.kind) + auditTolerance;
    const limits: ListLimits = { ...listLimits, maxItems: Math.min(maxItems, listLimits.maxItems) };
    const bounds = new ListBounds(`comparison of ${groupKindName(resource)}`, clock, limits);
    const seen = new Set<ResourceKey>();
    const differences = new Map<ResourceKey, RowDifference>();
    let [pages, isWhole] = [0, false];
    const add = (items: readonly KubeObject[]): void => {
      bounds.countItems(items.length);
      for (const item of items) {
        const { metadata } = item;
        const { uid = '', resourceVersion = '', namespace: place = '', name = '' } = metadata;
        const key = resourceKey(resource.group, resource.kind, place, name);
        seen.add(key);
        const node = cache.store.get(key);
        const row = versionText(node);
        const isSame =
          row === `${uid} ${resourceVersion}` && (!isWhole || node === undefined || this.#isSame(node, item));
        if (!isSame) differences.set(key, { row, listedUid: uid });
      }
    };
    const scope = namespace === undefined ? {} : { namespace };
    const options = { ...scope, limit: pageSize, deadlineMs: pageDeadlineMs, signal };
    // A page that is delivered twice is compared twice, which is harmless.
    const items = { begin: () => undefined, add };
    let version = '';
    try {
      for (let next: string | undefined = undefined, more = true; more; more = next !== undefined) {
        isWhole = this.#isFullOnly || (round + pages) % fullReadInterval === 0;
        const page: Awaited<ReturnType<KubeClient['list']>> = await client.list(resource, {
          ...options,
          items,
          metadataOnly: !isWhole,
          ...(next === undefined ? {} : { continue: next }),
        });
        add(page.items);
        version = page.resourceVersion;
        next = bounds.next(page);
        pages += 1;
      }
    } catch (error) {
      if (error instanceof KubeApiError && error.status === 406) this.#isFullOnly = true;
      throw error;
    }
    for (const node of rows())
      if (!seen.has(node.key)) differences.set(node.key, { row: versionText(node), listedUid: undefined });
    return { version, differences };
  }

  /** Counts unreadable objects as equal. */
  #isSame(row: StoredNode, object: KubeObject): boolean {
    try {
      return this.#deps.isSame(row, object);
    } catch {
      return true;
    }
  }
}

function versionText(node: StoredNode | undefined): string {
  return node === undefined ? '' : `${node.uid} ${node.resourceVersion}`;
}
