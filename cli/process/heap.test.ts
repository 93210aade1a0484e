import { describe, expect, it } from '@jest/globals';
import { containerLimit, fitHeap, heapFor, isHeapChosen } from './heap.ts';

const mebibyte = 1024 * 1024;

describe('the heap in a container', () => {
  it.each([
    ['128Mi', 128, 262, 64],
    ['256Mi', 256, 262, 128],
    ['96Mi: the smallest heap that starts', 96, 262, 64],
    ['512Mi: what Node takes fits', 512, 268, undefined],
    ['3Gi: what Node takes fits', 3072, 1608, undefined],
    ['3Gi with the heap of a machine without a limit', 3072, 4192, 1536],
    ['no limit', 0, 4192, undefined],
  ])('gets half of the limit: %s', (_name, limitMb, heapMb, expected) => {
    expect(heapFor(limitMb * mebibyte, heapMb * mebibyte)).toBe(expected);
  });

  it.each([
    ['that no container has', 2 ** 64, 0],
    ['above the memory of the machine', 3 * 2 ** 30, 0],
    ['that is missing', 0, 0],
    ['of the container', 2 ** 29, 2 ** 29],
  ])('goes by the limit, and not by one %s', (_name, constrained, expected) => {
    expect(containerLimit(constrained, 2 ** 31)).toBe(expected);
  });

  it.each([
    [['--max-old-space-size=100'], undefined, true],
    [['--expose-gc'], '--max_old_space_size=100', true],
    [[], '--max-old-space-size-percentage=75', true],
    [['--max-heap-size=64'], '', true],
    [['--expose-gc'], '--trace-warnings', false],
  ])('stays as the user chose it: %j %j', (execArgv, nodeOptions, expected) => {
    expect(isHeapChosen(execArgv, nodeOptions)).toBe(expected);
  });

  it('is reported for a process without a limit, which keeps its heap', () => {
    const { heapMb } = fitHeap({ NODE_OPTIONS: '--max-old-space-size=100' });
    expect(heapMb).toBeGreaterThan(0);
  });
});
