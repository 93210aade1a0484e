// `npm run nightly [-- --hours 2] [--only PART OF A NAME]`: what a landing does not wait for. Property
// tests with twenty times as many cases, schedules of the simulated world, mutations, deliberate
// defects, fuzzing that is guided by coverage, and the unit tests on the Node version of the image;
// then the seeded ones again with further seeds, until the time is over. Seeds come from the commit.
// A run of the same commit continues an interrupted one. Writes docs/nightly/DATE.md, unless --only
// selects units. Turn each counterexample into a plain test.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { scriptArguments } from '../arguments.mjs';
import { jestProgram } from '../jest/program.mjs';
import { root } from '../root.mjs';
import { testFiles } from '../test-files.mjs';
import { casesOf, obsoleteReports, reportOf, resumed, seedOf, unitsLeft } from './plan.mjs';

const { values } = scriptArguments(import.meta.url, {
  options: { hours: { type: 'number', default: '2' }, only: { type: 'string', default: '' } },
});
const budgetMs = Number(values.hours) * 3_600_000;
if (!(budgetMs > 0)) {
  process.stderr.write('driftless: usage: npm run nightly [-- --hours 2] [--only PART OF A NAME]\n');
  process.exit(2);
}
const mutationParts = 8;
/** CPU seconds for each reader of foreign input. */
const fuzzSeconds = '6';
const date = new Date().toISOString().slice(0, 10);
const reports = join(root, 'docs', 'nightly');
const statePath = join(root, 'node_modules', '.cache', 'driftless', 'nightly.json');
const commit =
  git('rev-parse', 'HEAD') + (git('status', '--porcelain', '--', ':!docs/nightly') === '' ? '' : ' with changes');
const units = allUnits().filter(({ name }) => name.includes(values.only));
let state = values.only === '' ? resumed(savedState(), commit) : resumed(undefined, commit);
process.stdout.write(`nightly: ${units.length} units, ${state.results.length} of them done before\n`);
for (; !isOver(); state = { ...state, round: state.round + 1 }) {
  const left = unitsLeft(units, state.results, state.round);
  if (left.length === 0 && state.round > 0 && !units.some(({ isSeeded }) => isSeeded)) break;
  process.stdout.write(`nightly: round ${state.round + 1}, DRIFTLESS_SEED=${seedOf(commit, state.round)}\n`);
  // Two at a time; gates use both processors themselves.
  const [single, double] = [left.filter(({ cores }) => cores === 1), left.filter(({ cores }) => cores === 2)];
  await Promise.all([work(single), work(single)]);
  await work(double);
  save();
  if (isOver() || values.only !== '') break;
}
const failed = state.results.filter(({ verdict }) => verdict === 'failed');
process.stdout.write(`nightly: ${state.results.length} runs, ${failed.length} findings\n`);
for (const { name, command } of failed) process.stdout.write(`FOUND: ${name}: ${command}\n`);
process.exitCode = failed.length > 0 ? 1 : 0;

function allUnits() {
  const script = (...path) => join(root, 'scripts', ...path);
  const properties = testFiles(root)
    .filter(isLong)
    .map((path) => ({
      name: relative(root, path),
      isSeeded: true,
      cores: 1,
      args: [...jestProgram, '--testTimeout', '900000', '--runTestsByPath', relative(root, path)],
    }));
  const mutations = Array.from({ length: mutationParts }, (_, i) => `${i + 1}/${mutationParts}`).map((part) => ({
    name: `mutations ${part}`,
    isSeeded: false,
    cores: 2,
    args: [script('mutation-gate.mjs'), '--part', part],
  }));
  return [
    ...properties,
    { name: 'Node version of the image', isSeeded: false, cores: 2, args: [script('node-lts.mjs')] },
    ...mutations,
    { name: 'removal matrix', isSeeded: true, cores: 1, args: [script('removal-matrix.mjs')] },
    {
      name: 'removal matrix, real',
      isSeeded: true,
      cores: 1,
      args: [script('removal-matrix.mjs'), '--real', '--cases', '3000'],
    },
    { name: 'source options', isSeeded: true, cores: 1, args: [script('source-options.mjs')] },
    {
      name: 'differential',
      isSeeded: true,
      cores: 2,
      args: [script('differential.mjs'), 'functions', '--minutes', '15'],
    },
    {
      name: 'differential, controllers',
      isSeeded: true,
      cores: 2,
      args: [script('differential.mjs'), 'world', '--minutes', '20'],
    },
    { name: 'defects', isSeeded: false, cores: 2, args: [script('world-gate.mjs')] },
    { name: 'guided fuzzing', isSeeded: true, cores: 2, args: [script('fuzz', 'main.mjs'), '--seconds', fuzzSeconds] },
  ];
}

/** Whether a test file has properties, fuzzes a reader of foreign input, or is only long. */
function isLong(path) {
  if (path.endsWith('.long.test.ts')) return true;
  const text = readFileSync(path, 'utf8');
  return text.includes("from 'fast-check'") || /import \{ [^}]*\bfuzz\b[^}]*\} from '#support'/.test(text);
}

async function work(left) {
  while (left.length > 0 && !isOver()) {
    const result = await runUnit(left.shift());
    state = { ...state, results: [...state.results, result] };
    save();
    process.stdout.write(`${result.verdict.padEnd(7)} ${String(result.seconds).padStart(5)} s  ${result.name}\n`);
  }
}

function runUnit({ name, args }) {
  const { round } = state;
  const seed = String(seedOf(commit, round));
  const takesSeed = ['differential', 'differential, controllers', 'guided fuzzing'].includes(name);
  const line = takesSeed ? [...args, '--seed', seed] : args;
  const settings = { DRIFTLESS_LONG_FACTOR: '20', DRIFTLESS_FUZZ_SECONDS: fuzzSeconds, DRIFTLESS_SEED: seed };
  const words = Object.entries(settings).map(([key, value]) => `${key}=${value}`);
  const command = [...words, 'node', ...line.map((word) => relative(root, word) || word)].join(' ');
  const begin = Date.now();
  const timeout = Math.max(60_000, Math.round(budgetMs - spentMs()));
  return new Promise((resolve) => {
    const child = spawn(process.execPath, line, {
      cwd: root,
      env: { ...process.env, ...settings },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout,
    });
    const chunks = [];
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => chunks.push(chunk));
    child.on('error', (error) => chunks.push(Buffer.from(error.message)));
    child.on('close', (code, signal) => {
      const output = Buffer.concat(chunks).toString();
      const verdict = code === 0 ? 'passed' : signal === null ? 'failed' : 'cut';
      const seconds = Math.round((Date.now() - begin) / 1000);
      resolve({ name, round, verdict, seconds, cases: casesOf(output), command, output: code === 0 ? '' : output });
    });
  });
}

function isOver() {
  return spentMs() >= budgetMs;
}

/** Time of this run and of those that it continues. */
function spentMs() {
  return state.spentMs + performance.now();
}

/** The report of now, and what another run continues with. */
function save() {
  if (values.only !== '') return;
  mkdirSync(join(statePath, '..'), { recursive: true });
  writeFileSync(statePath, JSON.stringify({ ...state, spentMs: spentMs() }));
  mkdirSync(reports, { recursive: true });
  const seeds = Array.from({ length: state.round + 1 }, (_, round) => seedOf(commit, round));
  const left = unitsLeft(units, state.results, 0).map(({ name }) => name);
  const { results } = state;
  const report = reportOf({ date, commit, hours: spentMs() / 3_600_000, results, left, seeds });
  writeFileSync(join(reports, `${date}.md`), report);
  for (const name of obsoleteReports(readdirSync(reports))) rmSync(join(reports, name));
}

function savedState() {
  return existsSync(statePath) ? JSON.parse(readFileSync(statePath, 'utf8')) : undefined;
}

function git(...args) {
  return spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout.trim();
}
