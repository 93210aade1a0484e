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
            lru.set(key, weight, weight);
            model = model.filter((e) => e.key !== key);
            if (weight <= 10) model.push({ key, weight });
            while (model.reduce((sum, e) => sum + e.weight, 0) > 10) model.shift();
            expect(lru.weight).toBe(model.reduce((sum, e) => sum + e.weight, 0));
          }
        },
      ),
    );
  });
});
