import { env, stdout } from 'node:process';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { systemClock } from '#base';
import { scheduleSeed } from '../../sharding/testing/index.ts';
import { FaultCounts } from './faults.ts';
import { planOf } from './plan.ts';
import { shrink, testOf } from './shrink.ts';
import { play } from './simulation.ts';

/** 200 in `npm run nightly` (test/support/fast-check.mjs), others for each seed. */
const longRun = 200;
/**
 * In `npm test` one of each kind of plan and of long promise (plan.ts, probes.ts): these remainders
 * by 32 give a small world, a large one, namespaces, another release and lost settings.
 */
const eachKind = [4, 21, 7, 15, 26];
const { numRuns = 100 } = fc.readConfigureGlobal();
const seed = scheduleSeed(env['DRIFTLESS_SEED'], systemClock.now());
const first = (seed % 100_000) * 32 * 312;
const offsets = numRuns > 100 ? Array.from({ length: longRun }, (_, i) => i) : eachKind;

describe('the simulated world', () => {
  it('holds what Git and the rules demand once faults have ceased, and no rule is broken meanwhile', async () => {
    const counts = new FaultCounts();
    for (const offset of offsets) {
      const plan = planOf(first + offset);
      const { violation, counts: own } = await play(plan);
      counts.merge(own);
      if (violation === undefined) continue;
      const shrunk = (await shrink(plan)) ?? { plan, violation };
      throw new Error(`${shrunk.violation}\nThis test repeats it:\n\n${testOf(shrunk)}`);
    }
    const kinds = counts.entries().map(([kind, n]) => `${n} ${kind}`);
    stdout.write(
      `${offsets.length} schedules of the world (DRIFTLESS_SEED=${seed} repeats them): ${kinds.join(', ')}\n`,
    );
    expect(counts.total()).toBeGreaterThan(offsets.length);
  }, 7_200_000);

  it('decides again, and repairs, when the spec changes before an automated sync begins', async () => {
    const { violation } = await play({
      seed: 520000486,
      replicas: 1,
      clusters: 1,
      troubleMs: 19976,
      clusterQps: 3,
      apps: [{ cluster: 0, manner: 'automated without prune', cascades: true }],
      acts: [
        { at: 7897, do: 'git', fault: 'slow', ms: 14021 },
        { at: 9726, do: 'manner', app: 0, manner: 'automated' },
        { at: 9826, do: 'push', app: 0, change: 'set', item: 3 },
        { at: 15079, do: 'freeze', by: 0, how: 'suspend', ms: 73156 },
        { at: 56122, do: 'edit', app: 0, change: 'set', item: 7 },
      ],
    });
    expect(violation).toBeUndefined();
  });

  it('plays a schedule the same way again', async () => {
    const [one, two] = [await play(planOf(4)), await play(planOf(4))];
    expect(one.log).toEqual(two.log);
    expect(one.counts.entries()).toEqual(two.counts.entries());
    expect(one.clusterWrites).toBeGreaterThan(10);
  });
});
