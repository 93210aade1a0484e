import { at, DeadlineExceeded, DriftlessError, isAbort, isObject, messageOf, parseJson, withDeadline } from '#base';
import type { Clock } from '#base';
import { KeyringUnavailable } from '#desired';
import type { DesiredSource, Verified } from '#desired';
import { ClusterIgnored, isExcluded } from '#live';
import type { LiveCluster, LiveClusters } from '#live';
import { hydratorOf, instanceName, projectOf, sourcesOf } from '#model';
import type {
  AppKey,
  Application,
  ApplicationCondition,
  ApplicationSource,
  AppProject,
  Cluster,
  KubeObject,
  Repository,
  Settings,
} from '#model';
import { gitIntegrity, integrityOf, isReferenceOnly, sourceDenied } from '#policy';
import type { GitIntegrity } from '#policy';
import { compareState } from './comparison.ts';
import type { Comparison, LivePicture, RenderedTargets } from './comparison.ts';
import { ClusterNotReady, IntegrityRulesUnusable, SourceRefused, SourceUnavailable } from './errors.ts';
import { normalizeTargets } from './targets.ts';
import type { NormalTargets } from './targets.ts';

export interface ComparerDeps {
  readonly desired: DesiredSource;
  readonly live: LiveClusters;
  readonly repository: (url: string, project: string) => Repository;
  readonly clock: Clock;
}

export interface ComparerConfig {
  readonly namespace: string;
  readonly persistResourceHealth: boolean;
  /** False: no signature is verified, whatever projects demand (ARGOCD_GPG_ENABLED=false). */
  readonly gpgEnabled?: boolean;
}

export interface CompareRequest {
  readonly app: Application;
  /** The effective project: where sources may come from, and who must have signed them. */
  readonly project: AppProject;
  readonly key: AppKey;
  readonly cluster: Cluster;
  readonly settings: Settings;
  /** One per source. */
  readonly revisions: readonly string[];
  /** In force instead of those of the spec (rollback). */
  readonly sources?: readonly ApplicationSource[];
  readonly noCache: boolean;
  readonly noRevisionCache: boolean;
  /** JSON texts instead of the sources (`operation.sync.manifests`). */
  readonly localManifests: readonly string[];
  /** May this application, by its project, have this object in this place? */
  readonly permitted: (object: KubeObject) => boolean;
}

export interface Compared {
  readonly comparison: Comparison;
  readonly cluster: LiveCluster;
  readonly revisions: readonly string[];
}

/** How long a pass waits for the first picture of a cluster before it gives its place in the pool to others. */
const firstPictureMs = 3000;

/**
 * A cluster that has a picture. Waits a little for the first one.
 * @throws ClusterNotReady when there is none yet: a pass must not hold its place in the pool for a cluster that does not answer.
 */
export async function firstPicture(
  deps: { readonly live: LiveClusters; readonly clock: Clock },
  server: string,
  signal: AbortSignal,
): Promise<LiveCluster> {
  const what = `the first picture of cluster ${server}`;
  try {
    return await withDeadline(signal, { clock: deps.clock, limitMs: firstPictureMs, what }, (inner) =>
      deps.live.cluster(server, inner),
    );
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof DeadlineExceeded || error instanceof ClusterIgnored) throw new ClusterNotReady(server, error);
    throw error;
  }
}

/**
 * Fetches both sides of a comparison and compares them. The comparing itself is {@link compareState}, a pure function.
 *
 * Errors of a side become conditions of the comparison, which then is `failed`, as in Argo CD. It throws only what keeps it from comparing
 * at all: the abort reason, {@link SourceUnavailable} when `tolerate` says that a source that cannot be read is not to be shown yet, and
 * {@link ClusterNotReady}.
 */
export class Comparer {
  readonly #deps: ComparerDeps;
  readonly #config: ComparerConfig;

  constructor(deps: ComparerDeps, config: ComparerConfig) {
    this.#deps = deps;
    this.#config = config;
  }

  async compare(
    request: CompareRequest,
    tolerate: (error: unknown) => boolean,
    signal: AbortSignal,
  ): Promise<Compared> {
    const sources = request.sources ?? sourcesOf(request.app.spec);
    const [cluster, rendered] = await Promise.all([
      firstPicture(this.#deps, request.cluster.server, signal),
      this.#render(request, sources, tolerate, signal),
    ]);
    const normal = this.#normalize(request, cluster, rendered.objects);
    const live = await this.#live(request, cluster, normal.targets, signal);
    const facts = {
      app: request.app,
      key: request.key,
      instance: this.#instance(request.key),
      controllerNamespace: this.#config.namespace,
      settings: request.settings,
      rendered: {
        ...rendered.facts,
        targets: normal.targets,
        conditions: [...rendered.facts.conditions, ...normal.conditions],
      },
      live,
      requested: request.revisions,
      isNamespaced: (gk: { group: string; kind: string }) => cluster.isNamespaced(gk),
      permitted: request.permitted,
      persistResourceHealth: this.#config.persistResourceHealth,
    };
    return { comparison: compareState(facts), cluster, revisions: rendered.facts.revisions };
  }

  /** The normalised manifests alone, for hooks that run while the application is deleted. Throws what keeps them from being rendered. */
  async targets(request: CompareRequest, cluster: LiveCluster, signal: AbortSignal): Promise<readonly KubeObject[]> {
    const rendered = await this.#renderSources(request, sourcesOf(request.app.spec), signal);
    const [refusal] = rendered.facts.conditions;
    if (refusal !== undefined) throw new SourceRefused(refusal);
    return this.#normalize(request, cluster, rendered.objects).targets;
  }

  #instance(key: AppKey): string {
    return instanceName(key, this.#config.namespace);
  }

  async #render(
    request: CompareRequest,
    sources: readonly ApplicationSource[],
    tolerate: (error: unknown) => boolean,
    signal: AbortSignal,
  ): Promise<Rendered> {
    if (request.localManifests.length > 0) return this.#localTargets(request, sources);
    try {
      return await this.#renderSources(request, sources, signal);
    } catch (error) {
      if (isAbort(error) || signal.aborted) throw error;
      if (error instanceof SourceRefused) return failedTargets(error.condition);
      const message = `Failed to load target state: ${messageOf(error)}${waitsForHydration(request.app, error)}`;
      const isLasting = error instanceof Error && error.cause instanceof IntegrityRulesUnusable;
      if (!isLasting && tolerate(error)) throw new SourceUnavailable(error, message);
      return failedTargets({ type: 'ComparisonError', message });
    }
  }

  async #renderSources(
    request: CompareRequest,
    sources: readonly ApplicationSource[],
    signal: AbortSignal,
  ): Promise<Rendered> {
    // Without a source everything would look as if it had been taken out of Git.
    if (sources.every(isReferenceOnly)) throw new SourceRefused({ type: 'InvalidSpecError', message: nothingToRender });
    const objects: KubeObject[] = [];
    const revisions: string[] = [];
    const sourceTypes: string[] = [];
    const problems: string[] = [];
    for (const [i, source] of sources.entries()) {
      const revision = request.revisions[i] ?? source.targetRevision ?? '';
      const rendered = await this.#renderOne(request, source, revision, signal).catch((error: unknown) => {
        throw isAbort(error) || error instanceof SourceRefused ? error : asSourceError(error, i, sources.length);
      });
      objects.push(...rendered.objects);
      revisions.push(rendered.revision);
      sourceTypes.push(rendered.sourceType);
      problems.push(...rendered.problems.map((problem) => `${nameOf(sources, i)}${problem}`));
    }
    // Of an Application that is not what it should be, nothing is compared, and so nothing can be applied or pruned.
    if (problems.length > 0) return failedTargets({ type: 'ComparisonError', message: problems.join('\n') }, revisions);
    return {
      objects,
      facts: {
        targets: [],
        revisions,
        sourceTypes: sourceTypes.filter((type) => type !== ''),
        conditions: [],
        failed: false,
        mayHaveChanges: mayHaveChanges(request, sources),
      },
    };
  }

  /** Checks before it renders: whether the project lets the repository in, and who signed the revision. */
  async #renderOne(
    request: CompareRequest,
    source: ApplicationSource,
    revision: string,
    signal: AbortSignal,
  ): Promise<RenderedSource> {
    const { desired, repository } = this.#deps;
    const project = projectOf(request.app);
    const denied = sourceDenied(request.project, source.repoURL, project);
    if (denied !== undefined) throw new SourceRefused({ type: 'InvalidSpecError', message: denied });
    const repo = repository(source.repoURL, project);
    const verified = await this.#verify(request, { source, repo, revision }, signal);
    if (verified.problems.length > 0) return { objects: [], sourceType: '', ...verified };
    // A source that is only referred to by others renders nothing, but its revision is part of the comparison.
    if (isReferenceOnly(source)) {
      const resolved = await desired.resolve(repo, verified.revision, request.noRevisionCache, signal);
      return { objects: [], revision: resolved, sourceType: '', problems: [] };
    }
    const manifests = await desired.manifests(
      {
        source,
        repository: repo,
        revision: verified.revision,
        noRevisionCache: request.noRevisionCache,
        noCache: request.noCache,
        appName: this.#instance(request.key),
        namespace: request.app.spec.destination.namespace ?? '',
      },
      signal,
    );
    // T-REV-1: manifests of another commit than the one asked for are never compared, let alone applied.
    if (isCommit(verified.revision) && isCommit(manifests.revision) && manifests.revision !== verified.revision)
      throw new DriftlessError(
        'REVISION_MISMATCH',
        `asked for manifests of ${verified.revision}, got those of ${manifests.revision}`,
      );
    return { ...manifests, problems: [] };
  }

  /** The commit that was verified, which alone may be rendered; without a demand the revision as it is. */
  async #verify(
    request: CompareRequest,
    at: { readonly source: ApplicationSource; readonly repo: Repository; readonly revision: string },
    signal: AbortSignal,
  ): Promise<Verified> {
    const { source, repo, revision } = at;
    const demand = this.#demandOf(request, source);
    if (demand === undefined) return { revision, problems: [] };
    const { noRevisionCache, noCache } = request;
    const order = {
      ...{ repository: repo, revision, noRevisionCache, noCache, ...demand },
      ...(source.targetRevision === undefined ? {} : { targetRevision: source.targetRevision }),
    };
    const verified = await this.#deps.desired.verify(order, signal).catch((error: unknown): Verified => {
      if (!(error instanceof KeyringUnavailable)) throw error;
      return { revision, problems: [error.message] };
    });
    return { ...verified, problems: verified.problems.map((problem) => `GIT/GPG: ${problem}`) };
  }

  /** @throws IntegrityRulesUnusable */
  #demandOf(request: CompareRequest, source: ApplicationSource): GitIntegrity | undefined {
    return this.#usable(gitIntegrity(request.project, source));
  }

  /** @throws IntegrityRulesUnusable */
  #usable(demand: ReturnType<typeof gitIntegrity>): GitIntegrity | undefined {
    if (demand !== undefined && 'error' in demand) throw new IntegrityRulesUnusable(demand.error);
    return this.#config.gpgEnabled === false ? undefined : demand;
  }

  #localTargets(request: CompareRequest, sources: readonly ApplicationSource[]): Rendered {
    try {
      // An operation may name other sources than the Application: those must be permitted, and do not lift what is demanded of its own.
      const denied = sources
        .map(({ repoURL }) => sourceDenied(request.project, repoURL, projectOf(request.app)))
        .find((fault) => fault !== undefined);
      if (denied !== undefined) return failedTargets({ type: 'InvalidSpecError', message: denied });
      const all = [...sources, ...sourcesOf(request.app.spec)];
      const demands = all.map(({ repoURL }) => this.#usable(integrityOf(request.project, repoURL)));
      if (demands.every((demand) => demand === undefined)) return localTargets(request);
      return failedTargets({ type: 'ComparisonError', message: noLocalManifests });
    } catch (error) {
      if (!(error instanceof IntegrityRulesUnusable)) throw error;
      return failedTargets({ type: 'ComparisonError', message: `Failed to load local manifests: ${error.message}` });
    }
  }

  #normalize(request: CompareRequest, cluster: LiveCluster, objects: readonly KubeObject[]): NormalTargets {
    return normalizeTargets(objects, {
      instance: this.#instance(request.key),
      destinationNamespace: request.app.spec.destination.namespace ?? '',
      tracking: request.settings.tracking,
      isNamespaced: (gk) => cluster.isNamespaced(gk),
      isExcluded: (gk) => isExcluded(request.settings, gk, cluster.server),
    });
  }

  async #live(
    request: CompareRequest,
    cluster: LiveCluster,
    targets: readonly KubeObject[],
    signal: AbortSignal,
  ): Promise<LivePicture> {
    try {
      cluster.surface();
      const picture = await cluster.managed(this.#instance(request.key), targets, signal);
      return { ...picture, conditions: [], failed: false };
    } catch (error) {
      if (isAbort(error) || signal.aborted) throw error;
      const message = `Failed to load live state: ${messageOf(error)}`;
      const conditions = [{ type: 'ComparisonError' as const, message }];
      return { objects: new Map(), unread: [], degraded: [], conditions, failed: true };
    }
  }
}

interface Rendered {
  readonly objects: readonly KubeObject[];
  readonly facts: RenderedTargets;
}

interface RenderedSource extends Verified {
  readonly objects: readonly KubeObject[];
  readonly sourceType: string;
}

const noLocalManifests = 'Cannot use local manifests when source integrity is enforced';
const nothingToRender =
  'the application has no source that could be rendered: spec.source, or one of spec.sources with a path or a chart, is required';

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

function localTargets(request: CompareRequest): Rendered {
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
function mayHaveChanges(request: CompareRequest, sources: readonly ApplicationSource[]): boolean {
  const sync = request.app.status?.sync;
  const synced = (sync?.revisions?.length ?? 0) > 0 ? (sync?.revisions ?? []) : [sync?.revision ?? ''];
  if (sources.some((source) => source.ref !== undefined)) return true;
  return !sources.every((_, i) => (synced[i] ?? '') !== '' && synced[i] === request.revisions[i]);
}

function isCommit(revision: string): boolean {
  return /^[0-9a-f]{40}$/.test(revision);
}
