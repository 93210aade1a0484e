// Breaks the hand-over protocol in small ways, one at a time, in a copy of sharding/, and runs its tests against each: what is not killed is
// not tested. `node scripts/mutation-gate.mjs [PART OF A NAME]`; `npm run mutations`. Exits with 1 when one survives that is not
// listed as equivalent.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mutations } from '../sharding/testing/mutations.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const part = process.argv[2] ?? '';
const copy = mkdtempSync(join(tmpdir(), 'driftless-mutants-'));
const copied = ['sharding', 'package.json', 'jest.config.mjs'];
for (const name of readdirSync(root)) {
  if (name.startsWith('.') || name === 'dist') continue;
  if (copied.includes(name)) cpSync(join(root, name), join(copy, name), { recursive: true });
  else symlinkSync(join(root, name), join(copy, name));
}
/** What is quick first. */
const tests = ['sharding/ownership.test.ts', 'sharding/simulation.test.ts'];
const survivors = [];
let killed = 0;
let equivalent = 0;
try {
  const chosen = mutations.filter(({ name }) => name.includes(part));
  // Or everything would count as killed.
  if (!tests.every((test) => passes(test))) throw new Error('the tests do not pass without any mutation');
  for (const mutation of chosen) {
    const result = run(mutation);
    if (result === 'survived' && mutation.equivalent === undefined) survivors.push(mutation.name);
    if (result === 'killed') killed += 1;
    if (result === 'survived' && mutation.equivalent !== undefined) equivalent += 1;
    const why = result === 'survived' && mutation.equivalent !== undefined ? ` (${mutation.equivalent})` : '';
    process.stdout.write(`${result.padEnd(9)} ${mutation.name}${why}\n`);
  }
  process.stdout.write(`mutation gate: ${killed} of ${chosen.length} killed, ${equivalent} equivalent\n`);
  for (const name of survivors) process.stdout.write(`SURVIVED: ${name}\n`);
} finally {
  rmSync(copy, { recursive: true, force: true });
}
process.exit(survivors.length > 0 ? 1 : 0);

function run({ name, file, from, to }) {
  const path = join(copy, 'sharding', file);
  const original = readFileSync(path, 'utf8');
  if (original.split(from).length !== 2) throw new Error(`${name}: "${from}" is not in ${file} exactly once`);
  writeFileSync(
    path,
    original.replace(from, () => to),
  );
  try {
    return tests.every((test) => passes(test)) ? 'survived' : 'killed';
  } finally {
    writeFileSync(path, original);
  }
}

function passes(test) {
  const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
  const node = ['--experimental-vm-modules', '--no-warnings', jest];
  const args = [...node, '--ci', '--bail', '--maxWorkers=1', '--runTestsByPath', test];
  // A hundred schedules of small fleets for each.
  const env = { ...process.env, DRIFTLESS_LONG_FACTOR: process.env.DRIFTLESS_GATE_FACTOR ?? '1' };
  return spawnSync(process.execPath, args, { cwd: copy, env, stdio: 'ignore', timeout: 900_000 }).status === 0;
}
