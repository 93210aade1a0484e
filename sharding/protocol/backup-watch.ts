import type { SlotHolders, SlotRecord } from '../documents/slots-document.ts';
import type { LocalInstant } from './member-types.ts';

/**
 * Observation: signs that the slots were restored from a backup, together with the table, so that
 * no other rule notices it: a record went back, or all records were old when we saw them first. The
 * second sign compares clocks of different machines, but only delays claims of free slots.
 */
export class BackupWatch {
  #before: SlotHolders | undefined;
  #wentBackAt: number | undefined;
  #oldSince: number | undefined;

  observe(held: SlotHolders, leaseMs: number, now: LocalInstant): void {
    const before = this.#before;
    this.#before = held;
    if (this.#has(before, held, (old, record) => record.renewals < old.renewals)) this.#wentBackAt = now.monotonic;
    if (before === undefined) {
      const isOld = [...held.values()].every(({ heartbeat }) => now.wall - heartbeat > leaseMs);
      this.#oldSince = isOld && held.size > 0 ? now.monotonic : undefined;
    } else if (this.#has(before, held, (old, record) => record.renewals > old.renewals)) {
      // Its holder has read the slots: it repairs those that are older than its last write.
      this.#oldSince = undefined;
    }
  }

  /** Since when the slots may be a backup; undefined: they are not. */
  since(): number | undefined {
    const since = [this.#wentBackAt, this.#oldSince].filter((each) => each !== undefined);
    return since.length === 0 ? undefined : Math.max(...since);
  }

  #has(
    before: SlotHolders = new Map(),
    held: SlotHolders,
    isSo: (old: SlotRecord, record: SlotRecord) => boolean,
  ): boolean {
    return [...held].some(([slot, record]) => {
      const old = before.get(slot);
      return old?.incarnation === record.incarnation && isSo(old, record);
    });
  }
}
