import type { KubeObject } from '#model';

/** A change of one object, with the state before it. */
export interface StoreEvent {
  readonly at: number;
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly resource: string;
  readonly object: KubeObject;
  readonly before: KubeObject | undefined;
}

/**
 * The data store of one API server: versions, UIDs, finalizers, the history of all changes, and a
 * backup at any earlier moment.
 */
export class VersionedStore {
  readonly #objects = new Map<string, KubeObject>();
  readonly #listeners = new Set<(event: StoreEvent) => void>();
  #events: StoreEvent[] = [];
  #version = 1000;
  #uids = 0;
  readonly #prefix: string;
  readonly #now: () => number;

  constructor(prefix: string, now: () => number) {
    this.#prefix = prefix;
    this.#now = now;
  }

  get version(): number {
    return this.#version;
  }

  onEvent(listener: (event: StoreEvent) => void): void {
    this.#listeners.add(listener);
  }

  get(resource: string, namespace: string, name: string): KubeObject | undefined {
    return this.#objects.get(`${resource}/${namespace}/${name}`);
  }

  list(resource: string, namespace?: string): KubeObject[] {
    const prefix = namespace === undefined ? `${resource}/` : `${resource}/${namespace}/`;
    const found: KubeObject[] = [];
    for (const [key, object] of this.#objects) if (key.startsWith(prefix)) found.push(object);
    return found;
  }

  /** Changes after a version, in order. */
  since(version: number): StoreEvent[] {
    let from = this.#events.length;
    while (from > 0 && (this.#events[from - 1]?.version ?? 0) > version) from -= 1;
    return this.#events.slice(from);
  }

  /** Stores an object as given, with the server's fields filled in. */
  put(resource: string, given: KubeObject): KubeObject {
    const key = keyOf(resource, given);
    const before = this.#objects.get(key);
    const { metadata } = given;
    if (before === undefined) this.#uids += 1;
    const object: KubeObject = {
      ...given,
      metadata: {
        ...metadata,
        uid: before?.metadata.uid ?? `${this.#prefix}-${this.#uids}`,
        creationTimestamp: before?.metadata.creationTimestamp ?? secondsOf(this.#now()),
        resourceVersion: String(this.#version + 1),
      },
    };
    if (object.metadata.deletionTimestamp !== undefined && (object.metadata.finalizers ?? []).length === 0)
      return this.#remove(resource, key, object);
    this.#version += 1;
    this.#objects.set(key, object);
    this.#notify({ type: before === undefined ? 'ADDED' : 'MODIFIED', resource, object, before });
    return object;
  }

  /** Deletes an object, or marks it as being deleted while it has finalizers. */
  delete(resource: string, object: KubeObject): KubeObject {
    if ((object.metadata.finalizers ?? []).length === 0) return this.#remove(resource, keyOf(resource, object), object);
    if (object.metadata.deletionTimestamp !== undefined) return object;
    const deletionTimestamp = secondsOf(this.#now());
    return this.put(resource, { ...object, metadata: { ...object.metadata, deletionTimestamp } });
  }

  /** Restores the state of an earlier moment: later changes are lost, and their versions reused. */
  restore(at: number): number {
    const kept = this.#events.filter((event) => event.at <= at);
    const lost = this.#events.slice(kept.length);
    for (const { resource, object, before } of [...lost].reverse()) {
      const key = keyOf(resource, object);
      if (before === undefined) this.#objects.delete(key);
      else this.#objects.set(key, before);
    }
    this.#events = kept;
    this.#version = kept.at(-1)?.version ?? 1000;
    return lost.length;
  }

  #remove(resource: string, key: string, object: KubeObject): KubeObject {
    const before = this.#objects.get(key);
    this.#objects.delete(key);
    this.#version += 1;
    const gone = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
    this.#notify({ type: 'DELETED', resource, object: gone, before });
    return gone;
  }

  #notify(change: Pick<StoreEvent, 'type' | 'resource' | 'object' | 'before'>): void {
    const event = { ...change, at: this.#now(), version: this.#version };
    this.#events.push(event);
    for (const listener of this.#listeners) listener(event);
  }
}

function keyOf(resource: string, { metadata }: KubeObject): string {
  return `${resource}/${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}

function secondsOf(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}
