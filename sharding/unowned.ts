import type { TableEntry, Wait } from './table-document.ts';

/** What one observation of the hub says of who looks after which slot. */
export interface SlotAttendance {
  /** Slots whose clusters nobody looks after, and since when. */
  readonly unattended: ReadonlyMap<number, number>;
  /** Slots that are held. */
  readonly held: readonly number[];
  /** Whether somebody need not be waited for any more. */
  readonly settled: (wait: Wait) => boolean;
}

/** Clusters of which nobody looks after some part, and since when: its slot is unattended, or one that it waits for. */
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
