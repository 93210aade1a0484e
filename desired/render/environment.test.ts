import { expect, it } from '@jest/globals';
import { stepEnvironment } from './environment.ts';

const heapLimit = (maxMemoryBytes?: number): number =>
  Number(stepEnvironment('/staging/r', maxMemoryBytes)['GOMEMLIMIT']);

it('a program collects garbage rarely while it is small, and keeps half of its memory limit free', () => {
  expect(stepEnvironment('/staging/r')['GOGC']).toBe('400');
  expect(heapLimit()).toBe(2 ** 30);
  expect(heapLimit(768 * 2 ** 20)).toBe(384 * 2 ** 20);
  expect(heapLimit(8 * 2 ** 30)).toBe(2 ** 30);
});
