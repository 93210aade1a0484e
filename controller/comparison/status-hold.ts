/** How long a status write waits to become part of the final write of an operation. */
const holdMs = 1000;

/**
 * Holds the status writes of one Application while an operation of this process runs: its final
 * write includes the status (decision D17). A hold ends after a second; one write passes then, and
 * the next is held again.
 *
 *            operationStarted          a write is due
 *    none ─────────────────▶ armed ─────────────────────▶ holding
 *     ▲                      │   ▲                        │ │  ▲ │
 *     ├──────────────────────┘   └── a second is over ────┘ │  └─┘ complete: a second from now
 *     └──────────────── operationEnded ─────────────────────┘
 *
 * Independently, `isCompleting` while {@link complete} runs: also for an operation that another
 * process started, whose status writes were never held.
 */
export class StatusHold {
  #state: 'none' | 'armed' | { readonly until: number } = 'none';
  #completions = 0;

  operationStarted(): void {
    this.#state = 'armed';
  }

  operationEnded(): void {
    this.#state = 'none';
  }

  /** How long a write that is due now has to wait. */
  remainingMs(now: number): number {
    if (this.#state === 'none') return 0;
    const until = this.#state === 'armed' ? now + holdMs : this.#state.until;
    this.#state = until > now ? { until } : 'armed';
    return Math.max(0, until - now);
  }

  /** The final write of the operation, with a comparison, is in flight. */
  get isCompleting(): boolean {
    return this.#completions > 0;
  }

  /** Runs the final write; other writes are held meanwhile. */
  async complete<T>(now: number, write: () => Promise<T>): Promise<T> {
    if (this.#state !== 'none') this.#state = { until: now + holdMs };
    this.#completions += 1;
    try {
      return await write();
    } finally {
      this.#completions -= 1;
    }
  }
}
