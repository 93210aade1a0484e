import { isOlderVersion } from '#kube';
import { keyOf } from '#model';
import type { GroupKind, KubeObject, ResourceKey } from '#model';
import type { ChangeBatch } from './changes.ts';
import { isRepeated, isSameToApps, isSameVersion } from './node.ts';
import type { Ingest, StoredNode } from './node.ts';
import type { NodeStore } from './node-store.ts';

/**
 * The rules by which what servers say enters the store. Every path (list, watch, our own writes) ends here, because our own writes overtake
 * the others: what a write of ours returned stays until a list that began after it, or a watch event that is not older.
 *
 * Nothing else is ordered by versions. A server may be set back to an earlier state, or be another one behind the same address: then a
 * complete list is the truth whatever its numbers, and so is each event of the watch that follows it.
 */
export class ClusterCache {
  readonly store: NodeStore;
  readonly #changes: ChangeBatch;
  #ingest: Ingest;
  /** UIDs of the latest deletions, oldest first. */
  readonly #deleted = new Set<string>();
  /** What writes of ours returned and no server has said since: the number of lists that had begun then. */
  readonly #own = new Map<ResourceKey, number>();
  /** The versions than which an answer to a write of ours was older. */
  readonly #late = new Map<ResourceKey, string>();
  #silent = true;
  #lists = 0;

  constructor(parts: { readonly store: NodeStore; readonly changes: ChangeBatch; readonly ingest: Ingest }) {
    this.store = parts.store;
    this.#changes = parts.changes;
    this.#ingest = parts.ingest;
  }

  /** Objects from now on are read under other settings. */
  ingestWith(ingest: Ingest): void {
    this.#ingest = ingest;
  }

  /** The cache was filled once: changes are told from now on. */
  speak(): void {
    this.#silent = false;
  }

  /** A number for a list, never used before. */
  nextList(): number {
    this.#lists += 1;
    return this.#lists;
  }

  /** The node that was read from this very version of the object. */
  known(object: KubeObject): StoredNode | undefined {
    const node = this.store.get(keyOf(object));
    const { uid, resourceVersion } = object.metadata;
    return node !== undefined && node.uid === uid && node.resourceVersion === resourceVersion ? node : undefined;
  }

  /** UIDs of the latest deletions. */
  deleted(): ReadonlySet<string> {
    return this.#deleted;
  }

  read(object: KubeObject): StoredNode {
    return this.#ingest(object);
  }

  /** A new or changed object, by a watch: in the order of the server, so that only a write of ours may be ahead of it. */
  put(node: StoredNode): void {
    const before = this.store.get(node.key);
    if (before !== undefined && this.#own.has(node.key) && isOlder(node, before)) return;
    this.#own.delete(node.key);
    node.seen = before?.seen ?? 0;
    this.#replace(before, node, true);
  }

  /**
   * An object as a list shows it. A write that was answered after the list had begun stays when it is newer.
   * @param trusted whether an object of the same version is known to be the same; after a server went back its numbers come again.
   */
  listed(node: StoredNode, list: number, trusted: boolean): void {
    const before = this.store.get(node.key);
    if (before !== undefined && this.#wroteSince(list, node.key) && isOlder(node, before)) {
      before.seen = list;
      return;
    }
    node.seen = list;
    this.#replace(before, node, trusted);
  }

  /** The rows of a kind that a complete list did not show go; not those that we wrote after it had begun, if they are newer than it. */
  settle(rows: Iterable<StoredNode>, list: number, listVersion: string): void {
    for (const node of [...rows]) {
      const wrote = this.#wroteSince(list, node.key);
      if (node.seen !== list && !(wrote && isOlderVersion(listVersion, node.resourceVersion))) this.forget(node.key);
      else if (!wrote) this.#own.delete(node.key);
    }
  }

  /**
   * An object that a write of ours returned. The watch may have told us of its deletion already: then it stays deleted; or of a later version:
   * then the answer comes late. False when that is not likely: it was said to be gone and lives, or a second answer is older than the same version
   * of it. A server that was set back, and has made up for its numbers before its watches could notice, says such things: list the kind again.
   */
  observe(object: KubeObject): boolean {
    if (this.#deleted.has(object.metadata.uid ?? '')) return object.metadata.deletionTimestamp !== undefined;
    const node = this.read(object);
    const before = this.store.get(node.key);
    if (before !== undefined && isOlder(node, before)) {
      const isSecond = this.#late.get(node.key) === before.resourceVersion;
      this.#late.set(node.key, before.resourceVersion);
      return !isSecond;
    }
    this.#late.delete(node.key);
    // What a list has shown stays shown when a write of ours answers before the list is complete.
    node.seen = before?.seen ?? 0;
    if (before === undefined || !isSameVersion(before, node)) this.#own.set(node.key, this.#lists);
    this.#replace(before, node, true);
    return true;
  }

  /** An object is gone. */
  delete(object: KubeObject): void {
    const gone = this.#ingest(object);
    this.#remember(gone.uid);
    const before = this.store.get(gone.key);
    if (before === undefined) return;
    // The name may belong to a newer object already (our own write told us first).
    if (before.uid !== gone.uid && this.#own.has(gone.key) && isOlder(gone, before)) return;
    this.forget(before.key);
  }

  forget(key: ResourceKey): void {
    const before = this.store.get(key);
    if (before === undefined) return;
    const concerned = this.#concerned(before);
    this.#remember(before.uid);
    this.#own.delete(key);
    this.#late.delete(key);
    this.store.remove(key);
    this.#told(before, concerned);
  }

  /** Tells about every tracked object of a kind, for instance when its cache is fresh again after an outage. */
  announce(gk: GroupKind): void {
    for (const node of this.store.ofKind(gk.group, gk.kind))
      if (node.app !== undefined) this.#told(node, this.#concerned(node));
  }

  /** Tells about every tracked object, and about those of `earlier` that are gone. */
  announceAll(earlier: ReadonlyMap<ResourceKey, StoredNode>): void {
    for (const [key, node] of earlier)
      if (this.store.get(key) === undefined && node.app !== undefined)
        this.#told(node, new Map([[node.app, { managed: true }]]));
    for (const node of this.store.tracked()) this.#told(node, this.#concerned(node));
  }

  #wroteSince(list: number, key: ResourceKey): boolean {
    return (this.#own.get(key) ?? -1) >= list;
  }

  #replace(before: StoredNode | undefined, node: StoredNode, trusted: boolean): void {
    const repeated = before !== undefined && trusted && isRepeated(before, node);
    const same = before !== undefined && (repeated || isSameToApps(before, node));
    const concerned = same ? undefined : this.#concerned(before);
    if (trusted && before?.fetched !== undefined && isSameVersion(before, node)) node.fetched = before.fetched;
    // It is there, also if it was gone before: a server that went back has it again, under the same uid.
    this.#deleted.delete(node.uid);
    this.store.put(node);
    if (concerned !== undefined) this.#told(node, concerned);
  }

  #remember(uid: string): void {
    if (uid === '') return;
    this.#deleted.add(uid);
    const [oldest] = this.#deleted;
    if (this.#deleted.size > rememberedDeletions && oldest !== undefined) this.#deleted.delete(oldest);
  }

  #concerned(node: StoredNode | undefined): ReadonlyMap<string, { readonly managed: boolean }> {
    return this.#silent ? new Map() : this.#changes.concerned(node);
  }

  #told(node: StoredNode, concerned: ReadonlyMap<string, { readonly managed: boolean }>): void {
    if (!this.#silent) this.#changes.changed(node, concerned);
  }
}

const rememberedDeletions = 1000;

function isOlder(a: StoredNode, b: StoredNode): boolean {
  return isOlderVersion(a.resourceVersion, b.resourceVersion);
}
