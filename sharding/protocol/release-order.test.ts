import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { unresolvedDestination } from '../documents/table-document.ts';
import type { TableDocument, TableEntry } from '../documents/table-document.ts';
import { releasePredecessors } from './release-order.ts';

const epoch = 5000;

/** A table under which parts move from one slot to another. */
function tableOf(moves: readonly (readonly [number, number])[], extra: readonly [string, TableEntry][] = []) {
  const entries = moves.map(([from, to], i) => [`https://c${i}`, entryOf(from, to)] as const);
  const shape = { replicas: 9, algorithm: 'legacy', slots: 9, movedAt: new Map() } as const;
  return { epoch, ...shape, entries: new Map([...entries, ...extra]) } satisfies TableDocument;
}

function entryOf(from: number, to: number, since = epoch): TableEntry {
  return { names: [], shards: [to], homes: [to], waits: [[{ slot: from, epoch: since }]], everyone: 0 };
}

it.each([
  [
    'a new replica acknowledges first, and the owners release one after the other',
    [
      [0, 3],
      [1, 3],
      [2, 3],
    ],
    [[3], [3, 0], [3, 0, 1]],
  ],
  [
    'an owner releases after the next owners of its parts, though they release parts, too',
    [
      [0, 1],
      [1, 2],
    ],
    [[2, 1], [2], []],
  ],
  [
    'two owners that exchange parts do not wait for each other',
    [
      [0, 1],
      [1, 0],
      [2, 3],
    ],
    [[3, 2], [3, 2], [3]],
  ],
] as const)('%s', (_title, moves, predecessors) => {
  expect(predecessors.map((_, slot) => releasePredecessors(tableOf(moves), slot))).toEqual(predecessors);
});

it('ignores Applications without a destination, and moves of earlier tables', () => {
  const table = tableOf(
    [[0, 1]],
    [
      [unresolvedDestination, entryOf(1, 0)],
      ['https://earlier', entryOf(1, 0, epoch - 1000)],
    ],
  );
  expect(releasePredecessors(table, 0)).toEqual([1]);
});

it('an owner that the table takes nothing from goes last', () => {
  expect(releasePredecessors(tableOf([[0, 1]]), 7)).toEqual([1, 0]);
});

it('a fleet of two hundred releases in at most eight turns', () => {
  const moves = Array.from({ length: 200 }, (_, slot) => [slot, 200] as const);
  const table = tableOf(moves);
  const turns = new Set(moves.map(([slot]) => releasePredecessors(table, slot).length));
  expect(turns.size).toBe(8);
});

it('no two slots ever wait for each other', () => {
  const slot = fc.nat(6);
  const moves = fc.array(fc.tuple(slot, slot).filter(([from, to]) => from !== to));
  fc.assert(
    fc.property(moves, (some) => {
      const table = tableOf(some);
      const involved = [...new Set(some.flat())];
      const before = new Map(involved.map((each) => [each, releasePredecessors(table, each)]));
      for (const a of involved) for (const b of before.get(a) ?? []) expect(before.get(b) ?? []).not.toContain(a);
    }),
  );
});
