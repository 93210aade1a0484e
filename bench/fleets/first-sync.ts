import { systemClock } from '#base';
import { numbered } from './fleet-objects.ts';
import { spreadApplications, withFleet } from './fleet.ts';
import { costOfReplicas, hubRequests, timesOf } from './measures.ts';
import type { Scenario } from './scenario.ts';

const probeIntervalMs = 1000;

/** Each probe drifts again only after all others, so that it is calm. */
const probeCount = 20;

export const firstSyncScenario: Scenario = {
  name: 'first-sync',
  about:
    '10,000 new Applications of one object on 50 clusters, one replica: until all are Synced, with drift meanwhile',
  run: async (run) => {
    const [size, clusters] = [run.size(10_000, 20), run.size(50, 3)];
    return withFleet(run, { clusters, objectsPerApplication: 1 }, async (fleet) => {
      const { sim } = fleet;
      const applications = spreadApplications(size, clusters);
      const probes = Array.from({ length: run.smoke ? 3 : probeCount }, (_, i) => ({
        name: numbered('probe', i),
        cluster: i % clusters,
        namespace: 'apps',
      }));
      const names = probes.map(({ name }) => name);
      await fleet.commit([...names, ...applications.map(({ name }) => name)]);
      await fleet.create(probes);
      await fleet.scale(1);
      await fleet.settled(probes.length);
      await sim.startProbe(names, run.smoke ? 100 : probeIntervalMs);
      await sim.resetCounts();
      const begin = systemClock.monotonic();
      await fleet.create(applications);
      await fleet.settled(size + probes.length);
      const seconds = (systemClock.monotonic() - begin) / 1000;
      await sim.stopProbe();
      const counts = await sim.counts();
      const repairs = await fleet.repaired();
      return {
        first_sync_seconds: seconds,
        ...costOfReplicas('first_sync', fleet.replicas()),
        ...timesOf('first_sync_drift', repairs),
        first_sync_cluster_writes_per_object_count: (counts.clusterWrites - repairs.length) / size,
        first_sync_servers_loop_busy_ratio: counts.loopBusyRatio,
        first_sync_turned_unknown_count: counts.turnedUnknown.length,
        ...hubRequests('first_sync', counts),
      };
    });
  },
};
