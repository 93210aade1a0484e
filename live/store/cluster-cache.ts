import { defined } from '#base';
import { isOlderVersion } from '#kube';
import { keyOf, resourceKey } from '#model';
import type { GroupKind, KubeObject, ResourceKey } from '#model';
import type { ChangeBatch } from './change-batch.ts';
import { hasSameContent, isRepeated, isNoopForApps, isSameVersion, rowOf } from '../objects/stored-node.ts';
import type { NodeReader, StoredNode } from '../objects/stored-node.ts';
import type { NodeStore } from './node-store.ts';
import type { RowChange } from '../types.ts';

/**
 * Orders updates from lists, watches and our own writes. Older state from a list or watch may
 * arrive after the response of a write. So the response stays in the cache until a list that
 * started after it, or a watch event that is not older, replaces it.
 *
 * Versions order nothing else. A server may be restored to an earlier state or replaced, so a
 * complete list is authoritative whatever its version, and so are the events of the following
 * watch.
 */
export class ClusterCache {
  readonly store: NodeStore;
  readonly #changes: ChangeBatch;
  /** By the key of a stale kind. */
  readonly #toldStale = new Map<ResourceKey, Set<string>>();
  #readNode: NodeReader;
  /** UIDs of recently deleted objects, oldest first. */
  readonly #deleted = new Set<string>();
  /**
   * Own writes that no list or watch event has confirmed yet, with the number of lists started
   * before the response.
   */
  readonly #ownWrites = new Map<ResourceKey, number>();
  /** Cached versions that were newer than the last response of our own write; see `observe`. */
  readonly #lateVersions = new Map<ResourceKey, string>();
  #isSilent = true;
  readonly #onRow: ((change: Omit<RowChange, 'server'>) => void) | undefined;
  #lists = 0;

  constructor(parts: {
    readonly store: NodeStore;
    readonly changes: ChangeBatch;
    readonly readNode: NodeReader;
    readonly onRow?: ((change: Omit<RowChange, 'server'>) => void) | undefined;
  }) {
    this.store = parts.store;
    this.#onRow = parts.onRow;
    this.#changes = parts.changes;
    this.#readNode = parts.readNode;
  }

  /** Reads later objects with other settings. */
  useReader(readNode: NodeReader): void {
    this.#readNode = readNode;
  }

  /** Starts to emit changes, once the cache is filled. */
  startEmitting(): void {
    this.#isSilent = false;
  }

  /** Corrects the cache by what the server has now; undefined: the object does not exist. */
  noteRead(key: ResourceKey, object: KubeObject | undefined): void {
    if (object === undefined) this.forget(key);
    else this.observe(object);
  }

  /** A new list number. */
  nextList(): number {
    this.#lists += 1;
    return this.#lists;
  }

  /** The node of this exact version of the object. */
  known(object: KubeObject): StoredNode | undefined {
    const node = this.store.get(keyOf(object));
    const { uid, resourceVersion = '' } = object.metadata;
    return node !== undefined && node.uid === uid && node.resourceVersion === resourceVersion ? node : undefined;
  }

  /** UIDs of recently deleted objects. */
  deleted(): ReadonlySet<string> {
    return this.#deleted;
  }

  read(object: KubeObject): StoredNode {
    return this.#readNode(object);
  }

  /**
   * A watch event shows the cached version with the same content: the row stays, and what was
   * derived from it. It confirms the response of our own write.
   */
  confirm(key: ResourceKey): void {
    this.#ownWrites.delete(key);
  }

  /**
   * Adds or updates an object by a watch event. Events arrive in order, so only the response of our
   * own write can be newer. An equal version with another content comes from a restored server.
   * @returns whether the update counts for an Application
   */
  put(node: StoredNode): boolean {
    const before = this.store.get(node.key);
    if (before !== undefined && this.#ownWrites.has(node.key) && isOlder(node, before)) return false;
    this.#ownWrites.delete(node.key);
    node.lastList = before?.lastList ?? 0;
    return this.#replace(before, node, false);
  }

  /**
   * Adds or updates an object of a list. A newer own write, made after the list began, stays.
   * @param trusted whether an equal version implies an equal object. A restored server reuses
   * versions.
   */
  putListed(node: StoredNode, list: number, trusted: boolean): void {
    const before = this.store.get(node.key);
    if (before !== undefined && this.#wroteSince(list, node.key) && isOlder(node, before)) {
      before.lastList = list;
      return;
    }
    node.lastList = list;
    this.#replace(before, node, trusted);
  }

  /**
   * Removes rows that a complete list did not include, except for newer own writes made after the
   * list began. Reports whether it removed any.
   */
  commitList(rows: Iterable<StoredNode>, list: number, listVersion: string): boolean {
    let isChanged = false;
    for (const node of [...rows]) {
      const wrote = this.#wroteSince(list, node.key);
      // A list without a version may have been read before our own write.
      const isOlderList = listVersion === '' || isOlderVersion(listVersion, node.resourceVersion);
      if (node.lastList !== list && !(wrote && isOlderList)) {
        this.forget(node.key);
        isChanged = true;
      } else if (!wrote) this.#ownWrites.delete(node.key);
    }
    return isChanged;
  }

  /**
   * Adds the response of a write, unless the object's deletion or a later version is already known.
   * @returns false if the kind must be relisted: an object known as deleted exists, or two
   * responses in a row are older than the same cached version. Then the server was probably
   * restored, and its versions have caught up before a watch could detect it.
   */
  observe(object: KubeObject): boolean {
    if (this.#deleted.has(object.metadata.uid ?? '')) return object.metadata.deletionTimestamp !== undefined;
    const node = this.read(object);
    const before = this.store.get(node.key);
    if (before !== undefined && isOlder(node, before)) {
      const isSecond = this.#lateVersions.get(node.key) === before.resourceVersion;
      this.#lateVersions.set(node.key, before.resourceVersion);
      return !isSecond;
    }
    this.#lateVersions.delete(node.key);
    // The event arrived first: keep its row.
    if (before !== undefined && isRepeated(before, node) && hasSameContent(before, node)) return true;
    // A list in progress may have included the object already: keep that on record.
    node.lastList = before?.lastList ?? 0;
    if (before === undefined || !isSameVersion(before, node)) this.#ownWrites.set(node.key, this.#lists);
    this.#replace(before, node, false);
    return true;
  }

  delete(object: KubeObject): void {
    const gone = this.#readNode(object);
    this.#rememberDeleted(gone.uid);
    const before = this.store.get(gone.key);
    if (before === undefined) return;
    // We have recreated the object under this name, and the response arrived before this event of
    // the old one.
    if (before.uid !== gone.uid && this.#ownWrites.has(gone.key) && isOlder(gone, before)) return;
    this.forget(before.key);
  }

  /** @param isGone the object was deleted; false: only its row is removed. */
  forget(key: ResourceKey, isGone = true): void {
    const before = this.store.get(key);
    if (before === undefined) return;
    const concerned = this.#affectedApps(before);
    this.#rememberDeleted(before.uid);
    this.#ownWrites.delete(key);
    this.#lateVersions.delete(key);
    this.store.remove(key);
    if (isGone) this.#noteRow(before, 'deleted');
    this.#record(before, concerned);
  }

  /** An answer for the Application was not fresh, because this kind is stale. */
  noteStale(gk: GroupKind, app: string): void {
    const key = resourceKey(gk.group, gk.kind, '', '');
    const apps = this.#toldStale.get(key) ?? new Set();
    if (apps.size < maxToldStale) this.#toldStale.set(key, apps.add(app));
  }

  /**
   * Emits a change for every tracked object of a kind, for example when it recovers from an outage,
   * and for the Applications whose answers were not fresh: they may have no object of it.
   */
  announce(gk: GroupKind): void {
    if (this.#isSilent) return;
    const key = resourceKey(gk.group, gk.kind, '', '');
    const apps = this.#toldStale.get(key);
    this.#toldStale.delete(key);
    if (apps !== undefined) this.#changes.emitKind(key, apps);
    for (const node of this.store.ofKind(gk.group, gk.kind))
      if (node.app !== undefined) this.#record(node, this.#affectedApps(node));
  }

  /** Emits a change for every tracked object, and for those of `earlier` that no longer exist. */
  announceAll(earlier: ReadonlyMap<ResourceKey, StoredNode>): void {
    for (const [key, node] of earlier)
      if (this.store.get(key) === undefined && node.app !== undefined)
        this.#record(node, new Map([[node.app, { managed: true }]]));
    for (const node of this.store.tracked()) this.#record(node, this.#affectedApps(node));
  }

  #wroteSince(list: number, key: ResourceKey): boolean {
    return (this.#ownWrites.get(key) ?? -1) >= list;
  }

  /** @returns whether the update counts for an Application. */
  #replace(before: StoredNode | undefined, node: StoredNode, trusted: boolean): boolean {
    const repeated = before !== undefined && trusted && isRepeated(before, node);
    const same = before !== undefined && (repeated || isNoopForApps(before, node));
    const concerned = same ? undefined : this.#affectedApps(before);
    if (trusted && before?.fetched !== undefined && isSameVersion(before, node)) node.fetched = before.fetched;
    // Forget a deletion of this UID: a restored server may have the object again.
    this.#deleted.delete(node.uid);
    this.store.put(node, repeated);
    if (!repeated && this.#onRow !== undefined) this.#noteReplaced(before, node);
    if (concerned !== undefined) this.#record(node, concerned);
    return !same;
  }

  #noteReplaced(before: StoredNode | undefined, node: StoredNode): void {
    if (before !== undefined && before.uid !== node.uid) this.#noteRow(before, 'deleted');
    if (before?.uid !== node.uid) this.#noteRow(node, 'created');
    // A restored server reuses versions.
    else if (!isSameVersion(before, node) || !hasSameContent(before, node)) this.#noteRow(node, 'updated');
  }

  #noteRow(node: StoredNode, change: RowChange['change']): void {
    if (this.#isSilent || this.#onRow === undefined) return;
    const { key, group, kind, namespace, name } = node;
    const named = (): readonly ResourceKey[] => node.ownerRefs.map((owner) => owner.key);
    const last = change === 'deleted' ? rowOf(node, named()) : undefined;
    this.#onRow({ key, group, kind, namespace, name, change, ...defined({ last }) });
  }

  #rememberDeleted(uid: string): void {
    if (uid === '') return;
    this.#deleted.add(uid);
    const [oldest] = this.#deleted;
    if (this.#deleted.size > maxRememberedDeletions && oldest !== undefined) this.#deleted.delete(oldest);
  }

  #affectedApps(node: StoredNode | undefined): ReadonlyMap<string, { readonly managed: boolean }> {
    return this.#isSilent ? new Map() : this.#changes.affectedApps(node);
  }

  #record(node: StoredNode, concerned: ReadonlyMap<string, { readonly managed: boolean }>): void {
    if (!this.#isSilent) this.#changes.record(node, concerned);
  }
}

const maxRememberedDeletions = 1000;
/** Further Applications wait for their next resync. */
const maxToldStale = 10_000;

function isOlder(a: StoredNode, b: StoredNode): boolean {
  return isOlderVersion(a.resourceVersion, b.resourceVersion);
}
