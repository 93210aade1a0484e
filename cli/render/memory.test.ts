import { describe, expect, it } from '@jest/globals';
import { maxProgramBytes } from './memory.ts';

const mebibyte = 1024 * 1024;

describe('the memory of one program in the renderer', () => {
  it.each([
    ['half of the memory of all programs', 1536, 768],
    ['at least what a usual chart needs', 64, 256],
    ['at most 2 GiB', 16_384, 2048],
  ])('is %s', (_name, all, one) => {
    expect(maxProgramBytes(all * mebibyte)).toBe(one * mebibyte);
  });
});
