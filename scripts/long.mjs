// `npm run long [-- --seed N|random] [--part N/M]`: runs the property tests with twenty times as many
// cases, then the mutation gate (`npm run mutations`), the gate of the simulated world, and fuzzing
// that is guided by coverage (`npm run fuzz`). The seed is fixed unless one is given. Turn each
// counterexample into a plain test. --part 1/2: half of the files and of the mutations.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { itemsOfPart } from './parts.mjs';
import { root } from './root.mjs';
import { testFiles } from './test-files.mjs';

const { seed, part } = parseArgs({ options: { seed: { type: 'string' }, part: { type: 'string' } } }).values;
// The world plays other schedules each day, so it belongs to each part.
const files = itemsOfPart(testFiles(root).filter(isLong), part, (path) => path.endsWith('world.test.ts'));
process.stdout.write(`${files.length} files with properties\n`);
const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
const env = {
  ...process.env,
  DRIFTLESS_LONG_FACTOR: process.env.DRIFTLESS_LONG_FACTOR ?? '20',
  // CPU time for each parser of foreign input: it reads a million inputs or stops there, and prints
  // how many it read.
  DRIFTLESS_FUZZ_SECONDS: process.env.DRIFTLESS_FUZZ_SECONDS ?? '6',
  ...(seed !== undefined && { DRIFTLESS_SEED: seed }),
};
const args = [
  '--experimental-vm-modules',
  '--no-warnings',
  jest,
  '--testTimeout',
  '900000',
  '--runTestsByPath',
  ...files,
];
const gate = [join(root, 'scripts', 'mutation-gate.mjs'), ...(part === undefined ? [] : ['--part', part])];
const worldGate = join(root, 'scripts', 'world-gate.mjs');
const fuzzing = [join(root, 'scripts', 'fuzz', 'main.mjs'), '--seconds', env.DRIFTLESS_FUZZ_SECONDS];
const codes = [args, gate, [worldGate], fuzzing].map(
  (line) => spawnSync(process.execPath, line, { cwd: root, env, stdio: 'inherit' }).status,
);
process.exit(codes.every((code) => code === 0) ? 0 : 1);

/** Whether a test file has properties, fuzzes a parser of foreign input, or changes every field. */
function isLong(path) {
  if (path.endsWith('.long.test.ts')) return true;
  const text = readFileSync(path, 'utf8');
  return text.includes("from 'fast-check'") || /import \{ [^}]*\bfuzz\b[^}]*\} from '#support'/.test(text);
}
