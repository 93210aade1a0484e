// Mutation test of the hand-over protocol and of the rules that keep tenants apart: applies small
// mutations, one at a time, to a copy of their folders and runs the one test that must kill each.
// About two minutes on two cores.
// npm run mutations [-- [--thorough] [--part N/M] [SUBSTRING OF A NAME]]
// --thorough: for survivors, also runs all tests of the protocol and the simulation.
// Exits with 1 if a mutation survives that is not listed as equivalent.
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { mutations } from '../sharding/testing/mutations.mjs';
import { scriptArguments } from './arguments.mjs';
import { jestProgram } from './jest/program.mjs';
import { itemsOfPart } from './parts.mjs';
import { root } from './root.mjs';
import { wallMutations } from './wall-mutations.mjs';

const { values, positionals } = scriptArguments(import.meta.url, {
  allowPositionals: true,
  options: { thorough: { type: 'boolean', default: false }, part: { type: 'string' } },
});
const isThorough = values.thorough;
const [substring = ''] = positionals;
const everything = ['protocol/lease-state', 'ownership/ownership', 'ownership/writes-under-way', 'simulation'].map(
  fileOf,
);
const all = [...mutations.map(inSharding), ...wallMutations];
const chosen = itemsOfPart(all, values.part).filter(({ name }) => name.includes(substring));
const folders = new Set(['sharding', ...chosen.map(({ file }) => file.split('/')[0])]);
const copies = Array.from({ length: Math.min(2, availableParallelism()) }, copied);
const results = new Map();
const begin = Date.now();
try {
  await checkNames();
  const waiting = [...chosen];
  const work = async (copy) => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      results.set(next.name, await judge(copy, next));
  };
  await Promise.all(copies.map(work));
} finally {
  for (const copy of copies) rmSync(copy, { recursive: true, force: true });
}
for (const { name, equivalent } of chosen) {
  const why = equivalent === undefined ? '' : ` (${equivalent})`;
  process.stdout.write(`${results.get(name).padEnd(10)} ${name}${why}\n`);
}
const of = (result) => chosen.filter(({ name }) => results.get(name) === result);
const seconds = Math.round((Date.now() - begin) / 1000);
process.stdout.write(
  `mutation gate: ${of('killed').length} of ${chosen.length} killed, ${of('equivalent').length} equivalent (${seconds} s)\n`,
);
const survivors = [...of('survived'), ...of('by others')];
for (const { name } of survivors) process.stdout.write(`SURVIVED: ${name}\n`);
process.exit(survivors.length > 0 ? 1 : 0);

/** The mutations of sharding/ name their files from there. */
function inSharding({ file, by, ...more }) {
  return {
    ...more,
    file: `sharding/${file}`,
    ...(by === undefined ? {} : { by: { ...by, file: fileOf(by.file) } }),
  };
}

/** Copies the folders of the mutations and links everything else of the repository. */
function copied() {
  const copy = mkdtempSync(join(tmpdir(), 'driftless-mutants-'));
  for (const name of readdirSync(root)) {
    if (name.startsWith('.') || name === 'dist') continue;
    if (folders.has(name) || ['package.json', 'jest.config.mjs'].includes(name))
      cpSync(join(root, name), join(copy, name), { recursive: true });
    else symlinkSync(join(root, name), join(copy, name));
  }
  return copy;
}

async function judge(copy, { name, file, from, to, by, equivalent }) {
  const path = join(copy, file);
  const original = readFileSync(path, 'utf8');
  if (original.split(from).length !== 2) throw new Error(`${name}: "${from}" is not in ${file} exactly once`);
  writeFileSync(
    path,
    original.replace(from, () => to),
  );
  try {
    if (equivalent !== undefined) return (await passes(copy, everything.slice(0, -1))) ? 'equivalent' : 'killed';
    if (!(await passes(copy, [by.file], by.test))) return 'killed';
    return isThorough && file.startsWith('sharding/') && !(await passes(copy, everything)) ? 'by others' : 'survived';
  } finally {
    writeFileSync(path, original);
  }
}

/** Checks that each mutation names an existing test that passes without mutations. */
async function checkNames() {
  const named = chosen.flatMap(({ by }) => (by === undefined ? [] : [by]));
  const files = [...new Set(named.map(({ file }) => file))];
  if (files.length === 0) return;
  const output = join(copies[0], 'unbroken.json');
  const pattern = named.map(({ test }) => escaped(test)).join('|');
  await jest(copies[0], ['--json', `--outputFile=${output}`, '-t', pattern, '--runTestsByPath', ...files]);
  const report = JSON.parse(readFileSync(output, 'utf8'));
  for (const { file, test } of named) {
    const found = report.testResults
      .filter(({ name }) => name.endsWith(file))
      .flatMap(({ assertionResults }) => assertionResults)
      .filter(({ fullName, status }) => fullName.includes(test) && status !== 'pending');
    if (found.length === 0) throw new Error(`${file} has no test "${test}"`);
    if (found.some(({ status }) => status !== 'passed')) throw new Error(`"${test}" fails without any mutation`);
  }
}

async function passes(copy, files, test) {
  const named = test === undefined ? [] : ['-t', escaped(test)];
  return (await jest(copy, ['--bail', ...named, '--runTestsByPath', ...files])) === 0;
}

/**
 * Returns jest's exit code; 1 after a timeout, which also kills endless loops. A single process
 * leaves no children behind.
 */
function jest(cwd, rest) {
  const line = [...jestProgram, '--ci', '--runInBand', ...rest];
  // Without the long run's factor: the simulation tries its default number of schedules.
  const env = { ...process.env, DRIFTLESS_LONG_FACTOR: '1' };
  return new Promise((resolve) => {
    const child = spawn(process.execPath, line, { cwd, env, stdio: 'ignore', timeout: 300_000 });
    child.on('error', () => resolve(1));
    child.on('close', (code) => resolve(code ?? 1));
  });
}

function fileOf(name) {
  return `sharding/${name}.test.ts`;
}

function escaped(text) {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
