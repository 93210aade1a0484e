import type { Clock, Limiter } from '#base';
import { KubeApiError, ListBounds } from '#kube';
import type { KubeClient } from '#kube';
import { groupKindName, resourceKey } from '#model';
import type { ApiResource, KubeObject, ResourceKey } from '#model';
import type { ClusterCache } from './cluster-cache.ts';
import type { StoredNode } from './node.ts';

export interface AuditDeps {
  readonly client: Pick<KubeClient, 'list'>;
  readonly cache: ClusterCache;
  readonly clock: Clock;
  readonly lists: Limiter;
  readonly pageSize: number;
  readonly resource: ApiResource;
  readonly namespace: string | undefined;
  /** The rows that the watch has filled. */
  readonly rows: () => Iterable<StoredNode>;
  /** Whether a row says what a whole object of the same version says. */
  readonly isSame: (row: StoredNode, object: KubeObject) => boolean;
}

/** What a comparison has found. */
export interface Audited {
  /** Of the list. */
  readonly version: string;
  /** The objects of which the cache is wrong. */
  readonly differing: readonly ResourceKey[];
}

/** A place where list and cache differ: what the cache had there when it was looked at, and the UID that was listed. */
interface Difference {
  readonly row: string;
  readonly listedUid: string | undefined;
}

/** Of so many pages, and of one page in so many rounds, one is read whole. */
export const wholeEvery = 12;
/** A watch may be so far behind a list, or ahead of it. */
const graceMs = 10_000;
const pageDeadlineMs = 60_000;

/**
 * Compares what a watch has made of a kind with what the server has, by UID and resourceVersion: a list of metadata, of which nothing is kept. A watch
 * runs ahead of such a list or behind it; so only those differences count that are still there after a while, in rows that were there before the list and
 * have not moved since. This finds what no watch says: events that were lost, and a server that was set back and has passed our versions since.
 *
 * A server that was set back gives its numbers out again: then an object may be another one under the same UID and version. So one page in
 * {@link wholeEvery} is read whole and compared with what the rows say, another one in each round: in as many rounds every object, at the cost of one list.
 */
export class Audit {
  readonly #deps: AuditDeps;
  /** Some extension API servers do not know lists of metadata. */
  #whole = false;

  constructor(deps: AuditDeps) {
    this.#deps = deps;
  }

  /** @throws what the list threw */
  async compare(round: number, signal: AbortSignal): Promise<Audited> {
    const { clock, cache, lists } = this.#deps;
    const gone = new Set(cache.deleted());
    const { stamp } = cache.store;
    const { version, differences } = await lists.run(signal, () => this.#listed(round, signal));
    if (differences.size === 0) return { version, differing: [] };
    await clock.sleep(graceMs, signal);
    const explained = (key: ResourceKey, { row, listedUid }: Difference): boolean => {
      const node = cache.store.get(key);
      if (versionText(node) !== row) return true;
      // What was there before the list was asked for cannot be newer than it, whatever its number.
      if (node !== undefined) return node.stamp > stamp;
      return listedUid !== undefined && !gone.has(listedUid) && cache.deleted().has(listedUid);
    };
    const left = [...differences].filter(([key, difference]) => !explained(key, difference));
    return { version, differing: left.map(([key]) => key) };
  }

  async #listed(
    round: number,
    signal: AbortSignal,
  ): Promise<{ readonly version: string; readonly differences: ReadonlyMap<ResourceKey, Difference> }> {
    const { client, resource, namespace, pageSize, cache, clock, rows } = this.#deps;
    const bounds = new ListBounds(`comparison of ${groupKindName(resource)}`, clock);
    const seen = new Set<ResourceKey>();
    const differences = new Map<ResourceKey, Difference>();
    let [pages, isWhole] = [0, false];
    const add = (items: readonly KubeObject[]): void => {
      bounds.took(items.length);
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
    // A page that arrives twice is compared twice, with the same outcome or that of a later moment.
    const items = { begin: () => undefined, add };
    let version = '';
    try {
      for (let next: string | undefined = undefined, more = true; more; more = next !== undefined) {
        isWhole = this.#whole || (round + pages) % wholeEvery === 0;
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
      if (error instanceof KubeApiError && error.status === 406) this.#whole = true;
      throw error;
    }
    for (const node of rows())
      if (!seen.has(node.key)) differences.set(node.key, { row: versionText(node), listedUid: undefined });
    return { version, differences };
  }

  /** What cannot be read says nothing. */
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
