// `npm test`: types (by the build before), lint, architecture and format rules, then every test that needs nothing but Node and git, in under five
// minutes on two cores. `npm test -- queues` runs the tests of one folder only. `npm run test:slow` runs what would not fit into that time.
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beside, layers } from '../.dependency-cruiser.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/**
 * What starts processes (helm and kustomize too), waits for a lease, tries every await or changes every field: minutes, which `.ci/run` has and nobody else waits for. What they prove is proven
 * in small by the tests beside the code.
 */
const slow = [
  'bench/smoke.test.ts',
  'cli/preflight/preflight.test.ts',
  'cli/shards/shards.test.ts',
  'controller/crash.test.ts',
  'desired/fetch/verifier.test.ts',
  'desired/generate/chart-sources.test.ts',
  'desired/generate/helm.test.ts',
  'desired/generate/jsonnet.test.ts',
  'desired/generate/kustomize.test.ts',
  'diff/mutations.test.ts',
  'live/sim.test.ts',
  'test/acceptance/cli.test.ts',
  'test/acceptance/demo.test.ts',
  'test/acceptance/hand-over.test.ts',
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
  // The linter takes one core for a minute; the two others share the second one meanwhile.
  await Promise.all([
    step('lint', ['--max-old-space-size=4096', bin('eslint', 'bin/eslint.js'), '--max-warnings=0', '.']),
    (async () => {
      await step('format', [bin('prettier', 'bin/prettier.cjs'), '--check', '--log-level', 'warn', '.']);
      const rules = [bin('dependency-cruiser', 'bin/dependency-cruise.mjs'), '--config', '.dependency-cruiser.mjs'];
      await step('architecture', [...rules, ...layers.flat(), ...beside]);
    })(),
  ]);
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

function step(name, args) {
  process.stdout.write(`--- ${name}\n`);
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit' });
    child.on('error', () => resolve(failures.push(name)));
    child.on('exit', (code) => resolve(code === 0 ? undefined : failures.push(name)));
  });
}
