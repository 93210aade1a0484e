import { loadavg } from 'node:os';
import { systemClock } from '#base';
import { groupOf } from '#model';
import type { KubeObject } from '#model';
import { openCache } from '../../engine/live.ts';
import type { ClusterCache } from '../../engine/live.ts';
import { openGate, openWriter, runSync } from '../../engine/sync.ts';
import type { SyncInputs } from '../../engine/sync.ts';
import { missingTools } from '../fleet/tools.ts';
import type { BenchContext, Benchmark, BenchMetrics } from '../harness.ts';
import { serviceObjects, withOneChange } from './objects.ts';
import { realServer, simulatedServer } from './servers.ts';
import type { PackageServer } from './servers.ts';

const modes = [
  { mode: 'client', serverSideApply: false },
  { mode: 'server', serverSideApply: true },
] as const;
const ways = ['plain', 'cached'] as const;
const pollMs = 100;
const maxPolls = 600;
const steps = ['first', 'unchanged', 'one_changed'] as const;

/**
 * The table of the second seed: a service of 56 resources with definitions, applied by the package
 * with and without cache and gate, client-side and server-side.
 */
export const packageBenchmark: Benchmark = {
  name: 'package',
  about: 'syncs of 56 resources by @driftless/engine/sync: requests and time, with and without cache and gate',
  parts: ['simulated', 'real'],
  table: packageTable,
  async run(context) {
    const metrics: Record<string, number> = {};
    const sides = modes.flatMap((mode) => ways.map((way) => ({ ...mode, way })));
    for (const [part, open] of serversOf(context))
      for (const { mode, serverSideApply, way } of sides) {
        const found = await measureSyncs(await open(), context, { serverSideApply, isCached: way === 'cached' });
        const prefix = `${part}_${mode}_${way}_`;
        Object.assign(
          metrics,
          Object.fromEntries(Object.entries(found).map(([name, value]) => [prefix + name, value])),
        );
      }
    return { ...metrics, load_average_1min_count: loadavg()[0] ?? 0 } satisfies BenchMetrics;
  },
};

/** A smoke run needs no external programs. */
function serversOf({
  wants,
  smoke,
  progress,
}: BenchContext): readonly (readonly [string, () => Promise<PackageServer>])[] {
  const missing = smoke ? [] : missingTools(['kube-apiserver', 'etcd']);
  if (missing.length > 0)
    progress(`package: without a real server, ${missing.join(', ')} missing: run npm run e2e:setup`);
  const hasReal = !smoke && missing.length === 0 && wants('real');
  return [
    ...(wants('simulated') ? ([['simulated', simulatedServer]] as const) : []),
    ...(hasReal ? ([['real', realServer]] as const) : []),
  ];
}

interface SyncKind {
  readonly serverSideApply: boolean;
  readonly isCached: boolean;
}

/** The median time of each step over some rounds, and its requests in the last one. */
async function measureSyncs(
  server: PackageServer,
  { smoke }: BenchContext,
  { serverSideApply, isCached }: SyncKind,
): Promise<BenchMetrics> {
  const { kubeConfig } = server;
  const gate = openGate();
  const writer = await openWriter({ kubeConfig, ...(isCached ? { gate } : {}) });
  const cache = isCached ? await openCache({ kubeConfig }) : undefined;
  const inputs = { writer, ...(cache === undefined ? {} : { cache }), options: { serverSideApply } };
  const objects = serviceObjects(smoke ? 14 : 56);
  try {
    const metrics: Record<string, number> = {};
    const measure = async (
      step: string,
      rounds: number,
      targets: (round: number) => readonly KubeObject[],
    ): Promise<void> => {
      const times: number[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const [before, began] = [server.requests(), performance.now()];
        await syncOrThrow({ ...inputs, targets: targets(round) });
        times.push(performance.now() - began);
        metrics[`${step}_requests_count`] = server.requests() - before;
      }
      metrics[`${step}_ms`] = times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
    };
    await measure('first', 1, () => objects);
    // The cache watches the new kinds within seconds, and reads once what it did not have whole.
    await cacheSees(cache, objects);
    for (let round = 0; round < 3; round += 1) await syncOrThrow({ ...inputs, targets: objects });
    await measure('unchanged', smoke ? 2 : 7, () => objects);
    await measure('one_changed', smoke ? 2 : 7, (round) => withOneChange(objects, 9000 + round));
    if (isCached) metrics['gate_bytes'] = gate.metrics().bytes;
    return metrics;
  } finally {
    await cache?.close();
    await writer.close();
    await server.close();
  }
}

async function cacheSees(cache: ClusterCache | undefined, objects: readonly KubeObject[]): Promise<void> {
  const kinds = objects.map(({ apiVersion, kind }) => ({ group: groupOf(apiVersion), kind }));
  for (let polls = 0; cache !== undefined && polls < maxPolls; polls += 1) {
    if ((await cache.list({ kinds })).incomplete.length === 0) return;
    await systemClock.sleep(pollMs);
  }
  if (cache !== undefined) throw new Error('the cache does not watch the new kinds');
}

async function syncOrThrow(inputs: SyncInputs): Promise<void> {
  const { phase, message, results } = await runSync(inputs);
  if (phase !== 'Succeeded') throw new Error(`${message}: ${JSON.stringify(results.slice(0, 3))}`);
}

function packageTable(metrics: BenchMetrics): string {
  const cell = (name: string): string =>
    `${metrics[`${name}_requests_count`] ?? '-'} requests, ${metrics[`${name}_ms`]?.toFixed(1) ?? '-'} ms`.padEnd(26);
  const lines = ['simulated', 'real'].flatMap((part) =>
    modes.flatMap(({ mode }) =>
      ways
        .filter((way) => metrics[`${part}_${mode}_${way}_first_ms`] !== undefined)
        .map((way) =>
          `  ${`${part}, ${mode}-side, ${way === 'cached' ? 'with' : 'without'} cache and gate`.padEnd(54)}${steps
            .map((step) => cell(`${part}_${mode}_${way}_${step}`))
            .join('')}`.trimEnd(),
        ),
    ),
  );
  const head =
    `  ${''.padEnd(54)}${['first', 'unchanged', 'one changed'].map((text) => text.padEnd(26)).join('')}`.trimEnd();
  return `${[head, ...lines].join('\n')}\n  load average at the end: ${metrics['load_average_1min_count']?.toFixed(1) ?? '-'}\n`;
}
