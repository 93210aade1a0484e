import { sleepOn } from '#base';
import type { Clock, ClockTimer } from '#base';

interface PendingTimer {
  readonly at: number;
  readonly order: number;
  readonly fire: () => void;
}

/**
 * A clock with virtual time. Timers fire only during `advance`, in order of their time, and the
 * promises that one resolves run before the next one fires.
 */
export class FakeClock implements Clock {
  #now: number;
  readonly #origin: number;
  #order = 0;
  readonly #pending = new Set<PendingTimer>();

  constructor(now: number = Date.UTC(2026, 0, 1)) {
    this.#now = now;
    this.#origin = now;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now - this.#origin;
  }

  timer(delayMs: number, fire: () => void): ClockTimer {
    this.#order += 1;
    const entry: PendingTimer = { at: this.#now + Math.max(0, delayMs), order: this.#order, fire };
    this.#pending.add(entry);
    return { cancel: () => void this.#pending.delete(entry) };
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, delayMs, signal);
  }

  /** Number of pending timers. A test can check at its end that none leaked. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Moves time by `ms` and fires the timers that become due. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await this.settle();
    for (;;) {
      const next = this.#nextDue(end);
      if (next === undefined) break;
      this.#pending.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.fire();
      await this.settle();
    }
    this.#now = end;
    await this.settle();
  }

  /** Moves time as a process sees it that stood still: timers are late, and fire afterwards. */
  async stall(ms: number): Promise<void> {
    this.#now += ms;
    await this.advance(0);
  }

  /** Runs promises and immediates that are ready, without moving time. */
  async settle(rounds = 5): Promise<void> {
    for (let i = 0; i < rounds; i += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  #nextDue(end: number): PendingTimer | undefined {
    let best: PendingTimer | undefined;
    for (const entry of this.#pending) {
      if (entry.at > end) continue;
      if (best === undefined || entry.at < best.at || (entry.at === best.at && entry.order < best.order)) best = entry;
    }
    return best;
  }
}
