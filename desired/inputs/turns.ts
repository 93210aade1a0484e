const maxRemembered = 1000;

/** The last turn of each project or repository; the lowest one has waited longest for its next. */
export class Turns {
  readonly #last = new Map<string, number>();
  #turn = 0;

  /** 0 without a turn. */
  of(key: string): number {
    return this.#last.get(key) ?? 0;
  }

  /** Gives one turn to all of the keys. Beyond a limit, only the turns of `active` are kept. */
  take(keys: readonly string[], active: () => Iterable<string>): void {
    this.#turn += 1;
    for (const key of keys) this.#last.set(key, this.#turn);
    if (this.#last.size <= maxRemembered) return;
    const kept = new Set(active());
    for (const key of this.#last.keys()) if (!kept.has(key)) this.#last.delete(key);
  }
}
