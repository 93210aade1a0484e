import type { Runnable } from '#base';
import type { KubeObject } from '#model';

/**
 * `degraded` and `forbidden` keep the last known objects; the reflector retries with backoff and
 * jitter. `polled`: the kind cannot be watched (`isLasting`: never), and its objects are those of
 * the last list.
 */
export type ReflectorState =
  | { readonly state: 'listing' | 'synced' }
  | { readonly state: 'polled'; readonly message: string; readonly isLasting: boolean }
  | { readonly state: 'degraded' | 'forbidden'; readonly message: string; readonly sinceMs: number };

/** Receives a full list page by page. Only `commit` removes objects that are not in the list. */
export interface ListCollector {
  /**
   * Adds items. `resourceVersion` is that of the whole list, which every page has; '' while a list
   * is streamed, because its version follows at the end.
   */
  add(items: readonly KubeObject[], resourceVersion: string): void;
  /** The object was deleted while the list was streamed. */
  remove(object: KubeObject): void;
  commit(resourceVersion: string): void;
  /** After the commit: whether the list differed from the cache. Absent: it may have. */
  isChanged?(): boolean;
  /** The list failed. `untrue`: it was endless or too large, so its items cannot be trusted. */
  abandon(untrue: boolean): void;
}

/**
 * Receives what a reflector reads. Called synchronously, one call at a time, in server order. An
 * exception is counted and logged, never fatal.
 */
export interface ReflectorSink {
  startList(): ListCollector;
  event(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: KubeObject): void;
  state(state: ReflectorState): void;
}

export type InformerEvent =
  | { readonly type: 'added'; readonly object: KubeObject }
  /**
   * `old` and `object` have equal resourceVersions for resyncs and for echoes of our own writes.
   */
  | { readonly type: 'updated'; readonly object: KubeObject; readonly old: KubeObject }
  | { readonly type: 'deleted'; readonly object: KubeObject };

/**
 * A complete, current cache of one kind, with whole objects. An object that was recreated under the
 * same name causes `deleted` and `added`. Listeners are isolated from each other and called
 * synchronously after the store changed.
 */
export interface Informer extends Runnable {
  /** By `<namespace>/<name>` (`<name>` for cluster-scoped). */
  get(key: string): KubeObject | undefined;
  list(): readonly KubeObject[];
  /** A new listener first gets `added` for every known object. */
  onEvent(listener: (event: InformerEvent) => void): () => void;
  /**
   * Stores the object returned by our own write, unless the store has a newer one. The watch event
   * that follows then has the same resourceVersion as the stored object.
   */
  writeBack(object: KubeObject): void;
  synced(): boolean;
  state(): ReflectorState;
}
