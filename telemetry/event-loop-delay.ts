import { performance } from 'node:perf_hooks';
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

/** One measured delay. It counts for the time since the sample before it. */
interface DelaySample {
  readonly lateMs: number;
  readonly coveredMs: number;
  readonly at: number;
}

const busyIntervalMs = 500;
const calmIntervalMs = 4000;
const windowMs = 120_000;
/** A process at rest is busy for less than this share of the time. */
const busyShare = 0.05;

/**
 * Measures how late the event loop is. Node's own monitors wake the process 50 to 100 times a
 * second, which is most of what a process at rest does. This one wakes it twice while it is busy,
 * and every four seconds at rest.
 */
export class EventLoopDelay implements Runnable {
  readonly name = 'event loop delay';
  readonly #clock: Clock;
  readonly #activeMs: () => number;
  #samples: DelaySample[] = [];

  /** @param activeMs for how long the event loop was busy since the start */
  constructor(clock: Clock, activeMs: () => number = () => performance.eventLoopUtilization().active) {
    this.#clock = clock;
    this.#activeMs = activeMs;
  }

  /** Samples until the signal aborts. Never rejects for an abort. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      for (let intervalMs = busyIntervalMs; ;) {
        const [begin, activeBefore] = [this.#clock.monotonic(), this.#activeMs()];
        await this.#clock.sleep(intervalMs, signal);
        const at = this.#clock.monotonic();
        const coveredMs = at - begin;
        this.#samples.push({ lateMs: Math.max(0, coveredMs - intervalMs), coveredMs, at });
        this.#samples = this.#samples.filter((sample) => at - sample.at < windowMs);
        const isBusy = this.#activeMs() - activeBefore > busyShare * coveredMs;
        intervalMs = isBusy ? busyIntervalMs : Math.min(calmIntervalMs, 2 * intervalMs);
      }
    } catch (error) {
      if (!isAbort(error)) throw error;
    }
  }

  read(): EventLoopDelays {
    const sorted = [...this.#samples].sort((a, b) => a.lateMs - b.lateMs);
    const totalMs = Math.max(
      1,
      sumOf(sorted, ({ coveredMs }) => coveredMs),
    );
    const mean = sumOf(sorted, ({ lateMs, coveredMs }) => lateMs * coveredMs) / totalMs;
    const variance = sumOf(sorted, ({ lateMs, coveredMs }) => (lateMs - mean) ** 2 * coveredMs) / totalMs;
    const at = (share: number): number => quantileOf(sorted, share * totalMs);
    return { min: at(0), max: at(1), mean, stddev: Math.sqrt(variance), p50: at(0.5), p90: at(0.9), p99: at(0.99) };
  }
}

function sumOf(samples: readonly DelaySample[], of: (sample: DelaySample) => number): number {
  return samples.reduce((sum, sample) => sum + of(sample), 0);
}

/** The delay at this time, if the samples took place in this order. */
function quantileOf(sorted: readonly DelaySample[], timeMs: number): number {
  let endMs = 0;
  for (const { lateMs, coveredMs } of sorted) {
    endMs += coveredMs;
    if (endMs >= timeMs) return lateMs;
  }
  return sorted.at(-1)?.lateMs ?? 0;
}
