import { join } from 'node:path';
import { defined, untilAborted, systemClock, systemRandom } from '#base';
import type { Runnable } from '#base';
import type { Controller, ControllerConfig, WatchDeps } from '#controller';
import {
  createDesiredSource,
  createGitCommitter,
  createServerCommitter,
  createRemoteSource,
  observeSource,
  withPlugins,
} from '#desired';
import type {
  AzureWorkload,
  CommandHelper,
  DesiredLimits,
  DesiredSource,
  DesiredSourceDeps,
  HydrationCommitter,
  PluginConfig,
  ProxySettings,
  Renderer,
  RepositoryReport,
  SourceReach,
} from '#desired';
import { createKubeClient, SharedClients } from '#kube';
import type { ClusterClients, KubeClient, KubeClientDeps, LoadedConnection, RunCommand } from '#kube';
import { ApiVersionFiles, createLiveClusters } from '#live';
import type { KindsInUse } from '#live';
import type { ClusterConnection } from '#model';
import type { RedisSettings } from '#publish';
import { QueueMetrics } from '#queues';
import { createSettingsStore } from '#settings';
import type { SettingsStore, SettingsStoreDeps, SettingsWriter } from '#settings';
import { HubTime, parseAlgorithm, timingOf } from '#sharding';
import type { Ownership } from '#sharding';
import { TelemetryServer } from '#telemetry';
import type { EventLoopDelay, Logger, MetricRegistry, PromMetrics, Tracing } from '#telemetry';
import type { ApiListener } from './api-listener.ts';
import { HubAccess } from './hub-access.ts';
import { answeredHere, hubTimeListener } from './hub-answers.ts';
import { RightsReview } from './rights-review.ts';
import { desiredLimits } from './desired-limits.ts';
import { answerLimits, comparisonMemory, heapBytes } from './memory.ts';
import type { OptionNames } from './option-names.ts';
import { createMetrics } from './telemetry/metrics.ts';
import type { TelemetryPort } from './telemetry/telemetry-port.ts';
import { connectionLimits, watchingOf } from './tuning.ts';
import type { RunConfig } from '../options/run-options.ts';
import type { ApiParts } from './api-parts.ts';
import { repoServerSettings } from './repo-server.ts';
import { packageVersion } from '../process/root.ts';

export interface WireInputs {
  readonly config: RunConfig;
  readonly hub: LoadedConnection;
  /**
   * Opens a hub in this process, which is not dialled. The client calls `onAnswer` after each
   * request.
   */
  readonly openHub?: ((onAnswer: () => void) => KubeClient) | undefined;
  /** The cluster behind `https://kubernetes.default.svc`; the hub itself if absent. */
  readonly inCluster?: ClusterConnection;
  /** Already started, while the process was small. */
  readonly commands: CommandHelper;
  readonly logger: Logger;
  /** Undefined: no collector is set, so nothing is traced. */
  readonly tracing?: Tracing | undefined;
  /** Redis for clients of Argo CD; undefined without Redis. */
  readonly redis: RedisSettings | undefined;
  /** Already started, like `commands`; undefined if a repo-server renders. */
  readonly renderer: Renderer | undefined;
  /** Proxies of this process, for chart repositories and registries. */
  readonly proxies: ProxySettings;
  readonly plugins: PluginConfig;
  /** The controller's own addresses, which sources must not resolve to. */
  readonly reach: SourceReach;
  readonly azureWorkload: AzureWorkload | undefined;
  /** Where the read API listens; undefined: on its socket only. */
  readonly api?: ApiListener | undefined;
  /** Already open; undefined: the replica opens the port of its metrics. */
  readonly telemetry?: Pick<TelemetryPort, 'report'> | undefined;
  /** Wraps the clients of managed clusters, to refuse writes. */
  readonly wrapClient?: ((client: KubeClient) => KubeClient) | undefined;
  /** Limits the watches to some kinds. */
  readonly kindsInUse?: KindsInUse | undefined;
  /** Replaces limits of sources. */
  readonly sourceLimits?: Partial<DesiredLimits> | undefined;
  readonly names: OptionNames;
  /** Compiles health scripts; loads the Lua engine when there is one. */
  readonly healthScripts: NonNullable<SettingsStoreDeps['healthScripts']>;
  /** Kept with the settings, for a later start. */
  readonly keptAnnotations?: SettingsStoreDeps['keptAnnotations'];
}

/** Grace period for running passes after a stop. */
const passGraceMs = 5000;

/** Infrastructure that the controller and its shadow share. */
export interface ReplicaInfrastructure {
  readonly namespace: string;
  /** The hub cluster. */
  readonly client: KubeClient;
  /** Writes Events to the hub, so that no status waits for the request rate behind them. */
  readonly eventClient: KubeClient;
  /** Clock of the hub. */
  readonly hubTime: HubTime;
  /** The controller's own rights on the hub. */
  readonly hubAccess: HubAccess;
  /** Clients of the managed clusters, for writing. */
  readonly clients: ClusterClients;
  /** Opens a client of its own for a cluster. */
  readonly connect: (connection: ClusterConnection) => KubeClient;
  readonly upkeep: Runnable;
  readonly eventLoop: EventLoopDelay;
  /** Requests that this process has sent to API servers. */
  readonly requestCount: () => number;
  /** How reading each repository went. */
  readonly repositories: () => readonly RepositoryReport[];
  readonly neighbours: Omit<WatchDeps, 'hub' | 'ownership'> & { readonly metrics: PromMetrics };
}

/** @param writerOf undefined (a shadow): the settings in force are not kept. */
export function createInfrastructure(
  inputs: WireInputs,
  writerOf?: (client: KubeClient) => SettingsWriter,
): ReplicaInfrastructure {
  const { config, hub, logger, wrapClient = (client: KubeClient): KubeClient => client } = inputs;
  const { metrics, instruments, upkeep, eventLoop } = createMetrics(config, logger);
  inputs.tracing?.exposeMetrics(metrics);
  const surroundings = { clock: systemClock, random: systemRandom, logger };
  const namespace = config.namespace === '' ? hub.namespace : config.namespace;
  const hubTime = new HubTime();
  const hubAccess = new HubAccess({ clock: systemClock, logger, namespace });
  const observeTime = hubTimeListener(hubTime);
  let requests = 0;
  const connectHub = clientFactory(inputs, {
    rate: hubRate,
    instruments,
    onRequest: (record) => {
      requests += 1;
      observeTime(record);
      hubAccess.answered(record);
    },
    onForbidden: (request, message) => hubAccess.denied(request, message),
  });
  const openHub = (): KubeClient => inputs.openHub?.(() => answeredHere(hubTime)) ?? connectHub(hub.connection);
  const [client, eventClient] = [openHub(), openHub()];
  const settings = settingsStore(inputs, { ...surroundings, client, namespace, metrics, writer: writerOf?.(client) });
  const plugins = config.credentialPlugins.length === 0 ? {} : { credentialPlugins: config.credentialPlugins };
  const connect = clientFactory(inputs, { rate: 1, instruments, onRequest: () => (requests += 1), ...plugins });
  const clients = new SharedClients((connection) => wrapClient(connect(connection)));
  const apiVersions = new ApiVersionFiles({ ...surroundings, folder: join(config.cacheDir, 'api-versions') });
  const live = createLiveClusters({ ...surroundings, clients, metrics, apiVersions, ...watchingOf(inputs) });
  const rendering = desiredSource(inputs, settings, metrics);
  const { source: desired, repositories } = observeSource(rendering, systemClock);
  if (!verifiesSignatures(config))
    logger.warn('Commit signatures are not verified, even where projects require it: ARGOCD_GPG_ENABLED is off');
  const queueMetrics = new QueueMetrics(metrics);
  return {
    namespace,
    client,
    eventClient,
    hubTime,
    hubAccess,
    clients,
    connect,
    upkeep,
    eventLoop,
    requestCount: () => requests,
    repositories,
    neighbours: { ...surroundings, settings, live, desired, metrics, queueMetrics, tracer: inputs.tracing?.tracer },
  };
}

function settingsStore(
  { hub, inCluster, healthScripts, keptAnnotations }: WireInputs,
  deps: Omit<SettingsStoreDeps, 'inClusterConnection' | 'healthScripts' | 'keptAnnotations'>,
): SettingsStore {
  const inClusterConnection = inCluster ?? hub.connection;
  return createSettingsStore({ ...deps, inClusterConnection, healthScripts, keptAnnotations });
}

/** Argo CD's repo-server if configured, otherwise the generator of this process (decision D12). */
function desiredSource(
  inputs: WireInputs,
  settings: Pick<SettingsStore, 'gpgKeys'>,
  metrics: MetricRegistry,
): DesiredSource {
  const { config, logger } = inputs;
  const remote = repoServerSettings(config);
  const shown = { address: remote?.address, tls: remote?.tls !== undefined };
  const dialed = remote && {
    ...remote,
    clock: systemClock,
    tracer: inputs.tracing?.tracer,
    userAgent: userAgentOf(config),
    readOnly: config.shadow,
  };
  if (dialed === undefined || config.repoServerPluginsOnly) {
    if (dialed !== undefined) logger.info('Sources of plugins without a socket come from the repo-server', shown);
    return createDesiredSource(embeddedSource(inputs, settings, metrics, dialed));
  }
  logger.info('Manifests come from the repo-server', shown);
  return createRemoteSource(dialed);
}

/** Makes hydrated commits; undefined if the hydrator is off. */
export function hydrationCommitter(
  inputs: WireInputs,
  { settings, metrics }: Pick<WatchDeps, 'settings' | 'metrics'>,
): HydrationCommitter | undefined {
  const { config, logger } = inputs;
  if (!config.hydratorEnabled) return undefined;
  const { commitServer: address } = config;
  const embedded = embeddedSource(inputs, settings, metrics);
  if (address === '') return createGitCommitter(embedded);
  logger.info('Hydrated commits are made by the commit server', { address });
  return createServerCommitter(embedded, { address, userAgent: userAgentOf(config) });
}

function embeddedSource(
  inputs: WireInputs,
  settings: Pick<SettingsStore, 'gpgKeys'>,
  metrics: MetricRegistry,
  pluginsElsewhere?: Parameters<typeof withPlugins>[1],
): DesiredSourceDeps {
  const { config, commands, logger } = inputs;
  return {
    clock: systemClock,
    random: systemRandom,
    logger,
    tracer: inputs.tracing?.tracer,
    cacheDir: config.cacheDir,
    commands,
    limits: { ...desiredLimits(config, process.constrainedMemory(), heapBytes()), ...inputs.sourceLimits },
    trust: trustPaths(config),
    ...(inputs.renderer === undefined ? {} : { renderer: inputs.renderer, parseInRenderer: true }),
    proxies: inputs.proxies,
    reach: inputs.reach,
    optionNames: inputs.names.sources,
    plugins: withPlugins(inputs.plugins, pluginsElsewhere),
    submodules: config.gitModules,
    ...(config.helmUserAgent === '' ? {} : { helmUserAgent: config.helmUserAgent }),
    azureWorkload: inputs.azureWorkload,
    version: packageVersion(),
    metrics,
    localRepositories: config.allowLocalRepositories,
    keys: (signal) => settings.gpgKeys(signal),
  };
}

/** All runnables in start groups, including the endpoints. */
export function startOrder(
  inputs: WireInputs,
  infrastructure: ReplicaInfrastructure,
  {
    controller,
    ownership,
    others,
    api,
  }: {
    readonly controller: Controller;
    readonly ownership: Ownership;
    readonly others: readonly Runnable[];
    readonly api: (parts: ApiParts) => readonly Runnable[];
  },
): (readonly Runnable[])[] {
  const { config, commands, renderer, logger } = inputs;
  const { client, eventClient, hubAccess, upkeep, eventLoop, neighbours } = infrastructure;
  const { settings, live, desired, metrics } = neighbours;
  const started = { value: false };
  const ready = (): { ok: boolean; reason?: string } => {
    const infos = live.infos();
    const denied = hubAccess.lost(infos);
    if (denied !== undefined) return { ok: false, reason: denied };
    return started.value ? readiness(ownership, infos) : notStarted;
  };
  const reported = { metrics, healthy: () => controller.healthy(), ready };
  inputs.telemetry?.report(reported);
  const listening = { host: config.metricsHost, port: config.metricsPort, logger };
  const telemetry = inputs.telemetry === undefined ? [new TelemetryServer({ ...listening, ...reported })] : [];
  const endpoints = api({ controller, ownership, ready });
  return [
    // Stopped last, so that the spans of the last passes are sent, too.
    [hubClientCloser([client, eventClient]), ...(inputs.tracing === undefined ? [] : [inputs.tracing])],
    [
      ...telemetry,
      upkeep,
      eventLoop,
      ...rightsReview(inputs, infrastructure),
      ...endpoints,
      commands,
      ...(renderer === undefined ? [] : [renderer]),
    ],
    [settings, desired, ...others, ownership],
    [live],
    [controller],
    [startedMarker(started)],
  ];
}

/** A shadow sends no POST, not even a review. */
function rightsReview(
  { config, logger }: WireInputs,
  { client, hubAccess }: ReplicaInfrastructure,
): readonly Runnable[] {
  return config.shadow ? [] : [new RightsReview({ client, access: hubAccess, clock: systemClock, logger })];
}

type LiveClusterInfo = ReturnType<ReturnType<typeof createLiveClusters>['infos']>[number];

/**
 * Ready, if the controller has its rights: the replica has a shard and its clusters, and each
 * cluster has a full cache or a reason why not.
 */
function readiness(ownership: Ownership, infos: readonly LiveClusterInfo[]): { ok: boolean; reason?: string } {
  if (ownership.identity().shard === undefined) {
    const standby = ownership.conditions().find(({ type }) => type === 'Standby');
    return { ok: false, reason: standby?.message ?? 'this replica has no shard (standby)' };
  }
  if (!ownership.settled()) return { ok: false, reason: 'waiting for clusters from other replicas' };
  const waiting = infos.filter((info) => info.state === 'connecting').map((info) => info.server);
  return waiting.length === 0
    ? { ok: true }
    : { ok: false, reason: `filling caches of clusters: ${waiting.join(', ')}` };
}

export function shardingAlgorithm(text: string, logger: Logger): ReturnType<typeof parseAlgorithm>['algorithm'] {
  const parsed = parseAlgorithm(text);
  if (!parsed.known) logger.warn('Unknown sharding method, using legacy', { method: text });
  return parsed.algorithm;
}

/**
 * The hub receives the status of all Applications, so its client gets a multiple of the request
 * rate; the client for Events gets the same.
 */
const hubRate = 4;

/**
 * Creates clients with shared limits and credential plugins. With --shadow all clients are read-
 * only: this is the only place.
 */
function clientFactory(
  { config, commands, logger, tracing }: WireInputs,
  {
    rate,
    ...more
  }: { readonly rate: number } & Pick<
    KubeClientDeps,
    'onRequest' | 'onForbidden' | 'credentialPlugins' | 'instruments'
  >,
): (connection: ClusterConnection) => KubeClient {
  const userAgent = userAgentOf(config);
  return (connection) =>
    createKubeClient(connection, {
      clock: systemClock,
      random: systemRandom,
      logger,
      userAgent,
      readOnly: config.shadow,
      ...defined({ tracer: tracing?.tracer }),
      runCommand: pluginRunner(commands),
      limits: { ...connectionLimits(config, rate), bytes: answerLimits(config.clusterObject, heapBytes()) },
      ...more,
    });
}

/** Contains the replica's name, so that API server audit logs identify it. */
function userAgentOf(config: RunConfig): string {
  const program = config.shadow ? 'driftless-shadow' : 'argocd-application-controller';
  return `${program}/${packageVersion()} (driftless ${config.hostname})`;
}

/** Paths of mounted ssh known hosts and CA bundles; empty flags mean Argo CD's paths. */
function trustPaths(config: RunConfig): { readonly sshKnownHosts?: string; readonly tlsCertificates?: string } {
  return {
    ...(config.sshDataPath === '' ? {} : { sshKnownHosts: join(config.sshDataPath, 'ssh_known_hosts') }),
    ...(config.tlsDataPath === '' ? {} : { tlsCertificates: config.tlsDataPath }),
  };
}

/** As in Argo CD, any other value than these two leaves verification enabled. */
function verifiesSignatures({ gpgEnabled }: RunConfig): boolean {
  return !/^(?:false|no)$/i.test(gpgEnabled);
}

/** Runs credential plugins in the helper process, like git. */
function pluginRunner(commands: CommandHelper): RunCommand {
  return async ({ command, args, env }, signal) => {
    const options = { env, timeoutMs: 10_000, maxBytes: 1 << 20, signal };
    const { exitCode, stdout, stderr } = await commands.runCommand([command, ...args], options);
    return { code: exitCode, stdout: Buffer.from(stdout).toString('utf8'), stderr };
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
    lastGoodLimitMs: config.lastGoodRenderingLimit,
    kubectlParallelism: config.kubectlParallelism,
    quarantineAfterMs: config.quarantineAfter,
    syncWaveDelayMs: config.syncWaveDelay,
    persistResourceHealth: config.persistResourceHealth,
    comparisonBytes: comparisonMemory(heapBytes()),
    serverSideDiff: config.serverSideDiff,
    ...(config.hydratorEnabled ? { hydration: { processors: config.hydrationProcessors } } : {}),
    retryLatestRevision: config.retryLatestRevision,
    jqLimitMs: config.jqTimeout,
    clusterInfoMs: config.clusterInfoInterval,
    keepLostClustersMs: config.lostClusterCache,
    unclaimedMs: 2 * timingOf(config.heartbeat).leaseMs,
    unreachedMs: timingOf(config.heartbeat).leaseMs,
    rateLimiter: {
      bucketSize: config.wqBucketSize,
      bucketQps: config.wqBucketQps,
      coolDownMs: config.wqCooldown,
      baseDelayMs: config.wqBaseDelay,
      maxDelayMs: config.wqMaxDelay,
      backoffFactor: config.wqBackoffFactor,
    },
    enabledEvents: config.enableK8sEvent,
    graceMs: passGraceMs,
    gpgEnabled: verifiesSignatures(config),
    metrics: {
      applicationLabels: config.metricsApplicationLabels,
      applicationConditions: config.metricsApplicationConditions,
      hostname: config.hostname,
    },
  };
}

const notStarted = { ok: false, reason: 'starting: reading Applications, projects and settings' };

/** The last start group: when it runs, all others are ready. */
function startedMarker(started: { value: boolean }): Runnable {
  return {
    name: 'started',
    run: (signal) => {
      started.value = true;
      return untilAborted(signal);
    },
  };
}

/**
 * Closes the hub's connections last: passes that finish during the stop still write their status.
 */
function hubClientCloser(clients: readonly KubeClient[]): Runnable {
  return {
    name: 'hub client',
    run: (signal) =>
      new Promise((resolve, reject) => {
        const close = (): void => {
          void Promise.all(clients.map((client) => client.close())).then(() => resolve(), reject);
        };
        if (signal.aborted) close();
        else signal.addEventListener('abort', close, { once: true });
      }),
  };
}
