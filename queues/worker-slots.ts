import { Shutdown, withChild } from '#base';

/** The worker slot of a running handler. */
export interface WorkerSlot {
  /**
   * Frees the slot for another key while `wait` is pending, and returns once a slot is free again.
   * The handler's own key stays in flight.
   */
  releaseWhile<T>(wait: Promise<T>): Promise<T>;
}

/** Ends an idle loop so that a waiting handler gets its slot. */
const slotReclaimed = new Shutdown('another item returned to the pool');

/**
 * The worker slots of a pool, each occupied by a loop or by the handler that it runs. A handler
 * that releases its slot is replaced by a new loop. To return, it takes a free slot, the slot of an
 * idle loop, or that of the next loop that finishes its item.
 */
export class WorkerSlots implements WorkerSlot {
  #size = 0;
  #occupied = 0;
  #released = 0;
  #isTurnOfKeys = true;
  #stop: AbortSignal | undefined;
  #failure: { readonly reason: unknown } | undefined;
  #loop: () => Promise<void> = () => Promise.resolve();
  readonly #loops = new Set<Promise<void>>();
  /** Callbacks that end the idle loops. */
  readonly #idleLoops = new Set<(reason: Error) => void>();
  /** Handlers that wait for a slot to return to. */
  readonly #returning: (() => void)[] = [];

  /** Number of handlers that have released their slot. */
  get released(): number {
    return this.#released;
  }

  /**
   * Whether a loop should give its slot to a returning handler instead of taking a new key.
   * @param waitingKeys number of keys to take. While there are any, they get every second slot, so
   * that returning handlers cannot starve them.
   */
  shouldEndLoop(waitingKeys: number): boolean {
    if (this.#returning.length === 0) return false;
    this.#isTurnOfKeys = waitingKeys > 0 && !this.#isTurnOfKeys;
    return !this.#isTurnOfKeys;
  }

  /** Runs a loop in every slot until all have ended. @throws the error of the first failed loop */
  async runLoops(size: number, stop: AbortSignal, loop: () => Promise<void>): Promise<void> {
    this.#size = size;
    this.#stop = stop;
    this.#loop = loop;
    for (let i = 0; i < size; i += 1) this.#startLoop();
    while (this.#loops.size > 0) await Promise.all(this.#loops);
    if (this.#failure !== undefined) throw this.#failure.reason;
  }

  /** Waits for an item. Also resolves undefined when a returning handler reclaims the slot. */
  async waitForItem<T>(
    stop: AbortSignal,
    next: (signal: AbortSignal) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    return withChild(stop, async (signal, end) => {
      this.#idleLoops.add(end);
      try {
        const taken = next(signal);
        // This loop kept its slot for a waiting key. If another loop took that key, the slot goes
        // to a returning handler.
        if (this.#returning.length > 0) end(slotReclaimed);
        return await taken;
      } finally {
        this.#idleLoops.delete(end);
      }
    });
  }

  async releaseWhile<T>(wait: Promise<T>): Promise<T> {
    this.#released += 1;
    this.#freeSlot();
    if (this.#occupied < this.#size && this.#stop?.aborted === false) this.#startLoop();
    try {
      return await wait;
    } finally {
      await this.#reacquireSlot();
      this.#released -= 1;
    }
  }

  #startLoop(): void {
    this.#occupied += 1;
    const run = this.#loop()
      .catch((error: unknown) => {
        this.#failure ??= { reason: error };
      })
      .finally(() => {
        this.#loops.delete(run);
        this.#freeSlot();
      });
    this.#loops.add(run);
  }

  #freeSlot(): void {
    this.#occupied -= 1;
    const resume = this.#returning.shift();
    if (resume === undefined) return;
    this.#occupied += 1;
    resume();
  }

  async #reacquireSlot(): Promise<void> {
    if (this.#occupied < this.#size) {
      this.#occupied += 1;
      return;
    }
    const slotIsFree = new Promise<void>((resolve) => void this.#returning.push(resolve));
    const [endIdleLoop] = this.#idleLoops;
    if (endIdleLoop !== undefined) {
      this.#idleLoops.delete(endIdleLoop);
      endIdleLoop(slotReclaimed);
    }
    await slotIsFree;
  }
}
