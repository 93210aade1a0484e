import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FleetSimulation } from './testing/fleet-simulation.ts';
import { unkeptPromise } from './testing/promises.ts';
import { scenarioOf } from './testing/scenario.ts';

/** In the long run (test/support/long-run.mjs) every schedule is a seed of its own, too: 2,000 cases of five make 10,000. */
const isLong = (fc.readConfigureGlobal().numRuns ?? 100) > 100;
const seedsPerCase = isLong ? 5 : 3;
const troubleMs = 110_000;

describe('the hand-over protocol, simulated (T-SHARD-1, T-SHARD-4, T-FENCE-1, T-FENCE-2, T-FENCE-3)', () => {
  it('has at most one writer for each Application at any moment, and one owner of each part in the end', () => {
    fc.assert(
      fc.property(fc.noShrink(fc.nat(1_000_000_000)), (first) => {
        for (let seed = first; seed < first + seedsPerCase; seed += 1) {
          const scenario = scenarioOf(seed);
          const wrong = new FleetSimulation(scenario).run(troubleMs);
          expect({ ...scenario, wrong }).toEqual({ ...scenario, wrong: undefined });
        }
      }),
    );
  }, 3_000_000);

  it.each([
    ['a table that was published after it was looked for, and slots that were lost before they were', 709_213_916],
    ["a cluster whose namesake went: Applications come to it by its name, which was nobody's before", 486],
    ['a table that was replaced by an older one, before anybody had acknowledged it', 2_850_840],
    ['a removal that is told after the cluster was added again', 56_886_154],
    ['the same with a table from round-robin', 304_755_901],
  ])('has no second writer with %s', (_what, seed) => {
    expect(new FleetSimulation({ ...scenarioOf(seed), hostile: false }).run(troubleMs)).toBeUndefined();
  });

  it('goes on owning what it began to give back, when its place is the old one again', () => {
    for (let seed = 0; seed < 30; seed += 1) {
      const quiet = { dynamic: false, hostile: false, shorthanded: false };
      const fleet = new FleetSimulation({ ...scenarioOf(seed), ...quiet });
      for (const id of ['a', 'b', 'c']) fleet.addCluster(id);
      fleet.scale(3);
      expect(fleet.settle()).toBeUndefined();
      const last = fleet.replicas.find(({ name }) => name === 'ctl-2')!;
      last.fixedSlot = 1;
      fleet.play(fleet.now + 100 + ((seed * 127) % 4000));
      last.fixedSlot = 2;
      fleet.play(fleet.now + 60_000);
      expect(fleet.violation ?? unkeptPromise(fleet, fleet.clusters.values(), [])).toBeUndefined();
    }
  });
});
