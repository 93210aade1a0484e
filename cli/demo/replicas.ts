import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Clock } from '#base';
import { packageRoot } from '../root.ts';

export interface ReplicaOptions {
  readonly count: number;
  readonly kubeconfig: string;
  readonly context: string;
  readonly namespace: string;
  /** PATH, with the programs that render sources. */
  readonly path: string;
  /** Logs and repository caches go below it. */
  readonly folder: string;
  readonly clock: Clock;
  /** Called when a replica died without being asked, and with its restart. */
  readonly onExit: (name: string, how: string) => void;
}

export interface ReplicaState {
  readonly name: string;
  readonly pid: number | undefined;
  /** Of /metrics and /debug/state. */
  readonly port: number | undefined;
  readonly restarts: number;
  readonly log: string;
}

const restartAfterMs = 1000;
const killAfterMs = 3000;

/**
 * Controller replicas as processes of their own, kept alive as a StatefulSet would: one that dies is started again with the same ordinal.
 * They end with this process, even if it is killed, because their standard input closes.
 */
export class Replicas {
  readonly #replicas: Replica[];

  constructor(options: ReplicaOptions) {
    this.#replicas = Array.from({ length: options.count }, (_, shard) => new Replica(options, shard));
  }

  start(): void {
    for (const replica of this.#replicas) replica.start();
  }

  states(): ReplicaState[] {
    return this.#replicas.map((replica) => replica.state());
  }

  /** Asks all to stop, and kills those that did not after 3 s. */
  async stop(): Promise<void> {
    await Promise.all(this.#replicas.map((replica) => replica.stop()));
  }
}

class Replica {
  readonly #options: ReplicaOptions;
  readonly #shard: number;
  readonly #name: string;
  #child: ChildProcess | undefined;
  #port: number | undefined;
  #restarts = 0;
  #stopping = false;

  constructor(options: ReplicaOptions, shard: number) {
    this.#options = options;
    this.#shard = shard;
    this.#name = `driftless-${shard}`;
  }

  state(): ReplicaState {
    return { name: this.#name, pid: this.#child?.pid, port: this.#port, restarts: this.#restarts, log: this.#log() };
  }

  start(): void {
    const child = spawn(process.execPath, [join(packageRoot(), 'dist', 'cli', 'main.js'), 'run', ...this.#flags()], {
      env: { ...process.env, PATH: this.#options.path, DRIFTLESS_EXIT_WITH_PARENT: 'true', HOSTNAME: this.#name },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#child = child;
    const log = createWriteStream(this.#log(), { flags: 'a' });
    child.stderr.pipe(log, { end: false });
    createInterface({ input: child.stdout }).on('line', (line) => {
      log.write(`${line}\n`);
      this.#notice(line);
    });
    child.once('exit', (code, signal) => this.#exited(signal ?? `exit code ${code ?? 0}`));
    child.on('error', (error) => this.#exited(error.message));
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    const child = this.#child;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
    });
    child.kill('SIGTERM');
    const timer = this.#options.clock.timer(killAfterMs, () => child.kill('SIGKILL'));
    await ended;
    timer.cancel();
  }

  #exited(how: string): void {
    this.#child = undefined;
    this.#port = undefined;
    if (this.#stopping) return;
    this.#restarts += 1;
    this.#options.onExit(this.#name, how);
    this.#options.clock.timer(restartAfterMs, () => {
      if (!this.#stopping) this.start();
    });
  }

  /** The replica took any free port for its metrics; its log says which. */
  #notice(line: string): void {
    if (!line.includes('serving metrics and health')) return;
    const port = (JSON.parse(line) as { readonly port?: unknown }).port;
    if (typeof port === 'number') this.#port = port;
  }

  #flags(): string[] {
    const { count, kubeconfig, context, namespace, folder } = this.#options;
    return [
      `--kubeconfig=${kubeconfig}`,
      `--context=${context}`,
      `--namespace=${namespace}`,
      `--replicas=${count}`,
      `--shard=${this.#shard}`,
      `--hostname=${this.#name}`,
      `--sharding-method=round-robin`,
      '--heartbeat-seconds=2',
      `--cache-dir=${join(folder, this.#name)}`,
      // Without git's HTTP backend, its repositories are served from the disk.
      '--allow-local-repositories',
      '--metrics-host=127.0.0.1',
      '--metrics-port=0',
      '--sync-wave-delay-seconds=0',
    ];
  }

  #log(): string {
    return join(this.#options.folder, `${this.#name}.log`);
  }
}
