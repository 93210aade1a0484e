/** Time information in one response of the hub. */
export interface HubTimestamp {
  /** Date header of the response, in milliseconds. */
  readonly dateMs: number;
  /** On our monotonic clock: when the request was sent, and when the response head arrived. */
  readonly sentAt: number;
  readonly answeredAt: number;
}

/** Resolution of a Date header. */
const dateResolutionMs = 1000;
/** Slower responses are too imprecise and are ignored. */
const maxRoundTripMs = 1000;
/** How long bounds are remembered: long enough to hear from every server behind a load balancer. */
const offsetWindowMs = 120_000;

/**
 * Compares the hub's clock with our monotonic clock. When a virtual machine is paused or restored,
 * all its clocks stop, the boot clock too; only another machine can reveal it. Each response gives
 * a lower and an upper bound of the hub's lead over our clock. A lower bound above all upper bounds
 * of the last minutes means that this machine stood still (or that the hub's clock jumped, which
 * costs one extra read). This detects a stop of two seconds plus a round trip. With several
 * servers, the one furthest ahead counts. Managed clusters are not used: a wrong Date of one of
 * them could stop this replica.
 */
export class HubTime {
  #since = Number.NEGATIVE_INFINITY;
  /** Highest upper bound of the hub's lead, in this window and the previous one. */
  #most = Number.NEGATIVE_INFINITY;
  #mostBefore = Number.NEGATIVE_INFINITY;
  #answeredAt = Number.NEGATIVE_INFINITY;
  #losses = 0;

  answered({ dateMs, sentAt, answeredAt }: HubTimestamp): void {
    this.#answeredAt = Math.max(this.#answeredAt, answeredAt);
    if (!Number.isFinite(dateMs) || answeredAt - sentAt > maxRoundTripMs) return;
    const [least, most] = [dateMs - answeredAt, dateMs + dateResolutionMs - sentAt];
    const known = Math.max(this.#most, this.#mostBefore);
    const isLoss = known !== Number.NEGATIVE_INFINITY && least > known;
    if (isLoss) this.#losses += 1;
    if (isLoss || answeredAt - this.#since > offsetWindowMs) {
      this.#mostBefore = isLoss ? Number.NEGATIVE_INFINITY : this.#most;
      this.#most = Number.NEGATIVE_INFINITY;
      this.#since = answeredAt;
    }
    this.#most = Math.max(this.#most, most);
  }

  /** When the last response arrived, on our monotonic clock. */
  answeredAt(): number {
    return this.#answeredAt;
  }

  /** How often this machine was found to have stood still. */
  losses(): number {
    return this.#losses;
  }
}
