import { tenantOf } from '#base';
import { isArtifact } from '#model';
import { isReferenceOnly } from '#policy';
import { DesiredError, WrongRevision } from '../errors.ts';
import { isFullSha, mayBeShortSha } from '../fetch/git/refs.ts';
import type { DryCommit, RelatedCommit } from '../hydrate/dry-commit.ts';
import type { CachePolicy, ManifestsRequest, RequestedSource, SourceManifests, SourceType } from '../types.ts';
import type { ParsedAnswers } from './answers.ts';
import type { RepoServerClient } from './client.ts';
import {
  commonMessage,
  integrityMessage,
  manifestMessage,
  referencesMessage,
  repositoryMessage,
  secretsOf,
  sourceMessage,
} from './messages.ts';
import type { MethodName } from './protocol.ts';
import type { ProtoMessage } from './messages.ts';
import { unnamedIn } from '../generate/unnamed.ts';

interface CheckResult {
  readonly checks: readonly { readonly name: string; readonly problems: readonly string[] }[];
}

interface ManifestAnswer {
  readonly manifests: readonly string[];
  readonly revision: string;
  readonly sourceType: string;
  readonly sourceIntegrityResult: CheckResult | null;
}

/** One source, its index in the request, and the commit it was already resolved to. */
interface SourceTurn {
  readonly at: RequestedSource;
  readonly index: number;
  readonly pin: string | undefined;
}

/** Shared by all requests. */
export interface ExchangeDeps {
  readonly client: RepoServerClient;
  readonly answers: ParsedAnswers;
}

/** The calls to the repo-server for one request. */
export class RepoServerExchange {
  readonly #client: RepoServerClient;
  readonly #answers: ParsedAnswers;
  readonly #request: Pick<ManifestsRequest, 'sources' | 'repositories' | 'watched'>;

  /**
   * @param request without `watched`, the repo-server's cache entries are never moved to another
   * revision
   */
  constructor(deps: ExchangeDeps, request: Pick<ManifestsRequest, 'sources' | 'repositories' | 'watched'>) {
    this.#client = deps.client;
    this.#answers = deps.answers;
    this.#request = request;
  }

  /** Resolves a revision to a commit, a version or a digest. */
  async resolve(at: RequestedSource, revision: CachePolicy['revision'], signal: AbortSignal): Promise<string> {
    if (isFullSha(at.revision)) return at.revision;
    const message = {
      repo: repositoryMessage(at.repository),
      app: { spec: { source: sourceMessage(at.source) } },
      ambiguousRevision: at.revision,
      sourceIndex: 0,
      noRevisionCache: revision !== 'cached',
    };
    const resolved = await this.#call<{ readonly revision: string }>('ResolveRevision', message, signal);
    checkRevision(at, at.revision, resolved.revision);
    return resolved.revision;
  }

  /** Describes a commit of the repository (GetRevisionMetadata). */
  async dryCommit({ repository, revision }: RequestedSource, signal: AbortSignal): Promise<DryCommit> {
    const message = { repo: repositoryMessage(repository), revision };
    const {
      author,
      date,
      message: text,
      references,
    } = await this.#call<RevisionAnswer>('GetRevisionMetadata', message, signal);
    return {
      author,
      authoredAt: date?.seconds,
      message: text,
      references: references.flatMap(({ commit }) => (commit === null ? [] : [relatedCommit(commit)])),
    };
  }

  /** @param request with every referenced source pinned to its commit */
  async render(request: ManifestsRequest, turn: SourceTurn, signal: AbortSignal): Promise<SourceManifests> {
    const { at, pin } = turn;
    if (pin !== undefined && isReferenceOnly(at.source)) return this.#renderReference(at, pin, signal);
    const expected = pin ?? at.revision;
    const revision =
      at.demand === undefined
        ? await this.#unchangedRevision(request, turn, signal)
        : await this.#tagNameOf(at, request.cache.revision, signal);
    const answer = await this.#generate(request, at, revision, signal);
    checkRevision(at, isFullSha(expected) ? expected : revision, answer.revision);
    const problems = problemsOf(at, answer.sourceIntegrityResult);
    const sourceType = typeOf(answer.sourceType);
    if (problems.length > 0) return { objects: [], revision: answer.revision, sourceType, problems };
    const objects = await this.#answers.objectsOf(answer.manifests, tenantOf(signal).project);
    const unnamed = unnamedIn(objects, 'the manifests of the repo-server');
    return { objects, ...(unnamed.length > 0 && { unnamed }), revision: answer.revision, sourceType };
  }

  /**
   * Returns the revision to render. For an application with watched paths, the repo-server checks
   * whether they changed and, if not, reuses its cached manifests for the new commit (Argo CD:
   * evaluateRevisionChanges).
   */
  async #unchangedRevision(
    request: ManifestsRequest,
    { at, index, pin }: SourceTurn,
    signal: AbortSignal,
  ): Promise<string> {
    const revision = pin ?? at.revision;
    const { watched } = this.#request;
    const paths = watched?.paths[index] ?? [];
    const synced = watched?.synced[index] ?? '';
    const references = referencesMessage(request.sources);
    const isKnown = synced === revision && Object.keys(references).length === 0;
    if (pin !== undefined || paths.length === 0 || synced === '' || isKnown) return revision;
    const message = {
      ...commonMessage(request),
      repo: repositoryMessage(at.repository),
      applicationSource: sourceMessage(at.source),
      refSources: references,
      syncedRefSources: referencesMessage(
        request.sources.map((one, i) => ({ ...one, revision: watched?.synced[i] ?? '' })),
      ),
      syncedRevision: synced,
      revision,
      paths,
    };
    const answer = await this.#call<{ readonly revision: string }>('UpdateRevisionForPaths', message, signal);
    if (answer.revision === '') return revision;
    checkRevision(at, revision, answer.revision);
    return answer.revision;
  }

  /**
   * Returns the name of the tag, so that its signature is verified, if the tag still points to the
   * resolved commit; otherwise the revision itself.
   */
  async #tagNameOf(at: RequestedSource, revision: CachePolicy['revision'], signal: AbortSignal): Promise<string> {
    const name = at.source.targetRevision ?? '';
    if (!isFullSha(at.revision) || name === '' || isFullSha(name)) return at.revision;
    try {
      return (await this.resolve({ ...at, revision: name }, revision, signal)) === at.revision ? name : at.revision;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof DesiredError)) throw error;
      // The name is gone, so the commit itself is verified.
      return at.revision;
    }
  }

  #generate(
    request: ManifestsRequest,
    { source, repository, demand }: RequestedSource,
    revision: string,
    signal: AbortSignal,
  ): Promise<ManifestAnswer> {
    const message = {
      ...manifestMessage(request, source),
      repo: repositoryMessage(repository),
      revision,
      applicationSource: sourceMessage(source),
      refSources: referencesMessage(request.sources),
      ...(demand === undefined ? {} : { verifySignature: true, sourceIntegrity: integrityMessage(demand) }),
    };
    return this.#call<ManifestAnswer>('GenerateManifest', message, signal);
  }

  /**
   * A referenced source is not rendered, so its signatures are requested separately; for a tag,
   * those of the commit.
   */
  async #renderReference(
    { repository, demand }: RequestedSource,
    revision: string,
    signal: AbortSignal,
  ): Promise<SourceManifests> {
    if (demand === undefined) return { objects: [], revision, sourceType: '' };
    const sourceIntegrity = integrityMessage(demand);
    const message = { repo: repositoryMessage(repository), revision, checkSignature: true, sourceIntegrity };
    const metadata = await this.#call<Pick<ManifestAnswer, 'sourceIntegrityResult'>>(
      'GetRevisionMetadata',
      message,
      signal,
    );
    const problems = problemsOf({ demand }, metadata.sourceIntegrityResult);
    return { objects: [], revision, sourceType: '', problems };
  }

  #call<T>(name: MethodName, message: ProtoMessage, signal: AbortSignal): Promise<T> {
    return this.#client.call<T>(name, message, () => secretsOf(this.#request), signal);
  }
}

interface RevisionAnswer {
  readonly author: string;
  readonly date: { readonly seconds: number } | null;
  readonly message: string;
  readonly references: readonly { readonly commit: Readonly<Record<string, string>> | null }[];
}

/** Empty fields count as missing. */
function relatedCommit({ repoUrl = '', ...others }: Readonly<Record<string, string>>): RelatedCommit {
  return Object.fromEntries(Object.entries({ ...others, repoURL: repoUrl }).filter(([, text]) => text !== ''));
}

/** Returns the signature problems. A missing result counts as a problem. */
function problemsOf({ demand }: Pick<RequestedSource, 'demand'>, result: CheckResult | null): readonly string[] {
  if (demand === undefined) return [];
  if (result === null || result.checks.length === 0) return [unverified];
  return result.checks.flatMap(({ name, problems }) => problems.map((problem) => `${name}: ${problem}`));
}

const unverified =
  'GIT/GPG: the project demands signed commits, and the repo-server did not verify them: it must be one of Argo CD 3.5 or newer, without ARGOCD_GPG_ENABLED=false';

/**
 * T-REV-1: refuses an answer for another revision than the requested one, and one without a
 * revision.
 */
function checkRevision({ source }: RequestedSource, asked: string, answered: string): void {
  const isGit = (source.chart ?? '') === '' && !isArtifact(source);
  const isExact = isFullSha(asked) || asked.startsWith('sha256:');
  const same = answered.toLowerCase() === asked.toLowerCase();
  if (answered !== '' && (isExact ? same : !isGit || isFullSha(answered) || (same && mayBeShortSha(answered)))) return;
  const got = answered === '' ? 'those of no revision' : `those of ${answered}`;
  const text = `asked for manifests of ${asked === '' ? 'HEAD' : asked}, got ${got}`;
  throw new WrongRevision(text);
}

function typeOf(text: string): SourceType | '' {
  return text === 'Directory' || text === 'Helm' || text === 'Kustomize' || text === 'Plugin' ? text : '';
}
