import { deepEqual, messageOf, Shutdown, withChild, yieldToLoop } from '#base';
import { groupKindName, jsonOf } from '#model';
import type { KubeObject } from '#model';
import type { Informer, InformerEvent, ListCollector, ReflectorSink, ReflectorState } from './informer-types.ts';
import { faultOf } from './head.ts';
import { auditForever } from './informer-audit.ts';
import { Reflector } from './reflector.ts';
import type { InformerOptions } from './reflector-types.ts';
import { isOlderVersion } from './version.ts';

const resyncSlice = 100;
const maxTombstones = 1_000;
const auditDefaultMs = 1_800_000;
/** Lists because of answers that do not fit are not made more often. */
const doubtMs = 30_000;

/**
 * An {@link Informer} over a {@link Reflector}. Its memory is one whole object each: for kinds that we read entirely (Applications, Secrets),
 * not for all that a cluster holds.
 *
 * Own writes: `writeBack` changes the store and tells nobody, except that a new object is announced as `added`. What others wrote just
 * before our write is still announced, against the object that listeners saw last, even though the store is ahead of it: no change of
 * somebody else hides behind ours. What a write returned stays until a list that began after it, or an event that is not older. Nothing else is
 * ordered by versions: a server may be set back to an earlier state, and then a complete list is the truth whatever its numbers. An answer that
 * does not fit (an object lives that was said to be gone, or a second one is older than the same version) has everything listed again.
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
  /** What listeners saw last, where the store is ahead of it by our own writes. */
  readonly #announced = new Map<string, KubeObject>();
  /** UIDs of recent deletions: an answer to our own write that comes late must not bring the object back. */
  readonly #tombstones = new Set<string>();
  /** Keys of own writes that no server has confirmed since, with the number of lists that had begun when they were answered. */
  readonly #own = new Map<string, number>();
  /** The versions than which an answer to an own write was older. */
  readonly #late = new Map<string, string>();
  #doubtedAt: number | undefined;
  #lists = 0;
  #synced = false;
  #troubled = false;

  constructor(options: InformerOptions) {
    this.#options = options;
    this.#reflector = new Reflector({ ...options, sink: this.#sink() });
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
    // A set holds a function once: two registrations of one listener are two listeners.
    const own = (event: InformerEvent): void => listener(event);
    this.#listeners.add(own);
    for (const [key, object] of this.#objects)
      this.#tell(own, { type: 'added', object: this.#announced.get(key) ?? object });
    return () => void this.#listeners.delete(own);
  }

  writeBack(written: KubeObject): void {
    const object = this.#transformed(written);
    const key = keyOf(object);
    const old = this.#objects.get(key);
    if (this.#tombstones.has(object.metadata.uid ?? '')) {
      if (object.metadata.deletionTimestamp === undefined) this.#doubt();
      return;
    }
    if (old !== undefined && isOlder(object, old)) {
      if (this.#late.get(key) === versionOf(old)) this.#doubt();
      this.#late.set(key, versionOf(old));
      return;
    }
    this.#late.delete(key);
    if (old !== undefined && sameUid(old, object)) {
      if (versionOf(object) === versionOf(old)) return;
      if (!this.#announced.has(key)) this.#announced.set(key, old);
      this.#objects.set(key, object);
      this.#own.set(key, this.#lists);
      return;
    }
    if (old !== undefined) this.#remove(key, old);
    this.#objects.set(key, object);
    this.#own.set(key, this.#lists);
    this.#emit({ type: 'added', object });
  }

  /** What is kept may be of a state that the server was set back from: everything is read again, unless that was done a moment ago. */
  #doubt(): void {
    const now = this.#options.clock.monotonic();
    if (this.#doubtedAt !== undefined && now - this.#doubtedAt < doubtMs) return;
    this.#doubtedAt = now;
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
      state: (state) => this.#say(state),
    };
  }

  /** Whoever runs us must be told that a cache is not current, and when it is again: once each, not once per attempt. */
  #say(state: ReflectorState): void {
    const { logger, resource } = this.#options;
    const what = { kind: groupKindName(resource), server: this.#options.client.server };
    if ('message' in state) {
      this.#troubled = true;
      logger.warn('Cannot read from the API server; trying on', { ...what, state: state.state, error: state.message });
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
          const seen = this.#announced.get(keyOf(item)) ?? this.#objects.get(keyOf(item));
          if (this.#isUnreadable(item)) {
            if (seen !== undefined) next.set(keyOf(item), seen);
            continue;
          }
          const object = this.#transformed(item);
          const key = keyOf(object);
          next.set(key, seen !== undefined && isSame(seen, object) ? seen : object);
        }
      },
      commit: (resourceVersion) => {
        // Before the listeners run: what they see is a complete cache.
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
      else this.#bury(object);
    } else if (old !== undefined && sameUid(old, object)) this.#update(key, old, object);
    else {
      // Of an object that one of ours has replaced since.
      if (old !== undefined && this.#own.has(key) && isOlder(object, old)) return;
      if (old !== undefined) this.#remove(key, old);
      this.#raise(object);
      this.#objects.set(key, object);
      this.#emit({ type: 'added', object });
    }
  }

  #update(key: string, old: KubeObject, object: KubeObject): void {
    const announced = this.#announced.get(key);
    if (announced !== undefined && isOlder(object, old)) {
      // Written by others before our write: the store is ahead, the listeners are not.
      if (!isOlder(announced, object)) return;
      this.#announced.set(key, object);
      this.#emit({ type: 'updated', object, old: announced });
      return;
    }
    this.#announced.delete(key);
    this.#own.delete(key);
    this.#objects.set(key, object);
    this.#emit({ type: 'updated', object, old });
  }

  #replace(next: Map<string, KubeObject>, list: number, resourceVersion: string): void {
    const before = this.#objects;
    const events = [...next].flatMap(([key, object]) => this.#listed(key, object, list, next));
    for (const [key, old] of before) {
      if (next.has(key)) continue;
      // Created by ourselves after the list was made.
      if (this.#wroteSince(list, key) && isOlderVersion(resourceVersion, versionOf(old))) next.set(key, old);
      else {
        this.#announced.delete(key);
        this.#late.delete(key);
        this.#bury(old);
        events.push({ type: 'deleted', object: old });
      }
    }
    for (const key of [...this.#own.keys()]) if (!this.#wroteSince(list, key) || !next.has(key)) this.#own.delete(key);
    this.#objects = next;
    for (const event of events) this.#emit(event);
  }

  /** What a listed object means to the listeners; the answer to a write since the list began may be newer than it, then it stays. */
  #listed(key: string, object: KubeObject, list: number, next: Map<string, KubeObject>): InformerEvent[] {
    const old = this.#objects.get(key);
    const ahead = old !== undefined && this.#wroteSince(list, key) && isOlder(object, old);
    if (!ahead) this.#raise(object);
    if (old === undefined) return [{ type: 'added', object }];
    const seen = this.#announced.get(key) ?? old;
    if (ahead) next.set(key, old);
    else this.#announced.delete(key);
    if (!sameUid(old, object)) return ahead ? [] : this.#recreated(seen, object);
    if (object === seen || (ahead && isOlder(object, seen))) return [];
    // The number of another state, from before the server went back: no echo, although it looks like one.
    if (!ahead && versionOf(object) !== '' && versionOf(object) === versionOf(seen)) return againOf(seen, object);
    if (ahead) this.#announced.set(key, object);
    return [{ type: 'updated', object, old: seen }];
  }

  #wroteSince(list: number, key: string): boolean {
    return (this.#own.get(key) ?? -1) >= list;
  }

  #recreated(old: KubeObject, object: KubeObject): InformerEvent[] {
    this.#bury(old);
    return againOf(old, object);
  }

  #remove(key: string, object: KubeObject): void {
    this.#objects.delete(key);
    this.#announced.delete(key);
    this.#own.delete(key);
    this.#late.delete(key);
    this.#bury(object);
    this.#emit({ type: 'deleted', object });
  }

  #bury(object: KubeObject): void {
    if (object.metadata.uid === undefined) return;
    this.#tombstones.add(object.metadata.uid);
    if (this.#tombstones.size <= maxTombstones) return;
    for (const oldest of this.#tombstones) {
      this.#tombstones.delete(oldest);
      return;
    }
  }

  /** It is there, also if it was gone before: a server that went back has it again, under the same uid. */
  #raise(object: KubeObject): void {
    this.#tombstones.delete(object.metadata.uid ?? '');
  }

  async #auditForever(signal: AbortSignal): Promise<void> {
    const { clock, random, logger, auditMs: everyMs = auditDefaultMs } = this.#options;
    if (everyMs === 0) return;
    const kept = {
      held: () => (this.state().state === 'synced' ? this.#objects : undefined),
      buried: () => this.#tombstones,
      relist: () => this.#reflector.relist(),
    };
    await auditForever({ target: this.#options, clock, random, logger, everyMs, keyOf, ...kept }, signal);
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

  /** Of such an object what was known stays: half of one would be taken for one whose other half was removed. */
  #isUnreadable(object: KubeObject): boolean {
    const fault = faultOf(object);
    if (fault === undefined) return false;
    const { logger, resource, client } = this.#options;
    const what = { kind: groupKindName(resource), object: keyOf(object), server: client.server };
    logger.error('An object cannot be read; what was known of it stays', { ...what, error: fault });
    return true;
  }

  #transformed(object: KubeObject): KubeObject {
    return this.#options.transform?.(object) ?? object;
  }

  #emit(event: InformerEvent): void {
    for (const listener of [...this.#listeners]) this.#tell(listener, event);
  }

  #tell(listener: (event: InformerEvent) => void, event: InformerEvent): void {
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

function keyOf(object: KubeObject): string {
  const { namespace = '', name = '' } = object.metadata;
  return namespace === '' ? name : `${namespace}/${name}`;
}

/** Servers without UIDs (few, and old) count as always the same object. */
function sameUid(a: KubeObject, b: KubeObject): boolean {
  return a.metadata.uid === undefined || b.metadata.uid === undefined || a.metadata.uid === b.metadata.uid;
}

function isSame(a: KubeObject, b: KubeObject): boolean {
  return versionOf(a) === versionOf(b) && deepEqual(jsonOf(a), jsonOf(b));
}

function isOlder(a: KubeObject, b: KubeObject): boolean {
  return isOlderVersion(versionOf(a), versionOf(b));
}

function versionOf(object: KubeObject): string {
  return object.metadata.resourceVersion ?? '';
}

function againOf(old: KubeObject, object: KubeObject): InformerEvent[] {
  return [
    { type: 'deleted', object: old },
    { type: 'added', object },
  ];
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
