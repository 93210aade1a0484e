// The quick loop: `npm run check -- queues kube` checks types, lint, architecture and tests of
// these folders. Without arguments it checks everything.
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beside, layers } from '../.dependency-cruiser.mjs';
import { root, testsBelow } from './root.mjs';

const folders = process.argv.slice(2);
const bin = (name, path) => join(root, 'node_modules', name, path);
let failed = 0;

const cache = join(root, 'node_modules', '.cache', 'driftless');
mkdirSync(cache, { recursive: true });
const linted = folders.length > 0 ? folders : ['.'];
const drawn = folders.length > 0 ? folders : [...layers.flat(), ...beside];
const jest = ['--experimental-vm-modules', '--no-warnings', bin('jest', 'bin/jest.js')];

// Unchanged files are not linted again; `npm run lint` also finds errors that other files cause.
const lint = [
  bin('eslint', 'bin/eslint.js'),
  ...['--cache', '--cache-strategy', 'content', '--cache-location', join(cache, 'eslint.json')],
];
// Two at a time: types and lint take longest, and one core each.
await Promise.all([types(), step('lint', [...lint, '--max-warnings=0', ...linted])]);
await Promise.all([
  step('architecture', [
    bin('dependency-cruiser', 'bin/dependency-cruise.mjs'),
    '--config',
    '.dependency-cruiser.mjs',
    ...drawn,
  ]),
  step('tests', [...jest, ...folders.map(testsBelow)]),
]);
process.exitCode = failed === 0 ? 0 : 1;

/** Checks the types of the whole program, but counts only errors in the named folders. */
async function types() {
  const info = join(cache, `check-${folders.join('-') || 'all'}.tsbuildinfo`);
  const { output } = await run([
    bin('typescript-native', 'bin/tsc'),
    ...['-p', '.', '--noEmit', '--incremental', '--tsBuildInfoFile', info],
  ]);
  const lines = output
    .split('\n')
    .filter((line) => line !== '' && (folders.length === 0 || folders.some((f) => line.startsWith(`${f}/`))));
  report('types', lines.filter((line) => / error TS/.test(line)).length === 0, lines.join('\n'));
}

async function step(name, args) {
  const { code, output } = await run(args);
  report(name, code === 0, output.trim());
}

/** Runs a Node script and collects its output, so that parallel steps do not mix theirs. */
function run(args) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    const output = [];
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk));
    child.on('error', (error) => resolve({ code: 1, output: error.message }));
    child.on('close', (code) => resolve({ code, output: Buffer.concat(output).toString() }));
  });
}

function report(name, isGood, output) {
  process.stdout.write(`${output === '' ? '' : `${output}\n`}${isGood ? 'ok    ' : 'FAILED'} ${name}\n`);
  if (!isGood) failed += 1;
}
