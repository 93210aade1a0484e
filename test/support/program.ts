import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

const main = resolve('dist/cli/main.js');
/** Tests use repositories on disk and on loopback. */
const local = { DRIFTLESS_ALLOW_LOCAL_REPOSITORIES: 'true', DRIFTLESS_ALLOW_LOCAL_SOURCES: 'true' };

export interface ProgramResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs the built `driftless` to its end. @throws Error that asks for a build if dist/ is missing
 */
export function driftless(
  args: readonly string[],
  options: { readonly env?: Readonly<Record<string, string>>; readonly input?: string } = {},
): Promise<ProgramResult> {
  assertBuilt();
  return new Promise((done) => {
    const env = { ...process.env, ...local, ...options.env };
    const child = execFile(process.execPath, [main, ...args], { env, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      done({ code: error === null ? 0 : (child.exitCode ?? null), stdout, stderr });
    });
    child.stdin?.end(options.input ?? '');
  });
}

/** A running `driftless` process. */
export class Program {
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';
  readonly ended: Promise<ProgramResult>;

  /** @param node options of Node */
  constructor(
    args: readonly string[],
    node: readonly string[] = [],
    environment: Readonly<Record<string, string>> = {},
  ) {
    assertBuilt();
    const env = { ...process.env, ...local, ...environment };
    this.child = spawn(process.execPath, [...node, main, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.child.stdout?.on('data', (chunk) => (this.stdout += String(chunk)));
    this.child.stderr?.on('data', (chunk) => (this.stderr += String(chunk)));
    this.ended = new Promise((done) => {
      this.child.once('close', (code) => done({ code, stdout: this.stdout, stderr: this.stderr }));
    });
  }

  /** Sends a signal and waits for the exit. `tookMs` is how long that took. */
  async stop(signal: NodeJS.Signals = 'SIGINT'): Promise<ProgramResult & { readonly tookMs: number }> {
    const begin = performance.now();
    this.child.kill(signal);
    const finished = await this.ended;
    return { ...finished, tookMs: Math.round(performance.now() - begin) };
  }
}

function assertBuilt(): void {
  if (!existsSync(main)) throw new Error('dist/ is missing: run npm run build before this test');
}
