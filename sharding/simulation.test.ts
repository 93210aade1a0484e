import { env, stdout } from 'node:process';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { systemClock } from '#base';
import { FleetSimulation } from './testing/fleet-simulation.ts';
import { scenarioOf } from './testing/scenario.ts';
import { crowdOf, scripts } from './testing/scripts.ts';
import type { FleetScript } from './testing/scripts.ts';
import { scheduleSeed } from './testing/schedule-seed.ts';

/**
 * 30 in `npm test`; 2,000 in `npm run nightly` (test/support/fast-check.mjs). Each schedule has its
 * own seed.
 */
const { numRuns = 100 } = fc.readConfigureGlobal();
const isLong = numRuns > 100;
const schedules = isLong ? numRuns : 30;
const crowd = isLong ? 60 : 20;
const seed = scheduleSeed(env['DRIFTLESS_SEED'], systemClock.now());
stdout.write(`schedules of the hand-over: DRIFTLESS_SEED=${seed} repeats them\n`);

/**
 * Duration of the faults, and maximum number of replicas. Most bugs show in the first minute of
 * small fleets.
 */
interface ScheduleKind {
  readonly troubleMs: number;
  readonly most: number;
  readonly script?: FleetScript;
}

async function hold(count: number, { troubleMs, most, script }: ScheduleKind): Promise<void> {
  const schedule = fc.asyncProperty(fc.noShrink(fc.nat(1_000_000_000)), async (chosen) => {
    const scenario = scenarioOf(chosen, most);
    const wrong = await new FleetSimulation(scenario).run(troubleMs, script);
    expect({ ...scenario, wrong }).toEqual({ ...scenario, wrong: undefined });
  });
  await fc.assert(schedule, { numRuns: count, seed });
}

it.each([
  [undefined, 20261122],
  ['20261125', 20261125],
  ['random', 1795651199],
])('the seed %p of the schedules is %i', (configured, expected) => {
  expect(scheduleSeed(configured, 1795651199)).toBe(expected);
});

// T-SHARD-1, T-SHARD-4, T-FENCE-1, T-FENCE-2, T-FENCE-3
describe('the hand-over protocol, simulated', () => {
  const limitMs = 6_000_000;

  it(
    'the real ownership has at most one writer for each Application at any time, and one owner of each part in the end',
    () => hold(schedules, { troubleMs: 60_000, most: 5 }),
    limitMs,
  );

  it(
    'so it has in large fleets, and with long faults',
    () => hold(isLong ? 100 : 1, { troubleMs: 110_000, most: 12 }),
    limitMs,
  );

  it.each(Object.entries(scripts))(
    'so it has while %s',
    (_what, script) => hold(isLong ? 150 : 4, { troubleMs: 60_000, most: 5, script }),
    limitMs,
  );

  it(
    `so it has when ${crowd} replicas start at once`,
    () => hold(1, { troubleMs: 30_000, most: 5, script: crowdOf(crowd) }),
    limitMs,
  );
});
