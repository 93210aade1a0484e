import type { Runnable } from '#base';
import type { KubeObject } from '#model';

/** `degraded` and `forbidden` keep what was known before; the reflector goes on trying with backoff and jitter. */
export type ReflectorState =
  | { readonly state: 'listing' | 'synced' }
  | { readonly state: 'degraded' | 'forbidden'; readonly message: string; readonly sinceMs: number };

/** Receives a new full list page by page, beside the old one; the old one stays in force until `commit`. */
export interface ListCollector {
  /** One page. `resourceVersion`: of the whole list, every page says it. */
  add(items: readonly KubeObject[], resourceVersion: string): void;
  commit(resourceVersion: string): void;
  /** It is not completed. `untrue`: it had no end, and what it showed is not to be believed. */
  abandon(untrue: boolean): void;
}

/** Where a reflector puts what it sees. Called synchronously, one call at a time, in server order. A throw is counted and logged, never fatal. */
export interface ReflectorSink {
  startList(): ListCollector;
  event(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: KubeObject): void;
  state(state: ReflectorState): void;
}

export type InformerEvent =
  | { readonly type: 'added'; readonly object: KubeObject }
  /** `old` and `object` have the same resourceVersion for resyncs and for echoes of our own write-back. */
  | { readonly type: 'updated'; readonly object: KubeObject; readonly old: KubeObject }
  | { readonly type: 'deleted'; readonly object: KubeObject };

/**
 * A complete, current cache of one kind, with whole objects. Same name with a new UID is a deletion and an addition. Listeners are
 * isolated from each other; they are called synchronously after the store has changed.
 */
export interface Informer extends Runnable {
  /** By `<namespace>/<name>` (`<name>` for cluster-scoped). */
  get(key: string): KubeObject | undefined;
  list(): readonly KubeObject[];
  /** Listeners get `added` for everything already known at the time they are added. */
  onEvent(listener: (event: InformerEvent) => void): () => void;
  /** Puts an object returned by our own write into the store, unless the store already has a newer one; its echo is then no change. */
  writeBack(object: KubeObject): void;
  synced(): boolean;
  state(): ReflectorState;
}
