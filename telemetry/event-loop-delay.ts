import { isAbort } from '#base';
import type { Clock, Runnable } from '#base';

/** How late timers fired in the last two minutes, in milliseconds; zeros without a sample. */
export interface EventLoopDelays {
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly stddev: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

const intervalMs = 500;
const keptSamples = 240;

/**
 * Measures how late the event loop is. Node's own monitors wake the process 50 to 100 times a
 * second, which is most of what a process at rest does; this one wakes it twice.
 */
export class EventLoopDelay implements Runnable {
  readonly name = 'event loop delay';
  readonly #clock: Clock;
  readonly #samples: number[] = [];
  #next = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Samples until the signal aborts. Never rejects for an abort. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        const due = this.#clock.monotonic() + intervalMs;
        await this.#clock.sleep(intervalMs, signal);
        this.#samples[this.#next] = Math.max(0, this.#clock.monotonic() - due);
        this.#next = (this.#next + 1) % keptSamples;
      }
    } catch (error) {
      if (!isAbort(error)) throw error;
    }
  }

  read(): EventLoopDelays {
    const sorted = [...this.#samples].sort((a, b) => a - b);
    const count = Math.max(1, sorted.length);
    const mean = sorted.reduce((sum, value) => sum + value, 0) / count;
    const variance = sorted.reduce((sum, value) => sum + (value - mean) ** 2, 0) / count;
    const at = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
    return { min: at(0), max: at(1), mean, stddev: Math.sqrt(variance), p50: at(0.5), p90: at(0.9), p99: at(0.99) };
  }
}
