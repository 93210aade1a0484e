import { abortable, newAbortController } from '#base';

interface SharedRun<T> {
  readonly promise: Promise<T>;
  readonly stop: AbortController;
  waiters: number;
}

/**
 * Runs the same work once at a time; callers that join meanwhile share the result. A waiter may
 * leave (its signal aborts); the work is aborted only when the last one has left.
 */
export class SingleFlight<T> {
  #flight: SharedRun<T> | undefined;

  async run(signal: AbortSignal, body: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const flight = this.#flight ?? this.#start(signal, body);
    flight.waiters += 1;
    try {
      return await abortable(flight.promise, signal);
    } finally {
      flight.waiters -= 1;
      if (flight.waiters === 0) this.#leave(flight, signal);
    }
  }

  #start(first: AbortSignal, body: (signal: AbortSignal) => Promise<T>): SharedRun<T> {
    const stop = newAbortController(first);
    const flight: SharedRun<T> = {
      stop,
      waiters: 0,
      promise: body(stop.signal).finally(() => {
        if (this.#flight === flight) this.#flight = undefined;
      }),
    };
    // All waiters may have left before it fails.
    flight.promise.catch(() => undefined);
    this.#flight = flight;
    return flight;
  }

  #leave(flight: SharedRun<T>, signal: AbortSignal): void {
    if (this.#flight !== flight) return;
    this.#flight = undefined;
    flight.stop.abort(signal.reason);
  }
}
