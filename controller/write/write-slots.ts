import { abortable, isAbort } from '#base';
import type { Clock, ClockTimer } from '#base';
import { KubeApiError } from '#kube';
import { ClusterStalled } from '../shared/errors.ts';

/** A write unanswered for this long no longer counts against the global limit. */
const overdueWriteMs = 100;
/** Initial window of a cluster that has not answered yet. */
const initialWriteWindow = 4;
/** Minimum window of a cluster that leaves writes unanswered. */
const minWriteWindow = 2;
/** A cluster that has been silent for this long despite pending writes is stalled. */
const stalledClusterMs = 2000;

interface SlotWaiter {
  readonly grant: (write: InFlightWrite) => void;
}

/** The writes to one cluster. */
interface ClusterWrites {
  /** Maximum writes in flight; grows with each answer, up to the global limit. */
  window: number;
  inFlight: number;
  /** In order of arrival. */
  readonly waiting: Set<SlotWaiter>;
  /** Time of the last answer, or of the first write after an idle period. */
  lastAnswerAt: number;
}

/** A write in flight. */
interface InFlightWrite {
  readonly cluster: ClusterWrites;
  readonly overdueAt: number;
}

/**
 * Shares the global limit of concurrent writes (`--kubectl-parallelism-limit`) among clusters.
 *
 * A free slot goes to the waiting cluster with the fewest writes in flight, then to the longest
 * waiting, so that one busy cluster may use the whole limit. Each cluster has its own window: four
 * writes at first, one more per answer, halved by each failure to answer.
 *
 * A write unanswered for 0.1 s leaves the global limit but stays in its cluster's window. Hanging
 * clusters therefore delay others by at most 0.1 s, and the writes in flight are bounded by the
 * limit plus the windows of the slow clusters.
 */
export class WriteSlots {
  readonly #clock: Clock;
  readonly #limit: number;
  /** In the order of their last grant. */
  readonly #clusters = new Map<string, ClusterWrites>();
  /** Writes that count against the global limit, in the order in which they become overdue. */
  readonly #counted = new Set<InFlightWrite>();
  #overdueTimer: ClockTimer | undefined;

  /** @param limit concurrent writes to all clusters; below 1: unlimited. */
  constructor(clock: Clock, limit: number) {
    this.#clock = clock;
    this.#limit = limit < 1 ? Number.POSITIVE_INFINITY : limit;
  }

  /**
   * @throws ClusterStalled while waiting for a cluster that does not answer, and the errors of
   * `body`.
   */
  async run<T>(server: string, signal: AbortSignal, body: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const cluster = this.#clusterOf(server);
    const write = await this.#acquire(server, cluster, signal);
    try {
      const result = await body();
      this.#recordAnswer(cluster);
      return result;
    } catch (error) {
      if (error instanceof KubeApiError) this.#recordAnswer(cluster);
      else if (!signal.aborted && !isAbort(error)) this.#recordNoAnswer(cluster);
      throw error;
    } finally {
      this.#release(server, write);
    }
  }

  /** Time since the cluster last answered, while it has writes in flight; 0 without any. */
  silentMs(server: string): number {
    const cluster = this.#clusters.get(server);
    return cluster === undefined || cluster.inFlight === 0 ? 0 : this.#clock.monotonic() - cluster.lastAnswerAt;
  }

  /** Whether a new request would only wait behind unanswered writes. */
  isStalled(server: string): boolean {
    return this.silentMs(server) >= stalledClusterMs;
  }

  #clusterOf(server: string): ClusterWrites {
    const known = this.#clusters.get(server);
    if (known !== undefined) return known;
    const window = Number.isFinite(this.#limit) ? Math.min(initialWriteWindow, this.#limit) : this.#limit;
    const cluster = { window, inFlight: 0, waiting: new Set<SlotWaiter>(), lastAnswerAt: this.#clock.monotonic() };
    this.#clusters.set(server, cluster);
    return cluster;
  }

  async #acquire(server: string, cluster: ClusterWrites, signal: AbortSignal): Promise<InFlightWrite> {
    let write: InFlightWrite | undefined;
    let waiter: SlotWaiter | undefined;
    let timer: ClockTimer | undefined;
    const granted = new Promise<InFlightWrite>((resolve, reject) => {
      waiter = { grant: (given) => resolve((write = given)) };
      cluster.waiting.add(waiter);
      const watch = (): void => {
        timer = this.#clock.timer(Math.max(1, stalledClusterMs - this.silentMs(server)), () => {
          if (this.isStalled(server)) reject(new ClusterStalled(server));
          else watch();
        });
      };
      this.#grant();
      if (write === undefined) watch();
    });
    try {
      return await abortable(granted, signal);
    } catch (error) {
      if (waiter !== undefined) cluster.waiting.delete(waiter);
      // Granted and aborted at once: pass the slot on.
      if (write !== undefined) this.#release(server, write);
      else this.#forgetIdle(server, cluster);
      throw error;
    } finally {
      timer?.cancel();
    }
  }

  /** Grants the free slots. */
  #grant(): void {
    const now = this.#clock.monotonic();
    for (const write of this.#counted) {
      if (write.overdueAt > now) break;
      this.#counted.delete(write);
    }
    while (this.#counted.size < this.#limit) {
      const next = this.#next();
      if (next === undefined) break;
      const [server, cluster, waiter] = next;
      cluster.waiting.delete(waiter);
      if (cluster.inFlight === 0) cluster.lastAnswerAt = now;
      cluster.inFlight += 1;
      const write = { cluster, overdueAt: now + overdueWriteMs };
      this.#counted.add(write);
      this.#clusters.delete(server);
      this.#clusters.set(server, cluster);
      waiter.grant(write);
    }
    this.#scheduleOverdue();
  }

  /**
   * The first write of the cluster with the fewest writes in flight among those below their window.
   */
  #next(): readonly [string, ClusterWrites, SlotWaiter] | undefined {
    let best: readonly [string, ClusterWrites, SlotWaiter] | undefined;
    for (const [server, cluster] of this.#clusters) {
      const [waiter] = cluster.waiting;
      if (waiter === undefined || cluster.inFlight >= cluster.window) continue;
      if (best === undefined || cluster.inFlight < best[1].inFlight) best = [server, cluster, waiter];
    }
    return best;
  }

  #release(server: string, write: InFlightWrite): void {
    this.#counted.delete(write);
    write.cluster.inFlight -= 1;
    this.#forgetIdle(server, write.cluster);
    this.#grant();
  }

  #recordAnswer(cluster: ClusterWrites): void {
    cluster.lastAnswerAt = this.#clock.monotonic();
    cluster.window = Math.min(this.#limit, cluster.window + 1);
  }

  #recordNoAnswer(cluster: ClusterWrites): void {
    cluster.window = Math.max(Math.min(minWriteWindow, this.#limit), Math.floor(cluster.window / 2));
  }

  /** Runs a timer only while a write waits for the global limit. */
  #scheduleOverdue(): void {
    this.#overdueTimer?.cancel();
    this.#overdueTimer = undefined;
    const [oldest] = this.#counted;
    if (oldest === undefined || this.#counted.size < this.#limit || this.#next() === undefined) return;
    // A timer may fire slightly early due to rounding.
    const delayMs = Math.max(1, oldest.overdueAt - this.#clock.monotonic());
    this.#overdueTimer = this.#clock.timer(delayMs, () => this.#grant());
  }

  /**
   * Forgets an idle cluster, unless its window has grown. A window reduced by failures lasts only
   * while the cluster has writes.
   */
  #forgetIdle(server: string, cluster: ClusterWrites): void {
    if (cluster.inFlight === 0 && cluster.waiting.size === 0 && cluster.window <= initialWriteWindow)
      this.#clusters.delete(server);
  }
}
