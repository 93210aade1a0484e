/** Callers that wait until a schedule starts them, by the ID that it gave them. */
export class WaitingStarts {
  readonly #starts = new Map<number, () => void>();

  /**
   * Resolves when `start` is called with this ID. `drop` removes the ID from the schedule.
   * @throws the reason of `signal`
   */
  wait(id: number, signal: AbortSignal, drop: () => void): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const onAbort = (): void => {
        this.#starts.delete(id);
        drop();
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#starts.set(id, () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      });
    });
  }

  start(id: number): void {
    this.#starts.get(id)?.();
    this.#starts.delete(id);
  }
}
