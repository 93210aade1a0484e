import { Shutdown, withChild } from '#base';

/** The place of a handler among the workers of its pool. */
export interface Place {
  /**
   * Waits for something outside of this process while another key is worked on in this place; returns when a worker is free again, before
   * new keys are taken. The key stays taken meanwhile: nobody else works on it.
   */
  leave<T>(waiting: Promise<T>): Promise<T>;
}

/** A worker gives its place to a handler that returns to the pool. */
const madeRoom = new Shutdown('another item returned to the pool');

/**
 * Who works: never more than there are workers. Whoever leaves is replaced by a new loop; whoever returns takes the place of a loop that has
 * nothing to do, or of the next that has finished its item.
 */
export class Places implements Place {
  #size = 0;
  #taken = 0;
  #away = 0;
  #stop: AbortSignal | undefined;
  #failure: { readonly reason: unknown } | undefined;
  #loop: () => Promise<void> = () => Promise.resolve();
  readonly #loops = new Set<Promise<void>>();
  readonly #idle = new Set<(reason: Error) => void>();
  readonly #returning: (() => void)[] = [];

  get away(): number {
    return this.#away;
  }

  /** Somebody waits to return: a loop that has finished its item ends in their favour. */
  get isAskedFor(): boolean {
    return this.#returning.length > 0;
  }

  /** Runs a loop in every place until all have ended. @throws the error of the first loop that failed */
  async fill(size: number, stop: AbortSignal, loop: () => Promise<void>): Promise<void> {
    this.#size = size;
    this.#stop = stop;
    this.#loop = loop;
    for (let i = 0; i < size; i += 1) this.#begin();
    while (this.#loops.size > 0) await Promise.all(this.#loops);
    if (this.#failure !== undefined) throw this.#failure.reason;
  }

  /** Waits for something to do; undefined also when the place is needed for somebody who returns. */
  async idle<T>(stop: AbortSignal, next: (signal: AbortSignal) => Promise<T | undefined>): Promise<T | undefined> {
    return withChild(stop, async (signal, end) => {
      this.#idle.add(end);
      try {
        return await next(signal);
      } finally {
        this.#idle.delete(end);
      }
    });
  }

  async leave<T>(waiting: Promise<T>): Promise<T> {
    this.#away += 1;
    this.#vacate();
    if (this.#taken < this.#size && this.#stop?.aborted === false) this.#begin();
    try {
      return await waiting;
    } finally {
      await this.#return();
      this.#away -= 1;
    }
  }

  #begin(): void {
    this.#taken += 1;
    const run = this.#loop()
      .catch((error: unknown) => {
        this.#failure ??= { reason: error };
      })
      .finally(() => {
        this.#loops.delete(run);
        this.#vacate();
      });
    this.#loops.add(run);
  }

  #vacate(): void {
    this.#taken -= 1;
    const next = this.#returning.shift();
    if (next === undefined) return;
    this.#taken += 1;
    next();
  }

  async #return(): Promise<void> {
    if (this.#taken < this.#size) {
      this.#taken += 1;
      return;
    }
    const isFree = new Promise<void>((resolve) => void this.#returning.push(resolve));
    const [end] = this.#idle;
    if (end !== undefined) {
      this.#idle.delete(end);
      end(madeRoom);
    }
    await isFree;
  }
}
