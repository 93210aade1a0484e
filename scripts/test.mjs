// `npm test`: types (by the build before), every test that needs nothing but Node and git, and, in the time that these leave over, lint,
// architecture and format rules. `npm test -- queues` runs the tests of one folder only. `npm run test:slow` runs what would not fit into that time.
import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beside, layers } from '../.dependency-cruiser.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/**
 * What starts processes (helm and kustomize too), waits for a lease, tries every await or changes every field: minutes, which `.ci/run` has and nobody else waits for. What they prove is proven
 * in small by the tests beside the code.
 */
const slow = [
  'bench/live/cold-start.test.ts',
  'bench/smoke.test.ts',
  'cli/preflight/preflight.test.ts',
  'cli/shards/shards.test.ts',
  'controller/crash.test.ts',
  'controller/poison.test.ts',
  'controller/storm.test.ts',
  'desired/fetch/verifier.test.ts',
  'desired/generate/chart-sources.test.ts',
  'desired/generate/helm.test.ts',
  'desired/generate/jsonnet.test.ts',
  'desired/generate/kustomize.test.ts',
  'desired/generate/plugins.test.ts',
  'diff/mutations.test.ts',
  'live/sim.test.ts',
  'test/acceptance/bad-input.test.ts',
  'test/acceptance/cli.test.ts',
  'test/acceptance/demo.test.ts',
  'test/acceptance/found.test.ts',
  'test/acceptance/hand-over.test.ts',
  'test/acceptance/ignore-differences.test.ts',
  'test/acceptance/kubectl.test.ts',
  'test/acceptance/shadow.test.ts',
  'test/chaos/',
  'test/conformance/',
];
const names = process.argv.slice(2);
const bin = (name, path) => join(root, 'node_modules', name, path);
const jest = ['--experimental-vm-modules', '--no-warnings', bin('jest', 'bin/jest.js')];
const failures = [];

if (names[0] === '--slow') await step('slow tests', [...jest, ...slow]);
else if (names.length > 0) await step('tests', [...jest, ...names]);
else await everything();
if (failures.length > 0) {
  process.stderr.write(`FAILED: ${failures.join(', ')}\n`);
  process.exit(1);
}

async function everything() {
  const aside = rules();
  await tests();
  await aside;
}

/** What needs no answer soon: all of it takes one core for two minutes, and gets what the tests do not use. */
async function rules() {
  const linting = ['--max-old-space-size=4096', bin('eslint', 'bin/eslint.js'), '--max-warnings=0', '.'];
  await step('format', [bin('prettier', 'bin/prettier.cjs'), '--check', '--log-level', 'warn', '.'], { aside: true });
  const drawn = [bin('dependency-cruiser', 'bin/dependency-cruise.mjs'), '--config', '.dependency-cruiser.mjs'];
  await step('architecture', [...drawn, ...layers.flat(), ...beside], { aside: true });
  await step('lint', linting, { aside: true });
}

async function tests() {
  const elsewhere = ['/node_modules/', '/dist/', '<rootDir>/policy/', ...slow.map((path) => `<rootDir>/${path}`)];
  await step('tests', [...jest, ...elsewhere.map((path) => `--testPathIgnorePatterns=${path}`)]);
  // What decides about tenants is tested to its last branch: its tests run by themselves, and are measured.
  await step('tests of policy, and what they reach', [
    ...jest,
    `--testPathPatterns=^${join(root, 'policy').replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}/`,
    '--coverage',
    '--collectCoverageFrom=policy/*.ts',
    '--coverageReporters=text-summary',
    `--coverageThreshold=${JSON.stringify({ global: { branches: 95, functions: 98, lines: 98 } })}`,
  ]);
}

/** `aside`: at low priority, and told when it ends, so that it does not talk into what others print. */
function step(name, args, { aside = false } = {}) {
  if (!aside) process.stdout.write(`--- ${name}\n`);
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: aside ? ['ignore', 'pipe', 'pipe'] : 'inherit' });
    const said = [];
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => said.push(chunk));
    const end = (code) => {
      if (aside) process.stdout.write(Buffer.concat([Buffer.from(`--- ${name}\n`), ...said]));
      if (code !== 0) failures.push(name);
      resolve();
    };
    child.on('error', () => end(1));
    child.on('close', end);
    if (aside && child.pid !== undefined) lower(child.pid);
  });
}

function lower(pid) {
  try {
    setPriority(pid, 10);
  } catch {
    // It has ended, or the system has no priorities: then it takes its share.
  }
}
