/**
 * The cost of the read API of a replica with 10,000 Applications: time of its pages, CPU of its
 * readers, and the heap that it adds.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#base';
import { mainThreadMs, median, quantile } from '../fleet/measure.ts';
import { startReplica } from '../fleet/replica.ts';
import type { BenchReplica } from '../fleet/replica.ts';
import { makeRepository } from '../fleet/repository.ts';
import { newServers } from '../fleet/servers-process.ts';
import type { ServersApi } from '../fleet/servers-process.ts';
import { collectGarbage } from '../harness.ts';
import type { BenchContext, Benchmark, BenchMetrics } from '../harness.ts';
import { commandMs } from './command.ts';
import { PageReader } from './reader.ts';
import { ServedReplicas } from './replicas.ts';

interface Sizes {
  readonly applications: number;
  /** Objects of the Application whose page is read. */
  readonly objects: number;
  readonly rounds: number;
  readonly cpuSeconds: number;
}

const fullSizes: Sizes = { applications: 10_000, objects: 56, rounds: 20, cpuSeconds: 20 };
const smokeSizes: Sizes = { applications: 20, objects: 8, rounds: 1, cpuSeconds: 0.5 };

const replicas = 5;
const namespace = 'apps';
/** Longer than any wait for a follow-up. */
const quietMs = 700;
/** Answers are used again for a second: a read after this is a new one. */
const freshMs = 1050;
const readsPerSecond = 10;
const createdAtOnce = 500;

const listPath = '/api/v1/applications?limit=100';
const filteredPath = '/api/v1/applications?limit=100&sync=OutOfSync&text=7';
const applicationPath = '/api/v1/applications/argocd/detailed';
const costsPath = '/api/v1/costs/apps';
const assembledPaths = ['replica', 'ownership', 'clusters', 'queues', 'repositories', 'events'].map(
  (page) => `/api/v1/${page}`,
);

async function waitUntilQuiet(replica: BenchReplica): Promise<void> {
  for (let last = -1; replica.passes() !== last;) {
    last = replica.passes();
    await systemClock.sleep(quietMs);
  }
}

/** Compares all Applications; half of the objects of one of them were changed by hand. */
async function fill(servers: ServersApi, replica: BenchReplica, repository: string, sizes: Sizes): Promise<void> {
  const { applications, objects } = sizes;
  const common = { repository, namespace, isAutomated: false };
  await servers.create([{ ...common, name: 'detailed' }]);
  await servers.sync('detailed');
  for (let i = 0; i < objects; i += 4) if (i % 5 !== 2) await servers.overwrite(namespace, `detailed-${i}`);
  for (let i = 0; i < applications - 1; i += createdAtOnce) {
    const count = Math.min(createdAtOnce, applications - 1 - i);
    const names = Array.from({ length: count }, (_app, j) => `app-${i + j}`);
    await servers.create(names.map((name) => ({ ...common, name, path: 'shared' })));
  }
  while (replica.passes() < applications) await systemClock.sleep(quietMs);
  await waitUntilQuiet(replica);
}

/** Milliseconds of each path: every read is assembled anew. */
async function readTimes(
  reader: PageReader,
  port: number,
  paths: readonly string[],
  rounds: number,
): Promise<readonly (readonly number[])[]> {
  const times: number[][] = paths.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    await systemClock.sleep(freshMs);
    for (const [i, path] of paths.entries()) times[i]?.push((await reader.read(port, path)).ms);
  }
  return times;
}

/** CPU of the main thread, in percent of one core, while `turn` runs ten times a second. */
async function cpuPercent(seconds: number, turn: () => Promise<unknown>): Promise<number> {
  const [begin, cpu] = [systemClock.monotonic(), mainThreadMs()];
  for (let i = 1; i <= seconds * readsPerSecond; i += 1) {
    await turn();
    await systemClock.sleep(Math.max(0, begin + (i * 1000) / readsPerSecond - systemClock.monotonic()));
  }
  return (100 * (mainThreadMs() - cpu)) / (systemClock.monotonic() - begin);
}

async function measureReads(reader: PageReader, port: number, { rounds }: Sizes): Promise<BenchMetrics> {
  const paths = [listPath, filteredPath, applicationPath, costsPath];
  const [list = [], filtered = [], application = [], costs = []] = await readTimes(reader, port, paths, rounds);
  return {
    page_of_100_p50_ms: median(list),
    page_of_100_max_ms: Math.max(...list),
    page_of_100_filtered_p50_ms: median(filtered),
    page_of_100_bytes: (await reader.read(port, listPath)).bytes,
    application_p50_ms: median(application),
    application_max_ms: Math.max(...application),
    application_bytes: (await reader.read(port, applicationPath)).bytes,
    costs_of_apps_p50_ms: median(costs),
  };
}

/** The CPU of readers, beyond that of the replica at rest. */
async function measureCpu(reader: PageReader, port: number, { cpuSeconds }: Sizes): Promise<BenchMetrics> {
  const idle = await cpuPercent(cpuSeconds, () => Promise.resolve());
  const read = async (path: string): Promise<number> =>
    (await cpuPercent(cpuSeconds, () => reader.read(port, path))) - idle;
  return {
    idle_cpu_percent: idle,
    ten_application_reads_per_second_cpu_percent: await read(applicationPath),
    ten_list_reads_per_second_cpu_percent: await read(listPath),
  };
}

/** Heap of the API after each page was read, beyond that of the controller. */
async function measureHeap(reader: PageReader, served: ServedReplicas, { applications }: Sizes): Promise<BenchMetrics> {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  await served.add();
  const [port = 0] = served.ports;
  const first = await reader.read(port, listPath);
  for (const path of [...assembledPaths, applicationPath, filteredPath]) await reader.read(port, path);
  await systemClock.sleep(freshMs);
  await reader.read(port, listPath);
  collectGarbage();
  const bytes = process.memoryUsage().heapUsed - before;
  return {
    first_page_of_100_ms: first.ms,
    heap_added_bytes: bytes,
    heap_added_per_application_bytes: bytes / applications,
  };
}

/** The whole command, asked of a replica that does not own the Application and asks its owner. */
async function measureExplain(socket: string, { rounds }: Sizes): Promise<BenchMetrics> {
  const [explain, start]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    await systemClock.sleep(freshMs);
    explain.push(await commandMs('explain', 'argocd/detailed', '--socket', socket));
    start.push(await commandMs('version'));
  }
  return {
    explain_p50_ms: median(explain),
    explain_max_ms: Math.max(...explain),
    explain_of_which_start_of_node_p50_ms: median(start),
  };
}

async function measureApi({ smoke }: BenchContext): Promise<BenchMetrics> {
  const sizes = smoke ? smokeSizes : fullSizes;
  const root = mkdtempSync(join(tmpdir(), 'driftless-api-'));
  const servers = newServers();
  try {
    const folder = join(root, 'repository');
    mkdirSync(folder);
    const repository = makeRepository(folder, { shared: 1, detailed: sizes.objects });
    const { hub } = await servers.start();
    const replica = await startReplica({ server: hub, insecure: false, credentials: {} }, root);
    const served = new ServedReplicas(replica.facts);
    const reader = await PageReader.start();
    try {
      await fill(servers, replica, repository, sizes);
      const heap = await measureHeap(reader, served, sizes);
      const [port = 0] = served.ports;
      const alone = { ...(await measureReads(reader, port, sizes)), ...(await measureCpu(reader, port, sizes)) };
      while (served.ports.length < replicas) await served.add();
      const paths = [applicationPath, ...assembledPaths];
      const times = await readTimes(reader, served.ports.at(-1) ?? 0, paths, sizes.rounds);
      const [forwarded = [], ...assembled] = times;
      return {
        ...heap,
        ...alone,
        application_of_a_peer_p50_ms: median(forwarded),
        application_of_a_peer_max_ms: Math.max(...forwarded),
        assembled_of_5_p50_ms: median(assembled.flat()),
        assembled_of_5_p95_ms: quantile(assembled.flat(), 0.95),
        assembled_of_5_max_ms: Math.max(...assembled.flat()),
        ...(await measureExplain(await served.socketIn(root), sizes)),
        load_average_1min_count: loadavg()[0] ?? 0,
      };
    } finally {
      await reader.stop();
      await served.stop();
      await replica.stop();
    }
  } finally {
    await servers.close();
    rmSync(root, { recursive: true, force: true });
  }
}

/** Time, CPU and memory of the read API of one replica, and of the answer of five. */
export const apiBenchmark: Benchmark = {
  name: 'api',
  about:
    'the read API of a replica with 10,000 Applications, over HTTPS: a page of 100 (goal: 50 ms), one Application, answers of 5 replicas, `driftless explain` as a process (goal: 1 s), CPU of 10 reads a second (goal: 1 %), heap',
  run: measureApi,
};
