import { runCommandLine } from '../driftless.ts';

/** Runs a command line in this process, and collects all that it prints. */
export async function driftless(...args: readonly string[]): Promise<{ readonly code: number; readonly said: string }> {
  const lines: string[] = [];
  const out = (line: string): void => void lines.push(line);
  const output = { color: false, live: false, out, err: out, progress: out };
  const code = await runCommandLine(args, { env: {}, output, signal: new AbortController().signal });
  return { code, said: lines.join('\n') };
}
