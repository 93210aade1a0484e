/** Durations of the hand-over protocol, in milliseconds, all from Argo CD's heartbeat (ARGOCD_CONTROLLER_HEARTBEAT_TIME). */
export interface Timing {
  /** Nobody may take our slot when we were seen alive less than this ago; it stands in our record. Argo CD: three heartbeats. */
  readonly leaseMs: number;
  /**
   * A holder stops writing this long before that, counted from before its last successful renewal was sent. The margin covers clocks that
   * run at different speeds, and a write that is on its way: at least {@link leastMarginMs}.
   */
  readonly marginMs: number;
  /** How long a holder may write after it sent a renewal that went through. */
  readonly validMs: number;
  /** A holder renews this often. */
  readonly renewMs: number;
  /** Others stand in for a dead holder this long after its lease, if nobody took its slot: a standby, or its successor. */
  readonly standInMs: number;
  /** A first start, with nothing in the hub, looks twice. */
  readonly firstStartMs: number;
  /** Tables are not published faster than this. */
  readonly publishMs: number;
  /** A replica that has not filled its caches for so long gets what is to be its own all the same. */
  readonly warmUpMs: number;
}

/**
 * What a replica says of itself in its record. 1: the record has the lease. A replica leaves planning to one that speaks a higher number, so
 * that it does not take out of the table what it does not know.
 */
export const protocolVersion = 1;

/**
 * A write that was sent in time may wait for an admission webhook, ten seconds by default, before it is done: whoever comes next must not
 * write before that. The rest is for clocks that run at different speeds, and for the way.
 */
export const leastMarginMs = 12_500;

/** The longest lease that --heartbeat-seconds allows: that of a replica of an older release, whose record does not say. */
export const longestLeaseMs = 180_000;

export function timingOf(heartbeatMs: number): Timing {
  // The margin makes short leases impossible anyway: so there is time for a second try of a renewal on a busy machine, too.
  const validMs = Math.max(Math.round(1.75 * heartbeatMs), 4000);
  const marginMs = Math.max(Math.round(1.25 * heartbeatMs), leastMarginMs);
  return {
    leaseMs: validMs + marginMs,
    marginMs,
    validMs,
    renewMs: 0.6 * heartbeatMs,
    standInMs: Math.min(500, heartbeatMs / 10),
    firstStartMs: Math.min(1000, heartbeatMs / 10),
    publishMs: Math.min(200, heartbeatMs / 10),
    warmUpMs: 300_000,
  };
}
