import { newAbortController, Shutdown, systemClock } from '#base';
import { createKubeClient, SharedClients } from '#kube';
import { createLiveClusters } from '#live';
import type { LiveClusters } from '#live';
import { defaultSettings } from '#model';
import type { Cluster } from '#model';
import { startSimCluster } from '#sim';
import type { SimCluster } from '#sim';
import { PromMetrics, silentLogger } from '#telemetry';
import { collectGarbage } from './harness.ts';
import type { BenchContext, Benchmark } from './harness.ts';

const partCount = 4;
/** About the size of a Deployment with status and managedFields. */
const payloadText = 'x'.repeat(6000);

function fillCluster(cluster: SimCluster, applications: number): void {
  cluster.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'apps' } });
  for (let i = 0; i < applications; i += 1) {
    const name = `app-${i}`;
    const annotations = { 'argocd.argoproj.io/tracking-id': `${name}:/ConfigMap:apps/${name}` };
    const metadata = { name, namespace: 'apps', annotations };
    cluster.store.create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata,
      data: { payload: `${payloadText}${i}` },
    });
  }
}

function clusterAt(server: string): Cluster {
  const identity = { id: 'hot', name: 'hot', server };
  const connection = { server, insecure: false, credentials: {} };
  return { ...identity, namespaces: [], clusterResources: false, labels: {}, annotations: {}, connection };
}

/** Heap of the cluster's cache when a replica owns the first `owned` parts. */
async function heapOf(sim: SimCluster, { random }: BenchContext, owned: number): Promise<number> {
  const surroundings = { clock: systemClock, random, logger: silentLogger };
  const limits = { qps: 10_000, burst: 10_000 };
  const live: LiveClusters = createLiveClusters({
    ...surroundings,
    metrics: new PromMetrics(),
    clients: new SharedClients((connection) =>
      createKubeClient(connection, { ...surroundings, userAgent: 'bench', limits }),
    ),
  });
  const bodies = { of: partCount, owned: Array.from({ length: owned }, (_, i) => i), namespace: 'argocd' };
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  live.setClusters([clusterAt(sim.url)], defaultSettings, new Map([[sim.url, bodies]]));
  const stop = newAbortController();
  const ended = live.run(stop.signal);
  await live.cluster(sim.url, stop.signal);
  collectGarbage();
  const bytes = process.memoryUsage().heapUsed - before;
  stop.abort(new Shutdown());
  await ended;
  return bytes;
}

/** Memory that each replica saves by splitting one cluster (T-SHARD-6). */
export const splitBenchmark: Benchmark = {
  name: 'split',
  about: `heap for a cluster of 5,000 Applications with one object each, whole and for one of ${partCount} parts`,
  async run(context) {
    const sim = await startSimCluster({
      name: 'hot',
      clock: systemClock,
      random: context.random,
      workloads: { enabled: false, delayMs: 0 },
    });
    try {
      fillCluster(sim, context.smoke ? 200 : 5000);
      await heapOf(sim, context, partCount);
      const whole = await heapOf(sim, context, partCount);
      const part = await heapOf(sim, context, 1);
      return { whole_heap_bytes: whole, quarter_heap_bytes: part, quarter_to_whole_ratio: part / whole };
    } finally {
      await sim.close();
    }
  },
};
