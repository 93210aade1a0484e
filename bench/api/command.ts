import { spawn } from 'node:child_process';
import { resolve as resolvePath } from 'node:path';
import { systemClock } from '#base';

const program = resolvePath('dist/cli/main.js');
/** Exit codes of answers: healthy, waiting, broken. */
const answered = new Set([0, 3, 4]);

/** Milliseconds from the start of a command of `driftless` to its end, as a user waits for it. */
export async function commandMs(...args: readonly string[]): Promise<number> {
  const begin = systemClock.monotonic();
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  if (code === null || !answered.has(code))
    throw new Error(`driftless ${args.join(' ')} ended with ${code}: ${stderr}`);
  return systemClock.monotonic() - begin;
}
