import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock, UsageError } from '#base';
import { createInProcessRunner, proxySettingsOf } from '#desired';
import type { CommandRunner, RemoteSourceDeps } from '#desired';
import type { LoadedConnection } from '#kube';
import type { Application } from '#model';
import { silentLogger } from '#telemetry';
import { readArgs } from '../options/args.ts';
import type { OptionSpec } from '../options/args.ts';
import { runOptions } from '../options/run-options.ts';
import type { RunConfig } from '../options/run-options.ts';
import type { CommandContext } from '../process/command.ts';
import { kubeconfigIn, loadConnection, readOnlyClient } from '../process/hub.ts';
import { localRenderer } from '../render/renderer.ts';
import { controllerConfig } from '../run/infrastructure.ts';
import { healthStorage } from '../run/redis.ts';
import { sourceReach } from '../run/source-reach.ts';
import { compareApplications } from './compare.ts';
import type { ComparisonProgress, PreflightComparison } from './compare.ts';
import { readInstallation } from './installation.ts';
import type { ReadInstallation } from './installation.ts';
import { isLeftAlone } from './selection.ts';
import { isInPod } from '../process/in-pod.ts';

/** How a command reaches the hub. */
export interface HubArgs {
  readonly config: { readonly kubeconfig: string; readonly context: string };
  /** Names of options that were set. */
  readonly given: ReadonlySet<string>;
}

/** A comparison of Applications of an installation, which writes nothing. */
export interface InstallationComparison {
  readonly loaded: LoadedConnection;
  readonly installation: ReadInstallation;
  readonly applications: readonly Application[];
  /** Renders with this repo-server; undefined: with the programs of this machine. */
  readonly remote: Omit<RemoteSourceDeps, 'clock' | 'userAgent'> | undefined;
  /** Flags of the controller that replace those of the installation. */
  readonly overrides?: Partial<Pick<RunConfig, 'jqTimeout'>>;
  readonly config: {
    readonly cacheDir: string;
    readonly allowLocalRepositories: boolean;
    readonly allowLocalSources: boolean;
    readonly timeout: number;
  };
  readonly context: Pick<CommandContext, 'env' | 'signal'>;
  readonly onProgress: (progress: ComparisonProgress) => void;
}

/**
 * Compares Applications with the settings of their installation, and passes the result on while
 * programs can still be run. Leaves out Applications that both controllers skip.
 */
export async function compareInstallation<T>(
  query: InstallationComparison,
  body: (compared: PreflightComparison, commands: CommandRunner) => Promise<T>,
): Promise<T> {
  const { loaded, installation, applications, config, remote, onProgress } = query;
  const { env, signal } = query.context;
  const commands = createInProcessRunner({ clock: systemClock, env });
  const temporary = config.cacheDir === '' ? mkdtempSync(join(tmpdir(), 'driftless-preflight-')) : undefined;
  // DRIFTLESS_CACHE_DIR is also set in the controller's pod, whose keyring and clones must not
  // change.
  const folder = temporary ?? join(config.cacheDir, 'preflight');
  const renderer = localRenderer({ logger: silentLogger, folder, path: env['PATH'] });
  try {
    const compared = await compareApplications(
      {
        hub: loaded.connection,
        reach: sourceReach(config, { hub: loaded.connection, env }),
        installation,
        applications: applications.filter((app) => !isLeftAlone(app, installation)),
        config: controllerConfig({ ...runConfigOf(installation), ...query.overrides }, installation.namespace),
        cacheDir: folder,
        localRepositories: config.allowLocalRepositories,
        commands,
        renderer,
        remote,
        proxies: proxySettingsOf(env),
        timeoutMs: config.timeout,
        onProgress,
      },
      signal,
    );
    return await body(compared, commands);
  } finally {
    if (temporary !== undefined) rmSync(temporary, { recursive: true, force: true });
  }
}

/** @throws UsageError without a hub, and for an invalid kubeconfig */
export async function connectHub({ config, given }: HubArgs, env: CommandContext['env']): Promise<LoadedConnection> {
  const inPod = isInPod(env);
  const found = inPod ? '' : kubeconfigIn(env['HOME']);
  const path = given.has('kubeconfig') ? config.kubeconfig : found;
  if (path === '' && !inPod) throw new UsageError('no cluster configured: set --kubeconfig FILE (and --context NAME)');
  return loadConnection(path, config.context);
}

/** Reads the installation with a client that cannot write. */
export async function readFrom(
  loaded: LoadedConnection,
  namespace: string,
  signal: AbortSignal,
): Promise<ReadInstallation> {
  const client = readOnlyClient(loaded.connection, 'driftless-preflight');
  try {
    return await readInstallation({ client, namespace, hub: loaded.connection, signal });
  } finally {
    await client.close();
  }
}

/**
 * The flags that the controller would run with, from the ConfigMaps and the environment of Argo
 * CD's workload.
 */
function runConfigOf(installation: ReadInstallation): RunConfig {
  const { params, settings, workload } = installation;
  const env: Record<string, string> = {};
  for (const { env: name, key } of Object.values(runOptions as Readonly<Record<string, OptionSpec>>)) {
    if (name === undefined) continue;
    const [map, entry = ''] = key?.split(':') ?? [];
    const value = workload?.env.get(name) ?? (map === 'C' ? settings.raw : params)[entry];
    if (value !== undefined) env[name] = value;
  }
  const { config, given } = readArgs(runOptions, [], env);
  return { ...config, ...healthStorage(config, given, usesRedis(installation)) };
}

/** Without a workload that can be read, the statuses show it: `appTree` means the tree in Redis. */
function usesRedis({ params, workload, applications }: ReadInstallation): boolean {
  if (['redis.server', 'redis.sentinel.hosts'].some((key) => (params[key] ?? '') !== '')) return true;
  return workload?.hasRedis ?? applications.some(({ status }) => status?.resourceHealthSource === 'appTree');
}
