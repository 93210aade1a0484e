import { monitorEventLoopDelay } from 'node:perf_hooks';
import { newAbortController, Shutdown, systemClock, systemRandom } from '#base';
import { createKubeClient, SharedClients } from '#kube';
import { createLiveClusters } from '#live';
import type { LiveCluster } from '#live';
import { defaultSettings } from '#model';
import type { Cluster } from '#model';
import { PromMetrics, silentLogger } from '#telemetry';
import { collectGarbage } from '../harness.ts';
import type { BenchMetrics } from '../harness.ts';

/** The task of the measured process. */
export interface LiveTask {
  readonly server: string;
  /** Number of parts of the cluster. This replica owns one and keeps no bodies of the others. */
  readonly parts: number;
  readonly events: number;
  /** Number of Applications whose objects are read, starting with `app-0`. */
  readonly reads: number;
}

/**
 * Fills the cache of one cluster and returns its cost: peak and steady memory, CPU, event loop
 * delay, and the cost of a later event and of reading an Application's objects.
 */
export async function measureLive(task: LiveTask): Promise<BenchMetrics> {
  const live = liveClusters();
  const stop = newAbortController();
  collectGarbage();
  const before = process.memoryUsage();
  const load = await observeRun(async () => {
    live.setClusters([clusterAt(task.server)], defaultSettings, bodiesOf(task));
    void live.run(stop.signal);
    return live.cluster(task.server, stop.signal);
  });
  const peak = process.resourceUsage().maxRSS * 1024;
  const steady = await atRest();
  const cluster = load.value;
  const entries = cluster.info().resourcesCount;
  const reading = await observeRun(() => readAll(cluster, task.reads, stop.signal));
  const again = await observeRun(() => readAll(cluster, task.reads, stop.signal));
  const churn = await observeRun(() => waitForChurn(cluster, task));
  const after = await atRest();
  stop.abort(new Shutdown());
  return {
    entries,
    base_rss_bytes: before.rss,
    steady_rss_bytes: steady.rss,
    peak_rss_bytes: peak,
    peak_to_steady_ratio: peak / steady.rss,
    steady_heap_bytes: steady.heapUsed,
    steady_buffers_bytes: steady.external,
    heap_bytes_per_entry_bytes: (steady.heapUsed + steady.external - before.heapUsed - before.external) / entries,
    load_seconds: load.seconds,
    load_cpu_seconds: load.cpuSeconds,
    load_loop_delay_p99_ms: load.p99Ms,
    load_loop_delay_longest_ms: load.longestMs,
    load_loop_held_cpu_p99_ms: load.heldP99Ms,
    read_cpu_per_object_us: (reading.cpuSeconds * 1e6) / reading.value,
    read_again_cpu_per_object_us: (again.cpuSeconds * 1e6) / again.value,
    event_cpu_us: (churn.cpuSeconds * 1e6) / task.events,
    event_loop_delay_p99_ms: churn.p99Ms,
    after_events_rss_bytes: after.rss,
    after_events_heap_bytes: after.heapUsed,
  };
}

function liveClusters(): ReturnType<typeof createLiveClusters> {
  const surroundings = { clock: systemClock, random: systemRandom, logger: silentLogger };
  const limits = { qps: 10_000, burst: 10_000 };
  const clients = new SharedClients((connection) =>
    createKubeClient(connection, { ...surroundings, userAgent: 'bench', limits }),
  );
  return createLiveClusters({ ...surroundings, metrics: new PromMetrics(), clients });
}

function clusterAt(server: string): Cluster {
  const connection = { server, insecure: false, credentials: {} };
  const identity = { id: 'bench', name: 'bench', server, connection };
  return { ...identity, namespaces: [], clusterResources: false, labels: {}, annotations: {} };
}

function bodiesOf({ server, parts }: LiveTask): Parameters<ReturnType<typeof createLiveClusters>['setClusters']>[2] {
  return parts === 1 ? undefined : new Map([[server, { of: parts, owned: [0], namespace: 'argocd' }]]);
}

interface ObservedRun<T> {
  readonly value: T;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly p99Ms: number;
  readonly longestMs: number;
  /** Like `p99Ms`, in CPU time, which other programs on the machine do not affect. */
  readonly heldP99Ms: number;
}

const timerResolutionMs = 5;

async function observeRun<T>(body: () => Promise<T>): Promise<ObservedRun<T>> {
  const delays = monitorEventLoopDelay({ resolution: timerResolutionMs });
  delays.enable();
  const held = heldByTurns();
  const [start, cpu] = [process.hrtime.bigint(), process.cpuUsage()];
  const value = await body();
  const used = process.cpuUsage(cpu);
  delays.disable();
  const heldP99Ms = held();
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  const beyond = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - timerResolutionMs);
  const [p99Ms, longestMs] = [beyond(delays.percentile(99)), beyond(Math.min(delays.max, 1e12))];
  return { value, seconds, cpuSeconds: (used.user + used.system) / 1e6, p99Ms, longestMs, heldP99Ms };
}

/**
 * CPU time between two turns of a timer: whatever blocks the loop delays the next turn. Includes
 * garbage collectors on other threads. Returns a function that stops and returns the 99th
 * percentile.
 */
function heldByTurns(): () => number {
  const turns: number[] = [];
  let last = process.cpuUsage();
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(last);
    last = process.cpuUsage();
    turns.push((user + system) / 1000);
  }, timerResolutionMs);
  return () => {
    clearInterval(timer);
    return turns.sort((a, b) => a - b)[Math.floor(turns.length * 0.99)] ?? 0;
  };
}

/** Memory after collecting all garbage. */
async function atRest(): Promise<NodeJS.MemoryUsage> {
  for (let round = 0; round < 3; round += 1) {
    collectGarbage();
    await systemClock.sleep(200);
  }
  return process.memoryUsage();
}

/** Returns the number of objects read. */
async function readAll(cluster: LiveCluster, applications: number, signal: AbortSignal): Promise<number> {
  let count = 0;
  for (let i = 0; i < applications; i += 1) {
    const { objects } = await cluster.managed({ app: `app-${i}`, targets: [] }, signal);
    for (const object of objects.values()) if (object.metadata.name !== undefined) count += 1;
  }
  return Math.max(1, count);
}

async function waitForChurn(cluster: LiveCluster, { server, events }: LiveTask): Promise<void> {
  const wanted = cluster.info().eventsCount + events;
  const answer = await fetch(`${server}/bench/churn?events=${events}`);
  await answer.text();
  while (cluster.info().eventsCount < wanted) await systemClock.sleep(5);
}
