/** Refreshes that one Application may request in a burst: enough for a session with the CLI. */
const refreshBurst = 30;
/** Time after which an Application may request one more refresh. */
const refreshRefillMs = 10_000;

/**
 * Token bucket for the refreshes that an Application may request. Held in memory only, so a restart
 * or a handover refills it.
 */
export interface RefreshBudget {
  readonly tokens: number;
  /** Monotonic clock. */
  readonly at: number;
  /** The request in the annotations has to wait. */
  readonly isDelayed: boolean;
}

/** Milliseconds until the budget has a token; 0: it has one now. */
export function msUntilToken(budget: RefreshBudget | undefined, now: number): number {
  // Less than a millisecond is a rounding error, and waiting for it would requeue endlessly.
  const ms = budget === undefined ? 0 : (1 - tokensAt(budget, now)) * refreshRefillMs;
  return ms < 1 ? 0 : ms;
}

/** The budget after taking `tokens`; -1 gives one back. */
export function spendTokens(budget: RefreshBudget | undefined, now: number, tokens: number): RefreshBudget {
  const left = budget === undefined ? refreshBurst : tokensAt(budget, now);
  return { tokens: Math.min(refreshBurst, left - tokens), at: now, isDelayed: false };
}

function tokensAt({ tokens, at }: RefreshBudget, now: number): number {
  return Math.min(refreshBurst, tokens + (now - at) / refreshRefillMs);
}
