import { yieldToLoop } from './async.ts';
import type { Clock } from './clock.ts';

/** Long work in small steps. It pauses after each step; the caller decides for how long. */
export type SlicedWork<T> = Generator<void, T, void>;

/** Upper bound on blocking the event loop. */
const sliceMs = 10;

export interface SliceOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Wraps the work of each slice. */
  readonly around?: (slice: () => void) => void;
}

/** Runs all steps without a pause. */
export function runSteps<T>(steps: SlicedWork<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Runs steps for about ten milliseconds, lets the event loop turn, and continues until done. The
 * input must not change meanwhile. Between slices, rejects with the signal's reason and drops the
 * rest.
 */
export async function inSlices<T>(
  steps: SlicedWork<T>,
  { clock, around = (slice) => slice() }: SliceOptions,
  signal: AbortSignal,
): Promise<T> {
  let outcome: { readonly value: T } | undefined;
  const slice = (): void => {
    const end = clock.monotonic() + sliceMs;
    do {
      const step = steps.next();
      if (step.done === true) {
        outcome = { value: step.value };
        return;
      }
    } while (clock.monotonic() < end);
  };
  for (;;) {
    signal.throwIfAborted();
    around(slice);
    if (outcome !== undefined) return outcome.value;
    await yieldToLoop();
  }
}
