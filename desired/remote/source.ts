import { aborted, isAbort, omit, Shutdown } from '#base';
import type { Clock } from '#base';
import { normalizeGitUrl } from '#model';
import { SourceFailed, WrongRevision } from '../errors.ts';
import { checkReferences } from '../generate/references.ts';
import type { DesiredSource, Manifests, ManifestsRequest, RequestedSource, SourceManifests } from '../types.ts';
import { RepoServerClient } from './client.ts';
import { Connections } from './connections.ts';
import type { ConnectionOptions } from './connections.ts';
import { Exchange } from './exchange.ts';

export interface RemoteSourceDeps extends ConnectionOptions {
  readonly clock: Clock;
  /** Time for one call; 0: as long as it takes. */
  readonly timeoutMs: number;
  /** True: nothing that the repo-server keeps for others is moved, so `manifest-generate-paths` saves it no work. */
  readonly readOnly?: boolean;
}

/**
 * Argo CD's repo-server as the generator (decision D12): the same requests, answered over gRPC. It fetches, renders and caches; here its answer
 * is held against what was asked (T-REV-1 to T-REV-3), and errors and signatures are told as by the embedded way. Signatures are verified
 * while it renders, so there is no `verify`.
 */
export function createRemoteSource(deps: RemoteSourceDeps): DesiredSource {
  return new RemoteSource(deps);
}

class RemoteSource implements DesiredSource {
  readonly name = 'desired';
  readonly #connections: Connections;
  readonly #client: RepoServerClient;
  readonly #readOnly: boolean;

  constructor(deps: RemoteSourceDeps) {
    this.#readOnly = deps.readOnly === true;
    this.#connections = new Connections(deps, deps.clock);
    this.#client = new RepoServerClient({ ...deps, connections: this.#connections });
  }

  /** Requests are served before and without it; when the signal aborts, those under way end. */
  async run(signal: AbortSignal): Promise<void> {
    await aborted(signal);
    this.#client.stop(new Shutdown());
    this.#connections.close();
  }

  async resolve(at: RequestedSource, noCache: boolean, signal: AbortSignal): Promise<string> {
    return new Exchange(this.#client, { sources: [at], repositories: none }).resolve(at, noCache, signal);
  }

  async manifests(request: ManifestsRequest, signal: AbortSignal): Promise<Manifests> {
    signal.throwIfAborted();
    const exchange = new Exchange(this.#client, this.#readOnly ? omit(request, 'watched') : request);
    const pins = await each(request, signal, (at) => {
      if (!isReferred(at)) return Promise.resolve(undefined);
      checkReferences(request);
      return exchange.resolve(at, request.noRevisionCache, signal);
    });
    const pinned = {
      ...request,
      // What others refer to is one commit for all of them, and the one that the answer names.
      sources: request.sources.map((at, i) => ({ ...at, revision: pins[i] ?? at.revision })),
    };
    const sources = await each(request, signal, (at, index) =>
      exchange.render(pinned, { at, index, pin: pins[index] }, signal),
    );
    checkMoved(request, sources);
    return { sources };
  }
}

const none = { repositories: [], credentials: [] };

function isReferred({ source }: RequestedSource): boolean {
  return (source.ref ?? '') !== '';
}

/** One after the other. @throws SourceFailed */
async function each<T>(
  { sources }: ManifestsRequest,
  signal: AbortSignal,
  body: (at: RequestedSource, index: number) => Promise<T>,
): Promise<T[]> {
  const results: T[] = [];
  for (const [index, at] of sources.entries())
    try {
      results.push(await body(at, index));
    } catch (error) {
      throw isAbort(error) || signal.aborted ? error : new SourceFailed(index, error);
    }
  return results;
}

/** Two sources of one name in one repository are of one commit, or the name moved between them: then nothing of it is shown (T-REV-2). */
function checkMoved({ sources }: ManifestsRequest, answers: readonly SourceManifests[]): void {
  const found = new Map<string, string>();
  for (const [index, { repository, source, revision }] of sources.entries()) {
    const answered = answers[index]?.revision ?? '';
    const { chart = '', tagPrefix = '' } = source;
    const key = JSON.stringify([normalizeGitUrl(repository.url), chart, tagPrefix, revision]);
    const before = found.get(key) ?? answered;
    if (before !== answered) {
      const what = `the revision ${revision === '' ? 'HEAD' : revision} moved from ${before} to ${answered} while the sources were rendered`;
      throw new SourceFailed(index, new WrongRevision(what));
    }
    found.set(key, answered);
  }
}
