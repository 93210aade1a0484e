import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Lru } from './lru.ts';

describe('Lru', () => {
  it('stays within its capacity and evicts the least recently used', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd'), weight: fc.nat({ max: 12 }), get: fc.boolean() }),
        ),
        (steps) => {
          const lru = new Lru<number>(10);
          let model: { key: string; weight: number }[] = [];
          for (const { key, weight, get } of steps) {
            const old = model.find((e) => e.key === key);
            if (get) {
              expect(lru.get(key)).toBe(old?.weight);
              if (old !== undefined) model = [...model.filter((e) => e !== old), old];
              continue;
            }
            lru.set(key, weight, weight, '');
            model = model.filter((e) => e.key !== key);
            if (weight <= 10) model.push({ key, weight });
            while (model.reduce((sum, e) => sum + e.weight, 0) > 10) model.shift();
            expect(lru.weight).toBe(model.reduce((sum, e) => sum + e.weight, 0));
          }
        },
      ),
    );
  });

  it('lets a project evict its own entries once it has half, and no others', () => {
    const lru = new Lru<number>(10);
    const put = (project: string, key: string, weight: number): void => lru.set(key, weight, weight, project);
    for (let i = 0; i < 4; i += 1) put('victim', `v${i}`, 1);
    for (let i = 0; i < 1000; i += 1) put('hostile', `h${i}`, 1);
    expect([0, 1, 2, 3].map((i) => lru.get(`v${i}`))).toEqual([1, 1, 1, 1]);
    expect(lru.weight).toBe(10);
    // One entry that is bigger than half is kept, too: evicting it at once would cache nothing.
    put('victim', 'big', 9);
    expect(lru.get('big')).toBe(9);
  });
});
