import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { seededRandom } from '#base';
import { editSomeField } from './testing/others-write.ts';
import { FleetSimulation } from './testing/fleet-simulation.ts';
import { scenarioOf } from './testing/scenario.ts';

/** In `npm test`; twenty times and more in the long run. */
const edits = Math.max(20, Math.floor((fc.readConfigureGlobal().numRuns ?? 100) / 2));

// T-SHARD-1
describe('an edit by hand of one field of the documents of ownership', () => {
  it('leaves one writer at most, and one owner of each part within two leases, at one write a second', async () => {
    const schedule = fc.asyncProperty(fc.noShrink(fc.nat(1_000_000_000)), async (seed) => {
      const fleet = new FleetSimulation({ ...scenarioOf(seed, 3), shorthanded: false, mixed: false });
      for (const id of ['a', 'b', 'c', 'd', 'e']) fleet.addCluster(id);
      for (const id of ['a', 'b', 'c', 'd', 'e']) fleet.addApp(`app-${id}`, { name: id });
      fleet.scale(3);
      expect(await fleet.settle()).toBeUndefined();
      const before = fleet.hub.writes;
      const began = fleet.now;
      const edit = editSomeField(fleet.hub, seededRandom(seed));
      await fleet.play(fleet.now + fleet.longestLease());
      const wrong = await fleet.settle(1);
      const writes = fleet.hub.writes - before;
      const isBusy = writes > (3 * (fleet.now - began)) / 1000;
      for (const replica of fleet.replicas) fleet.kill(replica);
      expect({ seed, edit, wrong, writes: isBusy ? writes : 0 }).toEqual({ seed, edit, wrong: undefined, writes: 0 });
    });
    await fc.assert(schedule, { numRuns: edits });
  }, 6_000_000);
});
