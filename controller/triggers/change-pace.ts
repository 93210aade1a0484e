import type { AppKey } from '#model';

interface ChangeBudget {
  readonly tokens: number;
  readonly at: number;
}

/** A burst of changes is normal, for example during an operation. */
const burstSize = 100;
/** The sustained interval of passes that changes of an Application cause. */
const refillMs = 10_000;

/**
 * A token bucket per Application. A webhook or a controller that changes what we write makes each
 * write of ours the cause of the next pass, which would write again at once.
 */
export class ChangePace {
  readonly #budgets = new Map<AppKey, ChangeBudget>();

  /** How long the pass waits that this change causes. Later changes join it. */
  delayMs(key: AppKey, now: number): number {
    const { tokens, at } = this.#budgets.get(key) ?? { tokens: burstSize, at: now };
    const left = Math.min(burstSize, tokens + (now - at) / refillMs);
    this.#budgets.set(key, { tokens: Math.max(0, left - 1), at: now });
    return left >= 1 ? 0 : (1 - left) * refillMs;
  }

  forget(key: AppKey): void {
    this.#budgets.delete(key);
  }
}
