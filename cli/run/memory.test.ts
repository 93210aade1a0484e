import { describe, expect, it } from '@jest/globals';
import {
  answerLimits,
  comparisonMemory,
  inputMemory,
  liveLimits,
  oldSpaceBytes,
  programMemory,
  renderedMemory,
} from './memory.ts';

const mebibyte = 1024 * 1024;

describe('memory of the programs that render', () => {
  it.each([
    ['no limit', 0, 2048, 1024],
    ['the limit of the chart', 4096, 512, 512],
    ['a small limit', 512, 256, 256],
    ['a large limit', 65_536, 2048, 1024],
    ['what the system says for none', 2 ** 43, 2048, 1024],
  ])('%s', (_name, limit, tool, git) => {
    expect(programMemory(limit * mebibyte, { isRendererRemote: false })).toEqual({
      maxToolMemoryBytes: tool * mebibyte,
      maxGitAllocationBytes: git * mebibyte,
    });
  });

  it('leaves the limit of programs to a renderer in another container', () => {
    expect(programMemory(4096 * mebibyte, { isRendererRemote: true })).toEqual({
      maxToolMemoryBytes: 2048 * mebibyte,
      maxGitAllocationBytes: 512 * mebibyte,
    });
  });
});

describe('memory of the files that are held for programs', () => {
  it.each([
    ['a quarter of the limit of the chart', 0, 3072, 768],
    ['a quarter of a small limit', 0, 512, 128],
    ['a minimum, however small the limit is', 0, 128, 64],
    ['a maximum without a limit', 0, 0, 1024],
    ['a maximum with a huge limit', 0, 2 ** 43, 1024],
    ['the value of the flag', 300, 512, 300],
  ])('is %s', (_name, flag, limit, bytes) => {
    expect(inputMemory(flag, limit * mebibyte)).toEqual({ inputBytes: bytes * mebibyte });
  });
});

describe('memory of what clusters send', () => {
  it.each([
    ['a heap limit without the young generation', 208, 160],
    ['two thirds of a tiny heap', 96, 64],
  ])('has %s to live in', (_name, limit, left) => {
    expect(oldSpaceBytes(limit * mebibyte)).toBe(left * mebibyte);
  });

  it.each([
    ['half of what is free', 0, 2176, 1024, 1228],
    ['what the flag says', 512, 2176, 512, 1228],
    ['all that the flag says, also where it is more than is free', 4096, 2176, 4096, 4096],
    ['a little, however small the heap is', 0, 64, 16, 19],
  ])('is %s', (_name, flag, heap, cluster, total) => {
    const { clusterBytes, totalBytes } = liveLimits(flag, heap * mebibyte);
    expect([clusterBytes, totalBytes].map((bytes) => Math.floor(bytes / mebibyte))).toEqual([cluster, total]);
  });

  it('leaves a fifth of what is free to the objects of comparisons', () => {
    expect([2176, 64].map((heap) => Math.floor(comparisonMemory(heap * mebibyte) / mebibyte))).toEqual([409, 6]);
  });

  it('leaves an eighth to manifests that are on disk, too, and at most 64 MiB', () => {
    expect([2176, 384, 64].map((heap) => renderedMemory(heap * mebibyte).cacheBytes / mebibyte)).toEqual([64, 32, 4]);
  });

  it('has room for an object of the largest size in each answer', () => {
    for (const heap of [64, 256, 4096]) {
      const limits = answerLimits(8, heap * mebibyte);
      expect(limits.objectBytes).toBe(8 * mebibyte);
      expect(limits.documentBytes).toBeGreaterThanOrEqual(limits.objectBytes);
      expect(limits.inFlightBytes).toBeGreaterThan(limits.objectBytes);
    }
  });
});
