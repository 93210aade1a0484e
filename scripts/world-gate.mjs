// `node scripts/world-gate.mjs [NAME] [--search [--seeds N] [--from SEED]]`: builds deliberate
// defects into a copy of dist/, one at a time, and plays the schedule of the simulated world that
// test/world/defect-seeds.json names for it. Fails if that schedule does not show the defect: after
// a change of the schedules, `--search` plays up to N schedules for each such defect and for those
// without a schedule, and writes the first that shows it. A part of `npm run nightly`.
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { transformSync } from '@swc/core';
import { defects } from '../test/world/defects.mjs';
import { scriptArguments } from './arguments.mjs';
import { root } from './root.mjs';

const { values, positionals } = scriptArguments(import.meta.url, {
  allowPositionals: true,
  options: {
    search: { type: 'boolean', default: false },
    seeds: { type: 'number', default: '200' },
    from: { type: 'number', default: '1' },
  },
});
const seedsFile = join(root, 'test', 'world', 'defect-seeds.json');
const known = JSON.parse(readFileSync(seedsFile, 'utf8'));
/** A search leaves a processor to others. */
const workers = values.search ? 1 : 2;
const [part = ''] = positionals;
const chosen = defects.filter(({ name }) => name.includes(part) && (values.search || known[name] !== undefined));
const copies = Array.from({ length: Math.min(workers, availableParallelism(), chosen.length) }, copied);
const waiting = [...chosen];
const survivors = [];
const begin = Date.now();
try {
  await Promise.all(copies.map(work));
} finally {
  for (const copy of copies) rmSync(copy, { recursive: true, force: true });
}
const seconds = Math.round((Date.now() - begin) / 1000);
process.stdout.write(`world gate: ${chosen.length - survivors.length} of ${chosen.length} found (${seconds} s)\n`);
for (const name of survivors) process.stdout.write(`SURVIVED: ${name}\n`);
process.exit(survivors.length > 0 ? 1 : 0);

function copied() {
  const copy = mkdtempSync(join(tmpdir(), 'driftless-world-gate-'));
  cpSync(join(root, 'dist'), join(copy, 'dist'), { recursive: true });
  cpSync(join(root, 'package.json'), join(copy, 'package.json'));
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

async function work(copy) {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const found = await judge(copy, next);
    if (found === undefined) survivors.push(next.name);
    process.stdout.write(`${next.name}: ${found ?? 'not found'}\n`);
  }
}

/** Writes the schedule that shows a defect, in the order of the defects. */
function remember(name, seed) {
  known[name] = seed;
  const sorted = defects.filter((one) => known[one.name] !== undefined).map((one) => [one.name, known[one.name]]);
  writeFileSync(seedsFile, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
}

/** Where and how the defect shows; undefined: it does not. */
async function judge(copy, { name, file, from, to }) {
  const path = join(copy, 'dist', file.replace(/\.ts$/, '.js'));
  const original = readFileSync(path, 'utf8');
  const source = readFileSync(join(root, file), 'utf8');
  if (source.split(from).length !== 2) throw new Error(`${name}: "${from}" is not in ${file} exactly once`);
  writeFileSync(path, compiled(source.replace(from, () => to)));
  try {
    const shown = known[name] === undefined ? undefined : await shows(copy, [known[name], 1]);
    if (shown !== undefined || !values.search) return shown?.text;
    const found = await shows(copy, [Number(values.from), Number(values.seeds)]);
    if (found?.seed !== undefined) remember(name, found.seed);
    return found?.text;
  } finally {
    writeFileSync(path, original);
  }
}

/** The violation that some schedules show, and the seed of its schedule. */
async function shows(copy, [first, count]) {
  const { code, text } = await play(copy, [first, count]);
  const [, seed, violation] = /VIOLATION: seed (\d+), [^:]*: (.*)/.exec(text) ?? [];
  if (violation !== undefined) return { seed: Number(seed), text: `seed ${seed}: ${violation.slice(0, 200)}` };
  // Some defects end the process, or let a schedule run on and on.
  return code === 0 ? undefined : { seed: count === 1 ? first : undefined, text: `ends with code ${code}` };
}

function compiled(source) {
  const jsc = { parser: { syntax: 'typescript' }, target: 'es2022' };
  const { code } = transformSync(source, { jsc, module: { type: 'es6' } });
  return code.replace(/(from\s+'[^']*)\.ts'/g, "$1.js'").replace(/(from\s+"[^"]*)\.ts"/g, '$1.js"');
}

function play(copy, [first, count]) {
  // Schedules make much garbage: a larger young generation saves a sixth of their CPU time.
  const run = join(copy, 'dist', 'test', 'world', 'run.js');
  const line = ['--max-semi-space-size=64', run, String(first), String(count)];
  const env = { ...process.env, WORLD_STOP: '1' };
  const timeout = 60_000 + 5000 * count;
  return new Promise((resolve) => {
    let text = '';
    const child = spawn(process.execPath, line, { env, stdio: ['ignore', 'pipe', 'ignore'], timeout });
    child.stdout.on('data', (chunk) => (text += chunk));
    child.on('error', () => resolve({ code: 1, text }));
    child.on('close', (code) => resolve({ code: code ?? 1, text }));
  });
}
