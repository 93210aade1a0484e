import type { MemoryMeter } from '../command/run-process.ts';

/** Kills the biggest program when all of them together exceed the limit. The others continue. */
export function createMemoryMeter(limitBytes: number): MemoryMeter {
  const noted = new Map<object, number>();
  return {
    note: (program, bytes) => {
      noted.set(program, bytes);
      const all = [...noted.values()];
      return all.reduce((a, b) => a + b, 0) > limitBytes && bytes === Math.max(...all);
    },
    forget: (program) => {
      noted.delete(program);
    },
  };
}
