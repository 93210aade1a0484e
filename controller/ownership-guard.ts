import { OwnershipLost, parseGoBool, withChild } from '#base';
import type { Clock } from '#base';
import { annotationOf, annotations, appKeyOf, asObject } from '#model';
import type { AppKey, Application, Cluster } from '#model';
import type { SettingsStore } from '#settings';
import type { Ownership } from '#sharding';

/** Sends a write, with the signal that ends it when the right to it does. */
export type Send<T> = (signal: AbortSignal) => Promise<T>;

/** What belongs to this replica: the answer to "may I?" for applications, in one place. */
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

  /** The cluster that an application goes to; undefined when that cannot be told. */
  clusterOf(app: Application): Cluster | undefined {
    const found = this.#settings.resolve(app.spec.destination);
    return 'error' in found ? undefined : found;
  }

  /** The cluster, or why there is none, in Argo CD's words. */
  resolve(app: Application): Cluster | { readonly error: string } {
    return this.#settings.resolve(app.spec.destination);
  }

  /**
   * Whether this replica looks after an application (Argo CD: canProcessApp). One without a resolvable destination belongs to exactly one
   * replica too (Argo CD: to all of them, which then write over each other).
   */
  isMine(app: Application): boolean {
    if (!this.#isWatched(app.metadata.namespace ?? '') || isSkipped(app)) return false;
    return this.#ownership.ownsApp(appKeyOf(app), this.clusterOf(app));
  }

  /**
   * Sends a write of an Application's own object. As {@link toCluster}; one whose destination cannot be resolved has an owner, too.
   */
  toApplication<T>(app: Application, signal: AbortSignal, send: Send<T>): Promise<T> {
    return this.#fenced(this.clusterOf(app)?.server, appKeyOf(app), signal, send);
  }

  /**
   * Sends a write to a cluster for an Application: checked at the last moment, ended when the right to it ends, and nobody else gets the
   * Application before it is over (decision D7).
   * @throws OwnershipLost when this replica may not write for it now, or not any more.
   */
  toCluster<T>(server: string, key: AppKey, signal: AbortSignal, send: Send<T>): Promise<T> {
    return this.#fenced(server, key, signal, send);
  }

  #fenced<T>(server: string | undefined, key: AppKey, signal: AbortSignal, send: Send<T>): Promise<T> {
    return this.#ownership.writing(server, key, () =>
      withChild(signal, async (inner, stop) => {
        const release = this.#atLeaseEnd(() => stop(new OwnershipLost(`application ${key}`)));
        return send(inner).finally(release);
      }),
    );
  }

  /** Calls back when the lease ends; it is mostly renewed before. Returns how to call it off. */
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

/** Told to be left alone by the skip-reconcile annotation; what is not a truth value is no. */
export function isSkipped(app: Application): boolean {
  return parseGoBool(annotationOf(asObject(app), annotations.skipReconcile)) === true;
}
