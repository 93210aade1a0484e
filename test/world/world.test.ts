import { env, stdout } from 'node:process';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { systemClock } from '#base';
import { scheduleSeed } from '../../sharding/testing/index.ts';
import { FaultCounts } from './faults.ts';
import { planOf } from './plan.ts';
import { shrink, testOf } from './shrink.ts';
import { play } from './simulation.ts';

/** 12 in `npm test`, 200 in `npm run nightly` (test/support/fast-check.mjs). */
const { numRuns = 100 } = fc.readConfigureGlobal();
const schedules = Math.min(200, Math.ceil(0.12 * numRuns));
const seed = scheduleSeed(env['DRIFTLESS_SEED'], systemClock.now());

describe('the simulated world', () => {
  it('holds what Git and the rules demand once faults have ceased, and no rule is broken meanwhile', async () => {
    const counts = new FaultCounts();
    const first = (seed % 100_000) * 10_000;
    for (let i = 0; i < schedules; i += 1) {
      const plan = planOf(first + i);
      const { violation, counts: own } = await play(plan);
      counts.merge(own);
      if (violation === undefined) continue;
      const shrunk = (await shrink(plan)) ?? { plan, violation };
      throw new Error(`${shrunk.violation}\nThis test repeats it:\n\n${testOf(shrunk)}`);
    }
    const kinds = counts.entries().map(([kind, n]) => `${n} ${kind}`);
    stdout.write(`${schedules} schedules of the world (DRIFTLESS_SEED=${seed} repeats them): ${kinds.join(', ')}\n`);
    expect(counts.total()).toBeGreaterThan(schedules);
  }, 7_200_000);

  it('plays a schedule the same way again', async () => {
    const [one, two] = [await play(planOf(7)), await play(planOf(7))];
    expect(one.log).toEqual(two.log);
    expect(one.counts.entries()).toEqual(two.counts.entries());
    expect(one.clusterWrites).toBeGreaterThan(10);
  });
});
