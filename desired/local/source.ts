import { aborted, Limiter, Shutdown, yieldToLoop } from '#base';
import type { Clock, Random } from '#base';
import type { ApplicationSource, KubeObject, Repository } from '#model';
import type { Logger } from '#telemetry';
import type { CommandRunner } from '../command/types.ts';
import { DesiredError, MirrorLost, SourcePathError, UnsupportedSource } from '../errors.ts';
import type { DesiredSource, Manifests, ManifestsRequest, Verified, VerifyRequest } from '../types.ts';
import { candidatesOf, checkSize, render } from './directory.ts';
import type { DirectoryScope } from './directory.ts';
import type { ManifestFile } from './documents.ts';
import { defaultTrust, Git } from './git.ts';
import type { GitTrust } from './git.ts';
import { GitRepository, repositoryKey } from './git-repository.ts';
import { SharedJobs } from './jobs.ts';
import { Keyring } from './keyring.ts';
import type { PublicKeys } from './keyring.ts';
import { defaultLimits } from './limits.ts';
import type { DesiredLimits } from './limits.ts';
import { Lru } from './lru.ts';
import { optionsHash, overrideFiles, refuseRemoteTypes, requireDirectory, withOverride } from './source-type.ts';
import type { DirectoryNode, Tree } from './tree.ts';
import { checkAppPath, checkRevision, checkUrl } from './untrusted.ts';
import { Verifier } from './verifier.ts';

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
}

/**
 * The embedded generator: plain directories of Git repositories (decision D12). Nothing is checked out: files are read from the commit, so
 * that the revision in the answer is by construction what was rendered (T-REV-1). A directory whose files did not change between two
 * commits is not rendered again.
 */
export function createDesiredSource(deps: DesiredSourceDeps): DesiredSource {
  return new LocalSource(deps);
}

/** What is rendered: a commit (or a tag object), and the application's directory in it. */
interface RenderAt {
  readonly sha: string;
  readonly segments: readonly string[];
}

/** Repositories that are remembered, as far as nobody is using them; their mirrors stay on disk. */
const rememberedRepositories = 4096;

class LocalSource implements DesiredSource {
  readonly name = 'desired';
  readonly #deps: DesiredSourceDeps;
  readonly #limits: DesiredLimits;
  readonly #git: Git;
  readonly #repositories = new Map<string, GitRepository>();
  readonly #jobs: SharedJobs<Manifests>;
  readonly #rendered: Lru<readonly KubeObject[]>;
  readonly #renders: Limiter;
  readonly #verifier: Verifier;
  readonly #verifications: SharedJobs<Verified>;

  constructor(deps: DesiredSourceDeps) {
    this.#deps = deps;
    this.#limits = { ...defaultLimits, ...deps.limits };
    const { commands, random, cacheDir } = deps;
    this.#git = new Git({ commands, random, cacheDir, trust: { ...defaultTrust, ...deps.trust } });
    this.#jobs = new SharedJobs({ clock: deps.clock, limitMs: this.#limits.deadlineMs });
    this.#rendered = new Lru(this.#limits.cacheBytes);
    this.#renders = new Limiter(this.#limits.parallelism);
    const keys = deps.keys ?? (() => Promise.resolve({}));
    const keyring = new Keyring({ commands, cacheDir, logger: deps.logger, keys });
    this.#verifier = new Verifier({ clock: deps.clock, keyring, ttlMs: this.#limits.verifiedTtlMs });
    this.#verifications = new SharedJobs({ clock: deps.clock, limitMs: this.#limits.deadlineMs });
  }

  /** Ends all work when the signal aborts. Requests are served before and without it. */
  async run(signal: AbortSignal): Promise<void> {
    await aborted(signal);
    const reason = new Shutdown();
    this.#jobs.stop(reason);
    this.#verifications.stop(reason);
    for (const repository of this.#repositories.values()) repository.stop(reason);
  }

  async resolve(repository: Repository, revision: string, noCache: boolean, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    checkRevision(revision);
    return this.#repository(repository).resolve(revision, noCache, signal);
  }

  async verify(request: VerifyRequest, signal: AbortSignal): Promise<Verified> {
    signal.throwIfAborted();
    checkRevision(request.revision);
    checkRevision(request.targetRevision ?? '');
    const repository = this.#repository(request.repository);
    const key = JSON.stringify([repository.key, { ...request, repository: undefined }]);
    const what = `verifying the signatures of ${request.revision === '' ? 'HEAD' : request.revision}`;
    return this.#verifications.run(key, what, signal, (work) =>
      this.#renders.run(work, () => this.#againIfLost(() => this.#verifier.verify(repository, request, work))),
    );
  }

  async manifests(request: ManifestsRequest, signal: AbortSignal): Promise<Manifests> {
    signal.throwIfAborted();
    const { source, repository, revision } = request;
    refuseRemoteTypes(source);
    checkRevision(revision);
    const segments = checkAppPath(source.path ?? '');
    const sha = await this.resolve(repository, revision, request.noRevisionCache, signal);
    const key = [repositoryKey(repository), sha, segments.join('/'), optionsHash(source), request.appName];
    return this.#jobs.run(
      JSON.stringify([...key, request.noCache]),
      `rendering ${source.path ?? '.'} at ${sha}`,
      signal,
      (work) => this.#againIfLost(() => this.#render(request, { sha, segments }, work)),
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

  async #render(request: ManifestsRequest, at: RenderAt, signal: AbortSignal): Promise<Manifests> {
    const repository = this.#repository(request.repository);
    const revision = await repository.ensureCommit(at.sha, signal);
    const tree = await repository.tree(revision, request.noCache, signal);
    const link = tree.outOfBoundsLink();
    if (link !== undefined)
      throw new DesiredError('DESIRED_PATH', `repository contains out-of-bounds symlinks. file: ${link}`);
    const directory = directoryAt(tree, at.segments, request.source.path ?? '.');
    const source = await this.#effectiveSource(request, { repository, tree, segments: at.segments }, signal);
    const cacheKey = JSON.stringify([
      repository.key,
      // Links may lead anywhere in the commit; without any, a directory is its tree.
      tree.links.length > 0 || directory.oid === '' ? revision : directory.oid,
      at.segments,
      optionsHash(source),
    ]);
    const cached = request.noCache ? undefined : this.#rendered.get(cacheKey);
    if (cached !== undefined) return { objects: cached, revision, sourceType: 'Directory' };
    requireDirectory(source, directory, request.source.path ?? '.');
    const scope: DirectoryScope = { tree, segments: at.segments, directory, options: source.directory ?? {} };
    const { objects, bytes } = await this.#renders.run(signal, () => this.#objectsOf(scope, repository, signal));
    this.#rendered.set(cacheKey, objects, bytes);
    return { objects, revision, sourceType: 'Directory' };
  }

  async #effectiveSource(
    request: ManifestsRequest,
    where: { repository: GitRepository; tree: Tree; segments: readonly string[] },
    signal: AbortSignal,
  ): Promise<ApplicationSource> {
    const files = overrideFiles(where.tree, where.segments, request.appName);
    const nodes = files.map((file) => file.node);
    checkSize(
      nodes.map((node) => node.size),
      this.#limits.maxManifestBytes,
    );
    const contents = await where.repository.read(nodes, signal);
    let source = request.source;
    for (const { name, node } of files)
      source = withOverride(source, name, Buffer.from(contents.get(node.oid) ?? []).toString('utf8'));
    return source;
  }

  async #objectsOf(
    scope: DirectoryScope,
    repository: GitRepository,
    signal: AbortSignal,
  ): Promise<{ objects: readonly KubeObject[]; bytes: number }> {
    const candidates = candidatesOf(scope, this.#deps.logger);
    const sizes = candidates.map((candidate) => candidate.file.size);
    // Files that ask not to be rendered do not count, but must be read to know: so far beyond the limit nothing is read at all.
    checkSize(sizes, this.#limits.maxManifestBytes * 4);
    const contents = await repository.read(
      candidates.map((candidate) => candidate.file),
      signal,
    );
    const files: ManifestFile[] = candidates.map(({ path, name, file }) => ({
      path: [...scope.segments, path].join('/'),
      name,
      content: contents.get(file.oid) ?? new Uint8Array(),
    }));
    const objects: KubeObject[] = [];
    for (const some of render(files, this.#limits)) {
      objects.push(...some);
      await yieldToLoop();
      signal.throwIfAborted();
    }
    return { objects, bytes: sizes.reduce((sum, size) => sum + size, 256) };
  }

  /** Never one in use: two objects for one mirror would not know of each other's locks. */
  #forgetIdle(): void {
    for (const [key, repository] of this.#repositories) {
      if (this.#repositories.size < rememberedRepositories) return;
      if (repository.idle) this.#repositories.delete(key);
    }
  }

  #repository(repository: Repository): GitRepository {
    if (repository.type !== 'git') throw new UnsupportedSource(`repositories of type ${repository.type}`);
    const key = repositoryKey(repository);
    const known = this.#repositories.get(key);
    if (known !== undefined) return known;
    const { clock, cacheDir } = this.#deps;
    const deps = { clock, cacheDir, git: this.#git, limits: this.#limits };
    const created = new GitRepository(deps, checkUrl(repository.url, cacheDir), repository);
    this.#forgetIdle();
    this.#repositories.set(key, created);
    return created;
  }
}

function directoryAt(tree: Tree, segments: readonly string[], shown: string): DirectoryNode {
  const found = tree.lookup(segments);
  if (found.kind === 'outside') throw new SourcePathError(`${shown}: app path outside root`);
  if (found.kind === 'missing') throw new SourcePathError(`${shown}: app path does not exist`);
  if (found.node.kind === 'submodule') throw new UnsupportedSource(`Git submodules ("${shown}")`);
  if (found.node.kind === 'file') throw new SourcePathError(`${shown}: app path is not a directory`);
  return found.node;
}
