// `npm test`: runs every test that needs only Node and git and is not slow, and the architecture
// rules. The build before it checks the types. `npm test -- queues` runs the tests of one folder,
// `npm run test:slow` the slow tests, `npm run test:tools` those that need the tools of
// `npm run e2e:setup`, and `npm run lint` checks format and lint, two minutes of one core.
import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { beside, layers } from '../.dependency-cruiser.mjs';
import { jestProgram, jestWithCoverage } from './jest/program.mjs';
import { runWithRetry } from './jest/retry.mjs';
import { root, testsBelow } from './root.mjs';
import { quickOnly, testsOfKind, testsWithTools } from './test-files.mjs';

const names = process.argv.slice(2);
const bin = (name, path) => join(root, 'node_modules', name, path);
const failures = [];

if (names[0] === '--slow') await slowTests();
else if (names[0] === '--lint') await lint();
else if (names[0] === '--tools') await toolTests();
else if (names.length > 0) await step('tests', [...jestProgram, ...names.map(patternOf)]);
else await everything();
if (failures.length > 0) {
  process.stderr.write(`FAILED: ${failures.join(', ')}\n`);
  process.exit(1);
}

/** The last step has the processors to itself. */
async function slowTests() {
  for (const [name, kind] of [
    ['slow tests', 'slow'],
    ['slow tests that run alone', 'alone'],
  ]) {
    const selected = [`--testPathPatterns=${testsOfKind(kind)}`];
    const run = (more, env) => node([...jestProgram, ...(more.length > 0 ? more : selected)], env);
    process.stdout.write(`--- ${name}\n`);
    if ((await runWithRetry(run)) !== 0) failures.push(name);
  }
}

/** A missing tool fails its tests here instead of leaving them out. */
async function toolTests() {
  process.env['DRIFTLESS_TOOLS'] = 'required';
  await step('tests with helm, kustomize and jsonnet', [...jestProgram, '--runTestsByPath', ...testsWithTools()]);
}

/** The architecture rules take seven seconds of one core, beside the tests. */
async function everything() {
  const drawn = [bin('dependency-cruiser', 'bin/dependency-cruise.mjs'), '--config', '.dependency-cruiser.mjs'];
  await Promise.all([step('architecture', [...drawn, ...layers.flat(), ...beside]), tests()]);
}

/** Arguments that name no folder go to jest unchanged: paths of files, patterns and options. */
function patternOf(name) {
  return statSync(join(root, name), { throwIfNoEntry: false })?.isDirectory() ? testsBelow(name) : name;
}

async function lint() {
  await step('format', [bin('prettier', 'bin/prettier.cjs'), '--check', '--log-level', 'warn', '.']);
  await step('lint', ['--max-old-space-size=10000', bin('eslint', 'bin/eslint.js'), '--max-warnings=0', '.']);
}

async function tests() {
  await step('tests', [...jestProgram, ...quickOnly(), `--testPathIgnorePatterns=${testsBelow('policy')}`]);
  // policy/ decides what tenants may do: its tests run separately, with a threshold for coverage.
  await step('tests of policy, and what they reach', [
    ...jestWithCoverage,
    `--testPathPatterns=${testsBelow('policy')}`,
    '--collectCoverageFrom=policy/*.ts',
    '--coverageReporters=text-summary',
    `--coverageThreshold=${JSON.stringify({ global: { branches: 95, functions: 98, lines: 98 } })}`,
  ]);
}

async function step(name, args) {
  process.stdout.write(`--- ${name}\n`);
  if ((await node(args, {})) !== 0) failures.push(name);
}

/** Returns the exit code of a Node program. */
function node(args, env) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } });
    child.on('error', () => resolve(1));
    child.on('close', (code) => resolve(code ?? 1));
  });
}
