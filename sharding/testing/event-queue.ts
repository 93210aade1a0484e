import type { WatchEvent } from '#kube';

/** The events of one watch, between whoever makes them and whoever reads. */
export class EventQueue {
  readonly #waiting: WatchEvent[] = [];
  #wake = (): void => undefined;

  push(event: WatchEvent): void {
    this.#waiting.push(event);
    this.#wake();
  }

  /** All events, as they come; throws the reason of `signal` when that aborts. */
  async *read(signal: AbortSignal): AsyncGenerator<WatchEvent, never> {
    const stop = (): void => this.#wake();
    signal.addEventListener('abort', stop, { once: true });
    try {
      for (;;) {
        for (let event = this.#waiting.shift(); event !== undefined; event = this.#waiting.shift()) yield event;
        signal.throwIfAborted();
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }
}
