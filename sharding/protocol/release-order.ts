import { unresolvedDestination } from '../documents/table-document.ts';
import type { TableDocument } from '../documents/table-document.ts';

/** More turns would take long in a large fleet; releases in one turn compete for the slots. */
const maxTurns = 8;

/**
 * The slots that must have acknowledged a table before `slot` releases what the table takes from
 * it: the next owners, and all that release in an earlier turn. So a part is without an owner for
 * one acknowledgment and one read only. Owners that exchange parts in a circle release last, all
 * at once.
 */
export function releasePredecessors(table: TableDocument, slot: number): readonly number[] {
  const earlier: number[] = [];
  for (const turn of releaseTurns(table)) {
    if (turn.includes(slot)) return earlier;
    earlier.push(...turn);
  }
  return earlier;
}

/** Slots that gain or lose parts: first those that only gain, then the others in their turns. */
function releaseTurns(table: TableDocument): readonly (readonly number[])[] {
  const gainersOf = gainersByLoser(table);
  const gainers = new Set([...gainersOf.values()].flatMap((slots) => [...slots]));
  const ready = new Set([...gainers].filter((slot) => !gainersOf.has(slot)));
  const onlyGaining = [...ready];
  const ordered: number[] = [];
  const losers = [...gainersOf.keys()].sort((a, b) => a - b);
  for (;;) {
    const next = losers.find((slot) => !ready.has(slot) && [...(gainersOf.get(slot) ?? [])].every((g) => ready.has(g)));
    if (next === undefined) break;
    ready.add(next);
    ordered.push(next);
  }
  const size = Math.max(1, Math.ceil(ordered.length / maxTurns));
  const turns = Array.from({ length: Math.ceil(ordered.length / size) }, (_, i) =>
    ordered.slice(i * size, (i + 1) * size),
  );
  return [onlyGaining, ...turns, losers.filter((slot) => !ready.has(slot))];
}

/**
 * Slots that get parts from each slot under this table. Without Applications whose destination is
 * unresolved: their parts move in circles whenever the number of replicas changes.
 */
function gainersByLoser(table: TableDocument): ReadonlyMap<number, ReadonlySet<number>> {
  const found = new Map<number, Set<number>>();
  for (const [server, { shards, waits }] of table.entries) {
    if (server === unresolvedDestination) continue;
    shards.forEach((gainer, part) => {
      for (const { slot, epoch } of waits[part] ?? [])
        if (epoch === table.epoch) found.set(slot, (found.get(slot) ?? new Set()).add(gainer));
    });
  }
  return found;
}
