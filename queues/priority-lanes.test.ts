import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { maxDebtTurns } from './fair-ring.ts';
import { PriorityLanes, noLinks, turnsPerLive, turnsPerRound } from './priority-lanes.ts';
import type { LaneEntry, TurnTicket, Urgency } from './priority-lanes.ts';

interface Item extends LaneEntry<Item> {
  readonly id: number;
  /** Last turn by which it must be taken, by the documented bound. */
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
  return { id, urgency: level, flow: '', links: noLinks<Item>(), deadline: Infinity };
}

/** Takes the next entry and settles its ticket at once. */
function taken(lanes: PriorityLanes<Item>): Item | undefined {
  const next = lanes.next();
  if (next !== undefined) lanes.settle(next.ticket, 0);
  return next?.entry;
}

describe('PriorityLanes', () => {
  it('takes every entry within its bound, whatever is added, raised or removed', () => {
    fc.assert(
      fc.property(fc.array(op, { maxLength: 400 }), (ops) => {
        const lanes = new PriorityLanes<Item>();
        const present: Item[] = [];
        let turn = 0;
        const bound = (entry: Item): void => {
          const others = present.filter((other) => other !== entry);
          const all = turn + turnsPerRound * (others.length + 1);
          const live = turn + turnsPerLive * (others.filter((other) => other.urgency >= 1).length + 1);
          entry.deadline = Math.min(entry.deadline, all, entry.urgency >= 1 ? live : Infinity);
        };
        const take = (): void => {
          const entry = taken(lanes);
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
        expect(taken(lanes)).toBeUndefined();
        expect(lanes.flows).toBe(0);
        expect(lanes.oldest).toBeUndefined();
      }),
      { numRuns: 300 },
    );
  });

  it('is first in, first out within one urgency', () => {
    for (const level of [0, 1, 2] as const) {
      const lanes = new PriorityLanes<Item>();
      for (let id = 0; id < 100; id += 1) lanes.push(item(id, level));
      expect(Array.from({ length: 100 }, () => taken(lanes)?.id)).toEqual(Array.from({ length: 100 }, (_, id) => id));
    }
  });

  it('gives 11 of 16 turns to users, 4 to live changes and 1 to resyncs', () => {
    const lanes = new PriorityLanes<Item>();
    // The resync entries are the oldest, so they get the turns of lane 0.
    for (const level of [0, 1, 2] as const) for (let id = 0; id < 500; id += 1) lanes.push(item(id, level));
    const count = [0, 0, 0];
    for (let turn = 0; turn < 320; turn += 1) count[taken(lanes)!.urgency]! += 1;
    expect(count).toEqual([20, 80, 220]);
  });

  it('serves a single user entry before many resyncs', () => {
    const lanes = new PriorityLanes<Item>();
    for (let id = 0; id < 50; id += 1) lanes.push(item(id, 0));
    lanes.push(item(99, 2));
    expect(taken(lanes)?.id).toBe(99);
    expect(lanes.oldest?.id).toBe(0);
  });

  it('takes every entry of every flow within its bound, however long the work takes', () => {
    const flowOp = fc.oneof(
      { weight: 5, arbitrary: fc.record({ do: fc.constant('push' as const), urgency, flow: fc.nat(4) }) },
      { weight: 4, arbitrary: fc.record({ do: fc.constant('next' as const) }) },
      { weight: 4, arbitrary: fc.record({ do: fc.constant('settle' as const), which: fc.nat(), cost: fc.nat(20) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('raise' as const), which: fc.nat(), urgency }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), which: fc.nat() }) },
    );
    fc.assert(
      fc.property(fc.array(flowOp, { maxLength: 400 }), (ops) => {
        const flows = 5;
        const lanes = new PriorityLanes<Item>();
        const waiting: Item[] = [];
        const out: { readonly entry: Item; readonly ticket: TurnTicket<Item> }[] = [];
        let turn = 0;
        const bound = (entry: Item): void => {
          const own = [...waiting, ...out.map((one) => one.entry)].filter((o) => o !== entry && o.flow === entry.flow);
          const turns = flows * (own.length + 1) * (1 + maxDebtTurns);
          entry.deadline = Math.min(entry.deadline, turn + turns * (entry.urgency >= 1 ? turnsPerLive : turnsPerRound));
        };
        for (const [id, step] of ops.entries()) {
          const known = 'which' in step ? waiting[step.which % Math.max(1, waiting.length)] : undefined;
          if (step.do === 'push') {
            const entry = { ...item(id, step.urgency), flow: String(step.flow) };
            lanes.push(entry);
            bound(entry);
            waiting.push(entry);
          } else if (step.do === 'next') {
            const next = lanes.next();
            expect(next === undefined).toBe(waiting.length === 0);
            if (next === undefined) continue;
            turn += 1;
            waiting.splice(waiting.indexOf(next.entry), 1);
            out.push(next);
            for (const left of [...waiting, next.entry]) expect(left.deadline).toBeGreaterThanOrEqual(turn);
          } else if (step.do === 'settle') {
            const [done] = out.splice(step.which % Math.max(1, out.length), 1);
            if (done !== undefined) lanes.settle(done.ticket, step.cost);
          } else if (known === undefined) continue;
          else if (step.do === 'raise') {
            lanes.raise(known, step.urgency);
            bound(known);
          } else {
            lanes.remove(known);
            waiting.splice(waiting.indexOf(known), 1);
          }
          expect(lanes.size).toBe(waiting.length);
          expect(lanes.oldest).toBe(waiting[0]);
        }
        for (const { ticket } of out) lanes.settle(ticket, 1);
        while (waiting.length > 0) waiting.splice(waiting.indexOf(taken(lanes)!), 1);
        expect([lanes.next(), lanes.flows]).toEqual([undefined, 0]);
      }),
      { numRuns: 300 },
    );
  });

  it('takes the entry of a new flow within three turns, beside a flow with a thousand entries', () => {
    for (const level of [0, 1, 2] as const) {
      const lanes = new PriorityLanes<Item>();
      for (let id = 0; id < 1000; id += 1) lanes.push({ ...item(id, level), flow: 'many' });
      expect(taken(lanes)?.id).toBe(0);
      lanes.push({ ...item(-1, level), flow: 'one' });
      expect([1, 2, 3].map(() => taken(lanes)?.id)).toContain(-1);
    }
  });

  it('keeps the order within a flow and shares turns equally between waiting flows', () => {
    const lanes = new PriorityLanes<Item>();
    for (let id = 0; id < 300; id += 1) lanes.push({ ...item(id, 1), flow: id < 200 ? 'a' : id < 250 ? 'b' : 'c' });
    const first = Array.from({ length: 150 }, () => taken(lanes)!);
    for (const flow of ['a', 'b', 'c']) {
      const ids = first.filter((entry) => entry.flow === flow).map(({ id }) => id);
      expect([ids.length, ids]).toEqual([50, [...ids].sort((x, y) => x - y)]);
    }
  });

  it('gives a group no more turns for having many flows', () => {
    const lanes = new PriorityLanes<Item>();
    for (let id = 0; id < 300; id += 1) lanes.push({ ...item(id, 1), flow: `many/${id}` });
    for (let id = 300; id < 400; id += 1) lanes.push({ ...item(id, 1), flow: 'one/a' });
    const first = Array.from({ length: 100 }, () => taken(lanes)!);
    expect(first.filter(({ flow }) => flow === 'one/a')).toHaveLength(50);
    const seen = first.filter(({ flow }) => flow !== 'one/a').map(({ flow }) => flow);
    expect(new Set(seen).size).toBe(50);
  });

  it('shares the turns of a group equally between its flows', () => {
    const lanes = new PriorityLanes<Item>();
    for (let id = 0; id < 300; id += 1) lanes.push({ ...item(id, 1), flow: id < 200 ? 'group/a' : 'group/b' });
    const first = Array.from({ length: 100 }, () => taken(lanes)!);
    expect(first.filter(({ flow }) => flow === 'group/a')).toHaveLength(50);
  });

  it('charges a group for the work of all its flows', () => {
    const lanes = new PriorityLanes<Item>();
    for (let id = 0; id < 400; id += 1) lanes.push({ ...item(id, 1), flow: id < 200 ? `slow/${id}` : 'fast/a' });
    let slow = 0;
    for (let i = 0; i < 200; i += 1) {
      const next = lanes.next()!;
      const isSlow = next.entry.flow.startsWith('slow');
      slow += Number(isSlow);
      lanes.settle(next.ticket, isSlow ? 3 : 0);
    }
    expect(slow).toBeLessThan(55);
    expect(slow).toBeGreaterThanOrEqual(40);
  });

  it('gives a flow its next turn after a bounded number of others, however long its work took', () => {
    for (const group of ['', 'group/']) {
      const lanes = new PriorityLanes<Item>();
      lanes.push({ ...item(0, 1), flow: `${group}slow` });
      const first = lanes.next()!;
      for (let id = 1; id < 100; id += 1) lanes.push({ ...item(id, 1), flow: `${group}fast` });
      lanes.settle(first.ticket, 1_000_000);
      lanes.push({ ...item(100, 1), flow: `${group}slow` });
      const order = Array.from({ length: turnsPerLive * 2 * (1 + maxDebtTurns) }, () => taken(lanes)?.id);
      expect(order).toContain(100);
    }
  });

  it('gives a flow with slow work fewer turns while others wait', () => {
    const lanes = new PriorityLanes<Item>();
    for (let id = 0; id < 400; id += 1) lanes.push({ ...item(id, 1), flow: id < 200 ? 'slow' : 'fast' });
    const counts = { slow: 0, fast: 0 };
    for (let i = 0; i < 200; i += 1) {
      const next = lanes.next()!;
      counts[next.entry.flow as 'slow' | 'fast'] += 1;
      lanes.settle(next.ticket, next.entry.flow === 'slow' ? 3 : 0);
    }
    expect(counts.fast / counts.slow).toBeGreaterThan(3.8);
    expect(counts.slow).toBeGreaterThanOrEqual(40);
  });

  it('bounds the debt of a group as that of a flow, whatever its work has cost', () => {
    const lanes = new PriorityLanes<Item>();
    const add = (id: number, flow: string): void => lanes.push({ ...item(id, 0), flow, links: noLinks<Item>() });
    for (let id = 0; id < 2; id += 1) add(id, 'slow/a');
    for (let id = 10; id < 10 + 4 * maxDebtTurns; id += 1) add(id, 'other/b');
    const first = lanes.next();
    expect(first?.entry.id).toBe(0);
    if (first !== undefined) lanes.settle(first.ticket, 1_000_000);
    const order = Array.from({ length: 2 + maxDebtTurns }, () => taken(lanes)?.id);
    expect(order.indexOf(1)).toBe(1 + maxDebtTurns);
  });
});
