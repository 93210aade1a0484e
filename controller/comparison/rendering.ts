import { posix } from 'node:path';
import { defined, DriftlessError, isAbort, isObject, messageOf, parseJson, valueAt } from '#base';
import type { Clock, ClockTimer } from '#base';
import type { RenderedTargets } from '#compare';
import { generatorOptions, KeyringUnavailable, refuseEncrypted, SourceFailed } from '#desired';
import type {
  CachePolicy,
  TargetCapabilities,
  DesiredSource,
  KnownRepositories,
  Manifests,
  RequestedSource,
  SourceManifests,
  VerifiedRevision,
  WatchedPaths,
} from '#desired';
import type { LiveCluster } from '#live';
import {
  annotations,
  destinationNamespaceOf,
  hydratorOf,
  instanceName,
  isRefused,
  projectOf,
  readAddress,
  sourcesOf,
} from '#model';
import type {
  AppKey,
  Application,
  ApplicationCondition,
  ApplicationSource,
  AppProject,
  KubeObject,
  Repository,
  SourceDecryption,
} from '#model';
import { gitIntegrity, integrityOf, isReferenceOnly, isSourcePermitted, sourceDenied } from '#policy';
import type { GitIntegrity } from '#policy';
import type { WorkerSlot } from '#queues';
import type { BoundApplication } from '../admission/bound.ts';
import { generatorCapabilities, capabilitiesOf, incompleteApis, usesCapabilities } from '../discovery/capabilities.ts';
import type { IncompleteApis } from '../discovery/capabilities.ts';
import type { OwnedReads } from './owned-reads.ts';
import { sourceDecryption } from './source-decryption.ts';
import { sourceConditions } from './source-conditions.ts';
import { IntegrityRulesUnusable, SourceRefused } from '../shared/errors.ts';

export interface RendererDeps {
  readonly desired: DesiredSource;
  readonly clock: Clock;
  readonly repository: (url: string, project: string) => Repository;
  /** Repositories for chart dependencies, beside the sources of an application. */
  readonly chartRepositories: () => KnownRepositories;
  /** The keys of a Secret that a project names. */
  readonly decryptionKeys: (secret: string) => SourceDecryption;
  /** Ends the reads of an Application that this replica loses; absent: it owns none. */
  readonly reads?: OwnedReads;
  /** Counts the sources that are asked to be rendered for an Application. */
  readonly rendering?: (key: AppKey, sources: number) => void;
}

export interface RendererConfig {
  readonly namespace: string;
  /** False: signatures are never verified, whatever projects require (ARGOCD_GPG_ENABLED=false). */
  readonly gpgEnabled?: boolean;
}

/** A request that needs no destination cluster. */
export interface SourceRequest {
  readonly bound: Pick<BoundApplication, 'app' | 'key' | 'project' | 'settings'>;
  readonly sources: readonly ApplicationSource[];
  /** One per source. */
  readonly revisions: readonly string[];
  readonly cache: CachePolicy;
  /** JSON documents that replace the sources (`operation.sync.manifests`). */
  readonly localManifests: readonly string[];
  /** The worker slot of this pass, lent to others while its sources are slow. Absent: kept. */
  readonly place?: WorkerSlot | undefined;
  /** The dry source of a hydrator: the Application's status is about another one. */
  readonly isDry?: true;
}

export interface RenderRequest extends SourceRequest {
  readonly bound: BoundApplication;
  /** The revisions of the last good rendering, which serves while the sources cannot be read. */
  readonly lastGood?: readonly string[] | undefined;
  /** Ends the wait for slow sources; the read goes on for a later pass. */
  readonly hurry?: AbortSignal | undefined;
}

/** The sources could not be read: the last good rendering was used instead. */
export interface SourceOutage {
  readonly message: string;
  /** The outage is recent, and not reported yet. */
  readonly isTolerated: boolean;
}

/** How long a pass keeps its worker slot while rendering; cached results take less. */
const slotPatienceMs = 100;

/** The rendered objects, not normalized yet, and the facts that a comparison needs about them. */
export interface RenderedSources {
  readonly objects: readonly KubeObject[];
  readonly facts: Omit<RenderedTargets, 'targets'>;
  /**
   * The objects of each source by content id, or the list that the source returned. Absent if they
   * do not come from the sources.
   */
  readonly parts?: readonly (string | readonly KubeObject[])[];
  readonly outage?: SourceOutage;
  /** Set if rendering depended on API versions that are not all known. */
  readonly apis?: IncompleteApis;
}

/** A source with the result of its signature check. */
interface CheckedSource extends RequestedSource {
  readonly problems: readonly string[];
}

/**
 * Renders the desired side of a comparison. Checks every source before rendering any (does the
 * project permit its repository, is its revision signed as required), then renders all in one
 * request.
 */
export class Renderer {
  readonly #deps: RendererDeps;
  readonly #config: RendererConfig;

  constructor(deps: RendererDeps, config: RendererConfig) {
    this.#deps = deps;
    this.#config = config;
  }

  /** Renders the sources. @throws every error */
  sources(request: RenderRequest, cluster: LiveCluster, signal: AbortSignal): Promise<RenderedSources> {
    const read = (inner: AbortSignal): Promise<RenderedSources> => this.#sources(request, cluster, inner);
    return this.#deps.reads?.run(request.bound.key, signal, read) ?? read(signal);
  }

  async #sources(request: RenderRequest, cluster: LiveCluster, signal: AbortSignal): Promise<RenderedSources> {
    const { sources } = request;
    // Without a source, every resource would look as if it had been removed from Git.
    if (sources.every(isReferenceOnly)) throw new SourceRefused({ type: 'InvalidSpecError', message: nothingToRender });
    const checked: CheckedSource[] = [];
    for (const index of sources.keys()) checked.push(await this.#check(request, index, signal));
    const before = signatureCondition(sources, checked);
    if (before !== undefined) return failedTargets(before, await this.#revisions(request, checked, signal));
    const capabilities = capabilitiesOf(cluster);
    const answer = await this.#manifests(request, checked, generatorCapabilities(cluster, capabilities), signal);
    const found = signatureCondition(sources, answer.sources);
    if (found !== undefined)
      return failedTargets(
        found,
        answer.sources.map(({ revision }) => revision),
      );
    const only = answer.sources.length === 1 ? answer.sources[0] : undefined;
    const apis = this.#dependsOnApiVersions(request, answer) ? incompleteApis(cluster.server, capabilities) : undefined;
    return {
      ...defined({ apis }),
      // Pass on the same list that the source returned: caches use it as a key.
      objects: only === undefined ? answer.sources.flatMap((one) => one.objects) : only.objects,
      parts: answer.sources.map(({ contentId, objects }) => contentId ?? objects),
      facts: {
        revisions: answer.sources.map((one) => one.revision),
        sourceTypes: answer.sources.map((one) => one.sourceType).filter((type) => type !== ''),
        conditions: answer.sources.flatMap(sourceConditions),
        failed: false,
        mayHaveChanges: mayHaveChanges(request),
      },
    };
  }

  /**
   * Renders the dry source of a hydrator, without the capabilities of a cluster.
   * @throws every error
   */
  async dry(request: SourceRequest, signal: AbortSignal): Promise<Pick<SourceManifests, 'objects' | 'revision'>> {
    const checked = await this.#check(request, 0, signal);
    if (checked.problems.length > 0) throw new DriftlessError('SOURCE_INTEGRITY', checked.problems.join('\n'));
    const answer = await this.#manifests(request, [checked], { kubeVersion: '', apiVersions: [] }, signal);
    const [only] = answer.sources;
    if (only === undefined) throw new DriftlessError('SOURCE_UNAVAILABLE', 'the dry source was not rendered');
    if ((only.problems ?? []).length > 0)
      throw new DriftlessError('SOURCE_INTEGRITY', (only.problems ?? []).join('\n'));
    return only;
  }

  /**
   * Whether the output depends on the API versions of the cluster. Sources that are verified while
   * rendering are rendered by a repo-server.
   */
  #dependsOnApiVersions({ bound }: RenderRequest, { sources }: Manifests): boolean {
    const options = generatorOptions(bound.settings);
    const isRemote = this.#deps.desired.verify === undefined;
    return sources.some(({ sourceType }) => usesCapabilities(sourceType, options, isRemote));
  }

  /**
   * Verifies one source and pins it to the verified commit, the only one that may be rendered.
   * Without a signature requirement, pins it to the requested revision.
   */
  async #check(request: SourceRequest, index: number, signal: AbortSignal): Promise<CheckedSource> {
    const source = request.sources[index] ?? { repoURL: '' };
    const project = projectOf(request.bound.app);
    const denied = sourceDenied(request.bound.project, source, project);
    if (denied !== undefined) throw new SourceRefused({ type: 'InvalidSpecError', message: denied });
    const repository = this.#deps.repository(source.repoURL, project);
    const revision = request.revisions[index] ?? source.targetRevision ?? '';
    try {
      const verified = await this.#verify(request, { source, repository, revision }, signal);
      return { source, repository, ...verified };
    } catch (error) {
      throw isAbort(error) ? error : asSourceError(error, index, request.sources.length);
    }
  }

  async #verify(
    request: SourceRequest,
    of: RequestedSource,
    signal: AbortSignal,
  ): Promise<VerifiedRevision & Pick<RequestedSource, 'demand'>> {
    const { source, repository, revision } = of;
    const { desired } = this.#deps;
    const demand = this.#demandOf(request, source);
    if (demand === undefined) return { revision, problems: [] };
    if (desired.verify === undefined) return { revision, problems: [], demand };
    const order = {
      repository,
      revision,
      cache: request.cache,
      ...demand,
      ...defined({ targetRevision: source.targetRevision, tagPrefix: source.tagPrefix }),
    };
    const verified = await this.lendingSlot(request, desired.verify(order, signal)).catch(
      (error: unknown): VerifiedRevision => {
        if (!(error instanceof KeyringUnavailable)) throw error;
        return { revision, problems: [error.message] };
      },
    );
    return { ...verified, problems: verified.problems.map((problem) => `GIT/GPG: ${problem}`) };
  }

  /** @throws IntegrityRulesUnusable */
  #demandOf(request: SourceRequest, source: ApplicationSource): GitIntegrity | undefined {
    return this.#usableDemand(gitIntegrity(request.bound.project, source));
  }

  /** @throws IntegrityRulesUnusable */
  #usableDemand(demand: ReturnType<typeof gitIntegrity>): GitIntegrity | undefined {
    if (demand !== undefined && 'error' in demand) throw new IntegrityRulesUnusable(demand.error);
    return this.#config.gpgEnabled === false ? undefined : demand;
  }

  /** The revisions to report for sources that a signature check refused. */
  async #revisions(
    request: RenderRequest,
    checked: readonly CheckedSource[],
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const revisions: string[] = [];
    for (const [i, one] of checked.entries())
      revisions.push(
        one.problems.length > 0
          ? one.revision
          : await this.lendingSlot(request, this.#deps.desired.resolve(one, request.cache.revision, signal)).catch(
              (error: unknown) => {
                throw isAbort(error) ? error : asSourceError(error, i, checked.length);
              },
            ),
      );
    return revisions;
  }

  async #manifests(
    request: SourceRequest,
    sources: readonly RequestedSource[],
    cluster: TargetCapabilities,
    signal: AbortSignal,
  ): Promise<Manifests> {
    const { app, key, project, settings } = request.bound;
    const watched = request.isDry === true ? undefined : watchedPaths(app, request.sources);
    const decryption = sourceDecryption(project, request.isDry === true, this.#deps.decryptionKeys);
    const order = {
      sources,
      cluster,
      repositories: permittedRepositories(this.#deps.chartRepositories(), project),
      options: generatorOptions(settings),
      cache: request.cache,
      appName: instanceName(key, this.#config.namespace),
      namespace: destinationNamespaceOf(app),
      project: projectOf(app),
      projectSourceRepos: project.spec.sourceRepos ?? [],
      tracking: settings.tracking,
      ...defined({ watched, decryption }),
    };
    this.#deps.rendering?.(key, sources.length);
    const answer = await this.lendingSlot(request, this.#deps.desired.manifests(order, signal)).catch(
      (error: unknown) => {
        if (isAbort(error) || signal.aborted) throw error;
        const [index, cause] = error instanceof SourceFailed ? [error.index, error.cause] : [0, error];
        throw asSourceError(cause, index, sources.length);
      },
    );
    for (const [i, { revision }] of sources.entries()) {
      const found = answer.sources[i]?.revision ?? '';
      // T-REV-1: manifests of any other commit than the requested one are never compared or
      // applied.
      if (!isCommit(revision) || !isCommit(found) || found === revision) continue;
      const text = `asked for manifests of ${revision}, got those of ${found}`;
      throw asSourceError(new DriftlessError('REVISION_MISMATCH', text), i, sources.length);
    }
    return answer;
  }

  /** Lends the worker slot to other keys while a repository is slow. */
  async lendingSlot<T>({ place }: SourceRequest, work: Promise<T>): Promise<T> {
    if (place === undefined) return work;
    let timer: ClockTimer | undefined;
    const isLong = new Promise<true>((resolve) => {
      timer = this.#deps.clock.timer(slotPatienceMs, () => resolve(true));
    });
    const over = work.then(
      () => false,
      () => false,
    );
    const leaves = await Promise.race([over, isLong]);
    timer?.cancel();
    return leaves ? place.releaseWhile(work) : work;
  }

  /** The manifests of the operation instead of the sources. */
  local(request: RenderRequest): RenderedSources {
    try {
      // An operation may name other sources than the Application: they must be permitted too, and
      // do not lift the signature requirements of its own sources.
      const denied = request.sources
        .map((source) => sourceDenied(request.bound.project, source, projectOf(request.bound.app)))
        .find((fault) => fault !== undefined);
      if (denied !== undefined) return failedTargets({ type: 'InvalidSpecError', message: denied });
      const all = [...request.sources, ...sourcesOf(request.bound.app.spec)];
      const demands = all.map(({ repoURL }) => this.#usableDemand(integrityOf(request.bound.project, repoURL)));
      if (demands.every((demand) => demand === undefined)) return localTargets(request);
      return failedTargets({ type: 'ComparisonError', message: noLocalManifests });
    } catch (error) {
      if (!(error instanceof IntegrityRulesUnusable)) throw error;
      return failedTargets({ type: 'ComparisonError', message: `Failed to load local manifests: ${error.message}` });
    }
  }
}

/**
 * Withholds credentials of repositories that the project may not read (Argo CD: GetRepoObjs), and
 * those of other projects. The project's own Secrets come first.
 */
function permittedRepositories(known: KnownRepositories, project: AppProject): KnownRepositories {
  const permitted = (list: readonly Repository[]): readonly Repository[] =>
    list.filter(({ url }) => {
      const address = readAddress(url, 'any');
      return !isRefused(address) && isSourcePermitted(project, address);
    });
  const { name: own = '' } = project.metadata;
  const of = (owner: string): readonly Repository[] =>
    known.repositories.filter(({ project: wanted = '' }) => wanted === owner);
  return {
    repositories: permitted([...of(own), ...of('')]),
    credentials: permitted(known.credentials),
    sourceRepos: project.spec.sourceRepos ?? [],
  };
}

const noLocalManifests = 'Cannot use local manifests when source integrity is enforced';
const nothingToRender =
  'the application has no source to render: set spec.source, or give one of spec.sources a path or a chart';

/** A signature failure stops the comparison, so nothing is applied or pruned. */
function signatureCondition(
  sources: readonly ApplicationSource[],
  answers: readonly { readonly problems?: readonly string[] }[],
): ApplicationCondition | undefined {
  const all = answers.flatMap(({ problems = [] }, i) =>
    problems.map((problem) => `${sourcePrefix(sources, i)}${problem}`),
  );
  return all.length === 0 ? undefined : { type: 'ComparisonError', message: all.join('\n') };
}

/** The prefix that Argo CD uses to distinguish several sources. */
function sourcePrefix(sources: readonly ApplicationSource[], index: number): string {
  if (sources.length === 1) return '';
  const name = sources[index]?.name ?? '';
  return name === '' ? `source ${index + 1} of ${sources.length}: ` : `source ${name}: `;
}

/** Explains a path that is missing until the hydrator's staging branch has been merged. */
export function waitsForHydration(app: Application, error: unknown): string {
  const hydrator = hydratorOf(app.spec) ?? {};
  const from = valueAt(hydrator, 'hydrateTo', 'targetBranch');
  const to = valueAt(hydrator, 'syncSource', 'targetBranch');
  if (typeof from !== 'string' || typeof to !== 'string' || !messageOf(error).includes('app path does not exist'))
    return '';
  return ` - waiting for an external process to update ${to} from ${from}`;
}

export function failedTargets(condition: ApplicationCondition, revisions: readonly string[] = []): RenderedSources {
  return {
    objects: [],
    facts: {
      revisions,
      sourceTypes: [],
      conditions: [condition],
      failed: true,
      mayHaveChanges: true,
    },
  };
}

function localTargets(request: RenderRequest): RenderedSources {
  const objects: KubeObject[] = [];
  for (const text of request.localManifests) {
    try {
      const value = parseJson(text);
      if (isObject(value)) objects.push(value as unknown as KubeObject);
      refuseEncrypted(objects.slice(-1), undefined, 'user');
    } catch (error) {
      return failedTargets({ type: 'ComparisonError', message: `Failed to load local manifests: ${messageOf(error)}` });
    }
  }
  return {
    objects,
    facts: {
      revisions: request.revisions,
      sourceTypes: [],
      conditions: [],
      failed: false,
      mayHaveChanges: true,
    },
  };
}

/** Wraps a source error in Argo CD's words. */
function asSourceError(error: unknown, index: number, count: number): Error {
  const text = messageOf(error);
  const wrapped = text.startsWith('rpc error:') ? text : `rpc error: code = Unknown desc = ${text}`;
  return new DriftlessError(
    'SOURCE_FAILED',
    `failed to generate manifest for source ${index + 1} of ${count}: ${wrapped}`,
    {
      cause: error,
    },
  );
}

/** False if no source has a `ref` and each is requested at exactly the revision in the status. */
function mayHaveChanges({ bound, sources, revisions }: RenderRequest): boolean {
  const synced = syncedRevisions(bound.app);
  if (sources.some((source) => source.ref !== undefined)) return true;
  return !sources.every((_, i) => (synced[i] ?? '') !== '' && synced[i] === revisions[i]);
}

/**
 * The paths whose changes require rendering (manifest-generate-paths); undefined: all of them.
 * Source: Argo CD util/app/path GetSourceRefreshPaths.
 */
function watchedPaths(app: Application, sources: readonly ApplicationSource[]): WatchedPaths | undefined {
  const annotation = app.metadata.annotations?.[annotations.manifestGeneratePaths] ?? '';
  if (annotation === '') return undefined;
  const entries = annotation
    .split(';')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  // With a hydrator only the path of the sync source counts, which has the hydrated manifests.
  const isHydrated = hydratorOf(app.spec) !== undefined;
  const paths = sources.map(({ path = '' }) => (isHydrated ? [path] : pathsBelow(path, entries)));
  return { annotation, paths, synced: syncedRevisions(app) };
}

/** The watched paths of a dry source; empty if the Application has no such annotation. */
export function watchedDryPaths(app: Application, { path = '' }: ApplicationSource): readonly string[] {
  const annotation = app.metadata.annotations?.[annotations.manifestGeneratePaths] ?? '';
  const entries = annotation.split(';').map((entry) => entry.trim());
  return pathsBelow(
    path,
    entries.filter((entry) => entry !== ''),
  );
}

function pathsBelow(path: string, entries: readonly string[]): readonly string[] {
  return entries.map((entry) =>
    entry.startsWith('/') ? entry.slice(1) : posix.join(path, entry).replace(/(?<=.)\/$/, ''),
  );
}

/** The revisions in the status, one per source. */
function syncedRevisions({ status }: Application): readonly string[] {
  const { revisions = [], revision = '' } = status?.sync ?? {};
  return revisions.length > 0 ? revisions : [revision];
}

function isCommit(revision: string): boolean {
  return /^[0-9a-f]{40}$/.test(revision);
}
