import { describe, expect, it } from '@jest/globals';
import { fitLine } from './measure.ts';

describe('the line through samples', () => {
  it('has the growth of values on a line, and no noise', () => {
    expect(fitLine([10, 12, 14, 16])).toEqual({ slope: 2, mean: 13, noise: 0 });
  });

  it('separates noise from growth', () => {
    const { slope, noise } = fitLine([10, 12, 12, 10]);
    expect(slope).toBe(0);
    expect(noise).toBe(1);
  });

  it('has no slope for one value', () => {
    expect(fitLine([7])).toEqual({ slope: 0, mean: 7, noise: 0 });
  });
});
