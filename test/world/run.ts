import { env, stdout } from 'node:process';
import { systemClock } from '#base';
import { FaultCounts } from './faults.ts';
import { planOf } from './plan.ts';
import { shrink, testOf } from './shrink.ts';
import { play } from './simulation.ts';

/*
 * Plays schedules without a test runner: `node dist/test/world/run.js FIRST COUNT`. Prints each
 * violation, shortened to its fewest acts, and the faults by kind. WORLD_STOP=1 ends at the first
 * violation and leaves the schedule as it is; WORLD_LOG=1 prints what happened.
 */
const [first = 1, count = 1, step = 1] = process.argv.slice(2).map(Number);
const stops = env['WORLD_STOP'] === '1';
const counts = new FaultCounts();
const startedAt = systemClock.monotonic();
let violations = 0;
let played = 0;
for (let seed = first; seed < first + count * step; seed += step) {
  const plan = planOf(seed);
  const outcome = await play(plan);
  played += 1;
  counts.merge(outcome.counts);
  if (env['WORLD_LOG'] === '1') stdout.write(`${outcome.log.join('\n')}\n`);
  if (outcome.violation === undefined) continue;
  violations += 1;
  stdout.write(`VIOLATION: seed ${seed}, after ${played} schedules: ${outcome.violation}\n`);
  if (stops) break;
  const shrunk = await shrink(plan);
  stdout.write(shrunk === undefined ? 'it does not fail again\n' : testOf(shrunk));
}
const seconds = Math.round((systemClock.monotonic() - startedAt) / 1000);
const cpuSeconds = Math.round(process.cpuUsage().user / 1e6);
stdout.write(
  `${played} schedules, ${violations} violations, ${counts.total()} faults and acts, ${seconds} s, ${cpuSeconds} s of CPU\n`,
);
for (const [kind, n] of counts.entries()) stdout.write(`${String(n).padStart(7)} ${kind}\n`);
process.exitCode = violations > 0 ? 1 : 0;
