import { unresolvedDestination } from './table-document.ts';
import type { TableDocument, TableEntry } from './table-document.ts';

export const moveReasons = ['new', 'scale', 'stand-in', 'home', 'split', 'balance'] as const;
export type MoveReason = (typeof moveReasons)[number];

/**
 * Counts the parts that change shards between two tables, by reason: a new cluster, a changed
 * number of replicas, a stand-in for an absent shard, a return to the home shard, a new split, or
 * balance. Pure.
 */
export function movesBetween(before: TableDocument | undefined, after: TableDocument): ReadonlyMap<MoveReason, number> {
  const counts = new Map<MoveReason, number>();
  for (const [server, entry] of after.entries) {
    if (server === unresolvedDestination) continue;
    const old = before?.entries.get(server);
    entry.shards.forEach((shard, part) => {
      const reason = reasonOf(old, entry, { part, rescaled: before?.replicas !== after.replicas });
      if (reason !== undefined && old?.shards[part] !== shard) counts.set(reason, (counts.get(reason) ?? 0) + 1);
    });
  }
  return counts;
}

function reasonOf(
  old: TableEntry | undefined,
  entry: TableEntry,
  { part, rescaled }: { readonly part: number; readonly rescaled: boolean },
): MoveReason | undefined {
  if (old === undefined) return 'new';
  if (old.shards.length !== entry.shards.length) return 'split';
  if (entry.shards[part] !== entry.homes[part]) return 'stand-in';
  if (old.shards[part] !== old.homes[part]) return 'home';
  return rescaled ? 'scale' : 'balance';
}
