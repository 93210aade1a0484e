// The quick loop: `npm run check -- queues kube` checks types, lint, architecture and tests of those folders only.
// Without a name it checks everything.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beside, layers } from '../.dependency-cruiser.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folders = process.argv.slice(2);
const bin = (name, path) => join(root, 'node_modules', name, path);
let failed = 0;

const cache = join(root, 'node_modules', '.cache', 'driftless');
mkdirSync(cache, { recursive: true });
types();
step('lint', bin('eslint', 'bin/eslint.js'), ['--max-warnings=0', ...(folders.length ? folders : ['.'])]);
step('architecture', bin('dependency-cruiser', 'bin/dependency-cruise.mjs'), [
  '--config',
  '.dependency-cruiser.mjs',
  ...targets(),
]);
step(
  'tests',
  bin('jest', 'bin/jest.js'),
  folders.map((f) => `/${f}/`),
  { NODE_OPTIONS: '--experimental-vm-modules --no-warnings' },
);
process.exit(failed === 0 ? 0 : 1);

function targets() {
  if (folders.length > 0) return folders;
  return [...layers.flat(), ...beside];
}

/** Types are checked for the whole program; with folders named, only their errors count. */
function types() {
  const info = join(cache, `check-${folders.join('-') || 'all'}.tsbuildinfo`);
  const result = spawnSync(
    process.execPath,
    [bin('typescript', 'bin/tsc'), '-p', '.', '--noEmit', '--incremental', '--tsBuildInfoFile', info],
    { cwd: root, encoding: 'utf8' },
  );
  const lines = result.stdout
    .split('\n')
    .filter((line) => line !== '' && (folders.length === 0 || folders.some((f) => line.startsWith(`${f}/`))));
  report('types', lines.filter((line) => / error TS/.test(line)).length === 0);
  if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n`);
}

function step(name, script, args, env = {}) {
  const result = spawnSync(
    process.execPath,
    [...(env.NODE_OPTIONS ? env.NODE_OPTIONS.split(' ') : []), script, ...args],
    { cwd: root, stdio: 'inherit' },
  );
  report(name, result.status === 0);
}

function report(name, ok) {
  process.stdout.write(`${ok ? 'ok    ' : 'FAILED'} ${name}\n`);
  if (!ok) failed += 1;
}
