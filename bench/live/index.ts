import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Benchmark, BenchMetrics } from '../harness.ts';
import { measureLive } from './measure.ts';
import type { LiveTask } from './measure.ts';
import { largeObjects, trackedEntries } from './objects.ts';
import type { ServedKind } from './objects.ts';
import { ScriptedServer } from './server.ts';

/** Measured in a process of its own; not from sources (in a test), which Node cannot run. */
async function measured(task: LiveTask): Promise<BenchMetrics> {
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

async function scenario(kinds: readonly ServedKind[], task: Omit<LiveTask, 'server'>): Promise<BenchMetrics> {
  const server = new ScriptedServer(kinds);
  try {
    return await measured({ ...task, server: await server.listen() });
  } finally {
    await server.close();
  }
}

function named(prefix: string, metrics: BenchMetrics): BenchMetrics {
  return Object.fromEntries(Object.entries(metrics).map(([name, value]) => [`${prefix}_${name}`, value]));
}

/** What the cache of one big cluster costs (T-MEM-1). */
export const live: Benchmark = {
  name: 'live',
  about:
    'cache of one cluster: 100,000 objects of 6 to 10 kB, a tenth of them managed; and 1,000,000 small ones that are all tracked, one part of 100 ours',
  parts: ['large', 'entries'],
  async run({ smoke, wants }) {
    return {
      ...(wants('large') ? named('large', await large(smoke)) : {}),
      ...(wants('entries') ? named('entries', await entries(smoke)) : {}),
    };
  },
};

function large(smoke: boolean): Promise<BenchMetrics> {
  const task = { parts: 1, events: smoke ? 40 : 4000, reads: smoke ? 5 : 1250 };
  return scenario(largeObjects(smoke ? 400 : 100_000), task);
}

function entries(smoke: boolean): Promise<BenchMetrics> {
  const task = { parts: 100, events: smoke ? 40 : 4000, reads: smoke ? 5 : 0 };
  return scenario(trackedEntries(smoke ? 400 : 1_000_000), task);
}
