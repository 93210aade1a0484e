import { systemClock } from '#base';
import type { BenchMetrics } from '../harness.ts';
import { inclusionsOf, numbered, workloadName } from './fleet-objects.ts';
import { spreadApplications, withFleet } from './fleet.ts';
import type { Fleet } from './fleet.ts';
import { costOfReplicas, timesOf } from './measures.ts';
import { countMoved, OwnershipWitness } from './owners.ts';
import type { Scenario, ScenarioRun } from './scenario.ts';

/** How long owners must stay the same until a change of size is over. */
const stableMs = 10_000;
const probeIntervalMs = 200;
const leaseHeartbeats = 3;
/** Each watch is a socket of the process that simulates all clusters. */
const watchedKinds = { '': ['ConfigMap', 'Pod', 'Secret', 'Service'], apps: ['Deployment', 'ReplicaSet'] };

interface RescaleContext {
  readonly run: ScenarioRun;
  readonly fleet: Fleet;
  readonly witness: OwnershipWitness;
  readonly clusters: number;
}

export const rescaleScenario: Scenario = {
  name: 'rescale',
  about: '15,000 Applications on 670 clusters: from 5 replicas to 6, to 4, and one of them killed',
  run: async (run) => {
    const [size, clusters] = [run.size(15_000, 24), run.size(670, 8)];
    const [first, more, fewer] = run.smoke ? [1, 2, 1] : [5, 6, 4];
    const shape = { clusters, inclusions: inclusionsOf(watchedKinds), objectsPerApplication: 1 };
    return withFleet(run, shape, async (fleet) => {
      if (run.smoke) fleet.heartbeatSeconds = 1;
      const applications = spreadApplications(size, clusters);
      await fleet.seed(applications);
      const begin = systemClock.monotonic();
      await fleet.scale(first);
      const names = Array.from({ length: clusters }, (_, i) => numbered('c', i));
      const witness = new OwnershipWitness(fleet, names);
      witness.start();
      const context = { run, fleet, witness, clusters };
      await spreadOver(context, first);
      // One Application of each cluster, the clusters in turn.
      const probes = applications.slice(0, clusters).map(({ name }) => name);
      await fleet.sim.drift(probes);
      await fleet.repaired();
      const startSeconds = (systemClock.monotonic() - begin) / 1000;
      witness.takeLongestGapMs();
      await fleet.sim.startProbe(shuffled(probes, run), probeIntervalMs);
      const up = await measureScale(context, { from: first, to: more });
      const down = await measureScale(context, { from: more, to: fewer });
      const killed = run.smoke ? {} : await measureKill(context, fewer - 1);
      await fleet.sim.stopProbe();
      await fleet.repaired();
      await witness.stop();
      return {
        rescale_start_repaired_everywhere_seconds: startSeconds,
        ...up,
        ...down,
        ...killed,
        ...costOfReplicas('rescale', fleet.replicas()),
      };
    });
  },
};

/** Waits until this many replicas own clusters, and the owners have been the same for a while. */
async function spreadOver({ run, fleet, witness, clusters }: RescaleContext, replicas: number): Promise<void> {
  let last = witness.owners();
  let since = systemClock.monotonic();
  const waitMs = run.smoke ? stableMs / 10 : stableMs;
  await run.waitUntil(`${replicas} replicas own ${clusters} clusters`, async () => {
    const owners = witness.owners();
    const now = systemClock.monotonic();
    if (countMoved(last, owners) > 0 || last.size !== owners.size) [last, since] = [owners, now];
    const holders = new Set(owners.values()).size;
    const unrepaired = (await fleet.sim.unrepaired()).length;
    if (owners.size === clusters && holders === replicas && now - since > waitMs) return undefined;
    return `${holders} replicas own ${owners.size}, ${unrepaired} objects are not repaired`;
  });
}

interface ScaleStep {
  readonly from: number;
  readonly to: number;
}

async function measureScale(context: RescaleContext, { from, to }: ScaleStep): Promise<BenchMetrics> {
  const { run, fleet, witness, clusters } = context;
  const before = witness.owners();
  await fleet.sim.takeRepairs();
  witness.takeLongestGapMs();
  run.progress(`scales from ${from} to ${to}`);
  const begin = systemClock.monotonic();
  await fleet.scale(to);
  // The workload controller ends the surplus pods, the highest number first.
  for (let ordinal = from - 1; ordinal >= to; ordinal -= 1) await fleet.stop(ordinal);
  await spreadOver(context, to);
  const stableAfterMs = run.smoke ? stableMs / 10 : stableMs;
  const moved = countMoved(before, witness.owners());
  const ofRemoved = [...before.values()].filter((owner) => ordinalOf(owner) >= to).length;
  const ideal = to > from ? (clusters * (to - from)) / to : ofRemoved;
  const prefix = `rescale_${from}_to_${to}`;
  return {
    [`${prefix}_seconds`]: (systemClock.monotonic() - begin - stableAfterMs) / 1000,
    [`${prefix}_longest_unowned_ms`]: witness.takeLongestGapMs(),
    [`${prefix}_moved_count`]: moved,
    [`${prefix}_moved_to_ideal_ratio`]: moved / ideal,
    ...timesOf(`${prefix}_drift`, await fleet.sim.takeRepairs()),
  };
}

/** A replica that dies and is not replaced: its clusters wait for its lease. */
async function measureKill(context: RescaleContext, ordinal: number): Promise<BenchMetrics> {
  const { run, fleet, witness } = context;
  const before = witness.owners();
  await fleet.sim.takeRepairs();
  witness.takeLongestGapMs();
  run.progress(`kills replica ${ordinal}`);
  await fleet.kill(ordinal);
  await spreadOver(context, ordinal);
  await fleet.repaired();
  const owned = [...before.values()].filter((owner) => ordinalOf(owner) === ordinal).length;
  const longestMs = witness.takeLongestGapMs();
  const leaseMs = fleet.heartbeatSeconds * leaseHeartbeats * 1000;
  return {
    rescale_killed_longest_unowned_ms: longestMs,
    rescale_killed_unowned_to_lease_ratio: longestMs / leaseMs,
    rescale_killed_moved_to_ideal_ratio: countMoved(before, witness.owners()) / owned,
  };
}

const ordinalOf = (replica: string): number => Number(replica.slice(workloadName.length + 1));

function shuffled(names: readonly string[], { random }: ScenarioRun): readonly string[] {
  return names
    .map((name) => ({ name, order: random.next() }))
    .sort((a, b) => a.order - b.order)
    .map(({ name }) => name);
}
