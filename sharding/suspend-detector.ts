import type { HubTime } from './hub-time.ts';

/** What one clock shows in coarser steps than the other is no suspend. */
const toleranceMs = 250;

export interface SuspendWitnesses {
  /** Both in milliseconds; they may have different origins. */
  readonly monotonic: () => number;
  readonly boot: () => number;
  /** Absent: the hub's answers tell nothing. */
  readonly hub?: Pick<HubTime, 'losses'> | undefined;
}

/**
 * Tells that the machine was suspended: its monotonic clock, by which leases are measured, stood still while the boot clock or the hub's went
 * on. Then a lease may be over that still seems to last, and another replica may write.
 */
export class SuspendDetector {
  readonly #witnesses: SuspendWitnesses;
  #known: number;
  #losses: number;

  constructor(witnesses: SuspendWitnesses) {
    this.#witnesses = witnesses;
    this.#known = this.#apartMs();
    this.#losses = witnesses.hub?.losses() ?? 0;
  }

  /** Since the last call that said so, or since the start. */
  wasSuspended(): boolean {
    const apart = this.#apartMs();
    const losses = this.#witnesses.hub?.losses() ?? 0;
    const isLost = losses > this.#losses;
    this.#losses = losses;
    if (apart - this.#known <= toleranceMs) return isLost;
    this.#known = apart;
    return true;
  }

  #apartMs(): number {
    return this.#witnesses.boot() - this.#witnesses.monotonic();
  }
}
