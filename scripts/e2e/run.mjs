// `npm run e2e`: tests Driftless against real API servers, with real kubectl, helm and kustomize.
// Arguments go to jest: `npm run e2e -- chart` runs the files whose path matches `chart`, and
// `-t 'part of a title'` selects tests. `npm run e2e -- conformance --record` writes the answers of
// the real server into test/conformance/recorded. Without arguments, two files run at a time, then
// those named `x.alone.e2e.ts` one by one; a failed file runs once more.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { jestProgram } from '../jest/program.mjs';
import { runWithRetry } from '../jest/retry.mjs';
import { root } from '../root.mjs';

const record = process.argv.includes('--record');
const words = process.argv.slice(2).filter((word) => word !== '--record');

const setup = spawnSync(process.execPath, [join(root, 'scripts', 'e2e', 'setup.mjs'), '-o', 'json'], {
  cwd: root,
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'inherit'],
});
if (setup.status !== 0) process.exit(setup.status ?? 1);
const { tools, leftOut } = JSON.parse(setup.stdout);
for (const { name, version, source } of tools) process.stdout.write(`e2e: ${name} ${version} (${source})\n`);

for (const file of leftOut)
  process.stdout.write(`e2e: LEFT OUT: test/e2e/${file}: a tool that it needs is missing (see above)\n`);

const config = ['--config', join(root, 'jest.e2e.config.mjs')];
// Must come last: jest takes every following word as a value of this option.
const ignored = leftOut.map((file) => `--testPathIgnorePatterns=/test/e2e/${file.replaceAll('.', '[.]')}$`);
const run = (more, env) =>
  spawnSync(process.execPath, [...jestProgram, ...config, ...words, ...more], {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      ...env,
      ...(record ? { DRIFTLESS_E2E_RECORD: 'true' } : {}),
      DRIFTLESS_E2E_TOOLS: JSON.stringify(Object.fromEntries(tools.map(({ name, path }) => [name, path]))),
    },
  }).status ?? 1;
async function runAll() {
  const together = [...ignored, String.raw`--testPathIgnorePatterns=\.alone\.e2e\.ts$`];
  const alone = ['-i', String.raw`--testPathPatterns=\.alone\.e2e\.ts$`, ...ignored];
  const codes = [];
  for (const selected of [together, alone])
    codes.push(await runWithRetry((more, env) => run(more.length > 0 ? more : selected, env)));
  return codes.find((code) => code !== 0) ?? 0;
}
process.exit(words.length > 0 ? run(ignored, {}) : await runAll());
