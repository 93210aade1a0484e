import { defined, outsideText } from '#base';
import type { ApplicationSource, Repository } from '#model';
import { DesiredError } from '../errors.ts';
import type { FreshnessBound } from '../fetch/git/git-repository.ts';
import type { SourceFetcher, SourceLocation } from '../fetch/source-fetcher.ts';
import type { Snapshot } from '../fetch/files/snapshot.ts';
import { relatedRepository } from '../fetch/git/submodules.ts';
import { checkUrl, checkWebUrl } from '../fetch/shared/input-checks.ts';
import { isPermitted } from '../fetch/shared/permitted.ts';
import { expectOk } from '../fetch/network/web-client.ts';
import type { WebClient } from '../fetch/network/web-client.ts';
import type { DesiredLimits } from '../limits.ts';
import type { CachePolicy, ManifestsRequest, RequestedSource } from '../types.ts';
import type { RelatedFetches, RemoteRepository, WantedChart } from './plan.ts';
import { referencedSource } from './references.ts';

export interface RelatedFilesDeps {
  readonly web: WebClient;
  readonly remotes: SourceFetcher;
  readonly cacheDir: string;
  readonly limits: DesiredLimits;
}

/**
 * The source that needs the files, with its overrides applied, and the request that it belongs to.
 */
interface RequestingSource {
  readonly request: ManifestsRequest;
  readonly at: RequestedSource;
  readonly source: ApplicationSource;
}

/**
 * Fetches the files that a source needs from outside its own repository: other sources, bases of an
 * overlay, chart dependencies and values files by URL. No rendering program downloads anything
 * itself, so denied networks, the project's sourceRepos and the limits always apply.
 */
export class RelatedFiles {
  readonly #deps: RelatedFilesDeps;

  constructor(deps: RelatedFilesDeps) {
    this.#deps = deps;
  }

  forSource(request: ManifestsRequest, at: RequestedSource, source: ApplicationSource): RelatedFetches {
    const requesting = { request, at, source };
    return {
      fetchReferenced: (name, signal) => this.#referenced(request, name, signal),
      fetchRepository: (repository, signal) => this.#repository(requesting, repository, signal),
      downloadChart: (chart, signal) => this.#chart(requesting, chart, signal),
      downloadFile: (url, maxBytes, signal) => this.#file(request, { url, maxBytes }, signal),
    };
  }

  /** The files of another source of the request (Argo CD: resolveReferencedSources). */
  async #referenced(request: ManifestsRequest, name: string, signal: AbortSignal): Promise<Snapshot> {
    const at = referencedSource(request, name);
    return this.#deps.remotes.snapshot(withPermitted(request, at), at.revision, mustRerender(request), signal);
  }

  /**
   * Uses the credentials of the source's own repository if both have the same origin, like Argo CD
   * with kustomize.
   */
  async #repository(
    { request, at }: RequestingSource,
    { url, revision }: RemoteRepository,
    signal: AbortSignal,
  ): Promise<Snapshot> {
    const { remotes, cacheDir } = this.#deps;
    const { repositories, project } = request;
    const address = checkUrl(url, cacheDir);
    if (!isPermitted(repositories.sourceRepos, address))
      throw notPermitted(`the remote base ${outsideText('url', url)}`, project);
    const repository = relatedRepository(at.repository, address.text, cacheDir);
    const source = { repoURL: address.text };
    const commit = await remotes.resolve({ source, repository, revision }, recencyOf(request.cache.revision), signal);
    return remotes.snapshot(withPermitted(request, { source, repository }), commit, mustRerender(request), signal);
  }

  async #chart(
    { request, source }: RequestingSource,
    { repository, chart, version }: WantedChart,
    signal: AbortSignal,
  ): Promise<Snapshot> {
    const { remotes } = this.#deps;
    const { repositories, project } = request;
    const address = checkUrl(repository.url, this.#deps.cacheDir, 'chart');
    const url = address.text;
    if (!isPermitted(repositories.sourceRepos, address))
      throw new DesiredError('DESIRED_SOURCE', `helm repos ${url} are not permitted in project '${project}'`, {
        retry: 'never',
      });
    const passCredentials = source.helm?.['passCredentials'] === true;
    const isRegistry = address.scheme === 'oci';
    const repoURL = url.replace(/^oci:\/\//, '');
    const at = {
      source: { repoURL, chart, helm: { passCredentials } },
      repository: { ...repository, url: repoURL, enableOci: isRegistry },
    };
    const found = await remotes.resolve({ ...at, revision: version }, recencyOf(request.cache.revision), signal);
    return remotes.snapshot(withPermitted(request, at), found, mustRerender(request), signal);
  }

  async #file(
    { repositories, project }: ManifestsRequest,
    { url, maxBytes }: { readonly url: string; readonly maxBytes: number },
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const { web, limits } = this.#deps;
    const at = checkWebUrl(url);
    if (!isPermitted(repositories.sourceRepos, at)) throw notPermitted(`the file ${outsideText('url', url)}`, project);
    const repository: Repository = { url: at.url, type: 'helm', insecure: false, inheritedCreds: false };
    const answer = await web.get(
      { url: at, maxBytes: Math.min(maxBytes, limits.maxArchiveBytes), signal },
      { repository, at },
    );
    return expectOk(answer, `failed to fetch ${outsideText('url', url)}`);
  }
}

/** Returns the bound that an answer about a revision must be newer than. */
export function recencyOf(revision: CachePolicy['revision']): FreshnessBound {
  if (typeof revision === 'object') return revision.notBefore;
  return revision === 'current' ? Infinity : undefined;
}

/** Adds what decides where the credentials of the source's repository may be sent. */
export function withPermitted(
  { repositories: { sourceRepos } }: ManifestsRequest,
  { source, repository }: Pick<RequestedSource, 'source' | 'repository'>,
): SourceLocation {
  return { source, repository, ...defined({ sourceRepos }) };
}

/** Reports whether the request ignores earlier renders. */
export function mustRerender({ cache }: ManifestsRequest): boolean {
  return cache.manifests === 'rerender';
}

function notPermitted(what: string, project: string): DesiredError {
  const message = `${what} is not permitted in project '${project}': its sourceRepos must name it`;
  return new DesiredError('DESIRED_SOURCE', message, { retry: 'never' });
}
