import { posix } from 'node:path';
import { at, DriftlessError, isAbort, isObject, messageOf, parseJson } from '#base';
import type { Clock, Timer } from '#base';
import type { RenderedTargets } from '#compare';
import { generatorOptions, KeyringUnavailable, SourceFailed } from '#desired';
import type {
  Capabilities,
  DesiredSource,
  KnownRepositories,
  Manifests,
  RequestedSource,
  Verified,
  WatchedPaths,
} from '#desired';
import type { LiveCluster } from '#live';
import { annotations, destinationNamespaceOf, hydratorOf, instanceName, projectOf, sourcesOf } from '#model';
import type { Application, ApplicationCondition, ApplicationSource, AppProject, KubeObject, Repository } from '#model';
import { gitIntegrity, integrityOf, isReferenceOnly, isSourcePermitted, sourceDenied } from '#policy';
import type { GitIntegrity } from '#policy';
import type { Place } from '#queues';
import type { BoundApplication } from './bound.ts';
import { IntegrityRulesUnusable, SourceRefused, SourceUnavailable } from './errors.ts';

export interface RendererDeps {
  readonly desired: DesiredSource;
  readonly clock: Clock;
  readonly repository: (url: string, project: string) => Repository;
  /** What charts may be fetched from, beside the sources of an application. */
  readonly chartRepositories: () => KnownRepositories;
}

export interface RendererConfig {
  readonly namespace: string;
  /** False: no signature is verified, whatever projects demand (ARGOCD_GPG_ENABLED=false). */
  readonly gpgEnabled?: boolean;
}

export interface RenderRequest {
  readonly bound: BoundApplication;
  readonly sources: readonly ApplicationSource[];
  /** One per source. */
  readonly revisions: readonly string[];
  readonly noCache: boolean;
  readonly noRevisionCache: boolean;
  /** See {@link ManifestsRequest}. */
  readonly revisionsSince?: number | undefined;
  /** JSON texts instead of the sources (`operation.sync.manifests`). */
  readonly localManifests: readonly string[];
  /** Where this pass works in its pool; it leaves it while its sources keep it waiting. Absent: it stays. */
  readonly place?: Place | undefined;
}

/** How long a pass keeps its place in the pool while its sources are asked: what is known already takes less. */
const patienceMs = 100;

/** What the sources say, as it was rendered; and the facts that a comparison needs about it. */
export interface Rendered {
  readonly objects: readonly KubeObject[];
  readonly facts: RenderedTargets;
}

/** A source, and what its signatures say. */
interface Checked extends RequestedSource {
  readonly problems: readonly string[];
}

/**
 * One side of a comparison: what the sources of an application say. Every source is checked before any is rendered: whether the project lets
 * its repository in, and who signed the revision. Then all are rendered by one request.
 */
export class Renderer {
  readonly #deps: RendererDeps;
  readonly #config: RendererConfig;

  constructor(deps: RendererDeps, config: RendererConfig) {
    this.#deps = deps;
    this.#config = config;
  }

  /**
   * Errors become a condition, and the side is `failed`. Throws the abort reason, and {@link SourceUnavailable} when `tolerate` says that a
   * source that cannot be read is not to be shown yet.
   */
  async render(
    request: RenderRequest,
    cluster: LiveCluster,
    tolerate: (error: unknown) => boolean,
    signal: AbortSignal,
  ): Promise<Rendered> {
    if (request.localManifests.length > 0) return this.#localTargets(request);
    try {
      return await this.sources(request, cluster, signal);
    } catch (error) {
      if (isAbort(error) || signal.aborted) throw error;
      if (error instanceof SourceRefused) return failedTargets(error.condition);
      const message = `Failed to load target state: ${messageOf(error)}${waitsForHydration(request.bound.app, error)}`;
      const isLasting = error instanceof Error && error.cause instanceof IntegrityRulesUnusable;
      if (!isLasting && tolerate(error)) throw new SourceUnavailable(error, message);
      return failedTargets({ type: 'ComparisonError', message });
    }
  }

  /** Like {@link render}, but throws whatever keeps a source from being rendered. */
  async sources(request: RenderRequest, cluster: LiveCluster, signal: AbortSignal): Promise<Rendered> {
    const { sources } = request;
    // Without a source everything would look as if it had been taken out of Git.
    if (sources.every(isReferenceOnly)) throw new SourceRefused({ type: 'InvalidSpecError', message: nothingToRender });
    const checked: Checked[] = [];
    for (const index of sources.keys()) checked.push(await this.#checked(request, index, signal));
    const before = problemsOf(sources, checked);
    if (before !== undefined) return failedTargets(before, await this.#revisions(request, checked, signal));
    const answer = await this.#manifests(request, checked, capabilitiesOf(cluster), signal);
    const found = problemsOf(sources, answer.sources);
    if (found !== undefined)
      return failedTargets(
        found,
        answer.sources.map(({ revision }) => revision),
      );
    const only = answer.sources.length === 1 ? answer.sources[0] : undefined;
    return {
      // The very same list for as long as a source gives that.
      objects: only === undefined ? answer.sources.flatMap((one) => one.objects) : only.objects,
      facts: {
        targets: [],
        revisions: answer.sources.map((one) => one.revision),
        sourceTypes: answer.sources.map((one) => one.sourceType).filter((type) => type !== ''),
        conditions: [],
        failed: false,
        mayHaveChanges: mayHaveChanges(request),
      },
    };
  }

  /** One source as it will be asked for: at the commit that was verified, which alone may be rendered; without a demand at its revision. */
  async #checked(request: RenderRequest, index: number, signal: AbortSignal): Promise<Checked> {
    const source = request.sources[index] ?? { repoURL: '' };
    const project = projectOf(request.bound.app);
    const denied = sourceDenied(request.bound.project, source.repoURL, project);
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
    request: RenderRequest,
    of: RequestedSource,
    signal: AbortSignal,
  ): Promise<Verified & Pick<RequestedSource, 'demand'>> {
    const { source, repository, revision } = of;
    const { desired } = this.#deps;
    const demand = this.#demandOf(request, source);
    if (demand === undefined) return { revision, problems: [] };
    if (desired.verify === undefined) return { revision, problems: [], demand };
    const { noRevisionCache, noCache } = request;
    const order = {
      repository,
      revision,
      noRevisionCache,
      noCache,
      ...demand,
      ...(source.targetRevision === undefined ? {} : { targetRevision: source.targetRevision }),
      ...(source.tagPrefix === undefined ? {} : { tagPrefix: source.tagPrefix }),
    };
    const verified = await this.#waited(request, desired.verify(order, signal)).catch((error: unknown): Verified => {
      if (!(error instanceof KeyringUnavailable)) throw error;
      return { revision, problems: [error.message] };
    });
    return { ...verified, problems: verified.problems.map((problem) => `GIT/GPG: ${problem}`) };
  }

  /** @throws IntegrityRulesUnusable */
  #demandOf(request: RenderRequest, source: ApplicationSource): GitIntegrity | undefined {
    return this.#usable(gitIntegrity(request.bound.project, source));
  }

  /** @throws IntegrityRulesUnusable */
  #usable(demand: ReturnType<typeof gitIntegrity>): GitIntegrity | undefined {
    if (demand !== undefined && 'error' in demand) throw new IntegrityRulesUnusable(demand.error);
    return this.#config.gpgEnabled === false ? undefined : demand;
  }

  /** What an application that is not rendered would have been rendered from. */
  async #revisions(
    request: RenderRequest,
    checked: readonly Checked[],
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const revisions: string[] = [];
    for (const [i, one] of checked.entries())
      revisions.push(
        one.problems.length > 0
          ? one.revision
          : await this.#waited(request, this.#deps.desired.resolve(one, request.noRevisionCache, signal)).catch(
              (error: unknown) => {
                throw isAbort(error) ? error : asSourceError(error, i, checked.length);
              },
            ),
      );
    return revisions;
  }

  async #manifests(
    request: RenderRequest,
    sources: readonly RequestedSource[],
    cluster: Capabilities,
    signal: AbortSignal,
  ): Promise<Manifests> {
    const { app, key, project, settings } = request.bound;
    const watched = watchedPaths(app, request.sources);
    const order = {
      sources,
      cluster,
      repositories: permittedOnly(this.#deps.chartRepositories(), project),
      options: generatorOptions(settings),
      noRevisionCache: request.noRevisionCache,
      revisionsSince: request.revisionsSince,
      noCache: request.noCache,
      appName: instanceName(key, this.#config.namespace),
      namespace: destinationNamespaceOf(app),
      project: projectOf(app),
      projectSourceRepos: project.spec.sourceRepos ?? [],
      tracking: settings.tracking,
      ...(watched === undefined ? {} : { watched }),
    };
    const answer = await this.#waited(request, this.#deps.desired.manifests(order, signal)).catch((error: unknown) => {
      if (isAbort(error) || signal.aborted) throw error;
      const [index, cause] = error instanceof SourceFailed ? [error.index, error.cause] : [0, error];
      throw asSourceError(cause, index, sources.length);
    });
    for (const [i, { revision }] of sources.entries()) {
      const found = answer.sources[i]?.revision ?? '';
      // T-REV-1: manifests of another commit than the one asked for are never compared, let alone applied.
      if (!isCommit(revision) || !isCommit(found) || found === revision) continue;
      const text = `asked for manifests of ${revision}, got those of ${found}`;
      throw asSourceError(new DriftlessError('REVISION_MISMATCH', text), i, sources.length);
    }
    return answer;
  }

  /** Repositories that hang must not hold up others: whoever waits longer leaves its place to them. */
  async #waited<T>({ place }: RenderRequest, work: Promise<T>): Promise<T> {
    if (place === undefined) return work;
    let timer: Timer | undefined;
    const isLong = new Promise<true>((resolve) => {
      timer = this.#deps.clock.timer(patienceMs, () => resolve(true));
    });
    const over = work.then(
      () => false,
      () => false,
    );
    const leaves = await Promise.race([over, isLong]);
    timer?.cancel();
    return leaves ? place.leave(work) : work;
  }

  #localTargets(request: RenderRequest): Rendered {
    try {
      // An operation may name other sources than the Application: those must be permitted, and do not lift what is demanded of its own.
      const denied = request.sources
        .map(({ repoURL }) => sourceDenied(request.bound.project, repoURL, projectOf(request.bound.app)))
        .find((fault) => fault !== undefined);
      if (denied !== undefined) return failedTargets({ type: 'InvalidSpecError', message: denied });
      const all = [...request.sources, ...sourcesOf(request.bound.app.spec)];
      const demands = all.map(({ repoURL }) => this.#usable(integrityOf(request.bound.project, repoURL)));
      if (demands.every((demand) => demand === undefined)) return localTargets(request);
      return failedTargets({ type: 'ComparisonError', message: noLocalManifests });
    } catch (error) {
      if (!(error instanceof IntegrityRulesUnusable)) throw error;
      return failedTargets({ type: 'ComparisonError', message: `Failed to load local manifests: ${error.message}` });
    }
  }
}

/** A cluster that does not answer has none: what is rendered for it is not compared with anything. */
function capabilitiesOf(cluster: LiveCluster): Capabilities {
  try {
    return { kubeVersion: cluster.info().serverVersion ?? '', apiVersions: cluster.discovery().apiVersions };
  } catch {
    return { kubeVersion: '', apiVersions: [] };
  }
}

/** Of a project that may not read from a repository, nothing gets its credentials (Argo CD: GetRepoObjs). */
function permittedOnly(known: KnownRepositories, project: AppProject): KnownRepositories {
  const permitted = (list: readonly Repository[]): readonly Repository[] =>
    list.filter(({ url }) => isSourcePermitted(project, url));
  return {
    repositories: permitted(known.repositories),
    credentials: permitted(known.credentials),
    sourceRepos: project.spec.sourceRepos ?? [],
  };
}

const noLocalManifests = 'Cannot use local manifests when source integrity is enforced';
const nothingToRender =
  'the application has no source that could be rendered: spec.source, or one of spec.sources with a path or a chart, is required';

/** Of an Application that is not what it should be, nothing is compared, and so nothing can be applied or pruned. */
function problemsOf(
  sources: readonly ApplicationSource[],
  answers: readonly { readonly problems?: readonly string[] }[],
): ApplicationCondition | undefined {
  const all = answers.flatMap(({ problems = [] }, i) => problems.map((problem) => `${nameOf(sources, i)}${problem}`));
  return all.length === 0 ? undefined : { type: 'ComparisonError', message: all.join('\n') };
}

/** How Argo CD tells several sources apart. */
function nameOf(sources: readonly ApplicationSource[], index: number): string {
  if (sources.length === 1) return '';
  const name = sources[index]?.name ?? '';
  return name === '' ? `source ${index + 1} of ${sources.length}: ` : `source ${name}: `;
}

/** The manifests of a hydrator that writes to another branch first come when somebody has merged it. */
function waitsForHydration(app: Application, error: unknown): string {
  const hydrator = hydratorOf(app.spec) ?? {};
  const from = at(hydrator, 'hydrateTo', 'targetBranch');
  const to = at(hydrator, 'syncSource', 'targetBranch');
  if (typeof from !== 'string' || typeof to !== 'string' || !messageOf(error).includes('app path does not exist'))
    return '';
  return ` - waiting for an external process to update ${to} from ${from}`;
}

function failedTargets(condition: ApplicationCondition, revisions: readonly string[] = []): Rendered {
  return {
    objects: [],
    facts: {
      targets: [],
      revisions,
      sourceTypes: [],
      conditions: [condition],
      failed: true,
      mayHaveChanges: true,
    },
  };
}

function localTargets(request: RenderRequest): Rendered {
  const objects: KubeObject[] = [];
  for (const text of request.localManifests) {
    try {
      const value = parseJson(text);
      if (isObject(value)) objects.push(value as unknown as KubeObject);
    } catch (error) {
      return failedTargets({ type: 'ComparisonError', message: `Failed to load local manifests: ${messageOf(error)}` });
    }
  }
  return {
    objects,
    facts: {
      targets: [],
      revisions: request.revisions,
      sourceTypes: [],
      conditions: [],
      failed: false,
      mayHaveChanges: true,
    },
  };
}

/** Argo CD's words around what its repo-server said. */
function asSourceError(error: unknown, index: number, count: number): Error {
  const text = messageOf(error);
  const said = text.startsWith('rpc error:') ? text : `rpc error: code = Unknown desc = ${text}`;
  return new DriftlessError(
    'SOURCE_FAILED',
    `failed to generate manifest for source ${index + 1} of ${count}: ${said}`,
    {
      cause: error,
    },
  );
}

/** False when every source is asked for at exactly the commit that the status says. */
function mayHaveChanges({ bound, sources, revisions }: RenderRequest): boolean {
  const synced = syncedRevisions(bound.app);
  if (sources.some((source) => source.ref !== undefined)) return true;
  return !sources.every((_, i) => (synced[i] ?? '') !== '' && synced[i] === revisions[i]);
}

/** Undefined: every commit counts (Argo CD: util/app/path GetSourceRefreshPaths). */
function watchedPaths(app: Application, sources: readonly ApplicationSource[]): WatchedPaths | undefined {
  const annotation = app.metadata.annotations?.[annotations.manifestGeneratePaths] ?? '';
  if (annotation === '') return undefined;
  const entries = annotation
    .split(';')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  // What a hydrator leaves behind lies in its directory, whatever its dry source reads.
  const isHydrated = hydratorOf(app.spec) !== undefined;
  const paths = sources.map(({ path = '' }) =>
    isHydrated
      ? [path]
      : entries.map((entry) =>
          entry.startsWith('/') ? entry.slice(1) : posix.join(path, entry).replace(/(?<=.)\/$/, ''),
        ),
  );
  return { annotation, paths, synced: syncedRevisions(app) };
}

/** The revisions that the status says, one for each source. */
function syncedRevisions({ status }: Application): readonly string[] {
  const { revisions = [], revision = '' } = status?.sync ?? {};
  return revisions.length > 0 ? revisions : [revision];
}

function isCommit(revision: string): boolean {
  return /^[0-9a-f]{40}$/.test(revision);
}
