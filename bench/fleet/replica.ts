import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { ReplicaFacts } from '#api';
import { newAbortController, runGroups, seededRandom, Shutdown, systemClock } from '#base';
import { createController } from '#controller';
import type { ControllerConfig } from '#controller';
import { createDesiredSource, createInProcessRunner, observeSource } from '#desired';
import type { CommandRunner } from '#desired';
import { createKubeClient, SharedClients } from '#kube';
import type { KubeClient } from '#kube';
import { createLiveClusters } from '#live';
import type { ClusterConnection } from '#model';
import { createMemoryPublisher } from '#publish';
import { defaultRateLimiterConfig, QueueMetrics } from '#queues';
import { createSettingsStore } from '#settings';
import { createOwnership } from '#sharding';
import { createLogger, PromMetrics } from '#telemetry';

const defaultConfig: ControllerConfig = {
  namespace: 'argocd',
  applicationNamespaces: [],
  statusProcessors: 20,
  operationProcessors: 10,
  appResyncMs: 0,
  hardResyncMs: 0,
  jitterMs: 0,
  selfHeal: { backoffMs: 0, factor: 1, capMs: 0, timeoutMs: 0 },
  syncTimeoutMs: 0,
  repoErrorGraceMs: 180_000,
  kubectlParallelism: 20,
  syncWaveDelayMs: 0,
  persistResourceHealth: false,
  rateLimiter: defaultRateLimiterConfig,
  graceMs: 5000,
};

/**
 * A whole replica of the controller, assembled as in `driftless run`; log lines are formatted and
 * dropped.
 */
export interface BenchReplica {
  /** Number of programs run to read or render sources, except `git ls-remote`. */
  readonly commands: () => number;
  /**
   * Number of finished refresh passes, from the log: reading the metrics of a big fleet would cost
   * more than the measured work.
   */
  readonly passes: () => number;
  /** The sum of all series of a metric; 0 if there are none. */
  readonly metric: (name: string, label?: string) => Promise<number>;
  /** The facts behind its read API. */
  readonly facts: ReplicaFacts;
  stop(): Promise<void>;
}

/** Starts a replica over a hub and waits until it is ready. */
export async function startReplica(
  hubConnection: ClusterConnection,
  folder: string,
  over: Partial<ControllerConfig> = {},
): Promise<BenchReplica> {
  let passes = 0;
  const write = (line: string): void => {
    if (line.includes('"Reconciliation completed"')) passes += 1;
  };
  const logger = createLogger({ level: 'info', format: 'json', destination: { write } });
  const common = { clock: systemClock, random: seededRandom(1), logger };
  const opened: KubeClient[] = [];
  const connect = (connection: ClusterConnection): KubeClient => {
    const limits = { qps: 100_000, burst: 100_000 };
    const client = createKubeClient(connection, { ...common, userAgent: 'bench', limits });
    opened.push(client);
    return client;
  };
  const hub = connect(hubConnection);
  const metrics = new PromMetrics();
  const settings = createSettingsStore({ ...common, client: hub, namespace: 'argocd' });
  const ownership = createOwnership({
    ...{ ...common, client: hub, namespace: 'argocd', metrics },
    ...{ algorithm: 'legacy', dynamic: false, hostname: 'bench-0', replicas: 1, controllerName: 'bench' },
    heartbeatMs: 10_000,
  });
  const clients = new SharedClients(connect);
  const live = createLiveClusters({ ...common, clients, metrics });
  const { commands, count } = countCommands(createInProcessRunner({ clock: systemClock, env: process.env }));
  const cacheDir = mkdtempSync(join(folder, 'cache-'));
  const rendering = createDesiredSource({ ...common, cacheDir, commands, keys: (signal) => settings.gpgKeys(signal) });
  const { source: desired, repositories } = observeSource(rendering, systemClock);
  const publisher = createMemoryPublisher();
  const queueMetrics = new QueueMetrics(metrics);
  const neighbours = { hub, settings, ownership, live, clients, desired, publisher, metrics, queueMetrics };
  const controller = createController({ ...common, ...neighbours }, { ...defaultConfig, ...over });
  const stop = newAbortController();
  const groups = [[settings], [ownership, publisher, desired, live], [controller]];
  const ended = runGroups(groups, stop.signal, { clock: systemClock, graceMs: 10_000 });
  ended.catch(() => undefined);
  await Promise.race([controller.ready(stop.signal), ended]);
  return {
    commands: count,
    passes: () => passes,
    metric: async (name, label = '') => sumOfSeries(await metrics.expose(), name, label),
    facts: {
      name: 'bench-0',
      version: 'bench',
      namespace: 'argocd',
      clock: systemClock,
      controller: controller.report,
      ownership,
      clusters: () => settings.clusters(),
      watched: () => live.reports(),
      repositories,
      process: () => ({ startedAt: 0, ready: true, heapBytes: 0, heapLimitBytes: 0, rssBytes: 0, cpuMs: 0 }),
    },
    stop: async () => {
      stop.abort(new Shutdown());
      await ended;
      await Promise.all(opened.map((client) => client.close()));
    },
  };
}

function countCommands(runner: CommandRunner): { readonly commands: CommandRunner; readonly count: () => number } {
  let count = 0;
  const commands: CommandRunner = {
    runCommand: (argv, options) => {
      if (!argv.includes('ls-remote')) count += 1;
      return runner.runCommand(argv, options);
    },
  };
  return { commands, count: () => count };
}

function sumOfSeries(exposed: string, name: string, label: string): number {
  const lines = exposed.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return lines
    .filter((line) => line.includes(label))
    .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
