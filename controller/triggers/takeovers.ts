import { inSlices, isAbort } from '#base';
import type { Clock, ClockTimer, SlicedWork } from '#base';
import type { LiveCluster, LiveClusters } from '#live';
import { appKeyOf } from '#model';
import type { AppKey, Application } from '#model';
import type { Priority } from '#queues';
import { suspicionOf, worthFirst } from './suspicion.ts';
import type { Suspicion } from './suspicion.ts';

export interface TakeoversDeps {
  readonly live: Pick<LiveClusters, 'cluster'>;
  readonly clock: Clock;
  /** The server of the Application's cluster; undefined if its destination cannot be resolved. */
  readonly serverOf: (app: Application) => string | undefined;
  /** The Application as it is now, if this replica owns it. */
  readonly own: (key: AppKey) => Application | undefined;
  /** Requests the first comparison, or raises its priority. */
  readonly compare: (app: Application, priority: Priority) => void;
}

/** Applications of one cluster whose first comparison is not requested yet, or not in its order. */
interface ClusterTakeover {
  readonly keys: Set<AppKey>;
  readonly timer: ClockTimer;
  isRequested: boolean;
}

/**
 * Then the passes start without the cache: those of invalid Applications do not need it, and the
 * others report what they wait for.
 */
const maxHoldMs = 30_000;

/**
 * Requests the first comparison of the Applications that this replica takes over. Waits until the
 * cache of their cluster is filled, because a pass could only wait for that, too; then those that
 * have probably drifted while no replica watched them go first.
 */
export class Takeovers {
  readonly #deps: TakeoversDeps;
  readonly #clusters = new Map<string, ClusterTakeover>();
  #signal: AbortSignal | undefined;

  constructor(deps: TakeoversDeps) {
    this.#deps = deps;
  }

  start(signal: AbortSignal): void {
    this.#signal = signal;
  }

  stop(): void {
    for (const { timer } of this.#clusters.values()) timer.cancel();
    this.#clusters.clear();
  }

  /** The cluster must be watched already. */
  add(app: Application): void {
    const server = this.#deps.serverOf(app);
    const signal = this.#signal;
    if (server === undefined || signal === undefined) this.#deps.compare(app, 'resync');
    else (this.#clusters.get(server) ?? this.#begin(server, signal)).keys.add(appKeyOf(app));
  }

  #begin(server: string, signal: AbortSignal): ClusterTakeover {
    const { live, clock } = this.#deps;
    const timer = clock.timer(maxHoldMs, () => this.#requestAll(takeover));
    const takeover: ClusterTakeover = { keys: new Set(), timer, isRequested: false };
    this.#clusters.set(server, takeover);
    const end = async (cluster: LiveCluster | undefined): Promise<void> => {
      if (this.#clusters.get(server) !== takeover) return;
      this.#clusters.delete(server);
      timer.cancel();
      if (cluster !== undefined) await this.#requestSuspects(takeover, cluster, signal);
      this.#requestAll(takeover);
    };
    void live
      .cluster(server, signal)
      .then(end, () => end(undefined))
      .catch((error: unknown) => {
        if (!isAbort(error)) throw error;
      });
    return takeover;
  }

  async #requestSuspects({ keys }: ClusterTakeover, cluster: LiveCluster, signal: AbortSignal): Promise<void> {
    const suspects = await inSlices(this.#suspects(keys, cluster), this.#deps, signal);
    for (const { app } of worthFirst(suspects, keys.size)) this.#deps.compare(app, 'live');
  }

  *#suspects(keys: Iterable<AppKey>, cluster: LiveCluster): SlicedWork<readonly Suspicion[]> {
    const found: Suspicion[] = [];
    for (const key of keys) {
      const app = this.#deps.own(key);
      const suspicion = app === undefined ? undefined : suspicionIn(cluster, app);
      if (suspicion !== undefined) found.push(suspicion);
      yield;
    }
    return found;
  }

  #requestAll(takeover: ClusterTakeover): void {
    if (takeover.isRequested) return;
    takeover.isRequested = true;
    for (const key of takeover.keys) {
      const app = this.#deps.own(key);
      if (app !== undefined) this.#deps.compare(app, 'resync');
    }
  }
}

/** Its own pass reports an Application that violates its schema; here it must not delay others. */
function suspicionIn(cluster: LiveCluster, app: Application): Suspicion | undefined {
  try {
    return suspicionOf(app, (key) => cluster.foreignEditSeconds(key));
  } catch {
    return undefined;
  }
}
