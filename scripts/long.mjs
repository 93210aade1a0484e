// `npm run long [-- --seed N|random]`: the property tests again with twenty times as many cases, of a seed that stays the same unless another one
// is given. A counterexample becomes a plain test. (The breakages of the hand-over protocol have a command of their own, `npm run mutations`: they
// take longer than the rest together.)
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const files = propertyTests(root);
process.stdout.write(`${files.length} files with properties\n`);
const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
const at = process.argv.indexOf('--seed');
const env = {
  ...process.env,
  DRIFTLESS_LONG_FACTOR: process.env.DRIFTLESS_LONG_FACTOR ?? '20',
  // Each reader of foreign input gets a million inputs, or as many as it reads in this time of the processor; it prints how many.
  DRIFTLESS_FUZZ_SECONDS: process.env.DRIFTLESS_FUZZ_SECONDS ?? '6',
  ...(at > 0 && { DRIFTLESS_SEED: process.argv[at + 1] ?? 'random' }),
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
const gate = join(root, 'scripts', 'mutation-gate.mjs');
const codes = [args, [gate]].map(
  (line) => spawnSync(process.execPath, line, { cwd: root, env, stdio: 'inherit' }).status,
);
process.exit(codes.every((code) => code === 0) ? 0 : 1);

function propertyTests(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.name.startsWith('.') || entry.name === 'node_modules' || entry.name === 'dist') return [];
    if (entry.isDirectory()) return propertyTests(path);
    return entry.name.endsWith('.test.ts') && isLong(readFileSync(path, 'utf8')) ? [path] : [];
  });
}

/** Properties, and what gives readers of foreign input inputs that nobody would write. */
function isLong(text) {
  return text.includes("from 'fast-check'") || /import \{ [^}]*\bfuzz\b[^}]*\} from '#support'/.test(text);
}
