import { systemClock } from '#base';
import type { BenchMetrics } from '../harness.ts';
import { numbered } from './fleet-objects.ts';
import { withFleet } from './fleet.ts';
import type { Fleet } from './fleet.ts';
import type { FleetReplica } from './replica.ts';
import type { Scenario, ScenarioRun } from './scenario.ts';

/** The shards of the replicas, each with one cluster: `c-00000`, `c-00001`, and the hub itself. */
const replicaRoles = ['owner', 'bystander', 'hub_owner'] as const;
const replicaCounts = [1, 2, 5, 10, 20];
/** Applications that {@link modelOf} spreads over the replicas. */
const modelApplications = 20_000;
const restMs = 10_000;
/** Applications whose status is written at once, and the pause after that. */
const touchBatch = { size: 25, pauseMs: 50 };
/** Status changes of each Application without an owner. */
const touches = 5;

interface ReplicaCosts {
  /** CPU of one Application for its owner, without the events of other Applications. */
  readonly ownerMs: number;
  /** CPU of one Application of another replica. */
  readonly bystanderMs: number;
}

/**
 * One replica's CPU for all Applications, divided by the sum of several replicas' CPU for the same
 * Applications.
 */
export function efficiencyOf({ ownerMs, bystanderMs }: ReplicaCosts, replicas: number): number {
  return ownerMs / (ownerMs + (replicas - 1) * bystanderMs);
}

function modelOf(costs: ReplicaCosts): BenchMetrics {
  const shareMs = (replicas: number): number =>
    (modelApplications / replicas) * (costs.ownerMs + (replicas - 1) * costs.bystanderMs);
  return Object.fromEntries(
    replicaCounts.flatMap((replicas) => [
      [`scale_out_${replicas}_replicas_efficiency_ratio`, efficiencyOf(costs, replicas)],
      [`scale_out_${replicas}_replicas_cpu_each_seconds`, shareMs(replicas) / 1000],
    ]),
  );
}

export const scaleOutScenario: Scenario = {
  name: 'scale-out',
  about: '2,000 Applications sync; what each costs its owner, a bystander, and the owner of the hub as a cluster',
  run: async (run) => {
    const size = run.size(2000, 10);
    const shape = { clusters: 2, withHub: true, isPinned: true, objectsPerApplication: 1 };
    return withFleet(run, shape, async (fleet) => {
      const { sim } = fleet;
      // Without an Application a cluster is not watched.
      const anchors = [1, 2].map((cluster) => ({ name: numbered('anchor', cluster), cluster, namespace: 'apps' }));
      const applications = Array.from({ length: size }, (_, i) => ({
        name: numbered('app', i),
        cluster: 0,
        namespace: 'apps',
      }));
      await fleet.commit([...anchors, ...applications].map(({ name }) => name));
      await fleet.create(anchors);
      await fleet.scale(replicaRoles.length);
      await fleet.settled(anchors.length);
      await run.pause('the replicas are calm', run.smoke ? 100 : 2 * restMs);
      const restFrom = cpuOf(fleet.replicas());
      await run.pause('at rest', run.smoke ? 100 : restMs);
      const restPerSecond = cpuOf(fleet.replicas()).map((cpu, i) => (cpu - (restFrom[i] ?? 0)) / (restMs / 1000));
      const heapBefore = await heapOf(fleet.replicas());
      const cpuBefore = cpuOf(fleet.replicas());
      await sim.resetCounts();
      const begin = systemClock.monotonic();
      await fleet.create(applications);
      await fleet.settled(size + anchors.length);
      await run.pause('the last events arrive', run.smoke ? 100 : 2000);
      const seconds = (systemClock.monotonic() - begin) / 1000;
      const { applicationEvents } = await sim.counts();
      const cpuMs = cpuOf(fleet.replicas()).map(
        (cpu, i) => (1000 * Math.max(0, cpu - (cpuBefore[i] ?? 0) - seconds * (restPerSecond[i] ?? 0))) / size,
      );
      await run.pause('the replicas are calm', run.smoke ? 100 : 4 * restMs);
      const heap = await heapOf(fleet.replicas());
      const foreign = await foreignCosts(run, fleet, size);
      const [ownerMs = 0, bystanderMs = 0] = cpuMs;
      return {
        scale_out_seconds: seconds,
        scale_out_events_per_application_count: applicationEvents / size,
        ...Object.fromEntries(
          replicaRoles.flatMap((role, i) => [
            [`scale_out_${role}_cpu_per_application_ms`, cpuMs[i] ?? 0],
            [`scale_out_${role}_heap_per_application_bytes`, ((heap[i] ?? 0) - (heapBefore[i] ?? 0)) / size],
          ]),
        ),
        ...foreign,
        ...modelOf({ ownerMs: Math.max(ownerMs, Number.MIN_VALUE), bystanderMs }),
      };
    });
  },
};

/**
 * CPU and memory that Applications without an owner cost the bystander. No other events occur
 * meanwhile, so the result is more exact than the difference of two loads.
 */
async function foreignCosts(run: ScenarioRun, fleet: Fleet, size: number): Promise<BenchMetrics> {
  const bystander = fleet.replica(1);
  const heapBytes = async (): Promise<number> => (await bystander.holdings({ withInstances: false })).heapBytes;
  const foreign = Array.from({ length: size }, (_, i) => numbered('foreign', i));
  const annotations = { 'argocd.argoproj.io/skip-reconcile': 'true' };
  const heapBefore = await heapBytes();
  await fleet.sim.seed(
    numbered('app', 0),
    foreign.map((name) => ({ name, cluster: 0, namespace: 'apps', annotations })),
  );
  await run.pause('the replicas are calm', run.smoke ? 100 : restMs);
  const heapAfter = await heapBytes();
  const restFrom = bystander.cpuSeconds();
  await run.pause('at rest', run.smoke ? 100 : 2 * restMs);
  const restPerSecond = (bystander.cpuSeconds() - restFrom) / ((2 * restMs) / 1000);
  const [begin, cpuBefore] = [systemClock.monotonic(), bystander.cpuSeconds()];
  const names = Array.from({ length: touches }, () => foreign).flat();
  for (let i = 0; i < names.length; i += touchBatch.size) {
    await fleet.sim.touch(names.slice(i, i + touchBatch.size));
    await systemClock.sleep(run.smoke ? 1 : touchBatch.pauseMs);
  }
  await run.pause('the last events arrive', run.smoke ? 100 : 2000);
  const seconds = (systemClock.monotonic() - begin) / 1000;
  const cpuMs = 1000 * Math.max(0, bystander.cpuSeconds() - cpuBefore - seconds * restPerSecond);
  return {
    scale_out_bystander_cpu_per_event_ms: cpuMs / names.length,
    scale_out_bystander_heap_per_foreign_application_bytes: (heapAfter - heapBefore) / size,
  };
}

function cpuOf(replicas: readonly FleetReplica[]): readonly number[] {
  return replicas.map((replica) => replica.cpuSeconds());
}

async function heapOf(replicas: readonly FleetReplica[]): Promise<readonly number[]> {
  const bytes: number[] = [];
  for (const replica of replicas) bytes.push((await replica.holdings({ withInstances: false })).heapBytes);
  return bytes;
}
