import type { WatchEvent } from '#kube';

/** Buffered events of one watch. */
export class EventQueue {
  readonly #waiting: WatchEvent[] = [];
  #wake = (): void => undefined;

  push(event: WatchEvent): void {
    this.#waiting.push(event);
    this.#wake();
  }

  /** Yields all events as they arrive; throws the reason of `signal` when it aborts. */
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
