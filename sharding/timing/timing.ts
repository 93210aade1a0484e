/**
 * Durations of the hand-over protocol in milliseconds, derived from
 * ARGOCD_CONTROLLER_HEARTBEAT_TIME.
 */
export interface ProtocolTiming {
  /** Our slot may be taken after this silence; written to our record. Argo CD: three heartbeats. */
  readonly leaseMs: number;
  /**
   * A holder stops writing this long before the lease ends. Covers clock drift and writes in
   * flight; at least {@link minMarginMs}.
   */
  readonly marginMs: number;
  /** How long a holder may write, from when it sent its last successful renewal. */
  readonly validMs: number;
  /** Renewal interval. */
  readonly renewMs: number;
  /**
   * Delay after a dead holder's lease before others stand in, so that a standby or successor can
   * claim the slot.
   */
  readonly standInMs: number;
  /** The same after an orderly release: usually a successor claims the slot (a rolling update). */
  readonly successorMs: number;
  /** Delay before an empty hub is believed to be a new installation. */
  readonly firstStartMs: number;
  /**
   * Longest time for which an owner keeps parts that a newer table gives to others, while the next
   * owners get ready for them.
   */
  readonly releaseMs: number;
  /** Minimum interval between published tables. */
  readonly publishMs: number;
  /** A replica that has not filled its caches within this time gets its parts anyway. */
  readonly warmUpMs: number;
}

/**
 * Protocol version in our record. Version 1: the record contains the lease; 2: it may show that
 * the slot is released. A replica leaves planning to one with a higher version, so that it does not
 * drop fields that it does not know.
 */
export const protocolVersion = 2;

/**
 * A write may wait for an admission webhook, 10 s by default; the next owner must not write before
 * that. The rest covers clock drift and the network.
 */
export const minMarginMs = 12_500;

/**
 * Longest lease that --heartbeat-seconds allows. It is assumed for older releases, which do not
 * record their lease.
 */
export const longestLeaseMs = 180_000;

export interface TimingOptions {
  /** How long others leave the clusters of a released slot to a successor. Default: a lease. */
  readonly successorMs?: number;
  /** Within this time every replica sees what another one writes. */
  readonly noticeMs?: number;
}

export function timingOf(
  heartbeatMs: number,
  { successorMs, noticeMs = heartbeatMs }: TimingOptions = {},
): ProtocolTiming {
  // The margin makes every lease long anyway, so leave time for a second renewal on a busy machine.
  const validMs = Math.max(Math.round(1.75 * heartbeatMs), 4000);
  const marginMs = Math.max(Math.round(1.25 * heartbeatMs), minMarginMs);
  const leaseMs = validMs + marginMs;
  const standInMs = Math.min(500, heartbeatMs / 10, noticeMs + 100);
  return {
    leaseMs,
    marginMs,
    validMs,
    renewMs: 0.6 * heartbeatMs,
    standInMs,
    successorMs: Math.max(standInMs, successorMs ?? leaseMs),
    firstStartMs: Math.min(1000, heartbeatMs / 10, noticeMs + 100),
    releaseMs: heartbeatMs,
    publishMs: Math.min(200, heartbeatMs / 10),
    warmUpMs: 300_000,
  };
}
