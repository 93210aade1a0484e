import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  formatGoDuration,
  messageOf,
  newAbortController,
  SecretValue,
  Shutdown,
  sleepOn,
  systemClock,
  systemRandom,
  untilAborted,
  UsageError,
  withChild,
  withDeadline,
} from '#base';
import { connectionFromKubeconfig, createKubeClient, inClusterConnection } from '#kube';
import type { KubeClient, LoadedConnection } from '#kube';
import { commitFiles, readDirectory } from '#desired';
import type { LocalFile } from '#desired';
import { startSimCluster } from '#sim';
import type { SimCluster } from '#sim';
import { createLogger } from '#telemetry';
import type { Logger } from '#telemetry';
import { describe, readArgs } from '../options/args.ts';
import { runOptions } from '../options/run-options.ts';
import type { RunConfig } from '../options/run-options.ts';
import type { CommandContext } from '../process/command.ts';
import type { CommandOutput } from '../process/output.ts';
import { packageVersion } from '../process/root.ts';
import { runReplica, startSourceHelpers } from '../run/replica.ts';
import type { SourceHelpers } from '../run/replica.ts';
import { argoCrds } from '../simulation/fleet.ts';
import { FolderLease } from './folder-lease.ts';
import { agentNamespace, defaultName, hubObjects, sourceText } from './hub-objects.ts';
import type { AgentPlan, RepositoryCredentials } from './hub-objects.ts';
import { download, readArchive, shownUrl, sourceBounds } from './local-source.ts';
import { agentOptions } from './options.ts';
import type { AgentConfig } from './options.ts';
import { followState, settledOrReason, stateLine } from './progress.ts';
import type { AgentState } from './progress.ts';

const downloadMs = 120_000;
const releaseMs = 3000;

/**
 * `driftless agent`: keeps one cluster equal to one folder, without CRDs. The controller runs
 * against a hub in this process that holds one Application.
 */
export async function agent({ argv, env, output, signal }: CommandContext): Promise<number> {
  const { config, warnings, positionals } = readArgs(agentOptions, argv, env);
  if (config.help) {
    output.out(`usage: driftless agent --repo URL --path FOLDER [FLAGS]\n\n${describe(agentOptions)}`);
    return 0;
  }
  if (positionals.length > 0) throw new UsageError(`agent takes flags only, not "${positionals[0] ?? ''}"`);
  const source = sourceOf(config);
  const target = await targetConnection(config);
  const plan = planOf(config, source);
  for (const warning of warnings) output.err(`driftless: ${warning}`);
  return new Agent({ config, env, output, plan, source, target }).run(signal);
}

/** The origin of the files. */
type AgentSource =
  | { readonly kind: 'git'; readonly url: string }
  | { readonly kind: 'directory'; readonly url: string }
  | { readonly kind: 'archive'; readonly url: string; readonly digest: string };

/** The origin as it is recorded and shown: an archive may have another address for each version. */
function originOf(source: AgentSource): string {
  return source.kind === 'archive' ? 'archive' : source.url;
}

/** @throws UsageError unless exactly one source is named */
function sourceOf({ repo, archive, digest, revision, name }: AgentConfig): AgentSource {
  if ((repo === '') === (archive === ''))
    throw new UsageError('agent needs --repo URL or DIRECTORY, or --archive URL with --digest');
  if (archive !== '') {
    if (digest === '') throw new UsageError('--archive needs --digest sha256:HEX');
    if (!/^https?:\/\//.test(archive)) throw new UsageError('--archive: only http and https are supported');
    // Its address usually names a version, so it cannot identify the objects of the next version.
    if (name === '') throw new UsageError('--archive needs --name: pruning goes by it');
    return { kind: 'archive', url: archive, digest };
  }
  if (digest !== '') throw new UsageError('--digest belongs to --archive; a commit is a --revision');
  if (!isAbsolute(repo) && !/^\.\.?(?:\/|$)/.test(repo)) return { kind: 'git', url: repo };
  if (revision !== 'HEAD') throw new UsageError(`--revision needs a Git repository, and --repo ${repo} is a directory`);
  return { kind: 'directory', url: resolve(repo) };
}

function targetConnection({ kubeconfig, context }: AgentConfig): Promise<LoadedConnection> {
  if (kubeconfig !== '') return connectionFromKubeconfig(kubeconfig, context === '' ? undefined : context);
  return inClusterConnection();
}

/** @throws UsageError for contradicting namespaces or an unreadable file of a credential */
function planOf(config: AgentConfig, source: AgentSource): AgentPlan {
  const { namespace, namespaces, path, revision, prune, selfHeal } = config;
  if (namespaces.length > 0 && !namespaces.includes(namespace))
    throw new UsageError(`--namespace ${namespace} is not one of --namespaces ${namespaces.join(',')}`);
  const isLocal = source.kind !== 'git';
  return {
    name: config.name === '' ? defaultName(source.url, path) : config.name,
    repository: isLocal ? pathToFileURL(repositoryFolder(config)).href : source.url,
    path,
    revision: isLocal ? 'main' : revision,
    credentials: credentialsOf(config),
    namespace,
    namespaces,
    prune,
    selfHeal,
  };
}

function cacheFolder({ cacheDir, name, repo, archive, path }: AgentConfig): string {
  const own = name === '' ? defaultName(repo === '' ? archive : repo, path) : name;
  return cacheDir === '' ? join(tmpdir(), 'driftless-agent', own) : cacheDir;
}

function repositoryFolder(config: AgentConfig): string {
  return join(cacheFolder(config), 'source.git');
}

function credentialsOf({
  repoUsername,
  repoPasswordFile,
  repoKeyFile,
}: AgentConfig): RepositoryCredentials | undefined {
  if (repoUsername === '' && repoPasswordFile === '' && repoKeyFile === '') return undefined;
  const secretIn = (flag: string, file: string): SecretValue | undefined => {
    if (file === '') return undefined;
    try {
      return new SecretValue(readFileSync(file, 'utf8').replace(/\n$/, ''));
    } catch (error) {
      throw new UsageError(`--${flag} ${file}: ${messageOf(error)}`, { cause: error });
    }
  };
  const sshKey =
    repoKeyFile === '' ? undefined : new SecretValue(`${secretIn('repo-ssh-key-file', repoKeyFile)?.reveal() ?? ''}\n`);
  return { username: repoUsername, password: secretIn('repo-password-file', repoPasswordFile), sshKey };
}

interface AgentParts {
  readonly config: AgentConfig;
  readonly env: CommandContext['env'];
  readonly output: CommandOutput;
  readonly plan: AgentPlan;
  readonly source: AgentSource;
  readonly target: LoadedConnection;
}

class Agent {
  readonly #parts: AgentParts;
  readonly #logger: Logger;

  constructor(parts: AgentParts) {
    this.#parts = parts;
    const { logLevel, output } = parts.config;
    this.#logger = createLogger({
      level: logLevel as 'warn',
      format: output === 'json' ? 'json' : 'text',
      destination: process.stderr,
    });
  }

  /** Resolves with the exit code. */
  async run(signal: AbortSignal): Promise<number> {
    const { env, target } = this.#parts;
    const replica = this.#replicaConfig();
    const helpers = startSourceHelpers(replica, env, { logger: this.#logger, isQuiet: true });
    await this.#importSource(signal);
    const client = createKubeClient(target.connection, {
      clock: systemClock,
      random: systemRandom,
      logger: this.#logger,
      userAgent: `driftless-agent/${packageVersion()}`,
    });
    const lease = this.#lease(client);
    try {
      await lease.acquire(signal);
      return await withChild(signal, (inner, stop) => this.#keep(inner, stop, { replica, helpers, lease }));
    } finally {
      await this.#giveUp(lease);
      await client.close();
    }
  }

  /** Runs the controller against the hub of this process until `signal` aborts, or once. */
  async #keep(
    signal: AbortSignal,
    stop: (reason: Error) => void,
    {
      replica,
      helpers,
      lease,
    }: { readonly replica: RunConfig; readonly helpers: SourceHelpers; readonly lease: FolderLease },
  ): Promise<number> {
    const { config, env, plan, target } = this.#parts;
    const token = new SecretValue(randomBytes(32).toString('base64url'));
    const hub = await this.#startHub(token.reveal());
    const unfollow = followState(hub.store, plan.name, (state) => this.#report(state));
    const connection = { server: hub.url, insecure: false, credentials: { bearerToken: token } };
    const inside = { connection, context: 'agent', namespace: agentNamespace };
    const controller = { config: replica, env, logger: this.#logger, hub: inside, inCluster: target.connection };
    const running = [
      runReplica({ ...controller, redis: undefined, ...helpers }, signal),
      lease.keep(signal),
      this.#followSource(signal),
    ];
    for (const each of running) each.catch((error: unknown) => stop(error as Error));
    try {
      if (config.once) return await this.#untilSettled(hub, signal);
      await untilAborted(signal);
      throw signal.reason;
    } finally {
      stop(new Shutdown());
      await Promise.allSettled(running);
      unfollow();
      await hub.close();
    }
  }

  async #importSource(signal: AbortSignal): Promise<void> {
    const { source, config } = this.#parts;
    if (source.kind === 'git') return;
    const files =
      source.kind === 'directory' ? await readDirectory(source.url, sourceBounds) : await archiveOf(source, signal);
    await commitFiles(repositoryFolder(config), files, signal);
  }

  /** A directory may change at any time; the resync of the controller then finds another commit. */
  async #followSource(signal: AbortSignal): Promise<void> {
    const { source, config, output } = this.#parts;
    while (source.kind === 'directory') {
      await sleepOn(systemClock, config.interval / 2, signal);
      await this.#importSource(signal).catch((error: unknown) => {
        signal.throwIfAborted();
        output.err(`driftless: ${messageOf(error)}; the last content stays in force`);
      });
    }
  }

  #lease(client: KubeClient): FolderLease {
    const { plan, source, output } = this.#parts;
    return new FolderLease({
      client,
      clock: systemClock,
      namespace: plan.namespace,
      name: plan.name,
      holder: `${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`,
      source: sourceText(originOf(source), plan.path),
      onHeld: (holder) => output.err(`driftless: waiting: agent ${holder} keeps this folder`),
    });
  }

  async #giveUp(lease: FolderLease): Promise<void> {
    const { signal } = newAbortController();
    const deadline = { clock: systemClock, limitMs: releaseMs, what: 'giving the lease of the agent up' };
    await withDeadline(signal, deadline, (own) => lease.release(own)).catch(() => undefined);
  }

  /** Only this process knows the token, so other users of the machine cannot use the hub. */
  async #startHub(token: string): Promise<SimCluster> {
    const hub = await startSimCluster({
      name: 'agent',
      clock: systemClock,
      random: systemRandom,
      crds: argoCrds(),
      workloads: { enabled: false, delayMs: 0 },
      tokens: [token],
    });
    for (const object of hubObjects(this.#parts.plan)) hub.store.create(object, 'driftless-agent');
    return hub;
  }

  #replicaConfig(): RunConfig {
    const { config } = this.#parts;
    const { config: replica } = readArgs(
      runOptions,
      [
        `--namespace=${agentNamespace}`,
        '--replicas=1',
        '--shard=0',
        '--hostname=driftless-agent-0',
        `--cache-dir=${join(cacheFolder(config), 'cache')}`,
        `--app-resync=${Math.ceil(config.interval / 1000)}`,
        '--app-resync-jitter=0',
        `--metrics-host=${config.metricsHost}`,
        `--metrics-port=${config.metricsPort}`,
        '--api-port=0',
        '--sync-wave-delay-seconds=0',
        ...(this.#parts.plan.repository.startsWith('file:') ? ['--allow-local-repositories'] : []),
      ],
      {},
    );
    return replica;
  }

  #report(state: AgentState): void {
    const { output, config } = this.#parts;
    output.out(config.output === 'json' ? JSON.stringify(state) : stateLine(state));
  }

  /** Exit code 0 when everything is Synced and Healthy, 1 with the reason after the timeout. */
  async #untilSettled(hub: SimCluster, signal: AbortSignal): Promise<number> {
    const { config, plan, output } = this.#parts;
    const reason = await withChild(signal, async (inner, stop) => {
      const timer = systemClock.timer(config.timeout, () => stop(new Shutdown('the timeout')));
      return settledOrReason(hub.store, plan.name, inner).finally(() => timer.cancel());
    });
    signal.throwIfAborted();
    if (reason === undefined) return 0;
    output.err(`driftless: not Synced and Healthy after ${formatGoDuration(config.timeout)}: ${reason}`);
    return 1;
  }
}

async function archiveOf(
  { url, digest }: { readonly url: string; readonly digest: string },
  signal: AbortSignal,
): Promise<readonly LocalFile[]> {
  const deadline = { clock: systemClock, limitMs: downloadMs, what: `downloading ${shownUrl(url)}` };
  return readArchive(await withDeadline(signal, deadline, (own) => download(url, own)), digest);
}
