/** What one clock shows in coarser steps than the other is no suspend. */
const toleranceMs = 250;

/**
 * Tells that the machine was suspended: its monotonic clock, by which leases are measured, stood still while the boot clock went on. Then a
 * lease may be over that still seems to last, and another replica may write.
 */
export class SuspendDetector {
  readonly #apartMs: () => number;
  #known: number;

  /** Both clocks in milliseconds; they may have different origins. */
  constructor(clocks: { readonly monotonic: () => number; readonly boot: () => number }) {
    this.#apartMs = () => clocks.boot() - clocks.monotonic();
    this.#known = this.#apartMs();
  }

  /** Since the last call that said so, or since the start. */
  wasSuspended(): boolean {
    const apart = this.#apartMs();
    if (apart - this.#known <= toleranceMs) return false;
    this.#known = apart;
    return true;
  }
}
