import { describe, expect, it } from '@jest/globals';
import { allBenchmarks } from './list.ts';
import { runBench } from './testing/run.ts';

describe('at smoke size', () => {
  it.each(allBenchmarks.map((benchmark) => [benchmark.name, benchmark] as const))(
    '%s runs and finds finite numbers',
    async (name, benchmark) => {
      const { code, out, err } = await runBench([name, '--json', '--smoke'], [benchmark]);
      expect([code, err]).toEqual([0, '']);
      const lines = out.trimEnd().split('\n');
      expect(lines).toHaveLength(1);
      const found = JSON.parse(lines[0] ?? '') as { name: string; metrics: Record<string, number>; machine: object };
      expect(Object.keys(found)).toEqual(['name', 'metrics', 'machine']);
      expect(found.name).toBe(name);
      expect(found.machine).toMatchObject({ node: process.version, seed: expect.any(Number) as unknown });
      expect(Object.values(found.metrics).filter((value) => !Number.isFinite(value))).toEqual([]);
      expect(Object.keys(found.metrics).length).toBeGreaterThan(0);
      // The hand-over waits for a lease, at least 16.5 s; a fleet starts up to five processes.
    },
    180_000,
  );
});
