import { fork } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { BenchMetrics } from '../harness.ts';
import type { LiveTask } from './measure.ts';
import { largeObjects } from './objects.ts';
import { GeneratedServer } from './server.ts';

/** The measured process of `npm run bench -- live`, as it was built. */
function measured(task: LiveTask): Promise<BenchMetrics> {
  const child = fork(join('dist', 'bench', 'live', 'process.js'), { execArgv: ['--expose-gc'] });
  return new Promise((resolve, reject) => {
    child.once('message', (metrics) => {
      resolve(metrics as BenchMetrics);
    });
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`the measured process ended with ${code ?? 'a signal'}`)));
    child.send(task);
  });
}

const objects = 100_000;
const MiB = 1024 * 1024;

describe('the cold start of a cluster of 100,000 objects of 6 to 10 kB', () => {
  // T-JS-9, T-JS-10, T-MEM-1
  it('keeps the loop responsive, bounds memory, and leaves nothing behind after changes', async () => {
    const server = new GeneratedServer(largeObjects(objects));
    try {
      const found = await measured({ server: await server.listen(), parts: 1, events: 20_000, reads: 0 });
      const of = (name: string): number => found[name] ?? Number.NaN;
      process.stdout.write(`${JSON.stringify(found)}\n`);
      expect(of('entries')).toBe(objects);
      // T-JS-9: CPU time, so that a busy machine does not matter.
      expect(of('load_loop_held_cpu_p99_ms')).toBeLessThan(50);
      // T-MEM-1: relative to the steady state of the same process.
      expect(of('peak_to_steady_ratio')).toBeLessThan(1.5);
      // T-JS-10: the measured value is 380 MiB.
      expect(of('peak_rss_bytes')).toBeLessThan(640 * MiB);
      expect(of('after_events_heap_bytes')).toBeLessThan(of('steady_heap_bytes') * 1.1);
    } finally {
      await server.close();
    }
  }, 900_000);
});
