import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Clock } from '#base';
import { packageRoot } from '../process/root.ts';
import { controllerNamespace } from './objects.ts';

export interface ReplicaOptions {
  readonly count: number;
  /** Port of the read API of each replica. */
  readonly apiPorts: readonly number[];
  readonly kubeconfig: string;
  readonly context: string;
  readonly namespace: string;
  /** PATH with the programs that render sources. */
  readonly path: string;
  /** Folder for logs and repository caches. */
  readonly folder: string;
  readonly clock: Clock;
  /** Called when a replica exits unexpectedly and is restarted. */
  readonly onExit: (name: string, how: string) => void;
}

export interface ReplicaState {
  readonly name: string;
  readonly pid: number | undefined;
  /** Unix socket of its read API, once the replica listens on it. */
  readonly socket: string | undefined;
  readonly restarts: number;
  readonly log: string;
}

/** Replicas run on this machine; their names are those of pods of a StatefulSet. */
export function replicaAddress(count: number): (namespace: string, name: string) => string | undefined {
  const names = new Set(Array.from({ length: count }, (_, shard) => replicaName(shard)));
  return (namespace, name) => (namespace === controllerNamespace && names.has(name) ? '127.0.0.1' : undefined);
}

function replicaName(shard: number): string {
  return `driftless-${shard}`;
}

const restartAfterMs = 1000;
const killAfterMs = 3000;

/**
 * Controller replicas as processes, kept alive as by a StatefulSet: a replica that dies is
 * restarted with the same ordinal. They end with this process, even if it is killed, because their
 * stdin closes.
 */
export class ReplicaProcesses {
  readonly #replicas: ReplicaProcess[];

  constructor(options: ReplicaOptions) {
    this.#replicas = Array.from({ length: options.count }, (_, shard) => new ReplicaProcess(options, shard));
  }

  start(): void {
    for (const replica of this.#replicas) replica.start();
  }

  states(): ReplicaState[] {
    return this.#replicas.map((replica) => replica.state());
  }

  /** Stops a replica as an eviction does, and starts it again after a while. */
  rest(index: number, ms: number): void {
    this.#replicas[index]?.rest(ms);
  }

  /** Stops all replicas, and kills those that run after 3 s. */
  async stop(): Promise<void> {
    await Promise.all(this.#replicas.map((replica) => replica.stop()));
  }
}

class ReplicaProcess {
  readonly #options: ReplicaOptions;
  readonly #shard: number;
  readonly #name: string;
  #child: ChildProcess | undefined;
  #socket: string | undefined;
  #restarts = 0;
  #stopping = false;
  /** How long it stays away after its end; undefined: no rest was asked for. */
  #restMs: number | undefined;

  constructor(options: ReplicaOptions, shard: number) {
    this.#options = options;
    this.#shard = shard;
    this.#name = replicaName(shard);
  }

  state(): ReplicaState {
    return {
      name: this.#name,
      pid: this.#child?.pid,
      socket: this.#socket,
      restarts: this.#restarts,
      log: this.#log(),
    };
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

  rest(ms: number): void {
    this.#restMs = ms;
    this.#child?.kill('SIGTERM');
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
    this.#socket = undefined;
    if (this.#stopping) return;
    this.#restarts += 1;
    if (this.#restMs === undefined) this.#options.onExit(this.#name, how);
    const delayMs = this.#restMs ?? restartAfterMs;
    this.#restMs = undefined;
    this.#options.clock.timer(delayMs, () => {
      if (!this.#stopping) this.start();
    });
  }

  #notice(line: string): void {
    if (!line.includes('Serving the read API on its Unix socket')) return;
    const { socket } = JSON.parse(line) as { readonly socket?: unknown };
    if (typeof socket === 'string') this.#socket = socket;
  }

  #flags(): string[] {
    const { count, apiPorts, kubeconfig, context, namespace, folder } = this.#options;
    return [
      `--kubeconfig=${kubeconfig}`,
      `--context=${context}`,
      `--namespace=${namespace}`,
      `--replicas=${count}`,
      `--shard=${this.#shard}`,
      `--hostname=${this.#name}`,
      `--sharding-method=round-robin`,
      `--cache-dir=${join(folder, this.#name)}`,
      // Without git's HTTP backend, repositories are served from disk.
      '--allow-local-repositories',
      '--allow-local-sources',
      '--metrics-host=127.0.0.1',
      '--metrics-port=0',
      // One of its own for each replica: they ask each other for `driftless explain`.
      `--api-port=${apiPorts[this.#shard] ?? 0}`,
      '--sync-wave-delay-seconds=0',
    ];
  }

  #log(): string {
    return join(this.#options.folder, `${this.#name}.log`);
  }
}
