import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

let reaper: ChildProcess | undefined;

function tell(line: string): void {
  if (reaper === undefined) {
    reaper = spawn(process.execPath, [resolve('test/e2e/support/reaper.mjs')], {
      stdio: ['pipe', 'ignore', 'inherit'],
      detached: true,
    });
    reaper.unref();
    (reaper.stdin as unknown as { unref: () => void }).unref();
  }
  reaper.stdin?.write(`${line}\n`);
}

/** Creates a temporary folder that the reaper removes, even if the run is killed. */
export function temporaryFolder(name: string): { readonly path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), `driftless-e2e-${name}-`));
  tell(`folder ${path}`);
  const remove = (): void => {
    rmSync(path, { recursive: true, force: true, maxRetries: 5 });
    tell(`removed ${path}`);
  };
  return { path, remove };
}

/** Below the ephemeral ports of operating systems, so that no outgoing connection takes one. */
const [firstPort, lastPort] = [15_000, 32_000] as const;
/** Each process begins somewhere else, so that two of them do not try the same port at once. */
let nextPort: number = randomInt(firstPort, lastPort);

/**
 * Returns a different free port on loopback each time. Another process can still take it before it
 * is used: verify the identity of the server.
 * @throws Error if none of a hundred ports is free
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = nextPort;
    nextPort = port + 1 < lastPort ? port + 1 : firstPort;
    if (await isFree(port)) return port;
  }
  throw new Error('no port is free on loopback');
}

function isFree(port: number): Promise<boolean> {
  return new Promise((done) => {
    const server = createServer();
    server.once('error', () => done(false));
    server.listen(port, '127.0.0.1', () => server.close(() => done(true)));
  });
}

/** Resolves if a server accepts connections at a port on loopback or at a Unix socket. */
export function isListening(at: number | string): Promise<void> {
  return new Promise((done, failed) => {
    const socket = connect(typeof at === 'number' ? { port: at, host: '127.0.0.1' } : { path: at }, () => {
      socket.destroy();
      done();
    });
    socket.once('error', failed);
  });
}

/** A server process with its output in a file. It can be restarted with the same arguments. */
export class ServerProcess {
  readonly log: string;
  readonly #command: string;
  readonly #args: readonly string[];
  readonly #env: Readonly<Record<string, string | undefined>>;
  #child: ChildProcess | undefined;

  constructor(
    command: string,
    args: readonly string[],
    log: string,
    env: Readonly<Record<string, string | undefined>> = process.env,
  ) {
    this.#command = command;
    this.#args = args;
    this.#env = env;
    this.log = log;
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  start(): void {
    const out = openSync(this.log, 'a');
    const child = spawn(this.#command, this.#args, { stdio: ['ignore', out, out], env: { ...this.#env } });
    closeSync(out);
    this.#child = child;
    child.once('error', () => undefined);
    tell(`pid ${child.pid ?? 0}`);
    child.once('exit', () => tell(`ended ${child.pid ?? 0}`));
  }

  /** Undefined before the first start. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** SIGKILL by default: tests must survive a crash. */
  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.running) return;
    const ended = new Promise((done) => child.once('exit', done));
    child.kill(signal);
    await ended;
  }

  /** The last lines of its output, for error messages. */
  tail(lines = 15): string {
    return readFileSync(this.log, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
  }
}
