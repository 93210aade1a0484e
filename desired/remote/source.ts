import { untilAborted, isAbort, omit, Shutdown } from '#base';
import type { Clock } from '#base';
import { normalizeGitUrl } from '#model';
import type { Repository } from '#model';
import type { Tracer } from '#telemetry';
import { refuseEncrypted } from '../decrypt/file-decryption.ts';
import { SourceFailed, WrongRevision } from '../errors.ts';
import { checkReferences } from '../generate/references.ts';
import type { DryCommit } from '../hydrate/dry-commit.ts';
import { defaultLimits } from '../limits.ts';
import { traceSource } from '../source-spans.ts';
import type {
  CachePolicy,
  DesiredSource,
  Manifests,
  ManifestsRequest,
  RequestedSource,
  SourceManifests,
} from '../types.ts';
import { ParsedAnswers } from './answers.ts';
import { checkRequestedSource } from './checks.ts';
import { RepoServerClient } from './client.ts';
import { ConnectionPool } from './connections.ts';
import type { ConnectionOptions } from './connections.ts';
import { RepoServerExchange } from './exchange.ts';
import type { ExchangeDeps } from './exchange.ts';

export interface RemoteSourceDeps extends ConnectionOptions {
  readonly clock: Clock;
  /** Deadline of one call; 0 means none. */
  readonly timeoutMs: number;
  /** Records a span for each source and call of traced work. Default: none. */
  readonly tracer?: Tracer | undefined;
  /** Never move the repo-server's cache entries; `manifest-generate-paths` then saves no work. */
  readonly readOnly?: boolean;
}

/**
 * Uses Argo CD's repo-server as the generator (decision D12): the same requests, answered over
 * gRPC. It fetches, renders and caches. Answers are checked against the request (T-REV-1 to
 * T-REV-3); errors and signature problems have the texts of the embedded generator. Signatures are
 * verified while rendering, so there is no `verify`.
 */
export function createRemoteSource(deps: RemoteSourceDeps): DesiredSource {
  return new RemoteSource(deps);
}

export class RemoteSource implements DesiredSource {
  readonly name = 'desired';
  readonly #connections: ConnectionPool;
  readonly #exchangeDeps: ExchangeDeps;
  readonly #readOnly: boolean;
  readonly #tracer: Tracer | undefined;

  constructor(deps: RemoteSourceDeps) {
    this.#readOnly = deps.readOnly === true;
    this.#tracer = deps.tracer;
    this.#connections = new ConnectionPool(deps, deps.clock);
    const client = new RepoServerClient({ ...deps, connections: this.#connections });
    this.#exchangeDeps = { client, answers: new ParsedAnswers(defaultLimits.cacheBytes) };
  }

  /** Cancels calls in flight when the signal aborts. Requests work without it. */
  async run(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#exchangeDeps.client.stop(new Shutdown());
    this.#connections.close();
  }

  /** The names of the plugins beside the repo-server. */
  async plugins(signal: AbortSignal): Promise<readonly string[]> {
    const { client } = this.#exchangeDeps;
    const { items } = await client.call<PluginList>('ListPlugins', {}, () => [], signal);
    return items.map(({ name }) => name).sort();
  }

  async resolve(at: RequestedSource, revision: CachePolicy['revision'], signal: AbortSignal): Promise<string> {
    checkRequestedSource(at);
    return new RepoServerExchange(this.#exchangeDeps, { sources: [at], repositories: none }).resolve(
      at,
      revision,
      signal,
    );
  }

  async dryCommit(repository: Repository, sha: string, signal: AbortSignal): Promise<DryCommit> {
    const at = { repository, source: { repoURL: repository.url }, revision: sha };
    return new RepoServerExchange(this.#exchangeDeps, { sources: [at], repositories: none }).dryCommit(at, signal);
  }

  async manifests(request: ManifestsRequest, signal: AbortSignal): Promise<Manifests> {
    signal.throwIfAborted();
    const exchange = new RepoServerExchange(this.#exchangeDeps, this.#readOnly ? omit(request, 'watched') : request);
    const pins = await each(request, signal, async (at) => {
      checkRequestedSource(at);
      if (!isReferred(at)) return undefined;
      checkReferences(request);
      return exchange.resolve(at, request.cache.revision, signal);
    });
    const pinned = {
      ...request,
      // A referenced source is pinned to one commit, used by all references and reported in the
      // answer.
      sources: request.sources.map((at, i) => ({ ...at, revision: pins[i] ?? at.revision })),
    };
    const sources = await each(request, signal, (at, index) =>
      traceSource(this.#tracer, at, index, async () => {
        const rendered = await exchange.render(pinned, { at, index, pin: pins[index] }, signal);
        refuseEncrypted(rendered.objects, request.decryption, 'repo-server');
        return rendered;
      }),
    );
    checkMoved(request, sources);
    return { sources };
  }
}

interface PluginList {
  readonly items: readonly { readonly name: string }[];
}

const none = { repositories: [], credentials: [] };

function isReferred({ source }: RequestedSource): boolean {
  return (source.ref ?? '') !== '';
}

/** Runs the sources one after the other. @throws SourceFailed */
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

/**
 * Refuses the result if two sources with one name in one repository got different commits: the name
 * moved meanwhile (T-REV-2).
 */
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
