import { describe, expect, it } from '@jest/globals';
import { Turns } from './turns.ts';

describe('turns', () => {
  it('count up, one for all keys of a start, and are 0 before the first', () => {
    const turns = new Turns();
    const take = (...keys: string[]): void => turns.take(keys, () => []);
    take('a', 'b');
    take('b');
    expect([turns.of('a'), turns.of('b'), turns.of('c')]).toEqual([1, 2, 0]);
  });

  it('of keys that are not active are forgotten beyond a thousand', () => {
    const turns = new Turns();
    for (let i = 1; i <= 1000; i += 1) turns.take([`key-${i}`], () => []);
    expect([turns.of('key-1'), turns.of('key-1000')]).toEqual([1, 1000]);
    turns.take(['last'], () => ['key-1', 'last']);
    expect([turns.of('key-1'), turns.of('key-1000'), turns.of('last')]).toEqual([1, 0, 1001]);
    turns.take(['key-1000'], () => []);
    expect(turns.of('key-1000')).toBe(1002);
  });
});
