import { DriftlessError, mapLimit, messageOf, Shutdown, UsageError } from '#base';
import { findResource, isOlderVersion } from '#kube';
import { gkOf, keyOf, keyOfRef, versionOf } from '#model';
import type { KubeObject, ObjectName, ResourceKey } from '#model';
import { changedWriter } from '#sync';
import type { SyncCache, SyncWriter } from './types.ts';

const maxParallelReads = 20;
/** Pruned objects are never read again: the oldest are forgotten. */
const maxUnseenWrites = 50_000;

/** A write whose effect the cache has not shown yet. */
interface UnseenWrite {
  readonly uid: string;
  /** Undefined: a deletion. */
  readonly resourceVersion: string | undefined;
}

/** Writes of earlier syncs over the same cache count, too. */
const unseenWrites = new WeakMap<SyncCache, Map<ResourceKey, UnseenWrite>>();

/**
 * Live objects of a sync: from the cache, if there is one, else one request for each. Whatever the
 * cache cannot answer, or answers with a state from before our own write, is read by the writer.
 */
export class LiveReader {
  readonly writer: SyncWriter;
  readonly #source: SyncWriter;
  readonly #cache: SyncCache | undefined;
  readonly #unseen: Map<ResourceKey, UnseenWrite>;
  readonly #warn: (message: string) => void;

  /** @throws UsageError if cache and writer are those of two clusters. */
  constructor(writer: SyncWriter, cache: SyncCache | undefined, warn: (message: string) => void) {
    if (cache !== undefined && writer.server !== undefined && cache.server !== writer.server)
      throw new UsageError(`the cache is that of ${cache.server}, the writer writes to ${writer.server}`);
    this.#source = writer;
    this.#cache = cache;
    this.#warn = warn;
    this.#unseen = (cache === undefined ? undefined : unseenWrites.get(cache)) ?? new Map<ResourceKey, UnseenWrite>();
    if (cache !== undefined) unseenWrites.set(cache, this.#unseen);
    this.writer = cache === undefined || writer.dryRun === true ? writer : this.#observing(writer, cache);
  }

  /** @throws DriftlessError that names the object if it cannot be read */
  async read(names: readonly ObjectName[], signal: AbortSignal): Promise<ReadonlyMap<ResourceKey, KubeObject>> {
    const named = names.filter(({ metadata }) => (metadata.name ?? '') !== '');
    const wanted = new Map(named.map((object) => [keyOf(object), object]));
    const found = new Map<ResourceKey, KubeObject>();
    const left = await this.#readCached(wanted, found, signal);
    await mapLimit([...left], maxParallelReads, async ([key, name]) => {
      const live = await this.#readDirect(name, signal);
      if (live !== null) found.set(key, live);
    });
    return found;
  }

  /** Adds what the cache knows to `found`; returns the names that it cannot answer. */
  async #readCached(
    wanted: ReadonlyMap<ResourceKey, ObjectName>,
    found: Map<ResourceKey, KubeObject>,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<ResourceKey, ObjectName>> {
    const cache = this.#cache;
    if (cache === undefined) return wanted;
    const left = new Map(wanted);
    const names = [...wanted.values()].filter((name) => this.#isKnown(name, cache));
    for (const name of names) left.delete(keyOf(name));
    const { objects, unread } = await cache.read(names, signal).catch((cause: unknown) => {
      signal.throwIfAborted();
      if (cause instanceof Shutdown) throw cause;
      throw new DriftlessError('LIVE_STATE', `the cache cannot read: ${messageOf(cause)}`, { cause });
    });
    const byKey = new Map(objects.map((object) => [keyOf(object), object]));
    const doubtful = new Set(unread.map((ref) => keyOfRef(ref)));
    for (const name of names) {
      const key = keyOf(name);
      const live = byKey.get(key);
      if (doubtful.has(key) || this.#isBeforeOwnWrite(key, live)) left.set(key, name);
      else if (live !== undefined) found.set(key, live);
    }
    return left;
  }

  /** Both have to know the kind: each discovers new ones at its own pace. */
  #isKnown(name: ObjectName, cache: SyncCache): boolean {
    const [gk, version] = [gkOf(name), versionOf(name.apiVersion)];
    try {
      return cache.apiMetadata(gk) !== undefined && findResource(this.#source.discovery, gk, version) !== undefined;
    } catch {
      return false;
    }
  }

  #isBeforeOwnWrite(key: ResourceKey, live: KubeObject | undefined): boolean {
    const own = this.#unseen.get(key);
    if (own === undefined) return false;
    const { uid = '', resourceVersion = '', deletionTimestamp } = live?.metadata ?? {};
    const { resourceVersion: written } = own;
    const isBefore =
      written === undefined
        ? live !== undefined && uid === own.uid && deletionTimestamp === undefined
        : live === undefined || isOlderVersion(resourceVersion, written);
    if (!isBefore) this.#unseen.delete(key);
    return isBefore;
  }

  async #readDirect({ apiVersion, kind, metadata }: ObjectName, signal: AbortSignal): Promise<KubeObject | null> {
    const { name = '', namespace } = metadata;
    const identity = { apiVersion, kind, metadata: namespace === undefined ? { name } : { name, namespace } };
    try {
      const live = await this.#source.get(identity, signal);
      this.#noteRead(keyOf(identity), live);
      return live;
    } catch (cause) {
      signal.throwIfAborted();
      const object = `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
      throw new DriftlessError('LIVE_STATE', `cannot read ${object}: ${messageOf(cause)}`, { cause });
    }
  }

  /**
   * The cache is behind until it reaches this answer. Our own version may never return: a server
   * may be restored from a backup.
   */
  #noteRead(key: ResourceKey, live: KubeObject | null): void {
    const own = this.#unseen.get(key);
    if (own === undefined) return;
    const { uid = own.uid, resourceVersion } = live?.metadata ?? {};
    this.#note(key, { uid, resourceVersion });
  }

  #note(key: ResourceKey, write: UnseenWrite): void {
    this.#unseen.delete(key);
    this.#unseen.set(key, write);
    const [oldest] = this.#unseen.keys();
    if (this.#unseen.size > maxUnseenWrites && oldest !== undefined) this.#unseen.delete(oldest);
  }

  /** The writer, whose responses reach the cache. */
  #observing(writer: SyncWriter, cache: SyncCache): SyncWriter {
    const wrote = (object: KubeObject): void => this.#noteWritten(object, cache);
    return changedWriter(writer, {
      get: (object, signal) => this.#get(object, signal),
      apply: async (target, live, how, signal) => {
        const result = await writer.apply(target, live, how, signal);
        if (result.object !== live) wrote(result.object);
        return result;
      },
      create: async (object, signal) => {
        const result = await writer.create(object, signal);
        wrote(result.object);
        return result;
      },
      delete: async (live, propagation, signal) => {
        const outcome = await writer.delete(live, propagation, signal);
        if (outcome === 'accepted')
          this.#note(keyOf(live), { uid: live.metadata.uid ?? '', resourceVersion: undefined });
        return outcome;
      },
      patchMetadata: async (live, patch, signal) => {
        const stored = await writer.patchMetadata(live, patch, signal);
        wrote(stored);
        return stored;
      },
    });
  }

  /** For reads in the course of a sync: the namespace, a definition, a hook. */
  async #get(object: KubeObject, signal: AbortSignal): Promise<KubeObject | null> {
    const key = keyOf(object);
    const found = new Map<ResourceKey, KubeObject>();
    const left = await this.#readCached(new Map([[key, object]]), found, signal);
    return left.size === 0 ? (found.get(key) ?? null) : this.#source.get(object, signal);
  }

  #noteWritten(object: KubeObject, cache: SyncCache): void {
    const { uid = '', resourceVersion } = object.metadata;
    if (resourceVersion === undefined) return;
    this.#note(keyOf(object), { uid, resourceVersion });
    try {
      cache.observe(object);
    } catch (error) {
      this.#warn(`the cache does not take the response of a write: ${messageOf(error)}`);
    }
  }
}
