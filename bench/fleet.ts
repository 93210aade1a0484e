import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#base';
import type { ControllerConfig } from '#controller';
import { measureCpuMs, median, quantile, measureUsage } from './fleet/measure.ts';
import type { ResourceUsage } from './fleet/measure.ts';
import { firstSyncOnRealServer } from './fleet/real.ts';
import { startReplica } from './fleet/replica.ts';
import type { BenchReplica } from './fleet/replica.ts';
import { makeRepository } from './fleet/repository.ts';
import { newServers } from './fleet/servers-process.ts';
import type { ServersApi } from './fleet/servers-process.ts';
import type { BenchContext, Benchmark, BenchMetrics } from './harness.ts';

/**
 * A running replica with its own servers and sources. Its Applications are in Git, but not yet in
 * the hub.
 */
interface FleetContext {
  readonly servers: ServersApi;
  readonly replica: BenchReplica;
  readonly names: readonly string[];
  /** Creates these Applications and waits until they are Synced and Healthy. */
  readonly deploy: (names: readonly string[]) => Promise<void>;
}

const appsNamespace = 'apps';
/** Longer than any wait for a follow-up. */
const quietMs = 700;
/** Waiting must cost less than what is measured. */
const idlePollMs = 200;

/** @param applications number of objects of each Application, by name */
async function withFleet<T>(
  applications: Readonly<Record<string, number>>,
  config: Partial<ControllerConfig>,
  body: (world: FleetContext) => Promise<T>,
): Promise<T> {
  const root = mkdtempSync(join(tmpdir(), 'driftless-fleet-'));
  const servers = newServers();
  try {
    const folder = join(root, 'repository');
    mkdirSync(folder);
    const repository = makeRepository(folder, applications);
    const { hub } = await servers.start();
    const replica = await startReplica({ server: hub, insecure: false, credentials: {} }, root, config);
    let deployed = 0;
    const deploy = async (names: readonly string[]): Promise<void> => {
      deployed += names.length;
      await servers.create(names.map((name) => ({ name, repository, namespace: appsNamespace })));
      await servers.settled(deployed);
    };
    try {
      return await body({ servers, replica, names: Object.keys(applications), deploy });
    } finally {
      await replica.stop();
    }
  } finally {
    await servers.close();
    rmSync(root, { recursive: true, force: true });
  }
}

const numberedApplications = (count: number, objects: number): Readonly<Record<string, number>> =>
  Object.fromEntries(Array.from({ length: count }, (_app, i) => [`app-${i}`, objects]));

/** Waits until no pass has ended for `quietMs`. */
async function waitUntilQuiet({ replica }: FleetContext): Promise<void> {
  for (let last = -1; replica.passes() !== last;) {
    last = replica.passes();
    await systemClock.sleep(quietMs);
  }
}

/** Runs `body` and waits until `count` more passes have ended. */
async function waitForPasses(
  { replica }: FleetContext,
  count: number,
  body: () => Promise<void>,
  pollMs = 2,
): Promise<void> {
  const goal = replica.passes() + count;
  await body();
  while (replica.passes() < goal) await systemClock.sleep(pollMs);
}

/** Apply gate hits and misses of syncs, and the time of their steps. */
async function gateOf({ metric }: Pick<BenchReplica, 'metric'>): Promise<{
  readonly hits: number;
  readonly misses: number;
  readonly seconds: number;
}> {
  return {
    hits: await metric('driftless_apply_hits_total'),
    misses: await metric('driftless_apply_misses_total'),
    seconds: await metric('driftless_stage_seconds_sum', 'stage="sync"'),
  };
}

/** First sync of a fleet, refreshes all at once, drift, and a sync without differences. */
async function measureFleet({ smoke, random }: BenchContext): Promise<BenchMetrics> {
  const [size, objects, drifts] = smoke ? [5, 4, 3] : [1000, 4, 200];
  return withFleet({ ...numberedApplications(size, objects), warm: 56 }, {}, async (world) => {
    const { servers, replica, deploy } = world;
    const names = world.names.filter((name) => name !== 'warm');
    const first = await measureUsage(() => deploy(names));
    await waitUntilQuiet(world);
    const synced = await servers.requests();
    const passesOfFirst = replica.passes();
    const asked = await measureUsage(async () => {
      await servers.ask(names);
      await servers.settled(size);
    });
    await waitUntilQuiet(world);
    const refreshed = await servers.requests();
    const healed: number[] = [];
    const repair = await measureUsage(async () => {
      for (let i = 0; i < drifts; i += 1) {
        const name = names[Math.floor(random.next() * names.length)] ?? '';
        healed.push(await servers.drift(appsNamespace, `${name}-0`));
      }
    });
    await waitUntilQuiet(world);
    await deploy(['warm']);
    await waitUntilQuiet(world);
    const before = await servers.requests();
    const warm: ResourceUsage[] = [];
    for (let i = 0; i < (smoke ? 1 : 10); i += 1) {
      warm.push(await measureUsage(() => waitForPasses(world, 1, () => servers.ask(['warm']))));
      await waitUntilQuiet(world);
    }
    const reconciledWarm = await servers.requests();
    const gateBefore = await gateOf(replica);
    const syncs: ResourceUsage[] = [];
    for (let i = 0; i < (smoke ? 1 : 10); i += 1) {
      syncs.push(await measureUsage(() => servers.sync('warm')));
      await waitUntilQuiet(world);
    }
    const after = await servers.requests();
    const gate = await gateOf(replica);
    const [hits, misses] = [gate.hits - gateBefore.hits, gate.misses - gateBefore.misses];
    return {
      first_sync_seconds: first.wallMs / 1000,
      first_sync_cpu_seconds: first.cpuMs / 1000,
      first_sync_event_loop_p99_ms: first.delayP99Ms,
      first_sync_status_writes_per_application_count: synced.applications / size,
      first_sync_other_hub_requests_per_application_count: synced.hub / size,
      first_sync_writes_per_object_count: synced.writes / (size * objects),
      first_sync_passes_per_application_count: passesOfFirst / size,
      refresh_seconds: asked.wallMs / 1000,
      refresh_cpu_ms: asked.cpuMs / size,
      refresh_writes_count: (refreshed.applications - synced.applications) / size,
      refresh_event_loop_p99_ms: asked.delayP99Ms,
      drift_repaired_p50_ms: quantile(healed, 0.5),
      drift_repaired_p99_ms: quantile(healed, 0.99),
      drift_cpu_ms: repair.cpuMs / drifts,
      warm_56_refresh_cpu_ms: median(warm.map(({ cpuMs }) => cpuMs)),
      warm_56_refresh_destination_requests_count: reconciledWarm.destination - before.destination,
      warm_56_sync_cpu_ms: median(syncs.map(({ cpuMs }) => cpuMs)),
      warm_56_sync_destination_requests_count: after.destination - reconciledWarm.destination,
      warm_56_apply_stage_ms: (1000 * (gate.seconds - gateBefore.seconds)) / syncs.length,
      apply_hits_at_rest_ratio: hits / (hits + misses),
    };
  });
}

/** An idle fleet, over two resyncs, and a third one for the delay of the event loop. */
async function measureIdleFleet({ smoke }: BenchContext): Promise<BenchMetrics> {
  const [size, objects, appResyncMs] = smoke ? [3, 10, 3000] : [1000, 10, 60_000];
  return withFleet(numberedApplications(size, objects), { appResyncMs }, async (world) => {
    const { servers, replica, names, deploy } = world;
    await deploy(names);
    // Follow-ups of the first sync are over when every Application was compared for its resync.
    await waitForPasses(world, size, async () => undefined);
    const before = await servers.requests();
    const commands = replica.commands();
    const compared = await replica.metric('driftless_compare_rows_made_total');
    const cpuMs = await measureCpuMs(() => waitForPasses(world, 2 * size, async () => undefined, idlePollMs));
    const after = await servers.requests();
    const rows = (await replica.metric('driftless_compare_rows_made_total')) - compared;
    const resyncs = await measureUsage(() => waitForPasses(world, size, async () => undefined));
    return {
      idle_cpu_ms: cpuMs / (2 * size),
      idle_compared_resources_count: rows / (2 * size),
      idle_writes_count: after.applications - before.applications + after.writes - before.writes,
      idle_destination_requests_count: after.destination - before.destination,
      idle_render_commands_count: replica.commands() - commands,
      idle_event_loop_p99_ms: resyncs.delayP99Ms,
    };
  });
}

/** One edit in a big Application, next to a full comparison of it. */
async function measureBigApplication({ smoke }: BenchContext): Promise<BenchMetrics> {
  const [objects, edits, fulls] = smoke ? [40, 2, 1] : [5000, 50, 7];
  return withFleet({ big: objects }, {}, async (world) => {
    const { servers, names, deploy } = world;
    const configMap = (i: number): string => `big-${20 * i}`;
    const first = await measureUsage(() => deploy(names));
    await waitUntilQuiet(world);
    const compareAll = async (round: number, type: 'normal' | 'hard'): Promise<void> => {
      for (let i = 0; i < fulls; i += 1) {
        await servers.ask(names, { type, round: `${round}-${i}` });
        await servers.settled(1);
      }
    };
    // Round by round, so that each edit is its own comparison.
    const editAll = async (round: number): Promise<void> => {
      for (let i = 0; i < edits; i += 1)
        await waitForPasses(world, 1, () => servers.touch(appsNamespace, configMap(i), `${round}-${i}`));
    };
    await compareAll(0, 'normal');
    const full = await measureUsage(() => compareAll(1, 'normal'));
    const hard = await measureUsage(() => compareAll(2, 'hard'));
    await waitUntilQuiet(world);
    await editAll(0);
    const edit = await measureUsage(() => editAll(1));
    await waitUntilQuiet(world);
    const repaired: number[] = [];
    for (let i = 0; i < (smoke ? 1 : 7); i += 1) {
      repaired.push(await servers.drift(appsNamespace, configMap(i)));
      // A running sync would delay the next one.
      await servers.settled(1);
      await waitUntilQuiet(world);
    }
    const [hardCpu, editCpu] = [hard.cpuMs / fulls, edit.cpuMs / edits];
    return {
      first_sync_5k_seconds: first.wallMs / 1000,
      first_sync_5k_cpu_seconds: first.cpuMs / 1000,
      full_5k_cpu_ms: full.cpuMs / fulls,
      hard_5k_cpu_ms: hardCpu,
      full_5k_event_loop_p99_ms: full.delayP99Ms,
      full_5k_event_loop_max_ms: full.delayMaxMs,
      edit_5k_cpu_ms: editCpu,
      hard_to_edit_5k_ratio: hardCpu / editCpu,
      edit_5k_repaired_ms: median(repaired),
    };
  });
}

/**
 * Whole controllers against simulated API servers in a separate process, so that only the
 * controller is measured.
 */
export const fleetBenchmark: Benchmark = {
  name: 'fleet',
  about:
    'a whole controller: first sync of 1,000 Applications, 1,000 refreshes at once, drift until repaired, an idle fleet, one edit in 5,000 resources',
  parts: ['big', 'many', 'rest', 'real'],
  run: async (context) => ({
    ...(context.wants('big') ? await measureBigApplication(context) : {}),
    ...(context.wants('many') ? await measureFleet(context) : {}),
    ...(context.wants('rest') ? await measureIdleFleet(context) : {}),
    // The smoke run includes it only on request: it needs external programs.
    ...(context.wants('real') && !(context.smoke && context.wants('big')) ? await firstSyncOnRealServer(context) : {}),
    load_average_1min_count: loadavg()[0] ?? 0,
  }),
};
