/** What one answer of the hub tells of the time. */
export interface TimeTold {
  /** Its Date header, in milliseconds. */
  readonly dateMs: number;
  /** By the own monotonic clock: when the request was sent, and when the head of its answer came. */
  readonly sentAt: number;
  readonly answeredAt: number;
}

/** A Date header has whole seconds. */
const dateStepMs = 1000;
/** An answer that took longer says too little of the time. */
const mostTripMs = 1000;
/** Of which answers is remembered how far the hub's clock may be ahead: long enough to have met each server behind a load balancer. */
const windowMs = 120_000;

/**
 * Observation: the hub's clock against the own monotonic one. A virtual machine that was paused or restored from a snapshot has clocks that
 * all stood still, the boot clock too; only somebody else can tell. Each answer bounds how far the hub's clock is ahead; one that is further
 * ahead than any answer of the last minutes allows means that this machine stood still in between (or that the hub's clock was set
 * forward, which costs one more look). Found from two seconds and a round trip on. Several servers with different clocks are no reason: the
 * one that is furthest ahead counts. Servers of managed clusters are not believed: their owners could stop a replica by a wrong Date.
 */
export class HubTime {
  #since = Number.NEGATIVE_INFINITY;
  /** The most that the hub can be ahead, by the answers of this window and of the one before. */
  #most = Number.NEGATIVE_INFINITY;
  #mostBefore = Number.NEGATIVE_INFINITY;
  #answeredAt = Number.NEGATIVE_INFINITY;
  #losses = 0;

  answered({ dateMs, sentAt, answeredAt }: TimeTold): void {
    this.#answeredAt = Math.max(this.#answeredAt, answeredAt);
    if (!Number.isFinite(dateMs) || answeredAt - sentAt > mostTripMs) return;
    const [least, most] = [dateMs - answeredAt, dateMs + dateStepMs - sentAt];
    const known = Math.max(this.#most, this.#mostBefore);
    const isLoss = known !== Number.NEGATIVE_INFINITY && least > known;
    if (isLoss) this.#losses += 1;
    if (isLoss || answeredAt - this.#since > windowMs) {
      this.#mostBefore = isLoss ? Number.NEGATIVE_INFINITY : this.#most;
      this.#most = Number.NEGATIVE_INFINITY;
      this.#since = answeredAt;
    }
    this.#most = Math.max(this.#most, most);
  }

  /** When the last answer came, by the own monotonic clock. */
  answeredAt(): number {
    return this.#answeredAt;
  }

  /** How often this machine was found to have stood still. */
  losses(): number {
    return this.#losses;
  }
}
