// `npm run sources [-- --cases 2400] [--seed 1] [--from 0] [--only REGEXP] [--verbose]`: the options of an
// Application's source (helm, kustomize, directory), one to three at a time, on every layout of
// test/e2e/corpus, rendered here and by Argo CD's repo-server (`npm run e2e:setup` builds it). Prints
// the progress, each difference with the smallest settings that still show it, and a table.
// `--only` runs the cases whose description, as in the line of a difference, matches; `--verbose`
// prints what both refuse, too.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { scriptArguments } from './arguments.mjs';
import { root } from './root.mjs';

const { values } = scriptArguments(import.meta.url, {
  options: {
    cases: { type: 'number', default: '2400' },
    seed: { type: 'number', default: process.env['DRIFTLESS_SEED'] ?? '1' },
    from: { type: 'number', default: '0' },
    only: { type: 'string', default: '' },
    verbose: { type: 'boolean', default: false },
  },
});
const env = {
  ...process.env,
  DRIFTLESS_SOURCES_CASES: values.cases,
  DRIFTLESS_SEED: values.seed,
  DRIFTLESS_SOURCES_FROM: values.from,
  DRIFTLESS_SOURCES_ONLY: values.only,
  DRIFTLESS_SOURCES_VERBOSE: String(values.verbose),
};
const args = [join(root, 'scripts', 'e2e', 'run.mjs'), 'e2e/source-options.e2e', '-i'];
process.exit(spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit', env }).status ?? 1);
