import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf, outsideText, systemClock, systemRandom, UsageError } from '#base';
import { createInProcessRunner, proxySettingsOf } from '#desired';
import { connectionFromKubeconfig, createKubeClient, inClusterConnection } from '#kube';
import type { LoadedConnection } from '#kube';
import { silentLogger } from '#telemetry';
import { describe, readArgs } from '../options/args.ts';
import type { ParsedArgs } from '../options/args.ts';
import type { CommandContext } from '../process/command.ts';
import { runOptions } from '../options/run-options.ts';
import type { OptionSpec } from '../options/args.ts';
import type { RunConfig } from '../options/run-options.ts';
import { controllerConfig } from '../run/infrastructure.ts';
import { healthStorage } from '../run/redis.ts';
import { sourceReach } from '../run/source-reach.ts';
import { localRenderer } from '../render/renderer.ts';
import { compareApplications } from './compare.ts';
import type { ComparisonProgress } from './compare.ts';
import { readInstallation } from './installation.ts';
import type { ReadInstallation } from './installation.ts';
import { preflightOptions } from './options.ts';
import { exitCodeOf, reportOf } from './report.ts';
import type { PreflightReport } from './report.ts';
import { isLeftAlone, select } from './selection.ts';
import { reportLines } from './tables.ts';
import { lookUpTools, machineTools, neededTools } from './tools.ts';

/** Reports progress in one line. */
type ProgressWriter = (line: string) => void;

/**
 * `driftless preflight`: what would differ if Driftless took over an installation of Argo CD. Reads
 * only: no client can write. Exit code 0: nothing differs; 1: something does; 2: not compared.
 */
export async function preflight(context: CommandContext): Promise<number> {
  const parsed = readArgs(preflightOptions, context.argv, context.env);
  const { output, signal } = context;
  if (parsed.config.help) {
    output.out(`usage: driftless preflight [APPLICATION...] [FLAGS]\n\n${describe(preflightOptions)}`);
    return 0;
  }
  for (const warning of parsed.warnings) output.err(`driftless: ${warning}`);
  try {
    const report = await look(parsed, context);
    if (parsed.config.output === 'json') output.out(JSON.stringify(report));
    else for (const line of reportLines(report, output)) output.out(line);
    return exitCodeOf(report);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    // An interrupted run has found nothing, so its exit code must not report "nothing differs".
    const why = signal.aborted ? 'interrupted' : outsideText('field', messageOf(error)).replaceAll('\n', ' ');
    output.err(`driftless: cannot compare: ${why}`);
    return 2;
  }
}

async function look(parsed: ParsedArgs<typeof preflightOptions>, context: CommandContext): Promise<PreflightReport> {
  const { config } = parsed;
  const { env, signal } = context;
  const loaded = await connect(parsed, context);
  const namespace = config.namespace === '' ? loaded.namespace : config.namespace;
  const say = sayer(context);
  say(`reading ${namespace} of ${outsideText('url', loaded.connection.server)}`);
  const installation = await read(loaded, namespace, signal);
  const { names, projects, labels } = { names: parsed.positionals, projects: config.project, labels: config.selector };
  const applications = select(installation, { names, projects, labels });
  const commands = createInProcessRunner({ clock: systemClock, env });
  const temporary = config.cacheDir === '' ? mkdtempSync(join(tmpdir(), 'driftless-preflight-')) : undefined;
  const folder = temporary ?? join(config.cacheDir, 'preflight');
  const renderer = localRenderer({ logger: silentLogger, folder, path: env['PATH'] });
  try {
    const compared = await compareApplications(
      {
        hub: loaded.connection,
        reach: sourceReach(config, { hub: loaded.connection, env }),
        installation,
        applications: applications.filter((app) => !isLeftAlone(app, installation)),
        config: controllerConfig(runConfigOf(installation), namespace),
        // DRIFTLESS_CACHE_DIR is also set in the controller's pod, whose keyring and clones must
        // not change.
        cacheDir: folder,
        localRepositories: config.allowLocalRepositories,
        commands,
        renderer,
        proxies: proxySettingsOf(env),
        timeoutMs: config.timeout,
        onProgress: progress(say, context),
      },
      signal,
    );
    const needs = neededTools(applications, installation);
    const tools = await lookUpTools(needs, machineTools(env, commands, signal));
    const { server } = loaded.connection;
    return reportOf({ server, installation, applications, compared, tools, timeoutMs: config.timeout });
  } finally {
    if (temporary !== undefined) rmSync(temporary, { recursive: true, force: true });
  }
}

async function connect(
  { config, given }: ParsedArgs<typeof preflightOptions>,
  { env }: CommandContext,
): Promise<LoadedConnection> {
  const inPod = (env['KUBERNETES_SERVICE_HOST'] ?? '') !== '';
  const own = join(env['HOME'] ?? '', '.kube', 'config');
  const found = !inPod && (env['HOME'] ?? '') !== '' && existsSync(own) ? own : '';
  const path = given.has('kubeconfig') ? config.kubeconfig : found;
  if (path !== '') return connectionFromKubeconfig(path, config.context === '' ? undefined : config.context);
  if (!inPod) throw new UsageError('no cluster configured: set --kubeconfig FILE (and --context NAME)');
  return inClusterConnection(env);
}

async function read(loaded: LoadedConnection, namespace: string, signal: AbortSignal): Promise<ReadInstallation> {
  const client = createKubeClient(loaded.connection, {
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    userAgent: 'driftless-preflight',
    readOnly: true,
  });
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

/** Progress on stderr: one rewritten line on a terminal, otherwise new lines. */
function sayer({ output }: CommandContext): ProgressWriter {
  return (line) => output.progress(`driftless: ${line}`);
}

/** A pipe shows every tenth step, a terminal each. */
function progress(say: ProgressWriter, { output }: CommandContext): (state: ComparisonProgress) => void {
  let told = -1;
  return ({ compared, of, clustersRead, clusters }) => {
    const step = output.live ? compared : Math.floor((10 * compared) / Math.max(1, of));
    if (!output.live && step === told) return;
    told = step;
    const reading = clustersRead < clusters ? `, ${clustersRead} of ${clusters} clusters read` : '';
    say(`${compared} of ${of} Applications compared${reading}`);
  };
}
