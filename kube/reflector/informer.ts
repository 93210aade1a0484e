import { deepEqual, messageOf, Shutdown, withChild, yieldToLoop } from '#base';
import { groupKindName, isSameText, jsonOf } from '#model';
import type { KubeObject } from '#model';
import type { Informer, InformerEvent, ListCollector, ReflectorSink, ReflectorState } from './informer-types.ts';
import { faultOf, forgetText } from '../requests/head.ts';
import { auditForever } from './informer-audit.ts';
import { Reflector } from './reflector.ts';
import type { InformerOptions } from './reflector-types.ts';
import type { DefersMembers } from '../types.ts';
import { isOlderVersion } from './version.ts';

const resyncSlice = 100;
const maxTombstones = 1_000;
const auditDefaultMs = 1_800_000;
/** Minimum interval between relists caused by inconsistent responses. */
const minRelistIntervalMs = 30_000;

/**
 * An {@link Informer} over a {@link Reflector}. Keeps every object whole: for kinds that we read in
 * full (Applications, Secrets), not for everything in a cluster.
 *
 * `writeBack` stores the result of our own write without an event, except for a new object. It
 * stays until a list that began after the write, or an event that is not older, replaces it.
 * Changes by other clients just before our write are still announced. Nothing else is ordered by
 * version: after a restore, a complete list is the truth. Two kinds of responses to our writes
 * contradict the store and cause a relist: a deleted object exists, or two in a row are older than
 * the same version.
 */
export function createInformer(options: InformerOptions): Informer {
  return new StoreInformer(options);
}

class StoreInformer implements Informer {
  readonly name: string;
  readonly #options: InformerOptions;
  readonly #reflector: Reflector;
  readonly #listeners = new Set<(event: InformerEvent) => void>();
  #objects = new Map<string, KubeObject>();
  /** The objects that listeners saw last, if the store is ahead of them by our own writes. */
  readonly #announced = new Map<string, KubeObject>();
  /** UIDs of recent deletions: a late response to our own write must not revive the object. */
  readonly #tombstones = new Set<string>();
  /**
   * Own writes that no list or event has confirmed yet, with the number of lists started before
   * the response.
   */
  readonly #unconfirmedWrites = new Map<string, number>();
  /** Stored versions that were newer than the last response to our own write. */
  readonly #newerThanResponse = new Map<string, string>();
  #relistedAtMs: number | undefined;
  #lists = 0;
  #synced = false;
  #troubled = false;

  constructor(options: InformerOptions) {
    this.#options = options;
    const { isDeferred } = options;
    const defers: DefersMembers = (object) => {
      const key = keyOf({ metadata: object });
      return isDeferred?.(key) === true ? { known: this.#objects.get(key) } : undefined;
    };
    this.#reflector = new Reflector({ ...options, sink: this.#sink(), ...(isDeferred && { defers }) });
    this.name = this.#reflector.name.replace('reflector', 'informer');
  }

  run(signal: AbortSignal): Promise<void> {
    return withChild(signal, async (child, abort) => {
      const beside = [this.#resyncForever(child), this.#auditForever(child)];
      await this.#reflector.run(child);
      abort(new Shutdown());
      await Promise.all(beside);
    });
  }

  ready(signal: AbortSignal): Promise<void> {
    return this.#reflector.ready(signal);
  }

  get(key: string): KubeObject | undefined {
    return this.#objects.get(key);
  }

  list(): readonly KubeObject[] {
    return [...this.#objects.values()];
  }

  onEvent(listener: (event: InformerEvent) => void): () => void {
    // Wrap it: a listener that is registered twice must be called twice, but a set holds it once.
    const own = (event: InformerEvent): void => listener(event);
    this.#listeners.add(own);
    for (const [key, object] of this.#objects)
      this.#notify(own, { type: 'added', object: this.#announced.get(key) ?? object });
    return () => void this.#listeners.delete(own);
  }

  writeBack(written: KubeObject): void {
    const object = this.#transformed(written);
    const key = keyOf(object);
    const old = this.#objects.get(key);
    if (this.#tombstones.has(object.metadata.uid ?? '')) {
      if (object.metadata.deletionTimestamp === undefined) this.#relistIfDue();
      return;
    }
    if (old !== undefined && isOlder(object, old)) {
      if (this.#newerThanResponse.get(key) === versionOf(old)) this.#relistIfDue();
      this.#newerThanResponse.set(key, versionOf(old));
      return;
    }
    this.#newerThanResponse.delete(key);
    if (old !== undefined && sameUid(old, object)) {
      if (versionOf(object) === versionOf(old)) return;
      if (!this.#announced.has(key)) this.#announced.set(key, old);
      this.#objects.set(key, object);
      this.#unconfirmedWrites.set(key, this.#lists);
      return;
    }
    if (old !== undefined) this.#remove(key, old);
    this.#objects.set(key, object);
    this.#unconfirmedWrites.set(key, this.#lists);
    this.#emit({ type: 'added', object });
  }

  /**
   * Relists, because the server may have been restored to an earlier state. Does nothing within
   * `minRelistIntervalMs` of the last such relist.
   */
  #relistIfDue(): void {
    const now = this.#options.clock.monotonic();
    if (this.#relistedAtMs !== undefined && now - this.#relistedAtMs < minRelistIntervalMs) return;
    this.#relistedAtMs = now;
    this.#reflector.relist();
  }

  synced(): boolean {
    return this.#synced;
  }

  state(): ReflectorState {
    return this.#reflector.state();
  }

  #sink(): ReflectorSink {
    return {
      startList: () => this.#startList(),
      event: (type, object) => this.#event(type, object),
      state: (state) => this.#logState(state),
    };
  }

  /** Logs once when the cache stops being current, and once when it is current again. */
  #logState(state: ReflectorState): void {
    const { logger, resource } = this.#options;
    const what = { kind: groupKindName(resource), server: this.#options.client.server };
    if ('message' in state) {
      this.#troubled = true;
      logger.warn('Cannot read from the API server; retrying', { ...what, state: state.state, error: state.message });
    } else if (state.state === 'synced' && this.#troubled) {
      this.#troubled = false;
      logger.info('Reading from the API server again', what);
    }
  }

  #startList(): ListCollector {
    const next = new Map<string, KubeObject>();
    this.#lists += 1;
    const list = this.#lists;
    return {
      add: (items) => {
        for (const item of items) {
          if (this.#isUnreadable(item)) {
            const known = this.#objects.get(keyOf(item));
            if (known !== undefined) next.set(keyOf(item), known);
            continue;
          }
          const object = this.#transformed(item);
          const key = keyOf(object);
          const seen = this.#announced.get(key) ?? this.#objects.get(key);
          next.set(key, seen !== undefined && isSame(seen, object) ? seen : object);
        }
      },
      remove: (object) => void next.delete(keyOf(object)),
      commit: (resourceVersion) => {
        // Set before the listeners run: they see a complete cache.
        this.#synced = true;
        this.#replace(next, list, resourceVersion);
      },
      abandon: () => next.clear(),
    };
  }

  #event(type: 'ADDED' | 'MODIFIED' | 'DELETED', raw: KubeObject): void {
    if (type !== 'DELETED' && this.#isUnreadable(raw)) return;
    const object = this.#transformed(raw);
    const key = keyOf(object);
    const old = this.#objects.get(key);
    if (type === 'DELETED') {
      if (old !== undefined && sameUid(old, object)) this.#remove(key, object);
      else this.#addTombstone(object);
    } else if (old !== undefined && sameUid(old, object)) this.#update(key, old, object);
    else {
      // A late event for an earlier object of this name, which our own write has replaced.
      if (old !== undefined && this.#unconfirmedWrites.has(key) && isOlder(object, old)) return;
      if (old !== undefined) this.#remove(key, old);
      this.#removeTombstone(object);
      this.#objects.set(key, object);
      this.#emit({ type: 'added', object });
    }
  }

  #update(key: string, old: KubeObject, received: KubeObject): void {
    // An echo keeps the stored object: results that were derived from it stay valid.
    const object = isSame(old, received) ? old : received;
    const announced = this.#announced.get(key);
    if (announced !== undefined && isOlder(object, old)) {
      // Written by another client before our write: the store is ahead, the listeners are not.
      if (!isOlder(announced, object)) return;
      this.#announced.set(key, object);
      this.#emit({ type: 'updated', object, old: announced });
      return;
    }
    this.#announced.delete(key);
    this.#unconfirmedWrites.delete(key);
    this.#objects.set(key, object);
    this.#emit({ type: 'updated', object, old });
  }

  #replace(next: Map<string, KubeObject>, list: number, resourceVersion: string): void {
    const before = this.#objects;
    const events = [...next].flatMap(([key, object]) => this.#listed(key, object, list, next));
    for (const [key, old] of before) {
      if (next.has(key)) continue;
      // We created it after the list was taken.
      if (this.#wroteSince(list, key) && isOlderVersion(resourceVersion, versionOf(old))) next.set(key, old);
      else {
        this.#announced.delete(key);
        this.#newerThanResponse.delete(key);
        this.#addTombstone(old);
        events.push({ type: 'deleted', object: old });
      }
    }
    for (const key of [...this.#unconfirmedWrites.keys()])
      if (!this.#wroteSince(list, key) || !next.has(key)) this.#unconfirmedWrites.delete(key);
    this.#objects = next;
    for (const event of events) this.#emit(event);
  }

  /**
   * Returns the events for a listed object. If our own write during the list returned a newer
   * version, that one stays in the store.
   */
  #listed(key: string, object: KubeObject, list: number, next: Map<string, KubeObject>): InformerEvent[] {
    const old = this.#objects.get(key);
    const ahead = old !== undefined && this.#wroteSince(list, key) && isOlder(object, old);
    if (!ahead) this.#removeTombstone(object);
    if (old === undefined) return [{ type: 'added', object }];
    const seen = this.#announced.get(key) ?? old;
    if (ahead) next.set(key, old);
    else this.#announced.delete(key);
    if (!sameUid(old, object)) return ahead ? [] : this.#recreated(seen, object);
    if (object === seen || (ahead && isOlder(object, seen))) return [];
    // A restored server has reused the version for another state. As an update with equal versions
    // it would look like an echo of our own write.
    if (!ahead && versionOf(object) !== '' && versionOf(object) === versionOf(seen))
      return recreationEvents(seen, object);
    if (ahead) this.#announced.set(key, object);
    return [{ type: 'updated', object, old: seen }];
  }

  #wroteSince(list: number, key: string): boolean {
    return (this.#unconfirmedWrites.get(key) ?? -1) >= list;
  }

  #recreated(old: KubeObject, object: KubeObject): InformerEvent[] {
    this.#addTombstone(old);
    return recreationEvents(old, object);
  }

  #remove(key: string, object: KubeObject): void {
    this.#objects.delete(key);
    this.#announced.delete(key);
    this.#unconfirmedWrites.delete(key);
    this.#newerThanResponse.delete(key);
    this.#addTombstone(object);
    this.#emit({ type: 'deleted', object });
  }

  #addTombstone(object: KubeObject): void {
    if (object.metadata.uid === undefined) return;
    this.#tombstones.add(object.metadata.uid);
    if (this.#tombstones.size <= maxTombstones) return;
    for (const oldest of this.#tombstones) {
      this.#tombstones.delete(oldest);
      return;
    }
  }

  /**
   * Forgets the deletion of an object that exists: after a restore, the server may have it again
   * under the same UID.
   */
  #removeTombstone(object: KubeObject): void {
    this.#tombstones.delete(object.metadata.uid ?? '');
  }

  async #auditForever(signal: AbortSignal): Promise<void> {
    const { clock, random, logger, auditMs: everyMs = auditDefaultMs } = this.#options;
    if (everyMs === 0) return;
    const kept = {
      cachedObjects: () => (this.state().state === 'synced' ? this.#objects : undefined),
      deletedUids: () => this.#tombstones,
      relist: () => this.#reflector.relist(),
    };
    await auditForever({ target: this.#options, clock, random, logger, intervalMs: everyMs, keyOf, ...kept }, signal);
  }

  async #resyncForever(signal: AbortSignal): Promise<void> {
    const { resyncMs = 0, clock } = this.#options;
    while (resyncMs > 0 && !signal.aborted) {
      await clock.sleep(resyncMs, signal).catch(() => undefined);
      let told = 0;
      for (const key of [...this.#objects.keys()]) {
        if (isAborted(signal)) return;
        const object = this.#objects.get(key);
        if (object !== undefined) this.#emit({ type: 'updated', object, old: object });
        told += 1;
        if (told % resyncSlice === 0) await yieldToLoop();
      }
    }
  }

  /**
   * Whether only the head of the object could be read. Callers keep the last known object: in a
   * head, all other fields would look removed.
   */
  #isUnreadable(object: KubeObject): boolean {
    const fault = faultOf(object);
    if (fault === undefined) return false;
    const { logger, resource, client } = this.#options;
    const what = { kind: groupKindName(resource), object: keyOf(object), server: client.server };
    logger.error('An object cannot be read; keeping its last known state', { ...what, error: fault });
    return true;
  }

  #transformed(object: KubeObject): KubeObject {
    // Whole objects stay in memory; their text would take as much again.
    forgetText(object);
    return this.#options.transform?.(object) ?? object;
  }

  #emit(event: InformerEvent): void {
    for (const listener of [...this.#listeners]) this.#notify(listener, event);
  }

  #notify(listener: (event: InformerEvent) => void, event: InformerEvent): void {
    try {
      listener(event);
    } catch (error) {
      this.#options.logger.error('Listener of Kubernetes events failed', {
        informer: this.name,
        event: event.type,
        reason: messageOf(error),
        error,
      });
    }
  }
}

function keyOf(object: Pick<KubeObject, 'metadata'>): string {
  const { namespace = '', name = '' } = object.metadata;
  return namespace === '' ? name : `${namespace}/${name}`;
}

/** Objects without a UID (from a few old servers) count as the same object. */
function sameUid(a: KubeObject, b: KubeObject): boolean {
  return a.metadata.uid === undefined || b.metadata.uid === undefined || a.metadata.uid === b.metadata.uid;
}

function isSame(a: KubeObject, b: KubeObject): boolean {
  return versionOf(a) === versionOf(b) && (isSameText(a, b) || deepEqual(jsonOf(a), jsonOf(b)));
}

function isOlder(a: KubeObject, b: KubeObject): boolean {
  return isOlderVersion(versionOf(a), versionOf(b));
}

function versionOf(object: KubeObject): string {
  return object.metadata.resourceVersion ?? '';
}

function recreationEvents(old: KubeObject, object: KubeObject): InformerEvent[] {
  return [
    { type: 'deleted', object: old },
    { type: 'added', object },
  ];
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
