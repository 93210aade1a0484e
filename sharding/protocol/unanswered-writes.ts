import type { SlotRecord, SlotHolders } from '../documents/slots-document.ts';
import type { LocalInstant, WriteIntent } from './member-types.ts';

export interface UnansweredWrite {
  readonly intent: WriteIntent & { readonly write: 'slots' };
  /** Our record in it; no other write has the same number of renewals. */
  readonly record: SlotRecord;
  readonly sent: LocalInstant;
}

/** A hub that answers nothing for a lease leaves only a few of them worth keeping. */
const maxUnanswered = 16;

/**
 * Observation: writes of our record that were sent and not answered. A slow hub may have committed
 * one; a later read that shows its number proves it.
 */
export class UnansweredWrites {
  #writes: readonly UnansweredWrite[] = [];

  add(write: UnansweredWrite): void {
    this.#writes = [...this.#writes, write].slice(-maxUnanswered);
  }

  clear(): void {
    this.#writes = [];
  }

  /** The write that produced our record in these slots, if it is an unanswered one. */
  committed(slots: SlotHolders): UnansweredWrite | undefined {
    return this.#writes.find(({ record: { slot, incarnation, renewals } }) => {
      const found = slots.get(slot);
      return found?.incarnation === incarnation && found.renewals === renewals;
    });
  }
}
