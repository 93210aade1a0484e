import { describe, expect, it } from '@jest/globals';
import { RelativeTimes, shortDuration } from './times.ts';

const minute = 60_000;

it.each([
  [-5, '0ms'],
  [40, '40ms'],
  [1000, '1s'],
  [59_999, '59s'],
  [minute, '1m'],
  [200_000, '3m20s'],
  [60 * minute, '1h'],
  [61 * minute, '1h1m'],
  [28 * 60 * minute, '1d4h'],
  [48 * 60 * minute, '2d'],
])('%d ms is %s', (ms, text) => expect(shortDuration(ms)).toBe(text));

describe('times relative to an answer', () => {
  const times = new RelativeTimes('2026-11-25T12:00:00Z');

  it('name the clock time, and the date unless it is the same day', () => {
    expect(times.since('2026-11-25T11:59:00Z')).toBe('since 11:59:00 UTC (1m)');
    expect(times.since('2026-11-24T12:00:00Z')).toBe('since 2026-11-24 12:00:00 UTC (1d)');
    expect(times.until('2026-11-25T12:00:40Z')).toBe('until 12:00:40 UTC (in 40s)');
  });

  it('say that a deadline has passed', () => expect(times.until('2026-11-25T11:00:00Z')).toBe('due now'));

  it('are never negative when clocks differ', () => expect(times.ago('2026-11-25T12:00:09Z')).toBe('0ms ago'));

  it.each([undefined, '', 'yesterday'])('are absent for %j', (time) => {
    expect([times.ago(time), times.since(time), times.until(time), times.lasting(time)]).toEqual(
      Array(4).fill(undefined),
    );
  });
});
