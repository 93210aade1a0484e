// `npm run fuzz [-- NAME] [--seconds N] [--inputs N] [--seed N] [--corpus DIR] [--list]`: feeds the
// readers of the files `fuzz.test.ts` with inputs that grow by coverage: V8 reports the blocks that
// ran, and an input that reaches a new one becomes a parent of further inputs. Each reader gets N
// seconds of CPU time (default: 10). The seed is the date unless one is given; it decides the
// inputs, but not how many fit into the time. With a folder, the inputs that reached something are
// kept for the next run. An exception that is not ours, a changed prototype or too long a time ends
// the run, and prints the input and how to keep it as a test. For a night: `--seconds 600
// --corpus DIR`.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { scriptArguments } from '../arguments.mjs';
import { root } from '../root.mjs';

const { values, positionals } = scriptArguments(import.meta.url, {
  allowPositionals: true,
  options: {
    seconds: { type: 'number', default: '10' },
    inputs: { type: 'number', default: '1000000' },
    seed: { type: 'number', default: new Date().toISOString().slice(0, 10).replaceAll('-', '') },
    corpus: { type: 'string', default: '' },
    file: { type: 'string', multiple: true },
    list: { type: 'boolean', default: false },
  },
});
const files = values.file?.map((file) => resolve(file)) ?? fuzzTests(join(root, 'dist'));
const plan = {
  ...values,
  name: positionals[0] ?? '',
  corpus: values.corpus === '' ? '' : resolve(values.corpus),
};
let code = 0;
for (const file of files) code = Math.max(code, await run(file));
process.exitCode = code;

/** Readers of one file in a process of their own: coverage is cheaper with fewer scripts. */
function run(file) {
  const hook = pathToFileURL(join(root, 'scripts', 'fuzz', 'register.mjs')).href;
  const args = ['--import', hook, join(root, 'scripts', 'fuzz', 'worker.mjs'), file, JSON.stringify(plan)];
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit' });
    child.on('error', fail);
    child.on('close', (exit, signal) => done(signal === null ? (exit ?? 1) : 1));
  });
}

function fuzzTests(folder) {
  if (!existsSync(folder)) throw new Error('there is no dist folder: run `npm run build`');
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return fuzzTests(path);
      return entry.name === 'fuzz.test.js' ? [path] : [];
    })
    .sort();
}
