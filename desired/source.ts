import { join } from 'node:path';
import { hashJson, isAbort, Limiter, outsideText, Shutdown } from '#base';
import type { Clock, Json, Random } from '#base';
import type { ApplicationSource } from '#model';
import { isReferenceOnly, isSourcePermitted } from '#policy';
import type { Logger } from '#telemetry';
import { ParseProcess } from './command/parse-process.ts';
import type { CommandRunner } from './command/types.ts';
import { DesiredError, MirrorLost, SourceFailed } from './errors.ts';
import { Archives } from './fetch/archives.ts';
import { ChartIndexReader } from './fetch/chart-index.ts';
import { ChartRepositories } from './fetch/chart-repositories.ts';
import { CloudTokens } from './fetch/cloud-tokens.ts';
import type { AzureWorkload } from './fetch/cloud-tokens.ts';
import { DiskCache } from './fetch/disk-cache.ts';
import { Lfs } from './fetch/lfs.ts';
import { Tarballs } from './fetch/tarballs.ts';
import { defaultTrust, Git } from './fetch/git.ts';
import type { GitTrust } from './fetch/git.ts';
import { GitHubApps } from './fetch/github-apps.ts';
import { repositoryKey } from './fetch/repository-key.ts';
import type { Recency } from './fetch/git-repository.ts';
import { DeniedNetworks } from './fetch/denied-networks.ts';
import { Hosts } from './fetch/hosts.ts';
import { SharedJobs } from './fetch/jobs.ts';
import { Keyring } from './fetch/keyring.ts';
import type { PublicKeys } from './fetch/keyring.ts';
import { OciClient } from './fetch/oci-client.ts';
import { OciSources } from './fetch/oci-sources.ts';
import { pathOf, Remotes } from './fetch/remotes.ts';
import { GitRepositories } from './fetch/repositories.ts';
import { directoryAt } from './fetch/snapshot.ts';
import type { Snapshot } from './fetch/snapshot.ts';
import { relatedRepository, Submodules } from './fetch/submodules.ts';
import { checkRevision, checkUrl } from './fetch/untrusted.ts';
import { Verifier } from './fetch/verifier.ts';
import { Web } from './fetch/web.ts';
import type { Proxies } from './fetch/web.ts';
import { planKustomize } from './generate/kustomize.ts';
import { planHelm } from './generate/helm.ts';
import { referenced } from './generate/references.ts';
import type { KustomizeDeps as GeneratorDeps } from './generate/kustomize.ts';
import { Plugins } from './generate/plugins.ts';
import type { PluginConfig } from './generate/plugins.ts';
import { ManifestReader } from './generate/manifest-reader.ts';
import { Tools } from './generate/tools.ts';
import type { ToolLookup } from './generate/tools.ts';
import { Workplaces } from './fetch/checkout.ts';
import { checkSize, planDirectory } from './generate/directory.ts';
import type { Job, Plan, RemoteRepository } from './generate/plan.ts';
import { explicitType, optionsHash, overrideFiles, sourceTypeOf, withOverride } from './generate/source-type.ts';
import { PausedFailures } from './failures.ts';
import { RenderedCache } from './rendered.ts';
import { defaultLimits } from './limits.ts';
import type { DesiredLimits } from './limits.ts';
import type {
  DesiredSource,
  Manifests,
  ManifestsRequest,
  RequestedSource,
  SourceManifests,
  SourceType,
  Verified,
  VerifyRequest,
} from './types.ts';

export interface DesiredSourceDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** A directory for this process alone (two replicas on one machine need two); it survives restarts, and may be deleted at any stop. */
  readonly cacheDir: string;
  readonly commands: CommandRunner;
  readonly limits?: Partial<DesiredLimits>;
  readonly trust?: Partial<GitTrust>;
  /** The keys that signatures are verified with, as soon as they are known; without it there are none, and no signature is good. */
  readonly keys?: (signal: AbortSignal) => Promise<PublicKeys>;
  /** Where helm and kustomize lie on this machine; without it they are nowhere. */
  readonly tools?: ToolLookup;
  /** The program that reads big files of manifests and indexes, {@link parserProgram}; without it they are read on the main thread. */
  readonly parser?: string;
  /** Where config management plugins listen; without it there are none. */
  readonly plugins?: PluginConfig;
  /** False: submodules are not fetched (ARGOCD_GIT_MODULES_ENABLED). */
  readonly submodules?: boolean;
  /** False: repositories by file:// and by absolute paths are refused, which otherwise are read with the rights of this process. */
  readonly localRepositories?: boolean;
  /** Who this process is for Azure; without it, a repository that asks for a workload identity is refused. */
  readonly azureWorkload?: AzureWorkload | undefined;
  /** Of this program: what another version rendered is not used. */
  readonly version?: string;
  /** Of this process, for chart repositories and registries; without it, those are reached directly. */
  readonly proxies?: Proxies;
}

/**
 * The embedded generator (decision D12). A plain directory is read from the commit without a checkout, so that the revision in the answer
 * is by construction what was rendered (T-REV-1). What did not change between two commits is not rendered again.
 */
export function createDesiredSource(deps: DesiredSourceDeps): DesiredSource & Required<Pick<DesiredSource, 'verify'>> {
  return new EmbeddedSource(deps);
}

const tidyEveryMs = 3_600_000;

class EmbeddedSource implements DesiredSource {
  readonly name = 'desired';
  readonly #deps: DesiredSourceDeps;
  readonly #limits: DesiredLimits;
  readonly #repositories: GitRepositories;
  readonly #remotes: Remotes;
  readonly #jobs: SharedJobs<SourceManifests>;
  readonly #rendered: RenderedCache;
  readonly #failures: PausedFailures;
  readonly #renders: Limiter;
  readonly #generators: GeneratorDeps;
  readonly #plugins: Plugins;
  readonly #verifier: Verifier;
  readonly #verifications: SharedJobs<Verified>;

  constructor(deps: DesiredSourceDeps) {
    this.#deps = deps;
    this.#limits = { ...defaultLimits, ...deps.limits };
    const { clock, commands, random, cacheDir } = deps;
    const trust = { ...defaultTrust, ...deps.trust };
    const { hostParallelism, deniedNetworks } = this.#limits;
    const denied = deniedNetworks.length === 0 ? undefined : new DeniedNetworks(deniedNetworks);
    const hosts = new Hosts(hostParallelism, denied);
    const web = new Web({ tlsCertificates: trust.tlsCertificates, proxies: deps.proxies ?? {}, hosts });
    const apps = new GitHubApps({ clock, web, deadlineMs: this.#limits.deadlineMs });
    const { deadlineMs } = this.#limits;
    const tokens = new CloudTokens({ clock, web, deadlineMs, azureWorkload: deps.azureWorkload });
    const maxAllocationBytes = this.#limits.maxGitAllocationBytes;
    const git = new Git({ commands, random, cacheDir, trust, hosts, apps, tokens, maxAllocationBytes });
    const { localRepositories = true } = deps;
    this.#repositories = new GitRepositories({ clock, cacheDir, git, limits: this.#limits, localRepositories });
    const parser =
      deps.parser === undefined
        ? undefined
        : new ParseProcess({ commands, limits: this.#limits, program: deps.parser });
    this.#remotes = this.#remotesOf(web, git, parser);
    this.#jobs = new SharedJobs({ clock, limitMs: this.#limits.deadlineMs });
    this.#rendered = new RenderedCache({ ...deps, limits: this.#limits });
    this.#failures = new PausedFailures(clock, this.#limits);
    this.#renders = new Limiter(this.#limits.parallelism);
    const reader = new ManifestReader(parser);
    this.#generators = {
      reader,
      tools: new Tools({ commands, lookup: deps.tools ?? (() => undefined), limits: this.#limits }),
      places: new Workplaces({ cacheDir, random }),
      limits: this.#limits,
    };
    const config = deps.plugins ?? { sockets: '/nonexistent', exclusions: [] };
    this.#plugins = new Plugins({
      clock,
      random,
      limits: this.#limits,
      reader,
      config,
      withToken: (repository, signal) => git.withToken(checkUrl(repository.url, cacheDir), repository, signal),
    });
    const keys = deps.keys ?? (() => Promise.resolve({}));
    const keyring = new Keyring({ commands, cacheDir, logger: deps.logger, keys });
    this.#verifier = new Verifier({ clock, keyring, ttlMs: this.#limits.verifiedTtlMs });
    this.#verifications = new SharedJobs({ clock, limitMs: this.#limits.deadlineMs });
  }

  #remotesOf(web: Web, git: Git, parser: ParseProcess | undefined): Remotes {
    const { clock, cacheDir, random } = this.#deps;
    const archives = new Archives({ cacheDir, clock, random, limits: this.#limits });
    const indexes = new ChartIndexReader(parser);
    const charts = new ChartRepositories({ clock, web, archives, indexes, cacheDir, limits: this.#limits });
    const client = new OciClient({ clock, web, limits: this.#limits });
    const oci = new OciSources({ clock, client, archives, limits: this.#limits });
    const submodules =
      this.#deps.submodules === false
        ? undefined
        : new Submodules({ repositories: this.#repositories, cacheDir, maxTreeBytes: this.#limits.maxTreeBytes });
    const tarballs = new Tarballs({ clock, web, archives, cacheDir, limits: this.#limits });
    return new Remotes({ git: this.#repositories, charts, oci, tarballs, lfs: this.#lfsOf(web, git), submodules });
  }

  #lfsOf(web: Web, git: Git): Lfs {
    const { clock, cacheDir, random } = this.#deps;
    const objects = new DiskCache({
      root: join(cacheDir, 'lfs'),
      clock,
      random,
      maxBytes: this.#limits.archiveDiskBytes,
      maxAgeMs: Infinity,
    });
    return new Lfs({
      web,
      objects,
      limits: this.#limits,
      cacheDir,
      withToken: (repository, signal) => git.withToken(checkUrl(repository.url, cacheDir), repository, signal),
    });
  }

  /** Ends all work when the signal aborts. Requests are served before and without it. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#tidyUntil(signal);
    const reason = new Shutdown();
    this.#jobs.stop(reason);
    this.#verifications.stop(reason);
    this.#remotes.stop(reason);
  }

  /** Ages pass without anybody fetching. */
  async #tidyUntil(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#repositories.tidy();
      await this.#deps.clock.sleep(tidyEveryMs, signal).catch(() => undefined);
    }
  }

  async resolve(at: RequestedSource, noCache: boolean, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    return this.#remotes.resolve(at, noCache ? Infinity : undefined, signal);
  }

  async verify(request: VerifyRequest, signal: AbortSignal): Promise<Verified> {
    signal.throwIfAborted();
    checkRevision(request.revision);
    checkRevision(request.targetRevision ?? '');
    const repository = this.#repositories.of(request.repository);
    const key = JSON.stringify([repository.key, { ...request, repository: undefined }]);
    const what = `verifying the signatures of ${request.revision === '' ? 'HEAD' : request.revision}`;
    return this.#verifications.run(key, what, signal, (work) =>
      this.#renders.run(work, () => this.#againIfLost(() => this.#verifier.verify(repository, request, work))),
    );
  }

  async manifests(request: ManifestsRequest, signal: AbortSignal): Promise<Manifests> {
    signal.throwIfAborted();
    // One revision for each source, whoever reads it: a chart whose values lie in another source must see what the answer says of that.
    const pinned = await this.#each(request, signal, async (at) => {
      pathOf(at);
      return { ...at, revision: await this.#remotes.resolve(at, recencyOf(request), signal) };
    });
    const fixed = { ...request, sources: pinned };
    return { sources: await this.#each(fixed, signal, (at) => this.#one(fixed, at, signal)) };
  }

  /** One after the other. @throws SourceFailed */
  async #each<T>(
    { sources }: ManifestsRequest,
    signal: AbortSignal,
    body: (at: RequestedSource) => Promise<T>,
  ): Promise<T[]> {
    const results: T[] = [];
    for (const [index, at] of sources.entries())
      results.push(
        await body(at).catch((error: unknown) => {
          throw isAbort(error) || signal.aborted ? error : new SourceFailed(index, error);
        }),
      );
    return results;
  }

  async #one(request: ManifestsRequest, at: RequestedSource, signal: AbortSignal): Promise<SourceManifests> {
    const segments = pathOf(at);
    const { revision } = at;
    // A source that is only referred to by others renders nothing, but its revision is part of the answer.
    if (isReferenceOnly(at.source)) return { objects: [], revision, sourceType: '' };
    const { chart = '' } = at.source;
    const parts = [repositoryKey(at.repository), chart, revision, segments, optionsHash(at.source), inputsOf(request)];
    const key = hashJson(parts);
    if (!request.noCache) this.#failures.check(key);
    const what = `rendering ${at.source.path ?? '.'} at ${revision}`;
    return this.#jobs.run(`${key} ${String(request.noCache)}`, what, signal, (work) =>
      this.#againIfLost(() => this.#render(request, at, { key, segments }, work)),
    );
  }

  async #againIfLost<T>(body: () => Promise<T>): Promise<T> {
    try {
      return await body();
    } catch (error) {
      if (!(error instanceof MirrorLost)) throw error;
      this.#deps.logger.warn('The mirror of a repository was damaged; fetching it again', { error });
      return body();
    }
  }

  async #render(
    request: ManifestsRequest,
    at: RequestedSource,
    where: { readonly key: string; readonly segments: readonly string[] },
    signal: AbortSignal,
  ): Promise<SourceManifests> {
    const snapshot = await this.#remotes.snapshot(at, at.revision, request.noCache, signal);
    try {
      const manifests = await this.#generate(request, at, { snapshot, segments: where.segments }, signal);
      this.#failures.succeeded(where.key);
      return manifests;
    } catch (error) {
      if (!signal.aborted) this.#failures.failed(where.key, error);
      throw error;
    }
  }

  async #generate(
    request: ManifestsRequest,
    at: RequestedSource,
    { snapshot, segments }: { readonly snapshot: Snapshot; readonly segments: readonly string[] },
    signal: AbortSignal,
  ): Promise<SourceManifests> {
    const shown = segments.length === 0 ? '.' : (at.source.path ?? '.');
    const directory = directoryAt(snapshot.tree, segments, shown);
    const source = await this.#effectiveSource(request, at.source, { snapshot, segments }, signal);
    const reference = (name: string, inner: AbortSignal): Promise<Snapshot> => this.#reference(request, name, inner);
    const remote: Job['remote'] = (wanted, inner) => this.#remote(request, at, wanted, inner);
    const job = { request, source, snapshot, segments, directory, reference, remote, repository: at.repository };
    const type = await this.#typeOf(job, signal);
    const plan = await this.#plan(type, job, signal);
    const { revision } = snapshot;
    const { version = '' } = this.#deps;
    const key = hashJson([version, type, snapshot.key, ...plan.key] as unknown as Json);
    const cached = request.noCache ? undefined : await this.#rendered.get(key);
    if (cached !== undefined) return { objects: cached, revision, sourceType: type };
    const rendered = await this.#renders.run(signal, () => plan.render(signal));
    await this.#rendered.set(key, rendered);
    return { objects: rendered.objects, revision, sourceType: type };
  }

  /** A plugin that knows the source comes before what is found in its directory. */
  async #typeOf(job: Job, signal: AbortSignal): Promise<SourceType> {
    const isOpen = explicitType(job.source) === undefined;
    if (isOpen && (await this.#plugins.discover(job, signal)) !== undefined) return 'Plugin';
    return sourceTypeOf(job.source, job.directory, job.request.options.enabledTypes);
  }

  async #plan(type: SourceType, job: Job, signal: AbortSignal): Promise<Plan> {
    switch (type) {
      case 'Directory':
        return planDirectory(job, { ...this.#generators, logger: this.#deps.logger }, signal);
      case 'Kustomize':
        return planKustomize(job, this.#generators, signal);
      case 'Helm':
        return planHelm(job, this.#generators, signal);
      case 'Plugin':
        return this.#plugins.plan(job, signal);
    }
  }

  /** With the credentials of the source's own repository where both have one origin, as Argo CD gives them to kustomize. */
  async #remote(
    request: ManifestsRequest,
    { repository: parent }: RequestedSource,
    { url, revision }: RemoteRepository,
    signal: AbortSignal,
  ): Promise<Snapshot> {
    const { cacheDir } = this.#deps;
    const { repositories, project } = request;
    const { sourceRepos } = repositories;
    if (sourceRepos !== undefined && !permits(sourceRepos, project, url))
      throw new DesiredError(
        'DESIRED_SOURCE',
        `the remote base ${outsideText('url', url)} is not permitted in project '${project}': its sourceRepos must name it`,
        { retry: 'never' },
      );
    const repository = relatedRepository(parent, url, cacheDir);
    const source = { repoURL: url };
    const commit = await this.#remotes.resolve({ source, repository, revision }, recencyOf(request), signal);
    return this.#remotes.snapshot({ source, repository }, commit, request.noCache, signal);
  }

  /** The files of another source (Argo CD: resolveReferencedSources). */
  async #reference(request: ManifestsRequest, name: string, signal: AbortSignal): Promise<Snapshot> {
    const at = referenced(request, name);
    return this.#remotes.snapshot(at, at.revision, request.noCache, signal);
  }

  async #effectiveSource(
    request: ManifestsRequest,
    spec: ApplicationSource,
    where: { readonly snapshot: Snapshot; readonly segments: readonly string[] },
    signal: AbortSignal,
  ): Promise<ApplicationSource> {
    const files = overrideFiles(where.snapshot.tree, where.segments, request.appName);
    const nodes = files.map((file) => file.node);
    checkSize(
      nodes.map((node) => node.size),
      this.#limits.maxManifestBytes,
    );
    const contents = await where.snapshot.read(nodes, signal);
    let source = spec;
    for (const { name, node } of files)
      source = withOverride(source, name, Buffer.from(contents.get(node.oid) ?? []).toString('utf8'));
    return source;
  }
}

function permits(sourceRepos: readonly string[], name: string, url: string): boolean {
  const apiVersion = 'argoproj.io/v1alpha1';
  return isSourcePermitted({ apiVersion, kind: 'AppProject', metadata: { name }, spec: { sourceRepos } }, url);
}

/** An answer about revisions must be newer than this. */
function recencyOf({ noRevisionCache, revisionsSince = Infinity }: ManifestsRequest): Recency {
  return noRevisionCache ? revisionsSince : undefined;
}

/** What requests for one source may differ in, beside the source itself. */
function inputsOf(request: ManifestsRequest): string {
  const { appName, namespace, project, cluster, options } = request;
  let versions = versionHashes.get(cluster.apiVersions);
  if (versions === undefined) versionHashes.set(cluster.apiVersions, (versions = hashJson(cluster.apiVersions)));
  const others = request.sources.map(({ source, revision }) => [source.ref, source.repoURL, revision]);
  return JSON.stringify([...[appName, namespace, project, cluster.kubeVersion, versions], options, others]);
}

/** A cluster's list is long, and one and the same for all its applications. */
const versionHashes = new WeakMap<readonly string[], string>();
