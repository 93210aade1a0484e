import { systemClock } from '#base';
import { median } from '../fleet/measure.ts';
import { numbered } from './fleet-objects.ts';
import type { FleetApplication } from './fleet-objects.ts';
import { withFleet } from './fleet.ts';
import { costOfReplicas, hubRequests, timesOf } from './measures.ts';
import type { Scenario } from './scenario.ts';

/** The first tenth of the clusters has half of the Applications. */
const busyShare = 0.1;

export const coldStartScenario: Scenario = {
  name: 'cold-start',
  about:
    '10,000 Synced Applications on 50 clusters, one drifted object in each cluster: a replica starts with an empty cache',
  run: async (run) => {
    const [size, clusters] = [run.size(10_000, 30), run.size(50, 3)];
    const busy = Math.max(1, Math.round(clusters * busyShare));
    return withFleet(run, { clusters, objectsPerApplication: 1 }, async (fleet) => {
      const { sim } = fleet;
      const applications = unevenApplications(size, clusters, busy);
      await fleet.seed(applications);
      // The last Application of each cluster.
      const drifted = [...new Map(applications.map(({ name, cluster }) => [cluster, name])).values()];
      await sim.drift(drifted);
      await sim.resetCounts();
      run.progress('starts');
      const begin = systemClock.monotonic();
      await fleet.scale(1);
      const repaired = await fleet.repaired();
      const repairedMs = systemClock.monotonic() - begin;
      await fleet.compared(0, size + 1);
      const comparedMs = systemClock.monotonic() - begin;
      await fleet.settled(size + 1);
      const counts = await sim.counts();
      const others = counts.writtenApplications.filter((name) => !drifted.includes(name));
      const timeOf = (isBusy: boolean): number =>
        median(repaired.filter(({ cluster }) => cluster < busy === isBusy).map(({ ms }) => ms));
      return {
        cold_start_all_clusters_repaired_seconds: repairedMs / 1000,
        cold_start_all_compared_seconds: comparedMs / 1000,
        ...timesOf('cold_start_cluster_repaired', repaired),
        cold_start_busiest_to_other_clusters_repaired_ratio: timeOf(true) / timeOf(false),
        cold_start_other_applications_written_count: others.length,
        cold_start_other_cluster_writes_count: counts.clusterWrites - drifted.length,
        cold_start_turned_unknown_count: counts.turnedUnknown.length,
        ...costOfReplicas('cold_start', fleet.replicas()),
        ...hubRequests('cold_start', counts),
      };
    });
  },
};

function unevenApplications(count: number, clusters: number, busy: number): readonly FleetApplication[] {
  return Array.from({ length: count }, (_, i) => ({
    name: numbered('app', i),
    cluster: i % 2 === 0 ? (i / 2) % busy : ((i - 1) / 2) % clusters,
    namespace: 'apps',
  }));
}
