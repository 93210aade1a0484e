import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

const main = resolve('dist/cli/main.js');
/** The repositories of tests lie on the disk. */
const local = { DRIFTLESS_ALLOW_LOCAL_REPOSITORIES: 'true' };

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the built `driftless` to its end. `npm test` builds before; a test that comes here without a build fails with that advice. */
export function driftless(
  args: readonly string[],
  options: { readonly env?: Readonly<Record<string, string>>; readonly input?: string } = {},
): Promise<Finished> {
  assertBuilt();
  return new Promise((done) => {
    const env = { ...process.env, ...local, ...options.env };
    const child = execFile(process.execPath, [main, ...args], { env, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      done({ code: error === null ? 0 : (child.exitCode ?? null), stdout, stderr });
    });
    child.stdin?.end(options.input ?? '');
  });
}

/** A `driftless` that goes on until it is stopped. */
export class Program {
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';
  readonly ended: Promise<Finished>;

  constructor(args: readonly string[]) {
    assertBuilt();
    const env = { ...process.env, ...local };
    this.child = spawn(process.execPath, [main, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.child.stdout?.on('data', (chunk) => (this.stdout += String(chunk)));
    this.child.stderr?.on('data', (chunk) => (this.stderr += String(chunk)));
    this.ended = new Promise((done) => {
      this.child.once('close', (code) => done({ code, stdout: this.stdout, stderr: this.stderr }));
    });
  }

  /** Sends a signal and waits for the end; returns how long that took in ms. */
  async stop(signal: NodeJS.Signals = 'SIGINT'): Promise<Finished & { readonly tookMs: number }> {
    const begin = performance.now();
    this.child.kill(signal);
    const finished = await this.ended;
    return { ...finished, tookMs: Math.round(performance.now() - begin) };
  }
}

function assertBuilt(): void {
  if (!existsSync(main)) throw new Error('dist/ is missing: run npm run build before this test');
}
