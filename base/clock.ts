/** A pending timer. `cancel` is idempotent and safe after the timer has fired. */
export interface ClockTimer {
  cancel(): void;
}

/**
 * The only source of time. Wall time may jump in both directions; monotonic time never goes
 * backwards: measure durations and leases with it.
 */
export interface Clock {
  /** Wall time in milliseconds since the epoch. */
  now(): number;
  /** Milliseconds from an arbitrary origin, never decreasing. */
  monotonic(): number;
  /**
   * Calls `fire` once after `delayMs`. Delays beyond 2^31-1 ms are chained; Node would shorten them
   * to 1 ms.
   */
  timer(delayMs: number, fire: () => void): ClockTimer;
  /** Resolves after `delayMs`, or rejects with the signal's reason and cancels the timer. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

const maxNodeDelayMs = 2 ** 31 - 1;

class SystemClock implements Clock {
  now(): number {
    return Date.now();
  }

  monotonic(): number {
    return performance.now();
  }

  timer(delayMs: number, fire: () => void): ClockTimer {
    let handle: NodeJS.Timeout;
    const arm = (leftMs: number): void => {
      const stepMs = Math.min(leftMs, maxNodeDelayMs);
      handle = setTimeout(() => {
        if (leftMs > stepMs) arm(leftMs - stepMs);
        else fire();
      }, stepMs);
    };
    arm(Math.max(0, delayMs));
    return { cancel: () => clearTimeout(handle) };
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, delayMs, signal);
  }
}

/** `Clock.sleep` for any clock, from its `timer`. */
export function sleepOn(clock: Pick<Clock, 'timer'>, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error);
      return;
    }
    const onAbort = (): void => {
      timer.cancel();
      reject(signal?.reason as Error);
    };
    const timer = clock.timer(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** The machine's clock. */
export const systemClock: Clock = new SystemClock();
