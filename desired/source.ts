import { hashJson, isAbort, outsideText, Shutdown, tenantOf } from '#base';
import type { Clock, Json } from '#base';
import type { Repository } from '#model';
import { isReferenceOnly } from '#policy';
import { noTracer } from '#telemetry';
import type { Logger, Tracer } from '#telemetry';
import { ClosedAnswers, observeFetches } from './closed-answers.ts';
import { CommandError, MirrorLost, SourceFailed } from './errors.ts';
import type { PausedFailures } from './failures.ts';
import { FileDecryption, refuseEncrypted } from './decrypt/file-decryption.ts';
import { GpgKeys } from './decrypt/gpg-keys.ts';
import type { GpgKeysDeps } from './decrypt/gpg-keys.ts';
import { asDiskFailure } from './fetch/shared/disk-failure.ts';
import { SharedJobs } from './fetch/shared/shared-jobs.ts';
import { isGitSource, pathOf } from './fetch/source-fetcher.ts';
import type { SourceFetcher } from './fetch/source-fetcher.ts';
import type { GitRepositories } from './fetch/git/git-repositories.ts';
import { repositoryKey } from './fetch/shared/repository-key.ts';
import { directoryAt } from './fetch/files/snapshot.ts';
import type { Snapshot } from './fetch/files/snapshot.ts';
import { checkRevision } from './fetch/shared/input-checks.ts';
import type { Verifier } from './fetch/signatures/verifier.ts';
import type { Generators } from './generate/generators.ts';
import type { DryCommit } from './hydrate/dry-commit.ts';
import { differsAt, readDryCommit } from './hydrate/read-dry.ts';
import { withOverrideFiles } from './generate/override-files.ts';
import type { RenderJob } from './generate/plan.ts';
import { mustRerender, recencyOf, withPermitted } from './generate/related-files.ts';
import type { RelatedFiles } from './generate/related-files.ts';
import { optionsHash } from './generate/source-type.ts';
import type { DesiredLimits } from './limits.ts';
import type { FairLimiter } from './render/fair.ts';
import type { CachedManifests, RenderedCache } from './rendered.ts';
import { traceSource } from './source-spans.ts';
import type {
  CachePolicy,
  CommitChange,
  CommitFacts,
  DesiredSource,
  Manifests,
  ManifestsRequest,
  RequestedSource,
  SourceManifests,
  VerifiedRevision,
  VerifyRequest,
} from './types.ts';

/** The parts that `assembly.ts` builds. */
export interface EmbeddedSourceDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tracer?: Tracer | undefined;
  /** The version of this program: manifests rendered by another version are not used. */
  readonly version: string;
  readonly limits: DesiredLimits;
  readonly repositories: GitRepositories;
  readonly remotes: SourceFetcher;
  readonly relatedFiles: RelatedFiles;
  readonly generators: Generators;
  readonly verifier: Verifier;
  readonly rendered: RenderedCache;
  readonly failures: PausedFailures;
  /** Where gpg runs to decrypt files. */
  readonly gpg: GpgKeysDeps;
  /** Slots for renders of all repositories, and for verifying signatures. */
  readonly renderSlots: FairLimiter;
}

/** The fetched files of a source, and its directory in them. */
interface SourceFiles {
  readonly snapshot: Snapshot;
  readonly segments: readonly string[];
}

/** A source to render, and the plugins present when it was requested. */
interface RenderOrder {
  readonly key: string;
  readonly segments: readonly string[];
  readonly plugins: readonly string[];
  readonly noteWait: (server: string) => void;
}

interface ObservedJob {
  readonly job: RenderJob;
  /** So far, no files came from outside the repository. */
  readonly isClosed: () => boolean;
}

const tidyIntervalMs = 3_600_000;

/**
 * The embedded generator. Files are read from the pinned revision itself, not from a shared
 * checkout, so the revision in the answer is always the one that was rendered. A source whose files
 * are the same in two commits is not rendered again.
 */
export class EmbeddedSource implements DesiredSource {
  readonly name = 'desired';
  readonly #deps: EmbeddedSourceDeps;
  readonly #jobs: SharedJobs<SourceManifests>;
  readonly #verifications: SharedJobs<VerifiedRevision>;
  readonly #closed: ClosedAnswers;

  constructor(deps: EmbeddedSourceDeps) {
    this.#deps = deps;
    const { clock, limits } = deps;
    this.#closed = new ClosedAnswers(clock);
    this.#jobs = new SharedJobs({ clock, limitMs: limits.deadlineMs });
    this.#verifications = new SharedJobs({ clock, limitMs: limits.deadlineMs });
  }

  /**
   * Removes leftovers and expired mirrors; stops all work when the signal aborts. Requests work
   * without it.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { generators, logger } = this.#deps;
    await Promise.all([generators.clear(), GpgKeys.clear(this.#deps.gpg.cacheDir)]).catch((error: unknown) => {
      logger.warn('Files with credentials that an earlier process left cannot be removed', { error });
    });
    await Promise.all([this.#tidyUntil(signal), generators.run(signal)]);
    const reason = new Shutdown();
    this.#jobs.stop(reason);
    this.#verifications.stop(reason);
    this.#deps.remotes.stop(reason);
  }

  /** Mirrors expire even if nothing is fetched. */
  async #tidyUntil(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#deps.repositories.tidy().catch((error: unknown) => {
        this.#deps.logger.warn('Mirrors of repositories that are too old or too big cannot be removed', { error });
      });
      await this.#deps.clock.sleep(tidyIntervalMs, signal).catch(() => undefined);
    }
  }

  async resolve(at: RequestedSource, revision: CachePolicy['revision'], signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    return this.#deps.remotes.resolve(at, recencyOf(revision), signal);
  }

  async dryCommit(repository: Repository, sha: string, signal: AbortSignal): Promise<DryCommit> {
    const from = this.#deps.repositories.of(repository);
    return this.#retryLostMirror(repository, async () =>
      readDryCommit(from, await from.ensureCommit(sha, signal), signal),
    );
  }

  async hasChanges({ repository, from, to, paths }: CommitChange, signal: AbortSignal): Promise<boolean> {
    const { repositories } = this.#deps;
    const [before, after] = await Promise.all(
      [from, to].map((sha) => repositories.snapshot(repository, sha, false, signal)),
    );
    return before === undefined || after === undefined || differsAt(before.tree, after.tree, paths);
  }

  async describe(at: RequestedSource, signal: AbortSignal): Promise<CommitFacts | undefined> {
    signal.throwIfAborted();
    return this.#deps.remotes.describe(at, at.revision, signal);
  }

  async verify(request: VerifyRequest, signal: AbortSignal): Promise<VerifiedRevision> {
    signal.throwIfAborted();
    checkRevision(request.revision);
    checkRevision(request.targetRevision ?? '');
    const { repositories, verifier, renderSlots } = this.#deps;
    const repository = repositories.of(request.repository);
    const { revision, manifests } = request.cache;
    const question = { ...request, repository: undefined, cache: [revision === 'cached', manifests] };
    const key = JSON.stringify([repository.key, question]);
    const what = `verifying the signatures of ${request.revision === '' ? 'HEAD' : request.revision}`;
    return this.#verifications.run(key, what, signal, (work) =>
      renderSlots.run({ project: '', repository: repository.key }, work, () =>
        this.#retryLostMirror(request.repository, () => verifier.verify(repository, request, work)),
      ),
    );
  }

  async manifests(request: ManifestsRequest, signal: AbortSignal): Promise<Manifests> {
    signal.throwIfAborted();
    // Pin every revision first: a chart whose values lie in another source must use the revision
    // that the answer reports.
    const pinned = await this.#each(request, signal, async (at) => {
      pathOf(at);
      return { ...at, revision: await this.#deps.remotes.resolve(at, recencyOf(request.cache.revision), signal) };
    });
    const fixed = { ...request, sources: pinned };
    const { tracer } = this.#deps;
    const sources = await this.#each(fixed, signal, (at, index) =>
      traceSource(tracer, at, index, () => this.#renderOnce(fixed, at, signal)),
    );
    return { sources };
  }

  /** Handles the sources one after the other. @throws SourceFailed */
  async #each<T>(
    { sources }: ManifestsRequest,
    signal: AbortSignal,
    body: (at: RequestedSource, index: number) => Promise<T>,
  ): Promise<T[]> {
    const results: T[] = [];
    for (const [index, at] of sources.entries())
      results.push(
        await body(at, index).catch((error: unknown) => {
          throw isAbort(error) || signal.aborted
            ? error
            : new SourceFailed(index, asDiskFailure(error, reading(at.repository)));
        }),
      );
    return results;
  }

  /** Renders a pinned source. Concurrent equal requests share one render. */
  async #renderOnce(request: ManifestsRequest, at: RequestedSource, signal: AbortSignal): Promise<SourceManifests> {
    const segments = pathOf(at);
    const { revision } = at;
    // A source that others only refer to renders nothing, but the answer includes its revision.
    if (isReferenceOnly(at.source)) return { objects: [], revision, sourceType: '' };
    const { chart = '' } = at.source;
    const parts = [repositoryKey(at.repository), chart, revision, segments, optionsHash(at.source), inputsOf(request)];
    const key = hashJson(parts);
    const rerenders = mustRerender(request);
    this.#deps.failures.check(key, rerenders, tenantOf(signal).project);
    const plugins = await this.#deps.generators.plugins();
    const closed = rerenders ? undefined : this.#closed.get(key, plugins);
    if (closed !== undefined) return closed;
    let by = '';
    const noteWait = (server: string): void => {
      by = server === '' ? '' : ` by ${server}`;
    };
    const what = (): string => `rendering ${at.source.path ?? '.'} at ${revision}${by}`;
    const order = { key, segments, plugins, noteWait };
    return this.#jobs.run(`${key} ${String(rerenders)}`, what, signal, (work) =>
      this.#retryLostMirror(at.repository, () => this.#render(request, at, order, work)),
    );
  }

  async #retryLostMirror<T>(repository: Repository, body: () => Promise<T>): Promise<T> {
    try {
      return await body();
    } catch (error) {
      if (!(error instanceof MirrorLost)) throw asDiskFailure(error, reading(repository));
      this.#deps.logger.warn('The mirror of a repository was damaged; fetching it again', { error });
      return body();
    }
  }

  async #render(
    request: ManifestsRequest,
    at: RequestedSource,
    { key, segments, plugins, noteWait }: RenderOrder,
    signal: AbortSignal,
  ): Promise<SourceManifests> {
    const { remotes, failures } = this.#deps;
    const snapshot = await remotes.snapshot(withPermitted(request, at), at.revision, mustRerender(request), signal);
    try {
      const { job, isClosed } = await this.#jobOf(request, at, { snapshot, segments }, signal);
      const manifests = await this.#generate({ ...job, noteWait }, signal).finally(() => job.decryption.close());
      failures.succeeded(key);
      const isPinned = isGitSource(at) && manifests.sourceType !== 'Plugin';
      if (isPinned && isClosed()) this.#closed.set(key, plugins, manifests, tenantOf(signal).project);
      return manifests;
    } catch (error) {
      // After the deadline only the failure of a program counts: waiting for a slot is not the
      // source's fault.
      if (!signal.aborted || error instanceof CommandError) failures.failed(key, error, tenantOf(signal).project);
      throw error;
    }
  }

  async #jobOf(
    request: ManifestsRequest,
    at: RequestedSource,
    { snapshot, segments }: SourceFiles,
    signal: AbortSignal,
  ): Promise<ObservedJob> {
    const { limits, relatedFiles } = this.#deps;
    const shown = segments.length === 0 ? '.' : (at.source.path ?? '.');
    const directory = directoryAt(snapshot.tree, segments, shown);
    const overridden = { snapshot, segments, appName: request.appName };
    const source = await withOverrideFiles(at.source, overridden, limits.maxManifestBytes, signal);
    const { fetches, isClosed } = observeFetches(relatedFiles.forSource(request, at, source));
    const decryption = new FileDecryption(this.#deps.gpg, request.decryption);
    const job = { request, source, repository: at.repository, snapshot, segments, directory, decryption, ...fetches };
    return { job, isClosed };
  }

  async #generate(job: RenderJob, signal: AbortSignal): Promise<SourceManifests> {
    const { generators, rendered, renderSlots, version } = this.#deps;
    const { request, repository, snapshot } = job;
    const { revision } = snapshot;
    const sourceType = await generators.typeOf(job, signal);
    const plan = await generators.plan(sourceType, job, signal);
    const parts = [version, sourceType, snapshot.key, ...plan.key, ...decryptionKey(request)];
    const key = hashJson(parts as unknown as Json);
    const owner = tenantOf(signal).project;
    const cached = mustRerender(request) ? undefined : await rendered.get(key, owner);
    if (cached !== undefined) return answerOf(key, cached, { revision, sourceType });
    const share = { project: request.project, repository: repositoryKey(repository) };
    const { tracer = noTracer } = this.#deps;
    const manifests = await tracer.span('desired.render', { 'argocd.source.type': sourceType }, () =>
      renderSlots.run(share, signal, () => plan.render(signal)),
    );
    refuseEncrypted(manifests.objects, request.decryption);
    const isSecret = job.decryption.hasDecrypted;
    return answerOf(key, await rendered.set(key, { ...manifests, isSecret }, owner), { revision, sourceType });
  }
}

function reading({ url }: Repository): string {
  return `failed to read ${outsideText('url', url)}`;
}

/** Manifests that are rendered again may differ: a plugin may depend on more than its input. */
function answerOf(
  key: string,
  { objects, unnamed = [], ignored = [], at }: CachedManifests,
  source: Pick<SourceManifests, 'revision' | 'sourceType'>,
): SourceManifests {
  const warnings = { ...(unnamed.length > 0 && { unnamed }), ...(ignored.length > 0 && { ignored }) };
  return { objects, ...warnings, contentId: `${key} ${at}`, ...source };
}

/** The inputs besides the source itself that affect the manifests. */
function inputsOf(request: ManifestsRequest): string {
  const { appName, namespace, project, cluster, options } = request;
  let versions = versionHashes.get(cluster.apiVersions);
  if (versions === undefined) versionHashes.set(cluster.apiVersions, (versions = hashJson(cluster.apiVersions)));
  const others = request.sources.map(({ source: { ref, repoURL }, revision, repository }) => [
    ref,
    repoURL,
    revision,
    repository.lfs === true,
  ]);
  const { annotation = '' } = request.watched ?? {};
  const permitted = request.repositories.sourceRepos ?? null;
  const texts = [appName, namespace, project, cluster.kubeVersion, versions];
  return JSON.stringify([...texts, options, others, annotation, permitted, ...decryptionKey(request)]);
}

/** Nothing without decryption: manifests that were cached before it existed stay valid. */
function decryptionKey({ decryption }: ManifestsRequest): readonly string[] {
  if (decryption === undefined) return [];
  return ['problem' in decryption ? decryption.problem : `${decryption.secret} ${decryption.id}`];
}

/** Hashes of long lists: all applications of a cluster share one list. */
const versionHashes = new WeakMap<readonly string[], string>();
