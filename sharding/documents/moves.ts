import { unresolvedDestination } from './table-document.ts';
import type { TableDocument, TableEntry } from './table-document.ts';

export const moveReasons = ['new', 'scale', 'stand-in', 'home', 'split', 'balance'] as const;
export type MoveReason = (typeof moveReasons)[number];

/** A part that changes shards. `from`: it had none. `to` undefined: its cluster was removed. */
export interface PartMove {
  readonly server: string;
  readonly part: number;
  readonly from: number | undefined;
  readonly to: number | undefined;
  readonly reason: HandOverReason;
}

export type HandOverReason = MoveReason | 'removed';

/**
 * The parts that change shards between two tables, by reason: a new cluster, a changed number of
 * replicas, a stand-in for an absent shard, a return to the home shard, a new split, balance, or a
 * removed cluster. Pure.
 */
export function listMoves(before: TableDocument | undefined, after: TableDocument): readonly PartMove[] {
  const moves: PartMove[] = [];
  const rescaled = before?.replicas !== after.replicas;
  for (const [server, entry] of after.entries) {
    if (server === unresolvedDestination) continue;
    const old = before?.entries.get(server);
    entry.shards.forEach((to, part) => {
      const from = old?.shards[part];
      const reason = reasonOf(old, entry, { part, rescaled });
      if (from !== to) moves.push({ server, part, from, to, reason });
    });
  }
  for (const [server, { shards }] of before?.entries ?? [])
    if (server !== unresolvedDestination && !after.entries.has(server))
      moves.push(...shards.map((from, part) => ({ server, part, from, to: undefined, reason: 'removed' as const })));
  return moves;
}

/** Counts the moved parts by reason, without removed clusters. */
export function movesBetween(before: TableDocument | undefined, after: TableDocument): ReadonlyMap<MoveReason, number> {
  const counts = new Map<MoveReason, number>();
  for (const { reason } of listMoves(before, after))
    if (reason !== 'removed') counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return counts;
}

function reasonOf(
  old: TableEntry | undefined,
  entry: TableEntry,
  { part, rescaled }: { readonly part: number; readonly rescaled: boolean },
): MoveReason {
  if (old === undefined) return 'new';
  if (old.shards.length !== entry.shards.length) return 'split';
  if (entry.shards[part] !== entry.homes[part]) return 'stand-in';
  if (old.shards[part] !== old.homes[part]) return 'home';
  return rescaled ? 'scale' : 'balance';
}
