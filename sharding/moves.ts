import { unresolvedDestination } from './table-document.ts';
import type { TableDocument, TableEntry } from './table-document.ts';

export const moveReasons = ['new', 'scale', 'stand-in', 'home', 'split', 'balance'] as const;
export type MoveReason = (typeof moveReasons)[number];

/**
 * Why parts of clusters have another shard in a table than in the one before: the cluster is new, the number of replicas changed, somebody
 * stands in for a shard that nobody holds, such a part goes home, the cluster is split anew, or the algorithm moved it. Pure.
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
