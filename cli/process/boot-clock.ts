import type { Clock } from '#base';

/** How long a reading is carried forward by the monotonic clock. */
const maxAgeMs = 100;
/** Clocks are read one after the other, and slewed. A suspend matters from 250 ms on. */
const wallToleranceMs = 50;

export interface BootClockSources {
  /** Milliseconds since the boot, suspends included. Node opens a file for each reading. */
  readonly boot: () => number;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
}

/**
 * The boot clock at the price of the clocks that need no file: it is read for every write.
 *
 * Linux adds the time of a suspend to the wall clock and the boot clock in one step, and not to the
 * monotonic clock. So while the wall clock agrees with the monotonic one, no suspend has begun and
 * ended, and the last reading is carried forward. A clock that was set back by the length of a
 * suspend, at the same time, hides it for 100 ms of running at most.
 */
export function bootClock({ boot, clock }: BootClockSources): () => number {
  let read: { readonly boot: number; readonly monotonic: number; readonly wallAhead: number } | undefined;
  return () => {
    const monotonic = clock.monotonic();
    const wallAhead = clock.now() - monotonic;
    const isRecent = read !== undefined && monotonic - read.monotonic < maxAgeMs;
    if (read === undefined || !isRecent || Math.abs(wallAhead - read.wallAhead) > wallToleranceMs)
      read = { boot: boot(), monotonic, wallAhead };
    return read.boot + (monotonic - read.monotonic);
  };
}
