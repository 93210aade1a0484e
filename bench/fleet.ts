import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#base';
import type { ControllerConfig } from '#controller';
import { median, quantile, spent } from './fleet/measure.ts';
import type { Spent } from './fleet/measure.ts';
import { firstSyncOnRealServer } from './fleet/real.ts';
import { startReplica } from './fleet/replica.ts';
import type { Replica } from './fleet/replica.ts';
import { makeRepository } from './fleet/repository.ts';
import { newServers } from './fleet/servers-process.ts';
import type { ServersApi } from './fleet/servers-process.ts';
import type { BenchContext, Benchmark, BenchMetrics } from './harness.ts';

/** A replica at work, over its own servers and sources. Its Applications are in Git; not in the hub yet. */
interface World {
  readonly servers: ServersApi;
  readonly replica: Replica;
  readonly names: readonly string[];
  /** Creates these Applications and waits until they are Synced and Healthy. */
  readonly deploy: (names: readonly string[]) => Promise<void>;
}

const namespace = 'apps';
/** Longer than anything waits for that follows from something else. */
const quietMs = 700;

/** @param applications how many objects each Application has, by its name */
async function inWorld<T>(
  applications: Readonly<Record<string, number>>,
  config: Partial<ControllerConfig>,
  body: (world: World) => Promise<T>,
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
      await servers.create(names.map((name) => ({ name, repository, namespace })));
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

const many = (count: number, objects: number): Readonly<Record<string, number>> =>
  Object.fromEntries(Array.from({ length: count }, (_app, i) => [`app-${i}`, objects]));

/** Waits until no pass has ended for a moment. */
async function quiet({ replica }: World): Promise<void> {
  for (let last = -1; replica.passes() !== last;) {
    last = replica.passes();
    await systemClock.sleep(quietMs);
  }
}

/** Waits until so many more passes have ended. */
async function passes({ replica }: World, count: number, body: () => Promise<void>): Promise<void> {
  const goal = replica.passes() + count;
  await body();
  while (replica.passes() < goal) await systemClock.sleep(2);
}

/** What syncs need not send, what they sent, and the time of their steps. */
async function gateOf({
  metric,
}: Pick<Replica, 'metric'>): Promise<{ readonly hits: number; readonly misses: number; readonly seconds: number }> {
  return {
    hits: await metric('driftless_apply_hits_total'),
    misses: await metric('driftless_apply_misses_total'),
    seconds: await metric('driftless_stage_seconds_sum', 'stage="sync"'),
  };
}

/** The first sync of a fleet, refreshes that are asked for all at once, drift, and a sync of what is in sync. */
async function fleetOf4({ smoke, random }: BenchContext): Promise<BenchMetrics> {
  const [size, objects, drifts] = smoke ? [5, 4, 3] : [1000, 4, 200];
  return inWorld({ ...many(size, objects), warm: 56 }, {}, async (world) => {
    const { servers, replica, deploy } = world;
    const names = world.names.filter((name) => name !== 'warm');
    const first = await spent(() => deploy(names));
    await quiet(world);
    const synced = await servers.requests();
    const passesOfFirst = replica.passes();
    const asked = await spent(async () => {
      await servers.ask(names);
      await servers.settled(size);
    });
    await quiet(world);
    const refreshed = await servers.requests();
    const healed: number[] = [];
    const repair = await spent(async () => {
      for (let i = 0; i < drifts; i += 1) {
        const name = names[Math.floor(random.next() * names.length)] ?? '';
        healed.push(await servers.drift(namespace, `${name}-0`));
      }
    });
    await quiet(world);
    await deploy(['warm']);
    await quiet(world);
    const before = await servers.requests();
    const warm: Spent[] = [];
    for (let i = 0; i < (smoke ? 1 : 10); i += 1) {
      warm.push(await spent(() => passes(world, 1, () => servers.ask(['warm']))));
      await quiet(world);
    }
    const reconciledWarm = await servers.requests();
    const gateBefore = await gateOf(replica);
    const syncs: Spent[] = [];
    for (let i = 0; i < (smoke ? 1 : 10); i += 1) {
      syncs.push(await spent(() => servers.sync('warm')));
      await quiet(world);
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

/** A fleet at rest, over two resyncs. */
async function idle({ smoke }: BenchContext): Promise<BenchMetrics> {
  const [size, objects, appResyncMs] = smoke ? [3, 10, 3000] : [1000, 10, 60_000];
  return inWorld(many(size, objects), { appResyncMs }, async (world) => {
    const { servers, replica, names, deploy } = world;
    await deploy(names);
    // Whatever follows a first sync is over when every Application has been compared because its time had come.
    await passes(world, size, async () => undefined);
    const before = await servers.requests();
    const commands = replica.commands();
    const resyncs = await spent(() => passes(world, 2 * size, async () => undefined));
    const after = await servers.requests();
    return {
      idle_cpu_ms: resyncs.cpuMs / (2 * size),
      idle_writes_count: after.applications - before.applications + after.writes - before.writes,
      idle_destination_requests_count: after.destination - before.destination,
      idle_render_commands_count: replica.commands() - commands,
      idle_event_loop_p99_ms: resyncs.delayP99Ms,
    };
  });
}

/** One edit in a big Application, beside a full comparison of it. */
async function big({ smoke }: BenchContext): Promise<BenchMetrics> {
  const [objects, edits, fulls] = smoke ? [40, 2, 1] : [5000, 50, 7];
  return inWorld({ big: objects }, {}, async (world) => {
    const { servers, names, deploy } = world;
    const configMap = (i: number): string => `big-${20 * i}`;
    const first = await spent(() => deploy(names));
    await quiet(world);
    const compareAll = async (): Promise<void> => {
      for (let i = 0; i < fulls; i += 1) {
        await servers.ask(names);
        await servers.settled(1);
      }
    };
    // Round by round, so that each edit is a comparison of its own.
    const editAll = async (round: number): Promise<void> => {
      for (let i = 0; i < edits; i += 1)
        await passes(world, 1, () => servers.touch(namespace, configMap(i), `${round}-${i}`));
    };
    await compareAll();
    const full = await spent(compareAll);
    await quiet(world);
    await editAll(0);
    const edit = await spent(() => editAll(1));
    await quiet(world);
    const repaired: number[] = [];
    for (let i = 0; i < (smoke ? 1 : 7); i += 1) {
      repaired.push(await servers.drift(namespace, configMap(i)));
      // A sync that is still to end would hold up the next one.
      await servers.settled(1);
      await quiet(world);
    }
    const [fullCpu, editCpu] = [full.cpuMs / fulls, edit.cpuMs / edits];
    return {
      first_sync_5k_seconds: first.wallMs / 1000,
      first_sync_5k_cpu_seconds: first.cpuMs / 1000,
      full_5k_cpu_ms: fullCpu,
      full_5k_event_loop_p99_ms: full.delayP99Ms,
      full_5k_event_loop_max_ms: full.delayMaxMs,
      edit_5k_cpu_ms: editCpu,
      full_to_edit_5k_ratio: fullCpu / editCpu,
      edit_5k_repaired_ms: median(repaired),
    };
  });
}

/** Whole controllers over simulated API servers, which run in a process of their own: what is counted is the controller's. */
export const fleet: Benchmark = {
  name: 'fleet',
  about:
    'a whole controller: first sync of 1,000 Applications, 1,000 refreshes at once, drift to repaired, rest, one edit in 5,000 resources',
  parts: ['big', 'many', 'rest', 'real'],
  run: async (context) => ({
    ...(context.wants('big') ? await big(context) : {}),
    ...(context.wants('many') ? await fleetOf4(context) : {}),
    ...(context.wants('rest') ? await idle(context) : {}),
    // At smoke size only where it is asked for alone: it needs programs that are not ours.
    ...(context.wants('real') && !(context.smoke && context.wants('big')) ? await firstSyncOnRealServer(context) : {}),
    load_average_1min_count: loadavg()[0] ?? 0,
  }),
};
