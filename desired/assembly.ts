import { join } from 'node:path';
import { defined, omit } from '#base';
import type { Clock, RandomSource } from '#base';
import type { Logger, MetricRegistry, Tracer } from '#telemetry';
import { ParseProcess } from './command/parse-process.ts';
import type { CommandRunner } from './command/types.ts';
import { PausedFailures } from './failures.ts';
import { ArchiveCache } from './fetch/files/archive-cache.ts';
import { ChartIndexReader } from './fetch/charts/chart-index.ts';
import { ChartRepositories } from './fetch/charts/chart-repositories.ts';
import { CloudTokens } from './fetch/credentials/cloud-tokens.ts';
import type { AzureWorkload } from './fetch/credentials/cloud-tokens.ts';
import { DiskCache } from './fetch/shared/disk-cache.ts';
import { defaultTrust, Git } from './fetch/git/git.ts';
import type { GitTrust } from './fetch/git/git.ts';
import { gitMetrics } from './fetch/git/git-metrics.ts';
import { GitHubApps } from './fetch/credentials/github-apps.ts';
import { Keyring } from './fetch/signatures/keyring.ts';
import type { PublicKeys } from './fetch/signatures/keyring.ts';
import { Lfs } from './fetch/git/lfs.ts';
import { DeniedNetworks } from './fetch/network/denied-networks.ts';
import type { SourceReach } from './fetch/network/denied-networks.ts';
import { Unpacker } from './fetch/files/unpacker.ts';
import { HostGate } from './fetch/network/host-gate.ts';
import { GitRedirects } from './fetch/git/git-redirects.ts';
import { OciClient } from './fetch/oci/oci-client.ts';
import { OciSources } from './fetch/oci/oci-sources.ts';
import { SourceFetcher } from './fetch/source-fetcher.ts';
import { GitRepositories } from './fetch/git/git-repositories.ts';
import { Submodules } from './fetch/git/submodules.ts';
import { TarballSources } from './fetch/tarballs.ts';
import { checkUrl } from './fetch/shared/input-checks.ts';
import { Verifier } from './fetch/signatures/verifier.ts';
import { WebClient } from './fetch/network/web-client.ts';
import type { ProxySettings } from './fetch/network/web-client.ts';
import { Generators } from './generate/generators.ts';
import { InputBudget } from './inputs/input-budget.ts';
import { ManifestReader } from './generate/manifest-reader.ts';
import { PluginGenerator } from './generate/plugins/plugins.ts';
import type { PluginConfig, PluginGeneratorDeps } from './generate/plugins/plugins.ts';
import { noPlugins } from './generate/plugins/source-plugins.ts';
import type { SourcePlugins } from './generate/plugins/source-plugins.ts';
import { RelatedFiles } from './generate/related-files.ts';
import { RenderTools } from './generate/tools.ts';
import { createCommitServerClient } from './hydrate/commit-server.ts';
import type { CommitServerDeps } from './hydrate/commit-server.ts';
import { GitCommitter } from './hydrate/git-committer.ts';
import { HydrationTexts } from './hydrate/hydration-texts.ts';
import type { HydrationCommitter } from './hydrate/types.ts';
import { defaultLimits } from './limits.ts';
import type { DesiredLimits, SourceOptionNames } from './limits.ts';
import { RepoServerPlugins } from './remote/plugins.ts';
import type { RemoteSourceDeps } from './remote/source.ts';
import { createFairRenderer, FairLimiter } from './render/fair.ts';
import { noRenderer } from './render/in-process.ts';
import type { Renderer } from './render/types.ts';
import { RenderedCache } from './rendered.ts';
import { EmbeddedSource } from './source.ts';
import type { DesiredSource } from './types.ts';

export interface DesiredSourceDeps {
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  /** Records a span for each source and render of traced work. Default: none. */
  readonly tracer?: Tracer | undefined;
  /**
   * A directory for this process alone: two replicas on one machine need two. It survives restarts,
   * and may be deleted whenever the process is stopped.
   */
  readonly cacheDir: string;
  readonly commands: CommandRunner;
  readonly limits?: Partial<DesiredLimits>;
  readonly trust?: Partial<GitTrust>;
  /**
   * Returns the keys that verify signatures, and waits until they are known. Without it, no
   * signature is good.
   */
  readonly keys?: (signal: AbortSignal) => Promise<PublicKeys>;
  /**
   * Runs helm, kustomize, jsonnet and the parser of big files. Without it no program is available.
   */
  readonly renderer?: Renderer;
  /** True: the renderer parses big manifests and indexes, instead of the main thread. */
  readonly parseInRenderer?: boolean;
  /** Config management plugins: {@link withPlugins}. Without it there are none. */
  readonly plugins?: PluginFactory;
  /** False: submodules are not fetched (ARGOCD_GIT_MODULES_ENABLED). */
  readonly submodules?: boolean;
  /**
   * False: repositories by file:// or absolute path are refused. Otherwise this process reads them
   * with its own rights.
   */
  readonly localRepositories?: boolean;
  /**
   * The controller's own addresses, and whether sources may lie there. Without it, the controller's
   * addresses are not denied, except loopback.
   */
  readonly reach?: SourceReach;
  /** Without it, messages name no option. */
  readonly optionNames?: SourceOptionNames | undefined;
  /**
   * This process's identity in Azure. Without it, a repository that needs a workload identity is
   * refused.
   */
  readonly azureWorkload?: AzureWorkload | undefined;
  /** User-Agent of requests for chart indexes and tags. */
  readonly helmUserAgent?: string | undefined;
  /** Without it, requests to Git servers are not measured. */
  readonly metrics?: MetricRegistry;
  /** The version of this program: manifests rendered by another version are not used. */
  readonly version?: string;
  /**
   * This process's proxies for all HTTP(S) requests except those of the git program. Without it,
   * such a request uses a proxy only if its repository has one.
   */
  readonly proxies?: ProxySettings;
}

/** Creates the embedded generator. The caller runs it, and the renderer. */
export function createDesiredSource(deps: DesiredSourceDeps): DesiredSource & Required<Pick<DesiredSource, 'verify'>> {
  const wiring: Wiring = { ...deps, limits: { ...defaultLimits, ...deps.limits } };
  const { clock, cacheDir, limits, localRepositories = true, optionNames } = wiring;
  const access = remoteAccess(wiring);
  const renderer = deps.renderer ?? noRenderer;
  const parser = deps.parseInRenderer === true ? new ParseProcess({ renderer, clock, limits }) : undefined;
  const repositories = new GitRepositories({
    clock,
    random: deps.random,
    cacheDir,
    git: access.git,
    limits,
    localRepositories,
    optionNames,
  });
  const unpacker = new Unpacker({ clock, limits, optionNames });
  const remotes = createRemotes(wiring, { ...access, repositories, parser, unpacker });
  return new EmbeddedSource({
    clock,
    logger: deps.logger,
    tracer: deps.tracer,
    version: deps.version ?? '',
    limits,
    repositories,
    remotes,
    relatedFiles: new RelatedFiles({ web: access.web, remotes, cacheDir, limits }),
    generators: createGenerators(wiring, { ...access, renderer, parser, unpacker }),
    verifier: createVerifier(wiring),
    rendered: new RenderedCache(wiring),
    failures: new PausedFailures(clock, limits),
    gpg: { commands: deps.commands, random: deps.random, cacheDir },
    renderSlots: new FairLimiter(clock, limits.parallelism),
  });
}

type PluginFactory = (parts: Omit<PluginGeneratorDeps, 'config' | 'remote'>) => SourcePlugins;

/**
 * Plugins by their sockets.
 * @param elsewhere Argo CD's repo-server, which renders the sources whose plugin no socket serves.
 * Without it such a source is refused.
 */
export function withPlugins(config: PluginConfig, elsewhere?: RemoteSourceDeps): PluginFactory {
  const remote = elsewhere && new RepoServerPlugins(elsewhere);
  return (parts) => new PluginGenerator({ ...parts, config, remote });
}

/** Creates the committer of hydrated manifests, with git clients of its own. The caller runs it. */
export function createGitCommitter(deps: DesiredSourceDeps): HydrationCommitter {
  const wiring: Wiring = { ...deps, limits: { ...defaultLimits, ...deps.limits } };
  const { git } = remoteAccess(omit(wiring, 'metrics'));
  return new GitCommitter({ ...wiring, git, texts: createHydrationTexts(deps) });
}

/** Creates the committer that writes through Argo CD's commit server. The caller runs it. */
export function createServerCommitter(
  deps: Pick<DesiredSourceDeps, 'clock' | 'renderer' | 'limits'>,
  server: Pick<CommitServerDeps, 'address' | 'userAgent'>,
): HydrationCommitter {
  return createCommitServerClient({ clock: deps.clock, ...server, texts: createHydrationTexts(deps) });
}

/** Creates the renderer of the hydrator's templates, which render one at a time. */
export function createHydrationTexts({
  clock,
  renderer = noRenderer,
  limits: given,
}: Pick<DesiredSourceDeps, 'clock' | 'renderer' | 'limits'>): HydrationTexts {
  const limits = { ...defaultLimits, ...given };
  const inputs = new InputBudget(clock, limits.inputBytes);
  return new HydrationTexts(
    new RenderTools({ renderer: createFairRenderer({ renderer, clock, slots: 1, inputs }), limits }),
  );
}

interface Wiring extends DesiredSourceDeps {
  readonly limits: DesiredLimits;
}

/** The clients for remote hosts. */
interface RemoteAccess {
  readonly web: WebClient;
  readonly git: Git;
  readonly tokens: CloudTokens;
}

function remoteAccess(wiring: Wiring): RemoteAccess {
  const { clock, cacheDir, limits, reach, optionNames, azureWorkload, proxies = {} } = wiring;
  const { deadlineMs, maxGitAllocationBytes: maxAllocationBytes } = limits;
  const trust = { ...defaultTrust, ...wiring.trust };
  const denied = new DeniedNetworks(limits.deniedNetworks, reach, optionNames);
  const hosts = new HostGate(limits.hostParallelism, denied, clock);
  const web = new WebClient({ clock, tlsCertificates: trust.tlsCertificates, proxies, hosts });
  const apps = new GitHubApps({ clock, web, deadlineMs, maxTokenMs: limits.githubTokenMs });
  const tokens = new CloudTokens({
    clock,
    web,
    deadlineMs,
    azureWorkload,
    maxPrincipalTokenMs: limits.azureTokenMs,
  });
  const redirects = new GitRedirects({ web, cacheDir });
  const measure = wiring.metrics === undefined ? {} : { measure: gitMetrics(wiring.metrics, clock) };
  return {
    web,
    tokens,
    git: new Git({
      ...wiring,
      ...measure,
      trust,
      hosts,
      redirects,
      apps,
      tokens,
      maxAllocationBytes,
      killDelayMs: limits.gitKillDelayMs,
    }),
  };
}

interface RemotesWiring extends RemoteAccess {
  readonly repositories: GitRepositories;
  readonly parser: ParseProcess | undefined;
  readonly unpacker: Unpacker;
}

function createRemotes(wiring: Wiring, remotes: RemotesWiring): SourceFetcher {
  const { web, repositories, parser, unpacker, tokens } = remotes;
  const { clock, cacheDir, random, limits } = wiring;
  const archives = new ArchiveCache({ cacheDir, clock, random, limits, unpacker });
  const indexes = new ChartIndexReader(parser);
  const { helmUserAgent: userAgent } = wiring;
  const client = new OciClient({ clock, web, azure: tokens, limits, userAgent });
  const { maxTreeBytes } = limits;
  return new SourceFetcher({
    git: repositories,
    charts: new ChartRepositories({ clock, web, archives, indexes, cacheDir, limits, userAgent }),
    oci: new OciSources({ clock, client, archives, limits }),
    tarballs: new TarballSources({ clock, web, archives, cacheDir, limits }),
    lfs: createLfs(wiring, remotes),
    submodules: wiring.submodules === false ? undefined : new Submodules({ repositories, cacheDir, maxTreeBytes }),
  });
}

/** An answer of git-lfs-authenticate. */
const maxGrantBytes = 65_536;

function createLfs({ clock, cacheDir, random, limits }: Wiring, { web, git }: RemoteAccess): Lfs {
  const root = join(cacheDir, 'lfs');
  const objects = new DiskCache({ root, clock, random, maxBytes: limits.archiveDiskBytes, maxAgeMs: Infinity });
  return new Lfs({
    web,
    objects,
    limits,
    cacheDir,
    withToken: withTokenBy(git, cacheDir),
    runOnServer: (command, { url, repository, stdin, maxBytes = maxGrantBytes }, signal) => {
      const run = { signal, timeoutMs: limits.deadlineMs, maxBytes, ...defined({ stdin }) };
      return git.runOnServer(command, { url, repository }, run);
    },
  });
}

interface GeneratorsWiring extends RemoteAccess {
  readonly renderer: Renderer;
  readonly parser: ParseProcess | undefined;
  readonly unpacker: Unpacker;
}

function createGenerators(wiring: Wiring, { git, renderer, parser, unpacker }: GeneratorsWiring): Generators {
  const { clock, logger, limits, cacheDir, optionNames } = wiring;
  const reader = new ManifestReader(parser);
  const inputs = new InputBudget(clock, limits.inputBytes, optionNames?.inputMemory);
  const fairRenderer = createFairRenderer({ renderer, clock, slots: limits.toolParallelism, inputs });
  const { sshKnownHosts } = { ...defaultTrust, ...wiring.trust };
  const withToken = withTokenBy(git, cacheDir);
  return new Generators({
    reader,
    limits,
    inputs,
    unpacker,
    logger,
    tools: new RenderTools({ renderer: fairRenderer, limits }),
    plugins: wiring.plugins?.({ ...wiring, inputs, reader, sshKnownHosts, withToken }) ?? noPlugins,
  });
}

function createVerifier({ clock, cacheDir, commands, logger, limits, ...wiring }: Wiring): Verifier {
  const keys = wiring.keys ?? (() => Promise.resolve({}));
  const keyring = new Keyring({ commands, cacheDir, logger, keys });
  return new Verifier({ clock, keyring, ttlMs: limits.verifiedTtlMs });
}

/** Replaces the App or cloud credentials of a repository by the token that git would use. */
function withTokenBy(git: Git, cacheDir: string): PluginGeneratorDeps['withToken'] {
  return (repository, signal) => git.withToken(checkUrl(repository.url, cacheDir), repository, signal);
}
