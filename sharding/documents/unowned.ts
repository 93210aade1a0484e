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
 * Returns the clusters with an unattended part, and since when each part is (Infinity: it is
 * attended). A part is unattended if its own slot is, or a slot that it waits for.
 */
export function unownedParts(
  entries: ReadonlyMap<string, TableEntry>,
  { unattended, held, settled }: SlotAttendance,
): ReadonlyMap<string, readonly number[]> {
  const found = new Map<string, readonly number[]>();
  if (unattended.size === 0) return found;
  for (const [server, { shards, waits, everyone }] of entries) {
    const awaited = everyone === 0 ? [] : held.filter((slot) => !settled({ slot, epoch: everyone }));
    const since = shards.map((shard, part) => {
      const named = (waits[part] ?? []).flatMap((wait) => (settled(wait) ? [] : [wait.slot]));
      return Math.min(...[shard, ...awaited, ...named].map((slot) => unattended.get(slot) ?? Number.POSITIVE_INFINITY));
    });
    if (since.some(Number.isFinite)) found.set(server, since);
  }
  return found;
}
