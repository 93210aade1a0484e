// `npm test`: runs every test that needs only Node and git and is not slow, and the architecture
// rules. The build before it checks the types. `npm test -- queues` runs the tests of one folder,
// `npm run test:slow` the slow tests, `npm run test:tools` those that need the tools of
// `npm run e2e:setup`, and `npm run lint` checks format and lint, two minutes of one core.
import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { beside, layers } from '../.dependency-cruiser.mjs';
import { root, testsBelow } from './root.mjs';

/**
 * Test files that take minutes together: they start processes, wait for leases, crash at every
 * await or change every field. `.ci/run` runs them. The tests beside the code cover the same
 * behaviour on a smaller scale.
 */
const slow = [
  'bench/bench.test.ts',
  'bench/live/cold-start.test.ts',
  'cli/admin/admin.test.ts',
  'cli/admin/reconcile-results.test.ts',
  'cli/preflight/preflight.test.ts',
  'cli/shards/shards.test.ts',
  'controller/comparison/jq-runner.test.ts',
  'controller/crash.test.ts',
  'controller/poison.test.ts',
  'controller/refresh/contests.test.ts',
  'controller/storm.test.ts',
  'controller/write/stalled.test.ts',
  'desired/command/command.test.ts',
  'desired/fetch/git/git-addresses.test.ts',
  'desired/fetch/git/git-http.test.ts',
  'desired/fetch/git/submodules.test.ts',
  'desired/fetch/signatures/verifier.test.ts',
  'desired/generate/plugins/plugins.test.ts',
  'desired/held-inputs.test.ts',
  'desired/hydrate/git-committer.test.ts',
  'desired/keeping.test.ts',
  'desired/render/server.test.ts',
  'desired/render/wall.test.ts',
  'desired/source-work.test.ts',
  'desired/thousand-applications.test.ts',
  'diff/comparison/kinds.test.ts',
  'diff/ignore/rule-budget.test.ts',
  'live/sim.test.ts',
  'test/acceptance/agent.test.ts',
  'test/acceptance/bad-input.test.ts',
  'test/acceptance/capabilities.test.ts',
  'test/acceptance/claims.test.ts',
  'test/acceptance/cli.test.ts',
  'test/acceptance/deletion.test.ts',
  'test/acceptance/demo.test.ts',
  'test/acceptance/fair-rules.test.ts',
  'test/acceptance/fair-shares.test.ts',
  'test/acceptance/fair-tenants.test.ts',
  'test/acceptance/found.test.ts',
  'test/acceptance/hand-over.test.ts',
  'test/acceptance/hostile.test.ts',
  'test/acceptance/hydrator.test.ts',
  'test/acceptance/ignore-differences.test.ts',
  'test/acceptance/incidents/degraded.test.ts',
  'test/acceptance/incidents/syncs.test.ts',
  'test/acceptance/incidents/writers.test.ts',
  'test/acceptance/kubectl.test.ts',
  'test/acceptance/migration.test.ts',
  'test/acceptance/operations.test.ts',
  'test/acceptance/projects.test.ts',
  'test/acceptance/prune.test.ts',
  'test/acceptance/published.test.ts',
  'test/acceptance/respect-rbac.test.ts',
  'test/acceptance/scoped-clusters.test.ts',
  'test/acceptance/scrape.test.ts',
  'test/acceptance/secrets.test.ts',
  'test/acceptance/server-side-diff.test.ts',
  'test/acceptance/shadow.test.ts',
  'test/acceptance/sources.test.ts',
  'test/chaos/',
  'test/conformance/',
  'test/fuzz.test.ts',
  'test/recordings/recordings.test.ts',
];
/** Steps of their own in `.ci/run`: the benchmarks, and the long run. */
const elsewhere = ['bench/smoke.test.ts', 'diff/comparison/mutations.test.ts'];
/** A process with a small heap under attack: V8 gives up where other tests take its CPU time. */
const alone = ['test/chaos/hostile-cluster.test.ts'];
/** Slow test files that need helm, kustomize or jsonnet, some of them only for a part. */
const withTools = [
  'desired/fetch/network/kinds-of-sources.test.ts',
  'desired/bad-input.test.ts',
  'desired/generate/directory/jsonnet.test.ts',
  'desired/generate/helm/chart-sources.test.ts',
  'desired/generate/helm/dependencies.test.ts',
  'desired/generate/helm/helm.test.ts',
  'desired/generate/helm/hostile.test.ts',
  'desired/generate/helm/strvals.test.ts',
  'desired/generate/kustomize/hostile.test.ts',
  'desired/generate/kustomize/kustomize.test.ts',
  'test/acceptance/hostile-sources.test.ts',
];
/** Other test files that leave tests out where helm, kustomize or jsonnet is missing. */
const partlyWithTools = [
  'desired/fetch/oci/oci-sources.test.ts',
  'engine/desired.test.ts',
  'test/acceptance/capabilities.test.ts',
];
const names = process.argv.slice(2);
const bin = (name, path) => join(root, 'node_modules', name, path);
const jest = ['--experimental-vm-modules', '--no-warnings', bin('jest', 'bin/jest.js')];
const failures = [];

if (names[0] === '--slow') await slowTests();
else if (names[0] === '--lint') await lint();
else if (names[0] === '--tools') await testsWithTools();
else if (names.length > 0) await step('tests', [...jest, ...names.map(patternOf)]);
else await everything();
if (failures.length > 0) {
  process.stderr.write(`FAILED: ${failures.join(', ')}\n`);
  process.exit(1);
}

/** The last step has the processors to itself. */
async function slowTests() {
  const others = ['/node_modules/', '/dist/', ...alone];
  await step('slow tests', [...jest, ...slow, ...others.map((path) => `--testPathIgnorePatterns=${path}`)]);
  await step('slow tests that run alone', [...jest, ...alone]);
}

/** A missing tool fails its tests here instead of leaving them out. */
async function testsWithTools() {
  process.env['DRIFTLESS_TOOLS'] = 'required';
  await step('tests with helm, kustomize and jsonnet', [...jest, ...withTools, ...partlyWithTools]);
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
  await step('lint', ['--max-old-space-size=4096', bin('eslint', 'bin/eslint.js'), '--max-warnings=0', '.']);
}

async function tests() {
  const others = [
    '/node_modules/',
    '/dist/',
    '<rootDir>/policy/',
    ...[...slow, ...withTools, ...elsewhere].map((path) => `<rootDir>/${path}`),
  ];
  await step('tests', [...jest, ...others.map((path) => `--testPathIgnorePatterns=${path}`)]);
  // policy/ decides what tenants may do: its tests run separately, with a threshold for coverage.
  await step('tests of policy, and what they reach', [
    ...jest,
    `--testPathPatterns=${testsBelow('policy')}`,
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
    const end = (code) => {
      if (code !== 0) failures.push(name);
      resolve();
    };
    child.on('error', () => end(1));
    child.on('close', end);
  });
}
