import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Lanes, noLinks, turnsPerLive, turnsPerRound } from './lanes.ts';
import type { InLanes, Urgency } from './lanes.ts';

interface Item extends InLanes<Item> {
  readonly id: number;
  /** Latest turn in which it must have been taken, by the documented bound. */
  deadline: number;
}

const urgency = fc.constantFrom<Urgency>(0, 1, 2);
const op = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('push' as const), urgency }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('next' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('raise' as const), which: fc.nat(), urgency }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), which: fc.nat() }) },
);

function item(id: number, level: Urgency): Item {
  return { id, urgency: level, links: noLinks<Item>(), deadline: Infinity };
}

describe('Lanes', () => {
  it('takes every entry within its bound, whatever is added, raised and removed meanwhile', () => {
    fc.assert(
      fc.property(fc.array(op, { maxLength: 400 }), (ops) => {
        const lanes = new Lanes<Item>();
        const present: Item[] = [];
        let turn = 0;
        const bound = (entry: Item): void => {
          const others = present.filter((other) => other !== entry);
          const all = turn + turnsPerRound * (others.length + 1);
          const live = turn + turnsPerLive * (others.filter((other) => other.urgency >= 1).length + 1);
          entry.deadline = Math.min(entry.deadline, all, entry.urgency >= 1 ? live : Infinity);
        };
        const take = (): void => {
          const entry = lanes.next();
          expect(entry === undefined).toBe(present.length === 0);
          if (entry === undefined) return;
          turn += 1;
          expect(turn).toBeLessThanOrEqual(entry.deadline);
          present.splice(present.indexOf(entry), 1);
          for (const left of present) expect(left.deadline).toBeGreaterThan(turn);
        };
        for (const [id, step] of ops.entries()) {
          const known = 'which' in step ? present[step.which % Math.max(1, present.length)] : undefined;
          if (step.do === 'next') take();
          else if (step.do === 'push') {
            const entry = item(id, step.urgency);
            lanes.push(entry);
            present.push(entry);
            bound(entry);
          } else if (known === undefined) continue;
          else if (step.do === 'raise') {
            lanes.raise(known, step.urgency);
            bound(known);
          } else {
            lanes.remove(known);
            present.splice(present.indexOf(known), 1);
          }
          expect(lanes.size).toBe(present.length);
        }
        while (present.length > 0) take();
        expect(lanes.next()).toBeUndefined();
        expect(lanes.oldest).toBeUndefined();
      }),
      { numRuns: 300 },
    );
  });

  it('is first in, first out within one urgency', () => {
    for (const level of [0, 1, 2] as const) {
      const lanes = new Lanes<Item>();
      for (let id = 0; id < 100; id += 1) lanes.push(item(id, level));
      expect(Array.from({ length: 100 }, () => lanes.next()?.id)).toEqual(Array.from({ length: 100 }, (_, id) => id));
    }
  });

  it('gives 11 of 16 turns to what was asked, 4 to what is live, 1 to the rest', () => {
    const lanes = new Lanes<Item>();
    // The resync items are the oldest, so that turns for "the oldest of all" are theirs.
    for (const level of [0, 1, 2] as const) for (let id = 0; id < 500; id += 1) lanes.push(item(id, level));
    const count = [0, 0, 0];
    for (let turn = 0; turn < 320; turn += 1) count[lanes.next()!.urgency]! += 1;
    expect(count).toEqual([20, 80, 220]);
  });

  it('serves the asked one first when it is alone among many', () => {
    const lanes = new Lanes<Item>();
    for (let id = 0; id < 50; id += 1) lanes.push(item(id, 0));
    lanes.push(item(99, 2));
    expect(lanes.next()?.id).toBe(99);
    expect(lanes.oldest?.id).toBe(0);
  });
});
