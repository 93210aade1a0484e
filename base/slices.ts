import { yieldToLoop } from './async.ts';
import type { Clock } from './clock.ts';

/** Long work in small steps: it pauses after each, and whoever drives it decides for how long. */
export type Steps<T> = Generator<void, T, void>;

/** About this long nothing else gets its turn. */
const sliceMs = 10;

export interface Slicing {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Around the work of each slice. */
  readonly around?: (slice: () => void) => void;
}

/** All steps without a pause. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Takes steps for about ten milliseconds, lets the event loop turn, and goes on, until all is done. What the steps work on must not change
 * meanwhile. Rejects with the reason of the signal, between two slices; the rest is not done then.
 */
export async function inSlices<T>(
  steps: Steps<T>,
  { clock, around = (slice) => slice() }: Slicing,
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
