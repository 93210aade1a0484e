import { systemClock } from '#base';
import type { BenchMetrics } from '../harness.ts';
import { numbered } from './fleet-objects.ts';
import { withFleet } from './fleet.ts';
import type { Fleet } from './fleet.ts';
import type { Scenario, ScenarioRun } from './scenario.ts';

const severalReplicas = 3;

interface FirstSync {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** Applications of the replica with the most, divided by the average. */
  readonly largestShare: number;
}

/** One cluster whose Applications sync for the first time, with one replica and with several. */
export const oneClusterScenario: Scenario = {
  name: 'one-cluster',
  about: '3,000 Applications of one cluster sync, with one replica and with three (--cluster-split=auto)',
  run: async (run) => {
    const size = run.size(3000, 24);
    const one = await firstSync(run, size, 1);
    const several = await firstSync(run, size, severalReplicas);
    return {
      ...metricsOf('1_replica', one),
      ...metricsOf(`${severalReplicas}_replicas`, several),
      one_cluster_cpu_ratio: several.cpuSeconds / one.cpuSeconds,
      one_cluster_largest_share_ratio: several.largestShare,
    };
  },
};

function metricsOf(name: string, { seconds, cpuSeconds }: FirstSync): BenchMetrics {
  return { [`one_cluster_${name}_seconds`]: seconds, [`one_cluster_${name}_cpu_seconds`]: cpuSeconds };
}

function firstSync(run: ScenarioRun, size: number, replicas: number): Promise<FirstSync> {
  return withFleet(run, { clusters: 1, objectsPerApplication: 1 }, async (fleet) => {
    const applications = Array.from({ length: size }, (_, i) => ({
      name: numbered('app', i),
      cluster: 0,
      namespace: `team-${i % 10}`,
    }));
    fleet.flags = ['--cluster-split=auto'];
    const [anchor, ...others] = applications;
    await fleet.commit(applications.map(({ name }) => name));
    // Without an Application the cluster is not watched.
    if (anchor !== undefined) await fleet.create([anchor]);
    await fleet.scale(replicas);
    await fleet.settled(1);
    await run.pause('the replicas are calm', run.smoke ? 100 : 20_000);
    const [begin, before] = [systemClock.monotonic(), cpuSecondsOf(fleet)];
    await fleet.create(others);
    await fleet.settled(size);
    const seconds = (systemClock.monotonic() - begin) / 1000;
    await run.pause('the last events arrive', run.smoke ? 100 : 2000);
    const cpuSeconds = Math.max(0.01, cpuSecondsOf(fleet) - before);
    const owned = await Promise.all(fleet.replicas().map((replica) => replica.metric('argocd_app_info')));
    return { seconds, cpuSeconds, largestShare: (Math.max(...owned) * replicas) / size };
  });
}

function cpuSecondsOf(fleet: Fleet): number {
  return fleet.replicas().reduce((sum, replica) => sum + replica.cpuSeconds(), 0);
}
