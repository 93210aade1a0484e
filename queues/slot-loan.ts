import type { Clock, ClockTimer } from '#base';
import type { WorkerSlot } from './worker-slots.ts';

/** A wait releases the worker slot after this time. */
const longWaitMs = 50;

/**
 * Releases the worker slot of one handler while any of its waits takes long. Waits may overlap; the
 * slot is released once for all of them. When the last long wait ends, its caller also waits until
 * the handler has a slot again.
 */
export class SlotLoan {
  readonly #slot: WorkerSlot | undefined;
  readonly #clock: Clock;
  #longWaits = 0;
  #endLoan: () => void = () => undefined;
  #slotReturned: Promise<void> = Promise.resolve();

  /** @param slot undefined: there is no slot to release. */
  constructor(slot: WorkerSlot | undefined, clock: Clock) {
    this.#slot = slot;
    this.#clock = clock;
  }

  /**
   * Waits for `work` and releases the slot once that takes long.
   * @param isKnownLong whether the wait will take long. Asked at once and after each interval;
   * while it returns false, the handler keeps the slot. Default: a wait is long after one interval.
   */
  async during<T>(work: Promise<T>, isKnownLong?: () => boolean): Promise<T> {
    if (this.#slot === undefined) return work;
    const slot = this.#slot;
    let timer: ClockTimer | undefined;
    const loan = { isActive: false };
    const releaseOrWatch = (isLong: boolean): void => {
      loan.isActive = isLong;
      if (isLong) this.#release(slot);
      else timer = this.#clock.timer(longWaitMs, () => releaseOrWatch(isKnownLong?.() ?? true));
    };
    releaseOrWatch(isKnownLong?.() ?? false);
    try {
      return await work;
    } finally {
      timer?.cancel();
      if (loan.isActive) await this.#end();
    }
  }

  #release(slot: WorkerSlot): void {
    this.#longWaits += 1;
    if (this.#longWaits > 1) return;
    const ended = new Promise<void>((resolve) => (this.#endLoan = resolve));
    // The slot of an earlier loan may still be on its way back.
    this.#slotReturned = this.#slotReturned.then(() => slot.releaseWhile(ended));
  }

  async #end(): Promise<void> {
    this.#longWaits -= 1;
    if (this.#longWaits > 0) return;
    this.#endLoan();
    await this.#slotReturned;
  }
}
