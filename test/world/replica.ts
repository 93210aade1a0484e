import { newAbortController, runGroups, seededRandom, Shutdown } from '#base';
import type { Runnable } from '#base';
import { createController } from '#controller';
import type { Controller, ControllerConfig } from '#controller';
import { createKubeClient, SharedClients } from '#kube';
import type { KubeClient } from '#kube';
import { createLiveClusters } from '#live';
import type { ClusterConnection } from '#model';
import { defaultRateLimiterConfig } from '#queues';
import { createSettingsStore, createSettingsWriter } from '#settings';
import { createOwnership, HubTime, timingOf } from '#sharding';
import type { Ownership } from '#sharding';
import { createLogger, PromMetrics } from '#telemetry';
import type { VirtualTime } from '../../sharding/testing/index.ts';
import { firstOther } from './acts.ts';
import { ProcessClock } from './clock.ts';
import type { NetworkProcess } from './clock.ts';
import type { WorldGit } from './servers/git.ts';
import type { WorldNetwork } from './servers/network.ts';
import { createWorldPublisher } from './servers/redis.ts';
import type { WorldRedis } from './servers/redis.ts';

export const hubUrl = 'https://hub.world';
export const workload = 'argocd-application-controller';
export const otherWorkload = 'other-release';

const config: ControllerConfig = {
  namespace: 'argocd',
  applicationNamespaces: [],
  statusProcessors: 2,
  operationProcessors: 2,
  appResyncMs: 60_000,
  hardResyncMs: 0,
  jitterMs: 0,
  selfHeal: { backoffMs: 2000, factor: 3, capMs: 20_000, timeoutMs: 0 },
  syncTimeoutMs: 0,
  repoErrorGraceMs: 20_000,
  kubectlParallelism: 20,
  syncWaveDelayMs: 500,
  persistResourceHealth: true,
  clusterInfoMs: 30_000,
  rateLimiter: { ...defaultRateLimiterConfig, maxDelayMs: 5000 },
  graceMs: 5000,
};

const heartbeatMs = 10_000;
/** The longest time for which a silent holder keeps its slot. */
export const { leaseMs } = timingOf(heartbeatMs);
const hubLimits = { qps: 500, burst: 500 };

export interface ReplicaDeps {
  readonly time: VirtualTime;
  readonly network: WorldNetwork;
  readonly git: WorldGit;
  readonly redis: WorldRedis;
  readonly index: number;
  /** Distinguishes the processes that follow each other under one name. */
  readonly birth: number;
  readonly seed: number;
  readonly clusterQps: number;
  /** Keeps the settings in force for a restart. */
  readonly keepsSettings: boolean;
  /** Offers its clusters to other replicas when none of them answers for a lease. */
  readonly offersClusters: boolean;
  /** Each text that leaves the process by a log line. */
  readonly onOutput: (where: string, text: string) => void;
  readonly onGone: () => void;
}

/** Longest time from SIGTERM to the end of a process. */
export const graceMs = 25_000;

/** One process of the controller: everything but its API servers, Git and time is real. */
export class WorldReplica implements NetworkProcess {
  readonly name: string;
  readonly index: number;
  readonly clock: ProcessClock;
  readonly ownership: Ownership;
  readonly controller: Controller;
  readonly metrics = new PromMetrics();
  readonly #deps: ReplicaDeps;
  readonly #life = newAbortController();
  #state: 'running' | 'stopping' | 'ended' | 'killed' = 'running';
  /** How `run` ended, other than in order. */
  failure: unknown;
  /** Timers that were pending when `run` ended. */
  leftTimers = 0;

  constructor(deps: ReplicaDeps) {
    this.#deps = deps;
    const { index, birth, seed, time, network, git } = deps;
    this.index = index;
    const controllerName = index < firstOther ? workload : otherWorkload;
    this.name = `${controllerName}-${index % firstOther}`;
    const random = seededRandom(seed * 1009 + birth);
    const rate = 0.97 + random.next() * 0.06;
    this.clock = new ProcessClock(time, { rate, skew: (random.next() - 0.5) * 4000 });
    const { clock, metrics } = this;
    const destination = { write: (line: string) => deps.onOutput('a log line', line) };
    const logger = createLogger({ level: 'info', format: 'json', destination });
    const common = { clock, random, logger };
    const hubTime = new HubTime();
    const connect = (connection: ClusterConnection): KubeClient =>
      createKubeClient(connection, {
        ...common,
        userAgent: this.name,
        limits: connection.server === hubUrl ? hubLimits : { qps: deps.clusterQps, burst: deps.clusterQps },
        openTransport: ({ server }) => network.transport(this, server),
        ...(connection.server === hubUrl ? { onRequest: hubTimeListener(hubTime, clock) } : {}),
      });
    const hub = connect({ server: hubUrl, insecure: false, credentials: {} });
    const writer = deps.keepsSettings ? createSettingsWriter(hub) : undefined;
    const settings = createSettingsStore({ ...common, client: hub, namespace: 'argocd', writer });
    this.ownership = createOwnership({
      ...common,
      client: hub,
      namespace: 'argocd',
      metrics,
      algorithm: 'legacy',
      dynamic: false,
      hostname: this.name,
      replicas: 0,
      controllerName,
      heartbeatMs,
      bootMs: () => clock.machine.boot(),
      hubTime,
      prepares: true,
    });
    const clients = new SharedClients(connect);
    const live = createLiveClusters({ ...common, clients, metrics, tuning: { auditMs: 90_000 } });
    const publisher = createWorldPublisher({
      redis: deps.redis,
      process: this,
      seed: seed * 7 + birth,
      logger,
      metrics,
    });
    const desired = git.source(clock, index);
    const own = { hub, settings, ownership: this.ownership, live, clients, desired, publisher, metrics };
    const reach = deps.offersClusters ? { unreachedMs: leaseMs } : {};
    this.controller = createController({ ...common, ...own, connect }, { ...config, ...reach });
    const groups: (readonly Runnable[])[] = [
      [closer(hub)],
      [settings, desired, publisher, this.ownership],
      [live],
      [this.controller],
    ];
    void runGroups(groups, this.#life.signal, { clock, graceMs }).then(
      () => this.#ended(),
      (error: unknown) => this.#ended(error),
    );
  }

  get state(): 'running' | 'stopping' | 'ended' | 'killed' {
    return this.#state;
  }

  /** Whether the process exists: it may write, unless it is frozen. */
  get isAlive(): boolean {
    return this.#state === 'running' || this.#state === 'stopping';
  }

  stop(): void {
    if (this.#state !== 'running') return;
    this.#state = 'stopping';
    this.clock.machine.whenRunning(() => this.#life.abort(new Shutdown()));
  }

  kill(): void {
    if (!this.isAlive) return;
    this.#state = 'killed';
    this.clock.machine.off();
    this.#deps.network.disconnect(this);
    this.#deps.redis.disconnect(this);
    this.#deps.onGone();
  }

  #ended(error?: unknown): void {
    if (!this.isAlive) return;
    this.failure = error;
    this.#state = 'ended';
    this.leftTimers = this.clock.pending;
    this.#deps.onGone();
  }
}

function hubTimeListener(
  hubTime: HubTime,
  clock: ProcessClock,
): (record: { readonly dateMs?: number; readonly durationMs: number; readonly code: number }) => void {
  return ({ dateMs, durationMs, code }) => {
    const answeredAt = clock.monotonic();
    if (code > 0) hubTime.answered({ dateMs: dateMs ?? Number.NaN, sentAt: answeredAt - durationMs, answeredAt });
  };
}

/** Closes the hub's client last. */
function closer(hub: KubeClient): Runnable {
  return {
    name: 'hub client',
    run: (signal) =>
      new Promise((resolve, reject) => {
        const close = (): void => void hub.close().then(resolve, reject);
        if (signal.aborted) close();
        else signal.addEventListener('abort', close, { once: true });
      }),
  };
}
