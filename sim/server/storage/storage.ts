import { stringifyJson } from '#base';
import type { KubeObject } from '#model';
import { asJsonObject, withMeta } from '../fields.ts';
import { tooOld } from '../status.ts';

/** One committed change. `kind` is the storage key: group and kind, whatever the served version. */
export interface StorageChange {
  readonly revision: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly kind: string;
  readonly key: string;
  readonly object: KubeObject;
  readonly old?: KubeObject;
}

interface KindObjects {
  readonly objects: Map<string, KubeObject>;
  /** Sorted keys; undefined after an object was added or removed. */
  sorted: readonly string[] | undefined;
}

const maxHistoryLength = 10_000;

/** `<namespace>/<name>`: the list order, as in etcd. */
export function objectKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/**
 * The data of one cluster: objects per kind, one revision counter, and the newest changes in order.
 * Replaying the changes since a revision onto its list yields the current list; watches and paged
 * lists rely on it.
 * Listeners receive every change in order of revision, after it is visible. A listener may commit:
 * its changes are delivered after all listeners have received the current one. Objects are
 * immutable.
 */
export class RevisionedStorage {
  #revision = 0;
  #forgotten = 0;
  #history: StorageChange[] = [];
  readonly #kinds = new Map<string, KindObjects>();
  readonly #listeners = new Set<(change: StorageChange) => void>();
  readonly #undelivered: StorageChange[] = [];
  #isDelivering = false;

  /** The revision of the newest change. */
  get revision(): number {
    return this.#revision;
  }

  get(kind: string, namespace: string, name: string): KubeObject | undefined {
    return this.#kinds.get(kind)?.objects.get(objectKey(namespace, name));
  }

  /** The number of objects of a kind. */
  size(kind: string): number {
    return this.#kinds.get(kind)?.objects.size ?? 0;
  }

  /** All objects of a kind, or those of one namespace, in key order. */
  list(kind: string, namespace = ''): readonly KubeObject[] {
    const ofKind = this.#kinds.get(kind);
    if (ofKind === undefined) return [];
    ofKind.sorted ??= [...ofKind.objects.keys()].sort();
    return pickNamespace(ofKind.sorted, ofKind.objects, namespace);
  }

  /**
   * The list at a revision: the current one with the later changes undone.
   * @throws SimError 410 if those changes are compacted.
   */
  listAt(kind: string, namespace: string, revision: number): readonly KubeObject[] {
    const later = this.since(kind, revision);
    if (later.length === 0) return this.list(kind, namespace);
    const objects = new Map(this.#kinds.get(kind)?.objects);
    for (const change of later.reverse()) {
      if (change.old === undefined) objects.delete(change.key);
      else objects.set(change.key, change.old);
    }
    return pickNamespace([...objects.keys()].sort(), objects, namespace);
  }

  /**
   * The changes of a kind after a revision, oldest first.
   * @throws SimError 410 if some of them are compacted.
   */
  since(kind: string, revision: number): StorageChange[] {
    if (revision < this.#forgotten) throw tooOld(revision, this.#forgotten + 1);
    let low = 0;
    let high = this.#history.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#history[middle]?.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return this.#history.slice(low).filter((change) => change.kind === kind);
  }

  /** Stores an object under a new revision and returns it with that resourceVersion. */
  put(kind: string, object: KubeObject): KubeObject {
    const key = objectKey(object.metadata.namespace ?? '', object.metadata.name ?? '');
    const ofKind = this.#objectsOf(kind);
    const old = ofKind.objects.get(key);
    const stored = this.#stamp(object);
    ofKind.objects.set(key, stored);
    if (old === undefined) ofKind.sorted = undefined;
    const type = old === undefined ? 'ADDED' : 'MODIFIED';
    this.#commit({ revision: this.#revision, type, kind, key, object: stored, ...(old === undefined ? {} : { old }) });
    return stored;
  }

  /**
   * Removes an object; watches see `last` as its final state. Returns it with the revision of the
   * removal.
   */
  remove(kind: string, last: KubeObject): KubeObject {
    const key = objectKey(last.metadata.namespace ?? '', last.metadata.name ?? '');
    const ofKind = this.#objectsOf(kind);
    const old = ofKind.objects.get(key) ?? last;
    const gone = this.#stamp(last);
    ofKind.objects.delete(key);
    ofKind.sorted = undefined;
    this.#commit({ revision: this.#revision, type: 'DELETED', kind, key, object: gone, old });
    return gone;
  }

  /** Drops all but the newest `keep` changes. */
  compact(keep: number): void {
    const drop = this.#history.length - Math.max(0, keep);
    if (drop <= 0) return;
    this.#forgotten = this.#history[drop - 1]?.revision ?? this.#forgotten;
    this.#history = this.#history.slice(drop);
  }

  /** Calls `listener` for every later change; returns the unsubscribe function. */
  subscribe(listener: (change: StorageChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #objectsOf(kind: string): KindObjects {
    const known = this.#kinds.get(kind);
    if (known !== undefined) return known;
    const fresh: KindObjects = { objects: new Map(), sorted: undefined };
    this.#kinds.set(kind, fresh);
    return fresh;
  }

  #stamp(object: KubeObject): KubeObject {
    this.#revision += 1;
    return canonicalOrder(withMeta(object, { resourceVersion: String(this.#revision) }));
  }

  #commit(change: StorageChange): void {
    this.#history.push(change);
    if (this.#history.length >= 2 * maxHistoryLength) this.compact(maxHistoryLength);
    this.#undelivered.push(change);
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    try {
      for (let next = this.#undelivered.shift(); next !== undefined; next = this.#undelivered.shift()) {
        for (const listener of [...this.#listeners]) listener(next);
      }
    } finally {
      this.#isDelivering = false;
    }
  }
}

function pickNamespace(
  keys: readonly string[],
  objects: ReadonlyMap<string, KubeObject>,
  namespace: string,
): KubeObject[] {
  const prefix = `${namespace}/`;
  const result: KubeObject[] = [];
  for (let i = namespace === '' ? 0 : firstWith(keys, prefix); i < keys.length; i += 1) {
    const key = keys[i] ?? '';
    if (namespace !== '' && !key.startsWith(prefix)) break;
    const object = objects.get(key);
    if (object !== undefined) result.push(object);
  }
  return result;
}

function firstWith(keys: readonly string[], prefix: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((keys[middle] ?? '') < prefix) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * kind and apiVersion first: list items of built-in kinds omit them, by cutting them out of the
 * text.
 */
function canonicalOrder(object: KubeObject): KubeObject {
  const { kind, apiVersion, metadata, ...rest } = object;
  return { kind, apiVersion, metadata, ...rest };
}

const cachedTexts = new WeakMap<KubeObject, string>();

/** The JSON text of an object, cached per revision. */
export function cachedJsonOf(object: KubeObject): string {
  const known = cachedTexts.get(object);
  if (known !== undefined) return known;
  const text = stringifyJson(asJsonObject(object));
  cachedTexts.set(object, text);
  return text;
}

/** The JSON text of an object without kind and apiVersion, the form of built-in kinds in lists. */
export function cachedItemJsonOf(object: KubeObject): string {
  const head = `{"kind":${JSON.stringify(object.kind)},"apiVersion":${JSON.stringify(object.apiVersion)},`;
  const text = cachedJsonOf(object);
  return text.startsWith(head) ? `{${text.slice(head.length)}` : text;
}
