import { systemClock } from '#base';
import { spreadApplications, withFleet } from './fleet.ts';
import { costOfReplicas, timesOf } from './measures.ts';
import type { Scenario } from './scenario.ts';

const objectsPerApplication = 4;
const rounds = 3;

export const stormScenario: Scenario = {
  name: 'storm',
  about: '1,000 resources of 300 Applications changed by hand at once, one replica: until all are repaired',
  run: async (run) => {
    const [size, clusters, edits] = [run.size(300, 5), run.size(10, 2), run.size(1000, 12)];
    return withFleet(run, { clusters, objectsPerApplication }, async (fleet) => {
      const { sim } = fleet;
      const applications = spreadApplications(size, clusters);
      await fleet.seed(applications);
      await fleet.scale(1);
      const objects = Array.from(
        { length: size * objectsPerApplication },
        (_, i) => `${applications[i % size]?.name ?? ''}-${Math.floor(i / size)}`,
      ).slice(0, edits);
      // The first round also waits for the caches.
      await sim.driftObjects(objects);
      await fleet.repaired();
      const before = fleet.replica(0).cpuSeconds();
      const repaired = [];
      let [wallMs, busy] = [0, 0];
      for (let round = 0; round < (run.smoke ? 1 : rounds); round += 1) {
        await fleet.settled(size + 1);
        await run.pause('quiet', run.smoke ? 200 : 3000);
        await sim.resetCounts();
        const begin = systemClock.monotonic();
        await sim.driftObjects(objects);
        repaired.push(...(await fleet.repaired()));
        wallMs += systemClock.monotonic() - begin;
        busy = Math.max(busy, (await sim.counts()).loopBusyRatio);
      }
      return {
        ...timesOf('storm_repaired', repaired),
        storm_repaired_per_second: (repaired.length * 1000) / wallMs,
        storm_replica_cpu_per_edit_ms: ((fleet.replica(0).cpuSeconds() - before) * 1000) / repaired.length,
        // At 1 the servers are the limit, not the controller.
        storm_servers_loop_busy_ratio: busy,
        ...costOfReplicas('storm', fleet.replicas()),
      };
    });
  },
};
