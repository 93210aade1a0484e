// `npm run flaky -- FILE... [--times 30] [--load 8]`: runs test files again and again beside busy
// processes, and prints how often each failed, with the first lines of its failures. Files of e2e
// need `npm run e2e:setup` first; those of e2e:node run only there.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scriptArguments } from './arguments.mjs';
import { jestProgram } from './jest/program.mjs';
import { root } from './root.mjs';

const { values, positionals: files } = scriptArguments(import.meta.url, {
  allowPositionals: true,
  options: { times: { type: 'number', default: '30' }, load: { type: 'number', default: '8' } },
});
const [times, load] = [values.times, values.load].map(Number);
if (files.length === 0 || !(times > 0) || !(load >= 0)) {
  process.stderr.write('driftless: usage: npm run flaky -- FILE... [--times 30] [--load 8]\n');
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), 'driftless-flaky-'));
const report = join(folder, 'failures.json');
// They end by themselves if this process is killed: their input closes.
const busy =
  "process.stdin.on('end', () => process.exit()).resume(); const turn = () => { const end = Date.now() + 50; while (Date.now() < end); setImmediate(turn); }; turn();";
const children = Array.from({ length: load }, () =>
  spawn(process.execPath, ['-e', busy], { stdio: ['pipe', 'ignore', 'inherit'] }),
);
let failedFiles = 0;
try {
  for (const file of files) {
    const failures = Array.from({ length: times }, (_, i) => {
      const failure = runOnce(file);
      process.stdout.write(failure === undefined ? '.' : 'F');
      return failure === undefined ? [] : [`  run ${i + 1}: ${failure}`];
    }).flat();
    process.stdout.write(`\n${[`${file}: ${failures.length} of ${times} failed`, ...failures].join('\n')}\n`);
    if (failures.length > 0) failedFiles += 1;
  }
} finally {
  for (const child of children) child.kill();
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = failedFiles > 0 ? 1 : 0;

/** The first failure; undefined: all tests passed. */
function runOnce(file) {
  rmSync(report, { force: true });
  const [program, ...args] = commandFor(file);
  const env = { ...process.env, DRIFTLESS_FAILURES: report };
  const { status } = spawnSync(program, args, { cwd: root, stdio: ['ignore', 'ignore', 'ignore'], env });
  if (status === 0) return undefined;
  try {
    return JSON.parse(readFileSync(report, 'utf8'))[0].failure;
  } catch {
    return `no test ran (exit code ${status})`;
  }
}

function commandFor(file) {
  if (!file.endsWith('.e2e.ts') && !file.endsWith('.browser.ts'))
    return [process.execPath, ...jestProgram, '-w', '1', '--runTestsByPath', file];
  const kind = file.endsWith('.browser.ts') ? 'browser' : 'e2e';
  return [process.execPath, join(root, 'scripts', kind, 'run.mjs'), '--runTestsByPath', file];
}
