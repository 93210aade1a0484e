/** Durations of the hand-over protocol, in milliseconds, all from Argo CD's heartbeat (ARGOCD_CONTROLLER_HEARTBEAT_TIME). */
export interface Timing {
  /** Nobody may take a slot whose holder was seen alive less than this ago. Argo CD: three heartbeats. */
  readonly leaseMs: number;
  /**
   * A holder stops writing this long before that, counted from before its last successful renewal was sent. The margin covers clocks that
   * run at different speeds, and a write that is on its way.
   */
  readonly marginMs: number;
  /** How long a holder may write after it sent a renewal that went through. */
  readonly validMs: number;
  /** A holder renews this often. */
  readonly renewMs: number;
  /** A holder that was not seen alive for this long plans no tables any more; the next one does. */
  readonly silentMs: number;
  /** Others stand in for a dead holder this long after its lease, if nobody took its slot: a standby, or its successor. */
  readonly standInMs: number;
  /** A first start, with nothing in the hub, looks twice. */
  readonly firstStartMs: number;
  /** Tables are not published faster than this. */
  readonly publishMs: number;
}

export function timingOf(heartbeatMs: number): Timing {
  return {
    leaseMs: 3 * heartbeatMs,
    marginMs: heartbeatMs,
    validMs: 2 * heartbeatMs,
    renewMs: 0.6 * heartbeatMs,
    silentMs: 1.5 * heartbeatMs,
    standInMs: Math.min(500, heartbeatMs / 10),
    firstStartMs: Math.min(1000, heartbeatMs / 10),
    publishMs: Math.min(200, heartbeatMs / 10),
  };
}
