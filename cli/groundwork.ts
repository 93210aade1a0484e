import { join } from 'node:path';
import { aborted, systemClock, systemRandom, UsageError } from '#base';
import type { Runnable } from '#base';
import type { Controller, ControllerConfig, WatchDeps } from '#controller';
import { createDesiredSource, createRemoteSource, faultyNetworks, parserProgram } from '#desired';
import type {
  AzureWorkload,
  CommandHelper,
  DesiredLimits,
  DesiredSource,
  PluginConfig,
  Proxies,
  ToolLookup,
} from '#desired';
import { createKubeClient, SharedClients } from '#kube';
import type { ClusterClients, KubeClient, KubeClientDeps, LoadedConnection, RunCommand } from '#kube';
import { createLiveClusters } from '#live';
import type { ClusterConnection, HealthScripts, Settings } from '#model';
import type { RedisSettings } from '#publish';
import { QueueMetrics } from '#queues';
import { createSettingsStore } from '#settings';
import type { SettingsStore } from '#settings';
import { HubTime, parseAlgorithm } from '#sharding';
import type { Ownership } from '#sharding';
import { PromMetrics, TelemetryServer } from '#telemetry';
import type { Logger } from '#telemetry';
import { programMemory } from './memory.ts';
import type { RunConfig } from './options.ts';
import { repoServerSettings } from './repo-server.ts';
import { packageVersion } from './root.ts';

export interface WireInputs {
  readonly config: RunConfig;
  readonly hub: LoadedConnection;
  /** Started already, while the process was small. */
  readonly commands: CommandHelper;
  readonly logger: Logger;
  /** Where clients of Argo CD read; undefined: nowhere. */
  readonly redis: RedisSettings | undefined;
  /** Where helm and kustomize lie. */
  readonly tools: ToolLookup;
  /** Of this process: for chart repositories and registries. */
  readonly proxies: Proxies;
  readonly plugins: PluginConfig;
  /** ARGOCD_GIT_MODULES_ENABLED. */
  readonly submodules: boolean;
  readonly azureWorkload: AzureWorkload | undefined;
  /** The Lua engine with the scripts of `--health-scripts`: it is loaded before, and waits for the overrides. */
  readonly healthScripts: (overrides: Settings['overrides']) => HealthScripts;
}

/** How long running passes may take to finish after a stop. */
const passGraceMs = 5000;

/** What every replica stands on, whatever it does with it. */
export interface Groundwork {
  readonly namespace: string;
  /** The hub. */
  readonly client: KubeClient;
  /** Its clock. */
  readonly hubTime: HubTime;
  /** The managed clusters, for who writes to them. */
  readonly clients: ClusterClients;
  readonly neighbours: Omit<WatchDeps, 'hub' | 'ownership'> & { readonly metrics: PromMetrics };
}

export function groundwork(inputs: WireInputs): Groundwork {
  const { config, hub, logger } = inputs;
  const metrics = new PromMetrics();
  metrics.watchProcess();
  const surroundings = { clock: systemClock, random: systemRandom, logger };
  const namespace = config.namespace === '' ? hub.namespace : config.namespace;
  const hubTime = new HubTime();
  const client = connector(inputs, { rate: hubRate, onRequest: listener(hubTime) })(hub.connection);
  const settings = createSettingsStore({
    ...surroundings,
    client,
    namespace,
    inClusterConnection: hub.connection,
    healthScripts: inputs.healthScripts,
  });
  const { credentialPlugins } = config;
  const clients = new SharedClients(
    connector(inputs, { rate: 1, ...(credentialPlugins.length === 0 ? {} : { credentialPlugins }) }),
  );
  const live = createLiveClusters({ ...surroundings, clients, metrics });
  const desired = desiredSource(inputs, settings);
  if (!verifiesSignatures(config))
    logger.warn('Signatures of commits are not verified, whatever projects demand: ARGOCD_GPG_ENABLED is off');
  const queueMetrics = new QueueMetrics(metrics);
  return {
    namespace,
    client,
    hubTime,
    clients,
    neighbours: { ...surroundings, settings, live, desired, metrics, queueMetrics },
  };
}

/** Argo CD's repo-server where one is named, else the generator of this process (decision D12). */
function desiredSource(inputs: WireInputs, settings: Pick<SettingsStore, 'gpgKeys'>): DesiredSource {
  const { config, commands, logger } = inputs;
  const remote = repoServerSettings(config);
  if (remote !== undefined) {
    logger.info('Manifests come from the repo-server', { address: remote.address, tls: remote.tls !== undefined });
    return createRemoteSource({
      ...remote,
      clock: systemClock,
      userAgent: userAgentOf(config),
      readOnly: config.shadow,
      localRepositories: config.allowLocalRepositories,
    });
  }
  return createDesiredSource({
    clock: systemClock,
    random: systemRandom,
    logger,
    cacheDir: config.cacheDir,
    commands,
    limits: limits(config),
    trust: trust(config),
    tools: inputs.tools,
    parser: parserProgram,
    proxies: inputs.proxies,
    plugins: inputs.plugins,
    submodules: inputs.submodules,
    azureWorkload: inputs.azureWorkload,
    version: packageVersion(),
    localRepositories: config.allowLocalRepositories,
    keys: (signal) => settings.gpgKeys(signal),
  });
}

/** Everything in the groups in which it starts, with the endpoints that show it. */
export function startOrder(
  { config, commands, logger }: WireInputs,
  { client, neighbours: { settings, live, desired, metrics } }: Groundwork,
  {
    controller,
    ownership,
    others,
  }: { readonly controller: Controller; readonly ownership: Ownership; readonly others: readonly Runnable[] },
): (readonly Runnable[])[] {
  const started = { value: false };
  const telemetry = new TelemetryServer({
    host: config.metricsHost,
    port: config.metricsPort,
    metrics,
    logger,
    healthy: () => controller.healthy(),
    ready: () => (started.value ? readiness(ownership, live.infos()) : notStarted),
    state: () => ({
      ownedClusters: owned(ownership),
      ownershipConditions: ownership.conditions(),
      ...controller.snapshot(),
    }),
  });
  return [
    [closing(client)],
    [telemetry, commands],
    [settings, desired, ...others, ownership],
    [live],
    [controller],
    [mark(started)],
  ];
}

type Info = ReturnType<ReturnType<typeof createLiveClusters>['infos']>[number];

/** Ready: this replica has a shard and what that gives to it, and every cluster of these has a filled cache or a reason why not. */
function readiness(ownership: Ownership, infos: readonly Info[]): { ok: boolean; reason?: string } {
  if (ownership.identity().shard === undefined) {
    const standby = ownership.conditions().find(({ type }) => type === 'Standby');
    return { ok: false, reason: standby?.message ?? 'this replica has no shard (standby)' };
  }
  if (!ownership.settled()) return { ok: false, reason: 'taking over clusters from other replicas' };
  const waiting = infos.filter((info) => info.state === 'connecting').map((info) => info.server);
  return waiting.length === 0
    ? { ok: true }
    : { ok: false, reason: `reading clusters for the first time: ${waiting.join(', ')}` };
}

/** Names of clusters of which this replica owns everything or a part. The table has a line for each part. */
function owned(ownership: Ownership): string[] {
  const lines = ownership.table().filter(({ server }) => ownership.ownsCluster(server));
  return [...new Map(lines.map(({ server, name }) => [server, name])).values()];
}

export function algorithm(text: string, logger: Logger): ReturnType<typeof parseAlgorithm>['algorithm'] {
  const parsed = parseAlgorithm(text);
  if (!parsed.known) logger.warn('unknown sharding method: using legacy', { method: text });
  return parsed.algorithm;
}

/** The hub takes every status and event of all Applications: it may be asked this many times as often as a managed cluster. */
const hubRate = 4;

/** Clients share limits and the way to run credential plugins. With --shadow none of them can write: this is the one place. */
function connector(
  { config, commands, logger }: WireInputs,
  { rate, ...more }: { readonly rate: number } & Pick<KubeClientDeps, 'onRequest' | 'credentialPlugins'>,
): (connection: ClusterConnection) => KubeClient {
  const qps = config.k8sClientQps * rate;
  const burst = config.k8sClientBurst === 0 ? 2 * qps : config.k8sClientBurst * rate;
  const userAgent = userAgentOf(config);
  return (connection) =>
    createKubeClient(connection, {
      clock: systemClock,
      random: systemRandom,
      logger,
      userAgent,
      readOnly: config.shadow,
      runCommand: pluginRunner(commands),
      limits: { qps, burst },
      ...more,
    });
}

/** Takes what answers say of the time. */
function listener(hubTime: HubTime): NonNullable<KubeClientDeps['onRequest']> {
  return ({ dateMs, durationMs, code }) => {
    const answeredAt = systemClock.monotonic();
    if (code > 0) hubTime.answered({ dateMs: dateMs ?? Number.NaN, sentAt: answeredAt - durationMs, answeredAt });
  };
}

/** With the name of the replica, so that an audit log of the API server tells which one it was. */
function userAgentOf(config: RunConfig): string {
  const program = config.shadow ? 'driftless-shadow' : 'argocd-application-controller';
  return `${program}/${packageVersion()} (driftless ${config.hostname})`;
}

/** Where administrators mount ssh known hosts and CA bundles; Argo CD's places unless told otherwise. */
function trust(config: RunConfig): { readonly sshKnownHosts?: string; readonly tlsCertificates?: string } {
  return {
    ...(config.sshDataPath === '' ? {} : { sshKnownHosts: join(config.sshDataPath, 'ssh_known_hosts') }),
    ...(config.tlsDataPath === '' ? {} : { tlsCertificates: config.tlsDataPath }),
  };
}

/** As Argo CD reads ARGOCD_GPG_ENABLED: any other word than these two leaves it on. */
function verifiesSignatures({ gpgEnabled }: RunConfig): boolean {
  return !/^(?:false|no)$/i.test(gpgEnabled);
}

/** Credential plugins run in the helper process, as git does. */
function pluginRunner(commands: CommandHelper): RunCommand {
  return async ({ command, args, env }, signal) => {
    const options = { env, timeoutMs: 10_000, maxBytes: 1 << 20, signal };
    const { exitCode, stdout, stderr } = await commands.runCommand([command, ...args], options);
    return { code: exitCode, stdout: Buffer.from(stdout).toString('utf8'), stderr };
  };
}

function networks(given: readonly string[]): readonly string[] {
  const [faulty] = faultyNetworks(given);
  if (faulty === undefined) return given;
  throw new UsageError(`--denied-networks: a network such as 10.0.0.0/8, or metadata, not "${faulty}"`);
}

/** What sources may cost. */
function limits(config: RunConfig): Partial<DesiredLimits> {
  return {
    ...(config.repoServerTimeout > 0 ? { deadlineMs: config.repoServerTimeout } : {}),
    ...programMemory(process.constrainedMemory()),
    hostParallelism: config.repositoryHostParallelism,
    deniedNetworks: networks(config.deniedNetworks),
    mirrorDiskBytes: config.repositoryCacheSize * 1024 * 1024,
    mirrorAgeMs: config.repositoryCacheAge,
    pauseAfterFailures: config.pauseAfterFailures,
    pauseMs: config.pauseMinutes * 60_000,
    pauseRequests: config.pauseRequests,
  };
}

export function controllerConfig(config: RunConfig, namespace: string): ControllerConfig {
  return {
    namespace,
    applicationNamespaces: config.applicationNamespaces,
    statusProcessors: config.statusProcessors,
    operationProcessors: config.operationProcessors,
    appResyncMs: config.appResync,
    hardResyncMs: config.appHardResync,
    jitterMs: config.appResyncJitter,
    selfHeal: {
      backoffMs: config.selfHealBackoffTimeout,
      factor: config.selfHealBackoffFactor,
      capMs: config.selfHealBackoffCap,
      timeoutMs: config.selfHealTimeout,
    },
    syncTimeoutMs: config.syncTimeout,
    repoErrorGraceMs: config.repoErrorGracePeriod,
    kubectlParallelism: config.kubectlParallelism,
    quarantineAfterMs: config.quarantineAfter,
    syncWaveDelayMs: config.syncWaveDelay,
    persistResourceHealth: config.persistResourceHealth,
    serverSideDiff: config.serverSideDiff,
    jqLimitMs: config.jqTimeout,
    clusterInfoMs: config.clusterInfoInterval,
    keepLostClustersMs: config.lostClusterCache,
    rateLimiter: {
      bucketSize: config.wqBucketSize,
      bucketQps: config.wqBucketQps,
      coolDownMs: config.wqCooldown,
      baseDelayMs: config.wqBaseDelay,
      maxDelayMs: config.wqMaxDelay,
      backoffFactor: config.wqBackoffFactor,
    },
    graceMs: passGraceMs,
    gpgEnabled: verifiesSignatures(config),
  };
}

const notStarted = { ok: false, reason: 'still starting: Applications, projects and settings are being read' };

/** The last group to start: when its turn comes, everything before it is ready. */
function mark(started: { value: boolean }): Runnable {
  return {
    name: 'started',
    run: (signal) => {
      started.value = true;
      return aborted(signal);
    },
  };
}

/** Ends the hub's connections last: passes that finish during the stop still write their status. */
function closing(client: KubeClient): Runnable {
  return {
    name: 'hub client',
    run: (signal) =>
      new Promise((resolve, reject) => {
        const close = (): void => void client.close().then(resolve, reject);
        if (signal.aborted) close();
        else signal.addEventListener('abort', close, { once: true });
      }),
  };
}
