import type { Clock } from '#base';

/**
 * Client-side throttle: `qps` requests a second on average, `burst` at once after a quiet period,
 * in order of arrival. Like client-go's flowcontrol; an aborted waiter returns its token.
 */
export class TokenBucket {
  readonly #clock: Pick<Clock, 'monotonic' | 'sleep'>;
  readonly #qps: number;
  readonly #burst: number;
  /** Negative if callers are waiting: they have taken tokens in advance. */
  #tokens: number;
  #filledAt: number;

  constructor(clock: Pick<Clock, 'monotonic' | 'sleep'>, qps: number, burst: number) {
    this.#clock = clock;
    this.#qps = qps;
    this.#burst = Math.max(1, burst);
    this.#tokens = this.#burst;
    this.#filledAt = clock.monotonic();
  }

  async take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#qps <= 0) return;
    const now = this.#clock.monotonic();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#filledAt) * this.#qps) / 1000);
    this.#filledAt = now;
    this.#tokens -= 1;
    if (this.#tokens >= 0) return;
    try {
      await this.#clock.sleep((-this.#tokens * 1000) / this.#qps, signal);
    } catch (error) {
      this.#tokens += 1;
      throw error;
    }
  }
}
