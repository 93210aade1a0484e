import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DriftlessError, messageOf, runGroups, Shutdown, systemClock, systemRandom, withChild } from '#base';
import type { ClockTimer } from '#base';
import { createShadowController } from '#controller';
import type { ControllerConfig, ShadowVerdict } from '#controller';
import { createDesiredSource, createRemoteSource, SourceFailed } from '#desired';
import type { CommandRunner, DesiredSource, ProxySettings, RemoteSourceDeps, Renderer, SourceReach } from '#desired';
import { SharedClients } from '#kube';
import type { KubeClient } from '#kube';
import { createLiveClusters } from '#live';
import type { ClusterInfo } from '#live';
import { appKeyOf, appKeyOfInstance } from '#model';
import type { AppKey, Application, ClusterConnection } from '#model';
import { createSettingsStore } from '#settings';
import type { SettingsStore } from '#settings';
import { PromMetrics, silentLogger } from '#telemetry';
import { readOnlyClient } from '../process/hub.ts';
import { loadHealthScripts } from '../run/health-scripts.ts';
import { controllerOptionNames } from '../run/option-names.ts';
import type { ReadInstallation } from './installation.ts';
import { ownershipOf } from './selection.ts';

export interface ComparisonQuery {
  readonly hub: ClusterConnection;
  readonly installation: ReadInstallation;
  /** Applications to compare. No other cluster than their destinations is read. */
  readonly applications: readonly Application[];
  readonly config: ControllerConfig;
  readonly cacheDir: string;
  /** Allows sources on the local disk. */
  readonly localRepositories: boolean;
  readonly reach: SourceReach;
  readonly commands: CommandRunner;
  readonly renderer: Renderer;
  /** Renders with this repo-server instead; undefined: with `renderer`. */
  readonly remote: Omit<RemoteSourceDeps, 'clock' | 'userAgent'> | undefined;
  readonly proxies: ProxySettings;
  readonly timeoutMs: number;
  /** Called after each change, and about once a second. */
  readonly onProgress: (progress: ComparisonProgress) => void;
}

export interface ComparisonProgress {
  readonly compared: number;
  readonly of: number;
  /** Clusters that have been read, or that cannot be read. */
  readonly clustersRead: number;
  readonly clusters: number;
}

/** Result of the comparison. An Application without a verdict was not compared in time. */
export interface PreflightComparison {
  readonly verdicts: ReadonlyMap<AppKey, ShadowVerdict>;
  readonly clusters: readonly ClusterInfo[];
  /** Render error of each source whose last attempt failed. */
  readonly failures: ReadonlyMap<AppKey, SourceFailure>;
}

export interface SourceFailure {
  readonly url: string;
  /** Error code, such as DESIRED_UNSUPPORTED or DESIRED_REPOSITORY. */
  readonly code: string;
  readonly message: string;
}

const progressMs = 1000;
const stopGraceMs = 5000;

/**
 * Compares Applications once with the real controller but without its effects: clients are read-
 * only, ownership never permits a write, and nothing is published. Ends when every Application has
 * a verdict, or at the timeout.
 * @throws the error of a part that cannot continue; the signal's reason when it aborts.
 */
export async function compareApplications(query: ComparisonQuery, signal: AbortSignal): Promise<PreflightComparison> {
  const wanted = new Set(query.applications.map(appKeyOf));
  const verdicts = new Map<AppKey, ShadowVerdict>();
  const clients = new ReadOnlyClients();
  const failures = new Map<AppKey, SourceFailure>();
  const parts = await build(query, { clients, failures }, (verdict) => {
    if (!wanted.has(verdict.key)) return;
    verdicts.set(verdict.key, verdict);
    tell();
    if (verdicts.size === wanted.size) finish();
  });
  let finish = (): void => undefined;
  const tell = (): void => {
    const infos = parts.live.infos();
    const clustersRead = infos.filter(({ state }) => state !== 'connecting').length;
    query.onProgress({ compared: verdicts.size, of: wanted.size, clustersRead, clusters: infos.length });
  };
  let clusters: readonly ClusterInfo[] = [];
  await withChild(signal, async (inner, stop) => {
    finish = () => {
      clusters = parts.live.infos();
      stop(new Shutdown('everything is compared'));
    };
    const timer = systemClock.timer(query.timeoutMs, () => finish());
    const stopTicking = repeatEvery(progressMs, tell);
    try {
      if (wanted.size > 0) await runGroups(parts.groups, inner, { clock: systemClock, graceMs: stopGraceMs });
    } finally {
      timer.cancel();
      stopTicking();
      await clients.close();
    }
  });
  signal.throwIfAborted();
  return { verdicts, clusters, failures };
}

async function build(
  query: ComparisonQuery,
  { clients, failures }: { readonly clients: ReadOnlyClients; readonly failures: Map<AppKey, SourceFailure> },
  onVerdict: (verdict: ShadowVerdict) => void,
): Promise<{
  readonly live: ReturnType<typeof createLiveClusters>;
  readonly groups: Parameters<typeof runGroups>[0];
}> {
  const { hub, installation, renderer, config } = query;
  const surroundings = { clock: systemClock, random: systemRandom, logger: silentLogger };
  const metrics = new PromMetrics();
  const client = clients.connect(hub);
  const { namespace } = installation;
  const settings = createSettingsStore({
    ...surroundings,
    client,
    namespace,
    inClusterConnection: hub,
    healthScripts: await loadHealthScripts(''),
  });
  const shared = new SharedClients((connection) => clients.connect(connection));
  const live = createLiveClusters({ ...surroundings, metrics, clients: shared });
  const desired = recording(await sourceFor(query, settings), namespace, failures);
  const ownership = ownershipOf(query.applications, installation);
  const controller = createShadowController(
    { ...surroundings, hub: client, settings, ownership, live, desired, metrics, onVerdict },
    // Report repository errors at once: they are what preflight looks for.
    { ...config, repoErrorGraceMs: 0, disagreementMs: 0 },
  );
  return { live, groups: [[renderer], [settings], [ownership, desired, live], [controller]] };
}

async function sourceFor(query: ComparisonQuery, settings: Pick<SettingsStore, 'gpgKeys'>): Promise<DesiredSource> {
  const { installation, cacheDir, localRepositories, reach, commands, renderer, remote, proxies } = query;
  const common = { clock: systemClock, random: systemRandom, logger: silentLogger };
  if (remote !== undefined)
    return createRemoteSource({ ...remote, clock: systemClock, userAgent: 'driftless-preflight', readOnly: true });
  const trust = await writeTrust(installation, cacheDir);
  const keys: SettingsStore['gpgKeys'] = (signal) => settings.gpgKeys(signal);
  return createDesiredSource({
    ...common,
    cacheDir,
    localRepositories,
    reach,
    optionNames: controllerOptionNames.sources,
    commands,
    renderer,
    proxies,
    trust,
    keys,
  });
}

/**
 * Wraps a source and records its errors: conditions carry the text of an error, but not its code.
 */
function recording(desired: DesiredSource, namespace: string, failures: Map<AppKey, SourceFailure>): DesiredSource {
  return {
    name: desired.name,
    run: (signal) => desired.run(signal),
    ...(desired.ready === undefined ? {} : { ready: (signal) => desired.ready?.(signal) ?? Promise.resolve() }),
    resolve: (...args) => desired.resolve(...args),
    ...(desired.verify === undefined ? {} : { verify: desired.verify.bind(desired) }),
    manifests: async (request, signal) => {
      const key = appKeyOfInstance(request.appName, namespace);
      try {
        const manifests = await desired.manifests(request, signal);
        failures.delete(key);
        return manifests;
      } catch (error) {
        if (error instanceof SourceFailed && !signal.aborted) {
          const { cause } = error;
          const code = cause instanceof DriftlessError ? cause.code : error.code;
          // As the Application has it, which is what people search for.
          const url = request.sources[error.index]?.source.repoURL ?? '';
          failures.set(key, { url, code, message: messageOf(cause ?? error) });
        }
        throw error;
      }
    },
  };
}

/** Read-only clients that are closed together. */
class ReadOnlyClients {
  readonly #all: KubeClient[] = [];

  connect(connection: ClusterConnection): KubeClient {
    const client = readOnlyClient(connection, 'driftless-preflight');
    this.#all.push(client);
    return client;
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((client) => client.close()));
  }
}

/** Writes known hosts and CA bundles from their ConfigMaps, which are not mounted on a laptop. */
async function writeTrust(
  { knownHosts, certificates }: ReadInstallation,
  cacheDir: string,
): Promise<{ readonly sshKnownHosts?: string; readonly tlsCertificates?: string }> {
  const folder = join(cacheDir, 'trust');
  const tlsCertificates = join(folder, 'tls');
  await mkdir(tlsCertificates, { recursive: true, mode: 0o700 });
  for (const [host, pem] of Object.entries(certificates))
    if (/^\w[\w.-]*$/.test(host)) await writeFile(join(tlsCertificates, host), pem);
  if (knownHosts === undefined) return { tlsCertificates };
  const sshKnownHosts = join(folder, 'ssh_known_hosts');
  await writeFile(sshKnownHosts, knownHosts);
  return { sshKnownHosts, tlsCertificates };
}

function repeatEvery(ms: number, act: () => void): () => void {
  let timer: ClockTimer;
  const next = (): ClockTimer =>
    systemClock.timer(ms, () => {
      act();
      timer = next();
    });
  timer = next();
  return () => timer.cancel();
}
