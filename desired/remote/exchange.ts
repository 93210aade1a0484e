import { isObject, JsonSyntaxError, parseJson, yieldToLoop } from '#base';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { isReferenceOnly } from '#policy';
import { DesiredError, ManifestError, WrongRevision } from '../errors.ts';
import { isFullSha, mayBeShortSha } from '../fetch/refs.ts';
import { objectsIn } from '../generate/documents.ts';
import type { ManifestsRequest, RequestedSource, SourceManifests, SourceType } from '../types.ts';
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
import type { Message } from './messages.ts';

interface CheckResult {
  readonly checks: readonly { readonly name: string; readonly problems: readonly string[] }[];
}

interface ManifestAnswer {
  readonly manifests: readonly string[];
  readonly revision: string;
  readonly sourceType: string;
  readonly sourceIntegrityResult: CheckResult | null;
}

/** One source, its place in the request, and the commit that it was resolved to already. */
interface Turn {
  readonly at: RequestedSource;
  readonly index: number;
  readonly pin: string | undefined;
}

/** Everything that is said to the repo-server for one request. */
export class Exchange {
  readonly #client: RepoServerClient;
  readonly #request: Pick<ManifestsRequest, 'sources' | 'repositories' | 'watched'>;

  /** @param request without `watched`, nothing at the repo-server is taken for another revision */
  constructor(client: RepoServerClient, request: Pick<ManifestsRequest, 'sources' | 'repositories' | 'watched'>) {
    this.#client = client;
    this.#request = request;
  }

  /** Where a revision points: a commit, a version, a digest. */
  async resolve(at: RequestedSource, noRevisionCache: boolean, signal: AbortSignal): Promise<string> {
    if (isFullSha(at.revision)) return at.revision;
    const message = {
      repo: repositoryMessage(at.repository),
      app: { spec: { source: sourceMessage(at.source) } },
      ambiguousRevision: at.revision,
      sourceIndex: 0,
      noRevisionCache,
    };
    const { revision } = await this.#call<{ readonly revision: string }>('ResolveRevision', message, signal);
    checkRevision(at, at.revision, revision);
    return revision;
  }

  /** @param request with every source that others refer to at its commit */
  async render(request: ManifestsRequest, turn: Turn, signal: AbortSignal): Promise<SourceManifests> {
    const { at, pin } = turn;
    if (pin !== undefined && isReferenceOnly(at.source)) return this.#referred(at, pin, signal);
    const expected = pin ?? at.revision;
    const revision =
      at.demand === undefined
        ? await this.#withoutNews(request, turn, signal)
        : await this.#nameOf(at, request.noRevisionCache, signal);
    const answer = await this.#generate(request, at, revision, signal);
    checkRevision(at, isFullSha(expected) ? expected : revision, answer.revision);
    const problems = problemsOf(at, answer.sourceIntegrityResult);
    const sourceType = typeOf(answer.sourceType);
    if (problems.length > 0) return { objects: [], revision: answer.revision, sourceType, problems };
    return { objects: await objectsOf(answer.manifests), revision: answer.revision, sourceType };
  }

  /**
   * The revision to render: of an application that says where it lies, the repo-server looks whether anything changed there, and takes what it
   * rendered before for the new commit if not (Argo CD: evaluateRevisionChanges).
   */
  async #withoutNews(request: ManifestsRequest, { at, index, pin }: Turn, signal: AbortSignal): Promise<string> {
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
   * What to ask for so that the signature of a tag counts: its name, also for the commit that it was resolved to before, if it still leads there.
   */
  async #nameOf(at: RequestedSource, noRevisionCache: boolean, signal: AbortSignal): Promise<string> {
    const name = at.source.targetRevision ?? '';
    if (!isFullSha(at.revision) || name === '' || isFullSha(name)) return at.revision;
    try {
      return (await this.resolve({ ...at, revision: name }, noRevisionCache, signal)) === at.revision
        ? name
        : at.revision;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof DesiredError)) throw error;
      // The name is gone: the commit has to speak for itself.
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

  /** It is not rendered, so nobody looks at its signatures meanwhile; of a tag, the commit is looked at. */
  async #referred(
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

  #call<T>(name: MethodName, message: Message, signal: AbortSignal): Promise<T> {
    return this.#client.call<T>(name, message, () => secretsOf(this.#request), signal);
  }
}

/** What the signatures say. An answer that does not speak of them is no good one. */
function problemsOf({ demand }: Pick<RequestedSource, 'demand'>, result: CheckResult | null): readonly string[] {
  if (demand === undefined) return [];
  if (result === null || result.checks.length === 0) return [unverified];
  return result.checks.flatMap(({ name, problems }) => problems.map((problem) => `${name}: ${problem}`));
}

const unverified =
  'GIT/GPG: the project demands signed commits, and the repo-server did not verify them: it must be one of Argo CD 3.5 or newer, without ARGOCD_GPG_ENABLED=false';

/** T-REV-1: an answer for another revision than the one that was asked for is refused; so is one that does not say for which. */
function checkRevision({ source }: RequestedSource, asked: string, answered: string): void {
  const isGit = (source.chart ?? '') === '' && !source.repoURL.startsWith('oci://');
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

/** So much text is parsed without a pause. */
const sliceBytes = 1 << 20;

/** @throws ManifestError */
async function objectsOf(manifests: readonly string[]): Promise<readonly KubeObject[]> {
  const objects: KubeObject[] = [];
  let sinceYield = 0;
  for (const [index, text] of manifests.entries()) {
    const value = parsed(text, index);
    if (value !== null) for (const object of objectsIn(value, `manifest ${index + 1}`)) objects.push(object);
    sinceYield += text.length;
    if (sinceYield < sliceBytes) continue;
    sinceYield = 0;
    await yieldToLoop();
  }
  return objects;
}

function parsed(text: string, index: number): Json {
  if (text === '') return null;
  try {
    const value = parseJson(text);
    return isObject(value) && Object.keys(value).length === 0 ? null : value;
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw new ManifestError(`manifest ${index + 1} of the repo-server is not valid JSON`);
  }
}
