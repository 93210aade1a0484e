import type { Clock } from '#base';

/**
 * How long the stages of one pass took, by the names of Argo CD's log fields (`git_ms`, `diff_ms`,
 * …). A stage that runs twice is summed, and one that fails counts too.
 */
export class PassTimes {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #spentMs = new Map<string, number>();

  /** @param always stages that are shown as 0 when they did not run. */
  constructor(clock: Pick<Clock, 'monotonic'>, always: readonly string[] = []) {
    this.#clock = clock;
    for (const name of always) this.#spentMs.set(name, 0);
  }

  async measure<T>(name: string, work: () => Promise<T>): Promise<T> {
    const began = this.#clock.monotonic();
    try {
      return await work();
    } finally {
      this.#add(name, began);
    }
  }

  measureSync<T>(name: string, work: () => T): T {
    const began = this.#clock.monotonic();
    try {
      return work();
    } finally {
      this.#add(name, began);
    }
  }

  /** Whole milliseconds, cut off as in Go. */
  fields(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#spentMs].map(([name, ms]) => [name, Math.floor(ms)]));
  }

  #add(name: string, began: number): void {
    this.#spentMs.set(name, (this.#spentMs.get(name) ?? 0) + this.#clock.monotonic() - began);
  }
}
