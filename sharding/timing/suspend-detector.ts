import type { HubTime } from './hub-time.ts';

/** Smaller differences come from the clocks' resolution. */
const clockToleranceMs = 250;

export interface SuspendWitnesses {
  /** Both in milliseconds; they may have different origins. */
  readonly monotonic: () => number;
  readonly boot: () => number;
  /** Absent: responses of the hub are not used. */
  readonly hub?: Pick<HubTime, 'losses'> | undefined;
}

/**
 * Detects that the machine was suspended: its monotonic clock, which measures leases, stood still
 * while the boot clock or the hub's clock advanced. A lease may then be over although it seems
 * valid, and another replica may write.
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

  /** Reports a suspend since the last call that returned true, or since the start. */
  wasSuspended(): boolean {
    const apart = this.#apartMs();
    const losses = this.#witnesses.hub?.losses() ?? 0;
    const isLost = losses > this.#losses;
    this.#losses = losses;
    if (apart - this.#known <= clockToleranceMs) return isLost;
    this.#known = apart;
    return true;
  }

  #apartMs(): number {
    return this.#witnesses.boot() - this.#witnesses.monotonic();
  }
}
