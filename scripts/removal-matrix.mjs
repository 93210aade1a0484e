// `npm run removal [-- --real] [--cases 20000] [--seed 1] [--from 0] [--only REGEXP] [--engine]`: what Git drops leaves the
// cluster, in every apply and compare mode and after every switch between them. On the simulator, or
// with --real on a real API server (`npm run e2e:setup`). Prints the progress, each defect and a table.
// `--from N` goes on after N cases of an earlier run with the same number and seed.
// `--engine` syncs by the engine, under a field manager and an owner label of its own.
// `--only` runs the cases whose description, as in the line of a defect, matches.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { scriptArguments } from './arguments.mjs';
import { jestProgram } from './jest/program.mjs';
import { root } from './root.mjs';

const { values } = scriptArguments(import.meta.url, {
  options: {
    real: { type: 'boolean', default: false },
    cases: { type: 'number' },
    seed: { type: 'number' },
    from: { type: 'number', default: '0' },
    only: { type: 'string', default: '' },
    engine: { type: 'boolean', default: false },
  },
});
const cases = values.cases ?? '20000';
const args = values.real
  ? [join(root, 'scripts', 'e2e', 'run.mjs'), 'e2e/removal-matrix.e2e', '-i']
  : [...jestProgram, '-i', '--runTestsByPath', 'test/removal/matrix.test.ts'];
const seed = values.seed ?? process.env['DRIFTLESS_SEED'] ?? '1';
const env = {
  ...process.env,
  DRIFTLESS_REMOVAL_CASES: cases,
  DRIFTLESS_SEED: seed,
  DRIFTLESS_REMOVAL_FROM: values.from,
  DRIFTLESS_REMOVAL_ONLY: values.only,
  DRIFTLESS_REMOVAL_ENGINE: String(values.engine),
};
process.exit(spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit', env }).status ?? 1);
