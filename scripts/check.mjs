// The quick loop: `npm run check -- queues kube` checks types, architecture and quick tests of
// these folders and of generated pages, and format and lint of what changed in them. A folder may
// be a part of a module. Without arguments it checks everything. It prints each step at its start
// and its end.
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beside, layers } from '../.dependency-cruiser.mjs';
import { changedFiles } from './changed-files.mjs';
import { jestProgram } from './jest/program.mjs';
import { root, testsBelow } from './root.mjs';

const folders = process.argv.slice(2).map((name) => name.replace(/\/+$/, ''));
const unknown = folders.filter((name) => !statSync(join(root, name), { throwIfNoEntry: false })?.isDirectory());
if (unknown.length > 0) {
  process.stderr.write(
    `check: no such folder: ${unknown.join(', ')}. Example: npm run check -- queues kube/reflector\n`,
  );
  process.exit(2);
}
const bin = (name, path) => join(root, 'node_modules', name, path);
const script = (name) => join(root, 'scripts', name);
const cache = join(root, 'node_modules', '.cache', 'driftless');
const failed = [];

say(`check: ${folders.length > 0 ? folders.join(', ') : 'everything'}`);
if (await step('packages', [script('ensure.mjs'), '--no-build'])) {
  mkdirSync(cache, { recursive: true });
  // Types and lint take longest, and one core each.
  await Promise.all([checkProgram(), checkChanges()]);
}
say(failed.length === 0 ? 'check: everything is good' : `check: FAILED: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;

async function checkProgram() {
  const isBuilt = startsPrograms()
    ? await step('build (its tests start programs)', [script('ensure.mjs')])
    : await types();
  if (!isBuilt) return;
  const drawn = folders.length > 0 ? folders : [...layers.flat(), ...beside];
  const rules = ['--config', '.dependency-cruiser.mjs', ...drawn];
  await step('architecture', [bin('dependency-cruiser', 'bin/dependency-cruise.mjs'), ...rules]);
  // Files with a second suffix (x.slow.test.ts) take long or need tools.
  const quick = ['/node_modules/', '/dist/', String.raw`\.[a-z]+\.test\.ts$`];
  const ignored = quick.map((pattern) => `--testPathIgnorePatterns=${pattern}`);
  // The ignored patterns come last: jest would take the folders for more of them.
  await step('tests (quick ones; npm test -- FOLDER runs all)', [
    ...jestProgram,
    '--passWithNoTests',
    ...(folders.length > 0 ? [...folders, 'test/docs'] : []).map(testsBelow),
    ...ignored,
  ]);
}

/** Tests of upper layers, and those that name dist/, start programs of dist/. */
function startsPrograms() {
  const upper = new Set([...layers.slice(4).flat(), ...beside, 'desired']);
  const named = folders.some((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .filter((path) => path.endsWith('.test.ts'))
      .some((path) => /\bdist\/|'dist'/.test(readFileSync(join(root, folder, path), 'utf8'))),
  );
  return named || folders.length === 0 || folders.some((folder) => upper.has(folder.split('/', 1)[0]));
}

/** Checks the types of the whole program: a change may break those that import it. */
function types() {
  const info = ['--incremental', '--tsBuildInfoFile', join(cache, 'check.tsbuildinfo')];
  return step('types', [bin('typescript-native', 'bin/tsc'), '-p', '.', '--noEmit', ...info]);
}

/** Committed files of the main branch have been checked: only those that differ are. */
async function checkChanges() {
  const changed = changedFiles(folders);
  const code = changed.filter((path) => /\.(?:tsx?|mjs|mts)$/.test(path));
  const count = `${changed.length} changed file${changed.length === 1 ? '' : 's'}; npm run lint checks all`;
  if (changed.length === 0) return say('ok      format and lint: no changed files');
  const prettier = [bin('prettier', 'bin/prettier.cjs'), '--check', '--log-level', 'warn', '--ignore-unknown'];
  await step(`format (${count})`, [...prettier, ...changed]);
  const eslint = [bin('eslint', 'bin/eslint.js'), '--max-warnings=0', '--no-warn-ignored'];
  if (code.length > 0) await step('lint', [...eslint, ...code]);
}

/** Runs a Node script and shows its output at its end, so that parallel steps do not mix theirs. */
async function step(name, args) {
  say(`...     ${name}`);
  const begin = performance.now();
  const { code, output } = await run(args);
  const isQuiet = code === 0 && !name.startsWith('tests');
  const seconds = Math.round((performance.now() - begin) / 1000);
  say(`${isQuiet || output === '' ? '' : `${output}\n`}${code === 0 ? 'ok     ' : 'FAILED '} ${name} (${seconds} s)`);
  if (code !== 0) failed.push(name);
  return code === 0;
}

function run(args) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    const output = [];
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk));
    child.on('error', (error) => resolve({ code: 1, output: error.message }));
    child.on('close', (code) => resolve({ code, output: Buffer.concat(output).toString().trim() }));
  });
}

function say(line) {
  process.stdout.write(`${line}\n`);
}
