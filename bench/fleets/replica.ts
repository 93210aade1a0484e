import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, openSync, closeSync, readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isObject, systemClock } from '#base';
import { ownReplica } from '#support';
import { hubNamespace, workloadName } from './fleet-objects.ts';
import type { HoldingsAnswer, HoldingsRequest, ProcessHoldings } from './inspect.ts';

export interface ReplicaOptions {
  readonly kubeconfig: string;
  /** Folder for its cache and its log. */
  readonly folder: string;
  readonly ordinal: number;
  readonly heartbeatSeconds: number;
  /** Besides those of each replica. */
  readonly flags: readonly string[];
}

const program = resolve('dist/cli/main.js');
const preloaded = pathToFileURL(resolve('dist/bench/fleets/inspect.js')).href;
/** The heap that a replica takes under the memory limit of the chart (docs/sizing.md). */
const heapMb = 1632;
/** To each cluster, and four times that to the hub; the default (50) would be the limit. */
const clientQps = 250;
const stopTimeoutMs = 60_000;
const startTimeoutMs = 60_000;
const pollMs = 100;
const ticksPerSecond = 100;

/**
 * `driftless run` as shipped, in a process of its own. Few flags differ from the defaults: a free
 * port for its metrics, the client rate, and no pauses between self-heals and waves.
 */
export class FleetReplica {
  readonly name: string;
  readonly startedAt = systemClock.monotonic();
  readonly #child: ChildProcess;
  readonly #cache: string;
  readonly #log: string;
  readonly #ended: Promise<void>;
  #isEnded = false;
  #holdingsRequests = 0;

  /** @param life number of earlier starts: each life has an empty cache directory of its own */
  constructor({ kubeconfig, folder, ordinal, heartbeatSeconds, flags }: ReplicaOptions, life: number) {
    if (!existsSync(program)) throw new Error('dist/ is missing: run npm run build first');
    this.name = `${workloadName}-${ordinal}`;
    this.#cache = join(folder, `r${ordinal}-${life}`);
    this.#log = join(folder, `r${ordinal}-${life}.log`);
    mkdirSync(this.#cache, { recursive: true });
    const args = [
      ...['run', `--kubeconfig=${kubeconfig}`, '--context=hub', `--namespace=${hubNamespace}`],
      ...[`--hostname=${this.name}`, `--heartbeat-seconds=${heartbeatSeconds}`],
      ...['--sharding-method=consistent-hashing', `--cache-dir=${this.#cache}`],
      ...['--metrics-host=127.0.0.1', '--metrics-port=0', '--api-port=0'],
      `--k8s-client-qps=${clientQps}`,
      ...['--self-heal-backoff-timeout-seconds=0', '--sync-wave-delay-seconds=0'],
      ...flags,
    ];
    const node = ['--expose-gc', `--max-old-space-size=${heapMb}`, `--import=${preloaded}`];
    const env = {
      ...process.env,
      DRIFTLESS_ALLOW_LOCAL_REPOSITORIES: 'true',
      DRIFTLESS_ALLOW_LOCAL_SOURCES: 'true',
    };
    const log = openSync(this.#log, 'w');
    this.#child = spawn(process.execPath, [...node, program, ...args], { env, stdio: ['ignore', log, log, 'ipc'] });
    closeSync(log);
    this.#ended = new Promise((done) => {
      this.#child.once('exit', () => {
        this.#isEnded = true;
        done();
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** The last lines of its log, for the message of a failed scenario. */
  lastLines(count = 8): string {
    return readFileSync(this.#log, 'utf8').trimEnd().split('\n').slice(-count).join('\n');
  }

  /** Names of the clusters that it owns, by its own page. None before it answers. */
  async owned(): Promise<readonly string[]> {
    if (this.#isEnded) return [];
    try {
      return (await ownReplica(join(this.#cache, 'debug', 'state.sock'))).ownedClusters;
    } catch {
      return [];
    }
  }

  /** Waits until its metrics are served. */
  async started(): Promise<void> {
    const until = systemClock.monotonic() + startTimeoutMs;
    while (this.#metricsPort() === undefined) {
      if (this.#isEnded || systemClock.monotonic() > until)
        throw new Error(`${this.name} does not start:\n${this.lastLines()}`);
      await systemClock.sleep(pollMs);
    }
  }

  /** The sum of all series of a metric whose labels contain `label`; 0 if there are none. */
  async metric(name: string, label = ''): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${this.#metricsPort() ?? 0}/metrics`)).text();
    const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
    return lines
      .filter((line) => line.includes(label))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  }

  /** Number of renderings whose manifests it has stored. */
  rendered(): number {
    const folder = join(this.#cache, 'rendered');
    return existsSync(folder) ? readdirSync(folder).length : 0;
  }

  /** Highest resident memory of the process so far. */
  peakRssBytes(): number {
    return statusBytes(this.#child.pid, 'VmHWM');
  }

  /** User and system time so far, programs that it ran included. */
  cpuSeconds(): number {
    const stat = readFileSync(`/proc/${this.#child.pid ?? 0}/stat`, 'utf8');
    // After the name, which may contain anything: the state, ..., utime, stime, cutime, cstime.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) / ticksPerSecond;
  }

  /** Memory, files and resources that it holds after a full garbage collection. */
  holdings({ withInstances = true } = {}): Promise<ProcessHoldings> {
    this.#holdingsRequests += 1;
    const benchHoldings = this.#holdingsRequests;
    return new Promise((done, fail) => {
      const onExit = (): void => fail(new Error(`${this.name} has ended:\n${this.lastLines()}`));
      const onMessage = (message: unknown): void => {
        if (!isObject(message) || message['benchHoldings'] !== benchHoldings) return;
        this.#child.off('message', onMessage).off('exit', onExit);
        done((message as unknown as HoldingsAnswer).holdings);
      };
      this.#child.on('message', onMessage).on('exit', onExit);
      this.#child.send({ benchHoldings, withInstances } satisfies HoldingsRequest);
    });
  }

  /** Ends it in order, or kills it if that takes too long. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    const timer = systemClock.timer(stopTimeoutMs, () => this.#child.kill('SIGKILL'));
    await this.#ended;
    timer.cancel();
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  #metricsPort(): number | undefined {
    const found = /"port":(\d+)[^\n]*Serving metrics|Serving metrics[^\n]*"port":(\d+)/.exec(
      readFileSync(this.#log, 'utf8').slice(0, 100_000),
    );
    const port = found?.[1] ?? found?.[2];
    return port === undefined ? undefined : Number(port);
  }
}

function statusBytes(pid: number | undefined, field: string): number {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid ?? 0}/status`, 'utf8'));
  return Number(found?.[1] ?? Number.NaN) * 1024;
}
