import type { TableEntry, ReleaseWait } from './table-document.ts';

/** Attendance of the slots according to one observation of the hub. */
export interface SlotAttendance {
  /** Slots whose clusters have no active owner, and since when. */
  readonly unattended: ReadonlyMap<number, number>;
  /** Slots with a holder. */
  readonly held: readonly number[];
  /** Reports whether a wait is over. */
  readonly settled: (wait: ReleaseWait) => boolean;
}

/**
 * Returns the clusters with an unattended part, and since when. A part is unattended if its own
 * slot is, or a slot that it waits for.
 */
export function unownedServers(
  entries: ReadonlyMap<string, TableEntry>,
  { unattended, held, settled }: SlotAttendance,
): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  if (unattended.size === 0) return found;
  for (const [server, { shards, waits, everyone }] of entries) {
    const awaited = everyone === 0 ? [] : held.filter((slot) => !settled({ slot, epoch: everyone }));
    const named = waits.flat().flatMap((wait) => (settled(wait) ? [] : [wait.slot]));
    const times = [...shards, ...awaited, ...named].map((slot) => unattended.get(slot) ?? Number.POSITIVE_INFINITY);
    const since = Math.min(...times);
    if (Number.isFinite(since)) found.set(server, since);
  }
  return found;
}
