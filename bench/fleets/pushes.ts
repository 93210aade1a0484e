import { systemClock } from '#base';
import type { FleetApplication } from './fleet-objects.ts';
import { spreadApplications, withFleet } from './fleet.ts';
import type { Fleet } from './fleet.ts';
import { costOfReplicas, timesOf } from './measures.ts';
import { OwnershipWitness } from './owners.ts';
import { numbered } from './fleet-objects.ts';
import type { Scenario, ScenarioRun } from './scenario.ts';

const pushIntervalMs = 3000;
const changedPerPush = 5;
const replicaCount = 2;
/** As recommended for big repositories: a webhook refreshes only those that changed. */
const ownPaths = { 'argocd.argoproj.io/manifest-generate-paths': '.' };

export const pushesScenario: Scenario = {
  name: 'pushes',
  about:
    'one repository of 2,000 Applications, two replicas, 20 pushes a minute for 10 minutes, 5 Applications changed in each',
  run: async (run) => {
    const [size, clusters] = [run.size(2000, 20), run.size(20, 4)];
    const pushes = run.size(200, 3);
    return withFleet(run, { clusters, objectsPerApplication: 1 }, async (fleet) => {
      if (run.smoke) fleet.heartbeatSeconds = 1;
      const applications = spreadApplications(size, clusters).map((app) => ({ ...app, annotations: ownPaths }));
      await fleet.seed(applications);
      await fleet.scale(replicaCount);
      const owners = await ownersOf(run, fleet, clusters);
      await fleet.sim.drift(applications.map(({ name }) => name));
      await fleet.repaired();
      await fleet.settled(size + 1);
      await fleet.sim.resetCounts();
      const before = { fetches: fleet.repository.fetches(), rendered: renderedBy(fleet) };
      let affected = 0;
      for (let push = 0; push < pushes; push += 1) {
        const next = systemClock.monotonic() + (run.smoke ? 500 : pushIntervalMs);
        const changed = pickSome(applications, run);
        affected += new Set(changed.map(({ cluster }) => owners.get(numbered('c', cluster)))).size;
        await pushChange(
          fleet,
          changed.map(({ name }) => name),
          `value ${push}`,
        );
        await run.pause(`push ${push + 1} of ${pushes}`, Math.max(0, next - systemClock.monotonic()));
      }
      await synced(run, fleet);
      const times = await fleet.sim.takeSynced();
      const [fetches, rendered] = [fleet.repository.fetches() - before.fetches, renderedBy(fleet) - before.rendered];
      const { loopBusyRatio } = await fleet.sim.counts();
      return {
        pushes_count: pushes,
        ...timesOf('pushes_to_synced', times),
        pushes_fetches_per_push_and_replica_count: fetches / affected,
        pushes_rendered_per_changed_application_count: rendered / (pushes * changedPerPush),
        pushes_servers_loop_busy_ratio: loopBusyRatio,
        ...costOfReplicas('pushes', fleet.replicas()),
        ...(await refreshAll(run, fleet, applications)),
      };
    });
  },
};

/** One more push, whose webhook refreshes all Applications, as without the annotation. */
async function refreshAll(
  run: ScenarioRun,
  fleet: Fleet,
  applications: readonly FleetApplication[],
): Promise<Readonly<Record<string, number>>> {
  const names = applications.map(({ name }) => name);
  const [fetches, rendered] = [fleet.repository.fetches(), renderedBy(fleet)];
  const begin = systemClock.monotonic();
  const revision = await fleet.commit(names.slice(0, changedPerPush), 'the last value');
  await fleet.sim.push(names.slice(0, changedPerPush), revision, 'the last value');
  await fleet.sim.refresh(names.slice(changedPerPush));
  await synced(run, fleet);
  const changedMs = systemClock.monotonic() - begin;
  await fleet.settled(names.length + 1);
  return {
    pushes_all_refreshed_changed_synced_seconds: changedMs / 1000,
    pushes_all_refreshed_seconds: (systemClock.monotonic() - begin) / 1000,
    pushes_all_refreshed_fetches_count: fleet.repository.fetches() - fetches,
    pushes_all_refreshed_rendered_count: renderedBy(fleet) - rendered,
  };
}

async function pushChange(fleet: Fleet, names: readonly string[], value: string): Promise<void> {
  const revision = await fleet.commit(names, value);
  await fleet.sim.push(names, revision, value);
}

function synced(run: ScenarioRun, fleet: Fleet): Promise<void> {
  return run.waitUntil('all pushed changes are Synced', async () => {
    const left = await fleet.sim.unsynced();
    return left === 0 ? undefined : `${left} are not`;
  });
}

async function ownersOf(run: ScenarioRun, fleet: Fleet, clusters: number): Promise<ReadonlyMap<string, string>> {
  const witness = new OwnershipWitness(fleet, []);
  witness.start();
  await run.waitUntil('every cluster has an owner', async () => {
    const owners = witness.owners();
    const holders = new Set(owners.values()).size;
    return owners.size === clusters && holders === replicaCount ? undefined : `${owners.size} of ${clusters} have one`;
  });
  await witness.stop();
  return witness.owners();
}

const renderedBy = (fleet: Fleet): number => fleet.replicas().reduce((sum, replica) => sum + replica.rendered(), 0);

/** Different Applications. */
function pickSome(applications: readonly FleetApplication[], { random }: ScenarioRun): readonly FleetApplication[] {
  const picked = new Set<FleetApplication>();
  while (picked.size < changedPerPush) {
    const app = applications[Math.floor(random.next() * applications.length)];
    if (app !== undefined) picked.add(app);
  }
  return [...picked];
}
