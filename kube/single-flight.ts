import { abortable, newAbortController } from '#base';

interface Flight<T> {
  readonly promise: Promise<T>;
  readonly stop: AbortController;
  waiters: number;
}

/**
 * One run of the same work at a time; who comes while it runs shares its result. A waiter may leave (its signal aborts); the work itself
 * is aborted only when the last one has left.
 */
export class SingleFlight<T> {
  #flight: Flight<T> | undefined;

  async run(signal: AbortSignal, body: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const flight = this.#flight ?? this.#start(body);
    flight.waiters += 1;
    try {
      return await abortable(flight.promise, signal);
    } finally {
      flight.waiters -= 1;
      if (flight.waiters === 0) this.#leave(flight, signal);
    }
  }

  #start(body: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const stop = newAbortController();
    const flight: Flight<T> = {
      stop,
      waiters: 0,
      promise: body(stop.signal).finally(() => {
        if (this.#flight === flight) this.#flight = undefined;
      }),
    };
    // Every waiter may have left before it fails.
    flight.promise.catch(() => undefined);
    this.#flight = flight;
    return flight;
  }

  #leave(flight: Flight<T>, signal: AbortSignal): void {
    if (this.#flight !== flight) return;
    this.#flight = undefined;
    flight.stop.abort(signal.reason);
  }
}
