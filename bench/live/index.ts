import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Benchmark, BenchMetrics } from '../harness.ts';
import { measureLive } from './measure.ts';
import type { LiveTask } from './measure.ts';
import { largeObjects, trackedEntries } from './objects.ts';
import type { GeneratedKind } from './objects.ts';
import { GeneratedServer } from './server.ts';

/**
 * Measures in a separate process; in this one when run from sources (in tests), which Node cannot
 * fork.
 */
async function measureInProcess(task: LiveTask): Promise<BenchMetrics> {
  const path = fileURLToPath(new URL('./process.js', import.meta.url));
  if (import.meta.url.endsWith('.ts')) return measureLive(task);
  const child = fork(path, { execArgv: ['--expose-gc'] });
  return new Promise((resolve, reject) => {
    child.once('message', (metrics) => resolve(metrics as BenchMetrics));
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`the measured process ended with ${code ?? 'a signal'}`)));
    child.send(task);
  });
}

async function measureKinds(kinds: readonly GeneratedKind[], task: Omit<LiveTask, 'server'>): Promise<BenchMetrics> {
  const server = new GeneratedServer(kinds);
  try {
    return await measureInProcess({ ...task, server: await server.listen() });
  } finally {
    await server.close();
  }
}

function withPrefix(prefix: string, metrics: BenchMetrics): BenchMetrics {
  return Object.fromEntries(Object.entries(metrics).map(([name, value]) => [`${prefix}_${name}`, value]));
}

/** Cost of the cache of one big cluster (T-MEM-1). */
export const liveBenchmark: Benchmark = {
  name: 'live',
  about:
    'cache of one cluster: 100,000 objects of 6 to 10 kB, a tenth of them managed; and 1,000,000 small ones, all tracked, of which this replica owns one part of 100',
  parts: ['large', 'entries'],
  async run({ smoke, wants }) {
    return {
      ...(wants('large') ? withPrefix('large', await measureLarge(smoke)) : {}),
      ...(wants('entries') ? withPrefix('entries', await measureEntries(smoke)) : {}),
    };
  },
};

function measureLarge(smoke: boolean): Promise<BenchMetrics> {
  const task = { parts: 1, events: smoke ? 40 : 4000, reads: smoke ? 5 : 1250 };
  return measureKinds(largeObjects(smoke ? 400 : 100_000), task);
}

function measureEntries(smoke: boolean): Promise<BenchMetrics> {
  const task = { parts: 100, events: smoke ? 40 : 4000, reads: smoke ? 5 : 0 };
  return measureKinds(trackedEntries(smoke ? 400 : 1_000_000), task);
}
