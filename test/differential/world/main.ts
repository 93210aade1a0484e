import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stderr, stdout } from 'node:process';
import { parseArgs } from 'node:util';
import { messageOf, systemClock } from '#base';
import { missingTools } from '../../../bench/fleet/tools.ts';
import { WorldPair } from './pair.ts';
import { planOf } from './plan.ts';
import type { DifferentialPlan } from './plan.ts';
import { playPlan } from './play.ts';
import { findingText, tableOf } from './report.ts';
import type { SeedResult } from './report.ts';
import { shrinkPlan } from './shrink.ts';

/*
 * `npm run differential -- world` (scripts/differential.mjs): the same random installation and
 * script with Argo CD's controller and with ours, each on its own real API server.
 */
const { values } = parseArgs({
  options: {
    keep: { type: 'string', default: '' },
    version: { type: 'string', default: '' },
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '1000000' },
    minutes: { type: 'string', default: '30' },
    apps: { type: 'string', default: '6' },
    plan: { type: 'string' },
    shrink: { type: 'string', default: '12' },
  },
});
const needed = [
  'kube-apiserver',
  'etcd',
  'kubectl',
  'openssl',
  'redis-server',
  'argocd',
  'helm',
  'kustomize',
  'jsonnet',
] as const;
/** Plays of one pair of servers, which grow slower with what was there before. */
const maxPlays = 40;

const missing = missingTools(needed);
if (missing.length > 0) {
  stderr.write(`differential: ${missing.join(', ')} missing: run npm run e2e:setup\n`);
  process.exit(2);
}
mkdirSync(values.keep, { recursive: true });
const resultsFile = join(values.keep, 'results.jsonl');
const end = systemClock.monotonic() + Number(values.minutes) * 60_000;
const progress = (line: string): void => void stderr.write(`differential: ${line}\n`);
const done = previousResults();
const first = Number(values.seed);
let pair: WorldPair | undefined;
let broken = 0;
const results: SeedResult[] = [];

if (values.plan === undefined) await playSeeds();
else await playSeed(JSON.parse(readFileSync(values.plan, 'utf8')) as DifferentialPlan);
await pair?.close();
stdout.write(tableOf(results));
process.exit(broken > 0 || results.some(({ findings }) => findings.length > 0) ? 1 : 0);

async function playSeeds(): Promise<void> {
  for (let seed = first; seed < first + Number(values.count) && systemClock.monotonic() < end; seed += 1) {
    const previous = done.find((result) => result.seed === seed && result.apps === Number(values.apps));
    if (previous !== undefined) results.push(previous);
    else await playSeed(planOf(seed, Number(values.apps)));
  }
}

/** A server or controller that dies ends its seed, and the next one has new servers. */
async function playSeed(plan: DifferentialPlan): Promise<void> {
  try {
    await playAndReport(plan);
  } catch (error) {
    broken += 1;
    stdout.write(`BROKEN: seed ${plan.seed}: ${messageOf(error)}\n`);
    await pair?.close();
    pair = undefined;
  }
}

async function playAndReport(plan: DifferentialPlan): Promise<void> {
  const begin = systemClock.monotonic();
  const { findings, known, acts } = await playOn(plan);
  const seconds = Math.round((systemClock.monotonic() - begin) / 1000);
  const result = { seed: plan.seed, apps: Number(values.apps), acts, seconds, findings, known: [...known] };
  results.push(result);
  appendFileSync(resultsFile, `${JSON.stringify({ version: values.version, ...result })}\n`);
  progress(
    `seed ${plan.seed}: ${plan.apps.length} Applications, ${acts} acts, ${findings.length} findings, ${seconds} s`,
  );
  for (const finding of findings) {
    stdout.write(findingText(plan, finding));
    if (systemClock.monotonic() > end || Number(values.shrink) === 0) continue;
    const shrunk = await shrinkPlan(plan, finding, { maxPlays: Number(values.shrink), play: playOn });
    if (shrunk === undefined) {
      stdout.write('  It does not differ again in the shortened script.\n');
      continue;
    }
    const file = join(values.keep, `seed-${plan.seed}-app-${finding.app}.json`);
    writeFileSync(file, JSON.stringify(shrunk.plan, undefined, 1));
    stdout.write(`shrunk in ${shrunk.plays} plays; again: npm run differential -- world --plan ${file}\n`);
    stdout.write(findingText(shrunk.plan, shrunk.finding));
  }
}

async function playOn(plan: DifferentialPlan): ReturnType<typeof playPlan> {
  if (pair !== undefined && pair.plays >= maxPlays) {
    await pair.close();
    pair = undefined;
  }
  pair ??= await WorldPair.start();
  return playPlan(pair, plan, (line) => progress(`seed ${plan.seed}: ${line}`));
}

function previousResults(): readonly SeedResult[] {
  if (!existsSync(resultsFile)) return [];
  const lines = readFileSync(resultsFile, 'utf8').trim().split('\n');
  return lines
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as SeedResult & { readonly version: string })
    .filter(({ version }) => version === values.version);
}
