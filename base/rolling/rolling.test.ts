import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { recordedText, RingBuffer } from './ring-buffer.ts';
import { otherKeys, RollingSums } from './rolling-sums.ts';

describe('a ring buffer', () => {
  it('returns the newest items first, and forgets all but as many as it holds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.array(fc.integer(), { maxLength: 40 }), (capacity, items) => {
        const ring = new RingBuffer<number>(capacity);
        for (const item of items) ring.push(item);
        expect([...ring.newestFirst()]).toEqual(items.slice(-capacity).reverse());
        expect(ring.size).toBe(Math.min(capacity, items.length));
      }),
    );
  });
});

describe('the text of a record', () => {
  it('is cut, and does not keep the whole text in memory', () => {
    expect(recordedText('short')).toBe('short');
    const kept: string[] = [];
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 2000; i += 1) kept.push(recordedText(`${i}${'x'.repeat(65_536)}`.replaceAll('y', 'z')));
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(64 * 2 ** 20);
    expect(kept.every((text) => text.length === 1001)).toBe(true);
  });
});

describe('rolling sums', () => {
  const window = { sliceMs: 10, slices: 3, maxKeys: 2 };

  it('cover the window and no more than it', () => {
    const sums = new RollingSums(['a', 'b'], window);
    sums.add('x', 'a', 1, 0);
    sums.add('x', 'b', 5, 12);
    sums.add('y', 'a', 2, 25);
    expect(sums.coveredMs(25)).toBe(25);
    expect(sums.row('x', 25)).toEqual({ a: 1, b: 5 });
    expect([...sums.rows(31)]).toEqual([
      ['x', { a: 0, b: 5 }],
      ['y', { a: 2, b: 0 }],
    ]);
    expect([...sums.rows(1000)]).toEqual([]);
    expect(sums.coveredMs(1000)).toBe(0);
  });

  it('count keys beyond the maximum together', () => {
    const sums = new RollingSums(['a'], window);
    for (const key of ['x', 'y', 'z', 'z', 'x']) sums.add(key, 'a', 1, 0);
    expect(Object.fromEntries(sums.rows(0))).toEqual({ x: { a: 2 }, y: { a: 1 }, [otherKeys]: { a: 2 } });
  });
});
