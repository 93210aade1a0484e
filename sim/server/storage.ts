import { stringifyJson } from '#base';
import type { KubeObject } from '#model';
import { asJson, withMeta } from './fields.ts';
import { tooOld } from './status.ts';

/** One committed change. `kind` is the storage key: group and kind, whatever the served version. */
export interface Change {
  readonly revision: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly kind: string;
  readonly key: string;
  readonly object: KubeObject;
  readonly old?: KubeObject;
}

interface Shelf {
  readonly objects: Map<string, KubeObject>;
  /** Keys in the order of lists; undefined after an object came or went. */
  sorted: readonly string[] | undefined;
}

const longestHistory = 10_000;

/** `<namespace>/<name>`: the order of lists, as in etcd. */
export function storageKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/**
 * The data of one cluster: a shelf per kind, one counter for all revisions, and the newest changes in order. Replaying the changes after
 * any revision onto the list of that revision gives the present list; that is what watches and paged lists stand on.
 *
 * Listeners hear every change in order of revision, after it is visible. A listener may commit again: its changes are heard after the
 * present one has reached everybody. Objects are never changed in place.
 */
export class Storage {
  #revision = 0;
  #forgotten = 0;
  #history: Change[] = [];
  readonly #shelves = new Map<string, Shelf>();
  readonly #listeners = new Set<(change: Change) => void>();
  readonly #unheard: Change[] = [];
  #speaking = false;

  /** The revision of the newest change. */
  get revision(): number {
    return this.#revision;
  }

  /** Changes up to this revision cannot be replayed any more. */
  get forgotten(): number {
    return this.#forgotten;
  }

  get(kind: string, namespace: string, name: string): KubeObject | undefined {
    return this.#shelves.get(kind)?.objects.get(storageKey(namespace, name));
  }

  /** The number of objects of a kind. */
  size(kind: string): number {
    return this.#shelves.get(kind)?.objects.size ?? 0;
  }

  /** All objects of a kind, or those of one namespace, in order of key. */
  list(kind: string, namespace = ''): readonly KubeObject[] {
    const shelf = this.#shelves.get(kind);
    if (shelf === undefined) return [];
    shelf.sorted ??= [...shelf.objects.keys()].sort();
    return pick(shelf.sorted, shelf.objects, namespace);
  }

  /**
   * The list as it was at a revision: the present one with the later changes undone.
   * @throws SimError 410 when those changes are forgotten.
   */
  listAt(kind: string, namespace: string, revision: number): readonly KubeObject[] {
    const later = this.since(kind, revision);
    if (later.length === 0) return this.list(kind, namespace);
    const objects = new Map(this.#shelves.get(kind)?.objects);
    for (const change of later.reverse()) {
      if (change.old === undefined) objects.delete(change.key);
      else objects.set(change.key, change.old);
    }
    return pick([...objects.keys()].sort(), objects, namespace);
  }

  /**
   * The changes of a kind after a revision, oldest first.
   * @throws SimError 410 when some of them are forgotten.
   */
  since(kind: string, revision: number): Change[] {
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
    const key = storageKey(object.metadata.namespace ?? '', object.metadata.name ?? '');
    const shelf = this.#shelf(kind);
    const old = shelf.objects.get(key);
    const stored = this.#stamp(object);
    shelf.objects.set(key, stored);
    if (old === undefined) shelf.sorted = undefined;
    const type = old === undefined ? 'ADDED' : 'MODIFIED';
    this.#commit({ revision: this.#revision, type, kind, key, object: stored, ...(old === undefined ? {} : { old }) });
    return stored;
  }

  /** Removes an object; `last` is what watches see as its final state. Returns it with the revision of the removal. */
  remove(kind: string, last: KubeObject): KubeObject {
    const key = storageKey(last.metadata.namespace ?? '', last.metadata.name ?? '');
    const shelf = this.#shelf(kind);
    const old = shelf.objects.get(key) ?? last;
    const gone = this.#stamp(last);
    shelf.objects.delete(key);
    shelf.sorted = undefined;
    this.#commit({ revision: this.#revision, type: 'DELETED', kind, key, object: gone, old });
    return gone;
  }

  /** Forgets all but the newest `keep` changes. */
  compact(keep: number): void {
    const drop = this.#history.length - Math.max(0, keep);
    if (drop <= 0) return;
    this.#forgotten = this.#history[drop - 1]?.revision ?? this.#forgotten;
    this.#history = this.#history.slice(drop);
  }

  /** Hears every later change; the returned function ends it. */
  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #shelf(kind: string): Shelf {
    const known = this.#shelves.get(kind);
    if (known !== undefined) return known;
    const fresh: Shelf = { objects: new Map(), sorted: undefined };
    this.#shelves.set(kind, fresh);
    return fresh;
  }

  #stamp(object: KubeObject): KubeObject {
    this.#revision += 1;
    return canonicalOrder(withMeta(object, { resourceVersion: String(this.#revision) }));
  }

  #commit(change: Change): void {
    this.#history.push(change);
    if (this.#history.length >= 2 * longestHistory) this.compact(longestHistory);
    this.#unheard.push(change);
    if (this.#speaking) return;
    this.#speaking = true;
    try {
      for (let next = this.#unheard.shift(); next !== undefined; next = this.#unheard.shift()) {
        for (const listener of [...this.#listeners]) listener(next);
      }
    } finally {
      this.#speaking = false;
    }
  }
}

function pick(keys: readonly string[], objects: ReadonlyMap<string, KubeObject>, namespace: string): KubeObject[] {
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

/** kind and apiVersion first: list items of built-in kinds go without them, and are then cut out of the object's text. */
function canonicalOrder(object: KubeObject): KubeObject {
  const { kind, apiVersion, metadata, ...rest } = object;
  return { kind, apiVersion, metadata, ...rest };
}

const texts = new WeakMap<KubeObject, string>();

/** The JSON text of an object, made once per revision. */
export function jsonOf(object: KubeObject): string {
  const known = texts.get(object);
  if (known !== undefined) return known;
  const text = stringifyJson(asJson(object));
  texts.set(object, text);
  return text;
}

/** The JSON text of an object without kind and apiVersion, as built-in kinds appear in lists. */
export function itemJsonOf(object: KubeObject): string {
  const head = `{"kind":${JSON.stringify(object.kind)},"apiVersion":${JSON.stringify(object.apiVersion)},`;
  const text = jsonOf(object);
  return text.startsWith(head) ? `{${text.slice(head.length)}` : text;
}
