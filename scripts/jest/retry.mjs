// Runs the tests of a step, and a failed file once more, alone, at the end (flakes.mjs).
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../root.mjs';
import { judgeRetries, maxFlakyFiles } from './flakes.mjs';

/**
 * `run(args, env)` starts jest with more arguments and variables and returns its exit code.
 * `selected(failure)` are the arguments that select what runs once more, or undefined. Returns the
 * exit code.
 */
export async function runWithRetry(run, selected = ({ file }) => ['--runTestsByPath', file]) {
  const folder = mkdtempSync(join(tmpdir(), 'driftless-failures-'));
  const path = join(folder, 'failures.json');
  try {
    const code = await run([], { DRIFTLESS_FAILURES: path });
    if (code === 0 || !existsSync(path)) return code;
    const failures = JSON.parse(readFileSync(path, 'utf8'));
    if (failures.length === 0) return code;
    const passedAlone = [];
    for (const failure of failures.length > maxFlakyFiles ? [] : failures) {
      const args = selected(failure);
      if (args === undefined) continue;
      process.stdout.write(`--- once more, alone: ${failure.file}\n`);
      if ((await run(args, {})) === 0) passedAlone.push(failure.file);
    }
    const { passed, lines } = judgeRetries({ failures, passedAlone, knownFlakes: knownFlakes() });
    report(lines);
    return passed ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Files that were flaky in an earlier run and are not mended. */
function knownFlakes() {
  const lines = readFileSync(join(root, 'test', 'known-flakes.txt'), 'utf8').split('\n');
  return lines.map((line) => line.replace(/#.*/, '').trim()).filter((line) => line !== '');
}

/** `.ci/run` names a file that collects the flaky files of all its steps. */
function report(lines) {
  const text = lines.map((line) => `${line}\n`).join('');
  process.stdout.write(text);
  const flaky = lines.filter((line) => line.startsWith('flaky: '));
  const { DRIFTLESS_FLAKES: collected } = process.env;
  if (collected !== undefined) appendFileSync(collected, flaky.map((line) => `${line}\n`).join(''));
  if (flaky.length > 0)
    process.stdout.write('Mend it, or add it to test/known-flakes.txt: its next flaky run fails.\n');
}
