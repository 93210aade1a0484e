import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DriftlessError, messageOf, runGroups, Shutdown, systemClock, systemRandom, withChild } from '#base';
import type { Timer } from '#base';
import { createShadowController } from '#controller';
import type { ControllerConfig, Verdict } from '#controller';
import { createDesiredSource, SourceFailed } from '#desired';
import type { CommandRunner, DesiredSource, Proxies, ToolLookup } from '#desired';
import { createKubeClient, SharedClients } from '#kube';
import type { KubeClient } from '#kube';
import { createLiveClusters } from '#live';
import type { ClusterInfo } from '#live';
import { appKeyOf, appKeyOfInstance } from '#model';
import type { AppKey, Application, ClusterConnection } from '#model';
import { createSettingsStore } from '#settings';
import { PromMetrics, silentLogger } from '#telemetry';
import { loadHealthScripts } from '../health-scripts.ts';
import type { ReadInstallation } from './installation.ts';
import { ownershipOf } from './selection.ts';

export interface ComparisonQuery {
  readonly hub: ClusterConnection;
  readonly installation: ReadInstallation;
  /** What to compare; nothing else is read, and no cluster that none of these goes to. */
  readonly applications: readonly Application[];
  readonly config: ControllerConfig;
  readonly cacheDir: string;
  readonly commands: CommandRunner;
  /** Where helm and kustomize lie. */
  readonly tools: ToolLookup;
  readonly proxies: Proxies;
  readonly timeoutMs: number;
  /** Called whenever there is something new, and about once a second. */
  readonly onProgress: (progress: Progress) => void;
}

export interface Progress {
  readonly compared: number;
  readonly of: number;
  /** Clusters that have been read for the first time, or cannot be. */
  readonly clustersRead: number;
  readonly clusters: number;
}

/** What came of it. An Application without a verdict was not compared in time. */
export interface Compared {
  readonly verdicts: ReadonlyMap<AppKey, Verdict>;
  readonly clusters: readonly ClusterInfo[];
  /** Why a source could not be rendered, where that was the last word on it. */
  readonly failures: ReadonlyMap<AppKey, SourceFailure>;
}

export interface SourceFailure {
  readonly url: string;
  /** Of the error: DESIRED_UNSUPPORTED, DESIRED_REPOSITORY … */
  readonly code: string;
  readonly message: string;
}

const progressMs = 1000;
const graceMs = 5000;

/**
 * Compares Applications once, with the very controller that would take over, without its effects: the clients cannot write, the ownership never
 * gives the right to, and nothing is published. Ends when each has its verdict, or at the timeout.
 * @throws what a part that cannot go on throws; the signal's reason when that aborts.
 */
export async function compareApplications(query: ComparisonQuery, signal: AbortSignal): Promise<Compared> {
  const wanted = new Set(query.applications.map(appKeyOf));
  const verdicts = new Map<AppKey, Verdict>();
  const clients = new Clients();
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
    const stopTicking = every(progressMs, tell);
    try {
      if (wanted.size > 0) await runGroups(parts.groups, inner, { clock: systemClock, graceMs });
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
  { clients, failures }: { readonly clients: Clients; readonly failures: Map<AppKey, SourceFailure> },
  onVerdict: (verdict: Verdict) => void,
): Promise<{
  readonly live: ReturnType<typeof createLiveClusters>;
  readonly groups: Parameters<typeof runGroups>[0];
}> {
  const { hub, installation, cacheDir, commands, tools, proxies, config } = query;
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
  const trust = await writeTrust(installation, cacheDir);
  const desired = recording(
    createDesiredSource({
      ...surroundings,
      cacheDir,
      commands,
      tools,
      proxies,
      trust,
      keys: (signal) => settings.gpgKeys(signal),
    }),
    namespace,
    failures,
  );
  const ownership = ownershipOf(query.applications, installation);
  const controller = createShadowController(
    { ...surroundings, hub: client, settings, ownership, live, desired, metrics, onVerdict },
    // An error of a repository is what people want to see here, and at once.
    { ...config, repoErrorGraceMs: 0, disagreementMs: 0 },
  );
  return { live, groups: [[settings], [ownership, desired, live], [controller]] };
}

/** The same source, with a note of what it refuses: conditions have the text of an error, but not its code. */
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
          const url = request.sources[error.index]?.repository.url ?? '';
          failures.set(key, { url, code, message: messageOf(cause ?? error) });
        }
        throw error;
      }
    },
  };
}

/** Clients that send nothing but GET, and are closed together. */
class Clients {
  readonly #all: KubeClient[] = [];

  connect(connection: ClusterConnection): KubeClient {
    const client = createKubeClient(connection, {
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      userAgent: 'driftless-preflight',
      readOnly: true,
    });
    this.#all.push(client);
    return client;
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((client) => client.close()));
  }
}

/** Known hosts and CA bundles from their ConfigMaps: on a laptop nobody has mounted them. */
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

function every(ms: number, act: () => void): () => void {
  let timer: Timer;
  const next = (): Timer =>
    systemClock.timer(ms, () => {
      act();
      timer = next();
    });
  timer = next();
  return () => timer.cancel();
}
