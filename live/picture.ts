import { keyOf } from '#model';
import type { GroupKind, KubeObject, ResourceKey } from '#model';
import type { ChangeBatch } from './changes.ts';
import { isRepeated, isSameToApps, isSameVersion } from './node.ts';
import type { Ingest, StoredNode } from './node.ts';
import type { NodeStore } from './node-store.ts';
import { compareVersions } from './version.ts';

/**
 * The rules by which what servers say enters the store. Every path (list, watch, our own writes) ends here, because they may overtake each
 * other: an older version of an object never replaces a newer one, and a deletion removes only the object that it speaks of.
 */
export class Picture {
  readonly store: NodeStore;
  readonly #changes: ChangeBatch;
  #ingest: Ingest;
  /** UIDs of the latest deletions, oldest first. */
  readonly #deleted = new Set<string>();
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

  /** The first picture is complete: changes are told from now on. */
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

  read(object: KubeObject): StoredNode {
    return this.#ingest(object);
  }

  /** A new or changed object; what is older than the store has is dropped. `list`: the list that says so. */
  put(node: StoredNode, list = 0): void {
    const before = this.store.get(node.key);
    if (before !== undefined) {
      const order = compareVersions(before.resourceVersion, node.resourceVersion);
      if (order !== undefined && order > 0) {
        if (list !== 0) before.seen = list;
        return;
      }
    }
    // What a list has shown stays shown when a write of ours answers before the list is complete.
    node.seen = list === 0 ? (before?.seen ?? 0) : list;
    const same = before !== undefined && (isRepeated(before, node) || isSameToApps(before, node));
    const concerned = same ? undefined : this.#concerned(before);
    if (before !== undefined && isSameVersion(before, node) && before.fetched !== undefined)
      node.fetched = before.fetched;
    this.store.put(node);
    if (concerned !== undefined) this.#told(node, concerned);
  }

  /** An object that a write of ours returned. The watch may have told us of its deletion already: then it stays deleted. */
  observe(object: KubeObject): void {
    if (!this.#deleted.has(object.metadata.uid ?? '')) this.put(this.read(object));
  }

  /** An object is gone. */
  delete(object: KubeObject): void {
    const gone = this.#ingest(object);
    this.#remember(gone.uid);
    const before = this.store.get(gone.key);
    if (before === undefined) return;
    // The name may belong to a newer object already (our own write told us first).
    const order = compareVersions(before.resourceVersion, gone.resourceVersion);
    if (before.uid !== gone.uid && order !== undefined && order > 0) return;
    this.forget(before.key);
  }

  forget(key: ResourceKey): void {
    const before = this.store.get(key);
    if (before === undefined) return;
    const concerned = this.#concerned(before);
    this.#remember(before.uid);
    this.store.remove(key);
    this.#told(before, concerned);
  }

  /** Tells about every tracked object of a kind, for instance when its picture is fresh again after an outage. */
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
