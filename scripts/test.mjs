// `npm test`: types (by the build before), lint, architecture and format rules, then every test that needs nothing but Node and git.
// `npm test -- queues` runs the tests of one folder only.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const names = process.argv.slice(2);
const bin = (name, path) => join(root, 'node_modules', name, path);
const modules = [
  'base',
  'model',
  'telemetry',
  'kube',
  'queues',
  'diff',
  'health',
  'policy',
  'settings',
  'sharding',
  'live',
  'desired',
  'sync',
  'publish',
  'compare',
  'controller',
  'cli',
  'sim',
  'dashboard',
  'bench',
  'test',
];
const failures = [];

if (names.length === 0) {
  step('lint', ['--max-old-space-size=4096', bin('eslint', 'bin/eslint.js'), '--max-warnings=0', '.']);
  step('format', [bin('prettier', 'bin/prettier.cjs'), '--check', '--log-level', 'warn', '.']);
  step('architecture', [
    bin('dependency-cruiser', 'bin/dependency-cruise.mjs'),
    '--config',
    '.dependency-cruiser.mjs',
    ...modules,
  ]);
}
const jest = ['--experimental-vm-modules', '--no-warnings', bin('jest', 'bin/jest.js')];
if (names.length === 0) {
  // What decides about tenants is tested to its last branch: its tests run by themselves, and are measured.
  step('tests', [
    ...jest,
    ...['/node_modules/', '/dist/', '<rootDir>/policy/'].map((path) => `--testPathIgnorePatterns=${path}`),
  ]);
  step('tests of policy, and what they reach', [
    ...jest,
    `--testPathPatterns=^${join(root, 'policy').replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}/`,
    '--coverage',
    '--collectCoverageFrom=policy/*.ts',
    '--coverageReporters=text-summary',
    `--coverageThreshold=${JSON.stringify({ global: { branches: 95, functions: 98, lines: 98 } })}`,
  ]);
} else step('tests', [...jest, ...names]);
if (failures.length > 0) {
  process.stderr.write(`FAILED: ${failures.join(', ')}\n`);
  process.exit(1);
}

function step(name, args) {
  process.stdout.write(`--- ${name}\n`);
  if (spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status !== 0) failures.push(name);
}
