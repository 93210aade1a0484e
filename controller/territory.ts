import { OwnershipLost } from '#base';
import { annotationOf, annotations, appKeyOf, asObject } from '#model';
import type { Application, Cluster } from '#model';
import type { SettingsStore } from '#settings';
import type { Ownership } from '#sharding';

/** What belongs to this replica: the answer to "may I?" for applications, in one place. */
export class Territory {
  readonly #settings: SettingsStore;
  readonly #ownership: Ownership;
  readonly #isWatched: (namespace: string) => boolean;

  constructor(
    deps: { readonly settings: SettingsStore; readonly ownership: Ownership },
    isWatched: (namespace: string) => boolean,
  ) {
    this.#settings = deps.settings;
    this.#ownership = deps.ownership;
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

  /** @throws OwnershipLost unless this replica may write the object of this application right now. */
  assertMine(app: Application): void {
    const cluster = this.clusterOf(app);
    if (cluster !== undefined) this.#ownership.assertOwns(cluster.server);
    else if (!this.#ownership.ownsApp(appKeyOf(app), undefined))
      throw new OwnershipLost(`application ${appKeyOf(app)}`);
  }

  /** @throws OwnershipLost unless this replica may write to the cluster right now. */
  assertOwns(server: string): void {
    this.#ownership.assertOwns(server);
  }
}

/** Go's strconv.ParseBool of the skip-reconcile annotation; anything else is no. */
function isSkipped(app: Application): boolean {
  const value = annotationOf(asObject(app), annotations.skipReconcile);
  return value !== undefined && ['1', 't', 'T', 'TRUE', 'true', 'True'].includes(value);
}
