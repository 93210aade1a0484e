// `npm run e2e`: the promises of Driftless against real API servers, with real kubectl, helm and kustomize. `npm run e2e -- install` runs the files
// whose name contains that; further words go to jest as they are (`-t 'part of a name'`).
// `npm run e2e -- conformance --record` writes the answers of the real server into test/conformance/recorded.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const record = process.argv.includes('--record');
const words = process.argv.slice(2).filter((word) => word !== '--record');
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const script = (name) => join(root, 'scripts', name);

const setup = spawnSync(process.execPath, [script('e2e-setup.mjs'), '-o', 'json'], {
  cwd: root,
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'inherit'],
});
if (setup.status !== 0) process.exit(setup.status ?? 1);
const { tools, leftOut } = JSON.parse(setup.stdout);
for (const { name, version, source } of tools) process.stdout.write(`e2e: ${name} ${version} (${source})\n`);

for (const file of leftOut)
  process.stdout.write(`e2e: LEFT OUT: test/e2e/${file}: what it needs is not here (see above)\n`);

const jest = [join(root, 'node_modules', 'jest', 'bin', 'jest.js'), '--config', join(root, 'jest.e2e.config.mjs')];
// Last: the option takes every word that follows.
const ignored = leftOut.map((file) => `--testPathIgnorePatterns=/test/e2e/${file.replaceAll('.', '[.]')}$`);
const result = spawnSync(
  process.execPath,
  ['--experimental-vm-modules', '--no-warnings', ...jest, ...words, ...ignored],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      ...(record ? { DRIFTLESS_E2E_RECORD: 'true' } : {}),
      DRIFTLESS_E2E_TOOLS: JSON.stringify(Object.fromEntries(tools.map(({ name, path }) => [name, path]))),
    },
  },
);
process.exit(result.status ?? 1);
