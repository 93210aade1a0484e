import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { seededRandom } from '#base';
import { DueHeap } from './due-heap.ts';
import type { HeapEntry } from './due-heap.ts';

const op = fc.oneof(
  fc.record({ do: fc.constant('push' as const), at: fc.integer({ min: 0, max: 20 }) }),
  fc.record({ do: fc.constant('earlier' as const), which: fc.nat(), by: fc.nat(10) }),
  fc.record({ do: fc.constant('remove' as const), which: fc.nat() }),
  fc.record({ do: fc.constant('pop' as const) }),
);

describe('DueHeap', () => {
  it('behaves like a sorted list under any moves and removals', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20), { maxLength: 40 }), fc.array(op, { maxLength: 80 }), (first, more) => {
        const ops = [...first.map((at) => ({ do: 'push' as const, at })), ...more];
        const heap = new DueHeap<HeapEntry>();
        const model: HeapEntry[] = [];
        let order = 0;
        const drop = (entry: HeapEntry | undefined): void => {
          if (entry === undefined) return;
          heap.remove(entry);
          model.splice(model.indexOf(entry), 1);
          expect(entry.heapIndex).toBe(-1);
        };
        for (const step of ops) {
          if (step.do === 'push') {
            const entry = { dueAt: step.at, order: (order += 1), heapIndex: -1 };
            heap.push(entry);
            model.push(entry);
          } else if (step.do === 'earlier') {
            const entry = model[step.which % Math.max(1, model.length)];
            if (entry !== undefined) {
              entry.dueAt -= step.by;
              heap.movedEarlier(entry);
            }
          } else drop(step.do === 'remove' ? model[step.which % Math.max(1, model.length)] : heap.first);
          model.sort((a, b) => a.dueAt - b.dueAt || a.order - b.order);
          expect(heap.size).toBe(model.length);
          expect(heap.first).toBe(model[0]);
        }
        while (model.length > 0) {
          expect(heap.first).toBe(model[0]);
          drop(heap.first);
        }
        expect(heap.first).toBeUndefined();
      }),
      { numRuns: 300 },
    );
  });

  it('stays sorted when many entries are removed from the middle', () => {
    const random = seededRandom(3);
    for (let round = 0; round < 20; round += 1) {
      const heap = new DueHeap<HeapEntry>();
      const entries = Array.from({ length: 200 }, (_, order) => ({ dueAt: random.next(), order, heapIndex: -1 }));
      for (const entry of entries) heap.push(entry);
      const left = entries.filter(() => random.next() < 0.5);
      for (const entry of entries) if (!left.includes(entry)) heap.remove(entry);
      const drained: number[] = [];
      for (let first = heap.first; first !== undefined; first = heap.first) {
        drained.push(first.dueAt);
        heap.remove(first);
      }
      expect(drained).toEqual(left.map((entry) => entry.dueAt).sort((a, b) => a - b));
    }
  });

  it('removes all entries on clear', () => {
    const heap = new DueHeap<HeapEntry>();
    const entries = [3, 1, 2].map((dueAt, order) => ({ dueAt, order, heapIndex: -1 }));
    for (const entry of entries) heap.push(entry);
    heap.clear();
    expect(heap.size).toBe(0);
    expect(entries.map((entry) => entry.heapIndex)).toEqual([-1, -1, -1]);
  });
});
