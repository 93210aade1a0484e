import { OwnershipLost, withChild } from '#base';
import type { Clock } from '#base';
import { appKeyOf, isReconcileSkipped, projectOf } from '#model';
import type { CheckedCall } from '#kube';
import type { AppKey, Application, Cluster } from '#model';
import type { ItemHandler } from '#queues';
import type { SettingsStore, UnresolvedDestination } from '#settings';
import type { Ownership } from '#sharding';

/**
 * Sends a write as this call: its signal aborts when the right to write ends, and `beforeSend`
 * throws OwnershipLost once it has ended.
 */
export type FencedSend<T> = (call: CheckedCall) => Promise<T>;

/** Decides which Applications belong to this replica, and fences their writes. */
export class OwnershipGuard {
  readonly #settings: SettingsStore;
  readonly #ownership: Ownership;
  readonly #clock: Clock;
  readonly #isWatched: (namespace: string) => boolean;

  constructor(
    deps: { readonly settings: SettingsStore; readonly ownership: Ownership; readonly clock: Clock },
    isWatched: (namespace: string) => boolean,
  ) {
    this.#settings = deps.settings;
    this.#ownership = deps.ownership;
    this.#clock = deps.clock;
    this.#isWatched = isWatched;
  }

  /**
   * The destination cluster; undefined when it cannot be resolved or the project may not use it.
   */
  clusterOf(app: Application): Cluster | undefined {
    const found = this.resolve(app);
    return 'error' in found ? undefined : found;
  }

  /** The cluster, or Argo CD's message that explains why there is none. */
  resolve(app: Application): Cluster | UnresolvedDestination {
    return this.#settings.resolve(app.spec.destination, projectOf(app));
  }

  /**
   * The cluster that determines the owner, even if the project may not use it: the owner reports
   * that.
   */
  #ownerClusterOf(app: Application): Cluster | undefined {
    const found = this.#settings.resolve(app.spec.destination);
    return 'error' in found ? undefined : found;
  }

  /**
   * Whether this replica owns the Application (Argo CD: canProcessApp). One without a resolvable
   * destination has exactly one owner too; in Argo CD all replicas own it and overwrite each other.
   */
  isMine(app: Application): boolean {
    if (!this.#isWatched(app.metadata.namespace ?? '') || isReconcileSkipped(app.metadata.annotations)) return false;
    return this.#ownership.ownsApp(appKeyOf(app), this.#ownerClusterOf(app));
  }

  /**
   * Sends a write to the Application object itself. Like {@link toCluster}, but an Application
   * whose destination cannot be resolved has an owner too.
   */
  toApplication<T>(app: Application, signal: AbortSignal, send: FencedSend<T>): Promise<T> {
    return this.#fenced(this.#ownerClusterOf(app)?.server, appKeyOf(app), signal, send);
  }

  /**
   * Sends a write to a cluster. Ownership is checked now and right before each attempt is sent, the
   * write is aborted when the lease ends or the shard is released, and no other replica gets the
   * Application before the write is over (decision D7). Timers alone are not enough: after SIGCONT
   * or a suspend a retry may run before the timer of the lease.
   * @throws OwnershipLost when this replica may not write for the Application.
   */
  toCluster<T>(server: string, key: AppKey, signal: AbortSignal, send: FencedSend<T>): Promise<T> {
    return this.#fenced(server, key, signal, send);
  }

  /** Like {@link toCluster}, for a write that belongs to the whole cluster. */
  toWholeCluster<T>(server: string, signal: AbortSignal, send: FencedSend<T>): Promise<T> {
    return this.#fenced(server, undefined, signal, send);
  }

  #fenced<T>(
    server: string | undefined,
    key: AppKey | undefined,
    signal: AbortSignal,
    send: FencedSend<T>,
  ): Promise<T> {
    const what = key === undefined ? `cluster ${server ?? ''}` : `application ${key}`;
    return this.#ownership.writing(server, key, (beforeSend, abandoned) =>
      withChild(signal, async (inner, stop) => {
        const end = (): void => stop(new OwnershipLost(what));
        abandoned.addEventListener('abort', end, { once: true });
        const release = this.#atLeaseEnd(end);
        return send({ signal: inner, beforeSend }).finally(release);
      }),
    );
  }

  /** Calls `onEnd` when the lease ends; a renewal postpones that. Returns a function to cancel. */
  #atLeaseEnd(onEnd: () => void): () => void {
    const look = (): void => {
      const left = this.#ownership.leaseLeftMs();
      if (left > 0) timer = this.#clock.timer(left, look);
      else onEnd();
    };
    let timer = this.#clock.timer(this.#ownership.leaseLeftMs(), look);
    return () => timer.cancel();
  }
}

export interface OwnedPassDeps {
  readonly lookup: (key: AppKey) => Application | undefined;
  readonly isMine: (app: Application) => boolean;
  /** The key of an Application that is gone or that another replica owns. */
  readonly forget?: (key: AppKey) => void;
}

/**
 * Runs passes only for Applications of this replica. A pass does not check again: if it loses the
 * Application, the fence of its next write ends it.
 */
export function ownedPasses<P>(deps: OwnedPassDeps, inner: ItemHandler<AppKey, P>): ItemHandler<AppKey, P> {
  return async (taken, signal, place) => {
    const app = deps.lookup(taken.key);
    if (app !== undefined && deps.isMine(app)) return inner(taken, signal, place);
    deps.forget?.(taken.key);
    return 'done';
  };
}
