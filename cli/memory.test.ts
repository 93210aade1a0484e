import { describe, expect, it } from '@jest/globals';
import { programMemory } from './memory.ts';

const mebibyte = 1024 * 1024;

describe('14.4: memory of the programs that render', () => {
  it.each([
    ['no limit', 0, 2048, 1024],
    ['the limit of the chart', 4096, 512, 512],
    ['a small limit', 512, 256, 256],
    ['a large limit', 65_536, 2048, 1024],
    ['what the system says for none', 2 ** 43, 2048, 1024],
  ])('14.4: %s', (_name, limit, tool, git) => {
    expect(programMemory(limit * mebibyte)).toEqual({
      maxToolMemoryBytes: tool * mebibyte,
      maxGitAllocationBytes: git * mebibyte,
    });
  });
});
