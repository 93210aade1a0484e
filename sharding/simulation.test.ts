import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FleetSimulation } from './testing/fleet-simulation.ts';
import { scenarioOf } from './testing/scenario.ts';

/** In the long run (test/support/long-run.mjs) 2,000 cases of five make 10,000 schedules; each is a seed of its own. */
const { numRuns = 30 } = fc.readConfigureGlobal();
const isLong = numRuns > 100;
const seedsPerCase = isLong ? 5 : 1;
/** Smaller fleets and shorter trouble in `npm test`: what is found is found in the first minute mostly. */
const [troubleMs, most] = isLong ? [110_000, 12] : [60_000, 5];

describe('the hand-over protocol, simulated (T-SHARD-1, T-SHARD-4, T-FENCE-1, T-FENCE-2, T-FENCE-3)', () => {
  it('13.6: the real ownership has at most one writer for each Application at any moment, and one owner of each part in the end', async () => {
    const schedule = fc.asyncProperty(fc.noShrink(fc.nat(1_000_000_000)), async (first) => {
      for (let seed = first; seed < first + seedsPerCase; seed += 1) {
        const scenario = scenarioOf(seed, most);
        const wrong = await new FleetSimulation(scenario).run(troubleMs);
        expect({ ...scenario, wrong }).toEqual({ ...scenario, wrong: undefined });
      }
    });
    await fc.assert(schedule, { numRuns });
  }, 6_000_000);
});
