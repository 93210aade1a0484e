import { mkdirSync, appendFileSync, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { stdout } from 'node:process';
import { parseArgs } from 'node:util';
import { stringifyJson, systemClock } from '#base';
import type { Json } from '#base';
import { areas } from './areas/index.ts';
import { Oracle } from './oracle.ts';
import { reportOf, shownDifference } from './report.ts';
import { AreaRun } from './run.ts';
import type { Difference } from './run.ts';

/*
 * `npm run differential -- functions` (scripts/differential.mjs): random cases, answered by Argo
 * CD's own code and by ours.
 */
const { values } = parseArgs({
  options: {
    oracle: { type: 'string', default: '' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '10' },
    hours: { type: 'string' },
    area: { type: 'string', default: '' },
    cases: { type: 'string', default: 'Infinity' },
    from: { type: 'string', default: '0' },
    shown: { type: 'string', default: '20' },
    keep: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
    stop: { type: 'boolean', default: false },
  },
});
const budgetMs = values.hours === undefined ? Number(values.minutes) * 60_000 : Number(values.hours) * 3_600_000;
const chosen = areas.filter(({ name }) => values.area === '' || values.area.split(',').includes(name));
const seed = Number(values.seed);
if (!(budgetMs > 0) || chosen.length === 0 || !Number.isInteger(seed)) {
  stdout.write(`areas: ${areas.map(({ name }) => name).join(', ')}\n`);
  process.exit(2);
}
/** Bytes of kept differences, after which no more are kept. */
const maxKeptBytes = 64 * 1024 * 1024;
const keepIn = values.keep;
if (keepIn !== '') mkdirSync(dirname(keepIn), { recursive: true });
let kept = keepIn !== '' && existsSync(keepIn) ? statSync(keepIn).size : 0;
const oracle = new Oracle([values.oracle]);
const end = systemClock.monotonic() + budgetMs;
const runs = chosen.map((area) => ({
  name: area.name,
  run: new AreaRun(area, seed, oracle.ask, systemClock),
  next: Number(values.from),
}));
let shown = 0;
/** Areas take turns, so that each gets its share whatever its cases cost. */
const turnMs = Math.min(20_000, budgetMs / chosen.length);
while (systemClock.monotonic() < end && runs.some(({ next }) => next < Number(values.from) + Number(values.cases))) {
  for (const each of runs) {
    const left = Number(values.from) + Number(values.cases) - each.next;
    if (left <= 0) continue;
    const before = each.run.tally.cases + each.run.tally.skipped;
    const until = Math.min(end, systemClock.monotonic() + turnMs);
    await each.run.play(each.next, { until, cases: left, shown: Number(values.shown) }, report);
    each.next += each.run.tally.cases + each.run.tally.skipped - before;
  }
}
oracle.stop();
stdout.write(
  reportOf(
    runs.map(({ name, run }) => ({ name, tally: run.tally })),
    { seed, restarts: oracle.restarts },
  ),
);
process.exitCode = runs.some(({ run }) => run.tally.unknown > 0) ? 1 : 0;

function report(difference: Difference): void {
  const line = `${stringifyJson(difference as unknown as Json)}\n`;
  if (keepIn !== '' && kept + line.length < maxKeptBytes) {
    appendFileSync(keepIn, line);
    kept += line.length;
  }
  if (difference.row !== undefined || shown >= Number(values.shown)) return;
  shown += 1;
  stdout.write(shownDifference(difference));
  if (values.stop) {
    oracle.stop();
    process.exit(1);
  }
}
