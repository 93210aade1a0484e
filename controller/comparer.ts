import { DeadlineExceeded, isAbort, messageOf, withDeadline } from '#base';
import type { Clock } from '#base';
import { normalizeTargets, RowStore, schemaApiVersions, toDryRun } from '#compare';
import type { CompareFacts, Comparison, LiveState, NormalTargets, StoredComparison } from '#compare';
import { JqAnswers } from '#diff';
import { findResource } from '#kube';
import type { ApiDiscovery } from '#kube';
import { ClusterIgnored, ClusterUnavailable, failureOf, isExcluded } from '#live';
import type { LiveCluster, LiveClusters, ManagedObjects, UnreadObject } from '#live';
import { apiVersionOf, destinationNamespaceOf, instanceName, keyOfRef, refOfStatus, sourcesOf } from '#model';
import type {
  AppKey,
  Application,
  ApplicationSource,
  KubeObject,
  ObjectName,
  ResourceKey,
  ResourceStatus,
} from '#model';
import type { Place } from '#queues';
import type { WorkMetrics } from './apply-metrics.ts';
import type { BoundApplication } from './bound.ts';
import { ClusterNotReady, SourceRefused } from './errors.ts';
import { Remembered } from './remembered.ts';
import { Renderer } from './rendering.ts';
import type { LoopWatch } from './loop-watch.ts';
import type { RendererConfig, RendererDeps } from './rendering.ts';
import { serverSideDiffOf } from './compare-options.ts';
import type { DryRuns } from './server-side-diff.ts';
import type { JqRunner } from './jq-runner.ts';

export interface ComparerDeps extends RendererDeps {
  readonly live: LiveClusters;
  readonly loop: LoopWatch;
  /** Where rows are kept from one comparison to the next; absent: every comparison is a full one. */
  readonly rows?: RowStore;
  /** Who asks API servers what an apply would change; absent: nobody may, and server-side diff is compared here. */
  readonly dryRuns?: Pick<DryRuns, 'outcomes'>;
  /** Who runs the jq programs that are beyond path expressions; absent: they are refused. */
  readonly jq?: Pick<JqRunner, 'answer'>;
  /** Who counts rows, and measures stages. */
  readonly work: Pick<WorkMetrics, 'rows' | 'stage'>;
}

export interface ComparerConfig extends RendererConfig {
  readonly persistResourceHealth: boolean;
  /** --server-side-diff-enabled. */
  readonly serverSideDiff?: boolean;
}

export interface CompareRequest {
  readonly bound: BoundApplication;
  /** One per source. */
  readonly revisions: readonly string[];
  /** In force instead of those of the spec (rollback). */
  readonly sources?: readonly ApplicationSource[];
  readonly noCache: boolean;
  readonly noRevisionCache: boolean;
  /** See {@link ManifestsRequest}. */
  readonly revisionsSince?: number | undefined;
  /** JSON texts instead of the sources (`operation.sync.manifests`). */
  readonly localManifests: readonly string[];
  /** The resources that changed since the last comparison: only they must be compared. Absent: all. */
  readonly changed?: ReadonlySet<ResourceKey>;
  /** Where this pass works in its pool; it leaves it while its sources keep it waiting. Absent: it stays. */
  readonly place?: Place | undefined;
}

export interface Compared {
  readonly comparison: Comparison;
  readonly cluster: LiveCluster;
  readonly revisions: readonly string[];
}

const noResources: readonly ResourceStatus[] = [];

/** More programs than this after each other on one object have no answer. */
const jqRounds = 50;

/** How long a pass waits for the filled cache of a cluster before it gives its place in the pool to others. */
const fillWaitMs = 3000;

/**
 * A cluster that has a cache. Waits a little for it to be filled.
 * @throws ClusterNotReady when there is none yet: a pass must not hold its place in the pool for a cluster that does not answer.
 */
export async function filledCluster(
  deps: { readonly live: LiveClusters; readonly clock: Clock },
  server: string,
  signal: AbortSignal,
): Promise<LiveCluster> {
  const what = `the filled cache of cluster ${server}`;
  try {
    return await withDeadline(signal, { clock: deps.clock, limitMs: fillWaitMs, what }, (inner) =>
      deps.live.cluster(server, inner),
    );
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof DeadlineExceeded || error instanceof ClusterIgnored) throw new ClusterNotReady(server, error);
    throw error;
  }
}

/**
 * Fetches both sides of a comparison and compares them. The comparing itself is {@link RowStore.steps}, a pure function but for what it remembers.
 *
 * Errors of a side become conditions of the comparison, which then is `failed`, as in Argo CD. It throws only what keeps it from comparing
 * at all: the abort reason, {@link SourceUnavailable} when `tolerate` says that a source that cannot be read is not to be shown yet, and
 * {@link ClusterNotReady}.
 */
export class Comparer {
  readonly #deps: ComparerDeps;
  readonly #config: ComparerConfig;
  readonly #renderer: Renderer;
  /** Of rendered objects: as long as a source gives the same list, its normal form is the same list, too. */
  readonly #normal = new Remembered<readonly KubeObject[], NormalTargets>();
  readonly #described = new Remembered<readonly KubeObject[], readonly string[]>();
  /** Of the resources of a status. */
  readonly #had = new Remembered<readonly ResourceStatus[], readonly ObjectName[]>();

  constructor(deps: ComparerDeps, config: ComparerConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#renderer = new Renderer(deps, config);
  }

  async compare(
    request: CompareRequest,
    tolerate: (error: unknown) => boolean,
    signal: AbortSignal,
  ): Promise<Compared> {
    const { app, key, settings, gate } = request.bound;
    const sources = request.sources ?? sourcesOf(app.spec);
    const cluster = await filledCluster(this.#deps, request.bound.cluster.server, signal);
    const { loop, work } = this.#deps;
    const rendered = await work.stage('sources', () =>
      this.#renderer.render({ ...request, sources }, cluster, tolerate, signal),
    );
    const normal = loop.run(key, 'normalization', () => this.#normalize(request, cluster, rendered.objects));
    const live = await work.stage('live', () => this.#live(request, cluster, normal.targets, signal));
    const described = this.#described.of(
      normal.targets,
      [settings, app.spec.ignoreDifferences, app.spec.syncPolicy],
      () => schemaApiVersions(app, normal.targets, settings),
    );
    const facts: CompareFacts = {
      app,
      key,
      instance: this.#instance(key),
      settings,
      rendered: {
        ...rendered.facts,
        targets: normal.targets,
        conditions: [...rendered.facts.conditions, ...normal.conditions],
      },
      live,
      requested: request.revisions,
      isNamespaced: scopesOf(cluster),
      permitted: (object) => gate.permits(object),
      permittedKind: (object, namespaced) => gate.permitsKind(object, namespaced),
      ...premisesOf(cluster, gate.version),
      persistResourceHealth: this.#config.persistResourceHealth,
      ...(described.length === 0 ? {} : { schemas: await cluster.schemas(described, signal) }),
    };
    const complete = await this.#asked(facts, request, cluster, signal);
    const comparison = await work.stage('comparison', () => this.#compared(complete, request.changed, signal));
    return { comparison, cluster, revisions: rendered.facts.revisions };
  }

  /** The normalized manifests alone, for hooks that run while the application is deleted. Throws what keeps them from being rendered. */
  async targets(request: CompareRequest, cluster: LiveCluster, signal: AbortSignal): Promise<readonly KubeObject[]> {
    const sources = sourcesOf(request.bound.app.spec);
    const rendered = await this.#renderer.sources({ ...request, sources }, cluster, signal);
    const [refusal] = rendered.facts.conditions;
    if (refusal !== undefined) throw new SourceRefused(refusal);
    return this.#normalize(request, cluster, rendered.objects).targets;
  }

  /** Compares, and again with what jq says, for as long as rules ask for more: each may only ask when those before it have been run. */
  async #compared(
    facts: CompareFacts,
    changed: ReadonlySet<ResourceKey> | undefined,
    signal: AbortSignal,
  ): Promise<Comparison> {
    const { rows, jq: runner, loop } = this.#deps;
    const store = rows ?? new RowStore();
    const once = async (given: CompareFacts, fresh: ReadonlySet<ResourceKey> | undefined): Promise<Comparison> =>
      this.#counted(await loop.slices(facts.key, 'comparison', store.steps(given, fresh), signal));
    if (runner === undefined) return once(facts, changed);
    const jq = new JqAnswers();
    let comparison = await once({ ...facts, jq }, changed);
    for (let round = 0; jq.open().length > 0 && round < jqRounds; round += 1) {
      await runner.answer(jq, signal);
      comparison = await once({ ...facts, jq }, new Set());
    }
    return comparison;
  }

  #counted({ comparison, rows, made, misses }: StoredComparison): Comparison {
    this.#deps.work.rows({ kept: rows.length - made, made: misses });
    return comparison;
  }

  /** The facts with what the API server says to dry runs, where the application wants that. */
  async #asked(
    facts: CompareFacts,
    { bound, noCache }: CompareRequest,
    cluster: LiveCluster,
    signal: AbortSignal,
  ): Promise<CompareFacts> {
    const { dryRuns } = this.#deps;
    const wanted = serverSideDiffOf(bound.app, this.#config.serverSideDiff === true);
    if (dryRuns === undefined || wanted === undefined) return facts;
    let user: string;
    try {
      user = bound.identity.syncs() ?? '';
    } catch (error) {
      const message = `Failed to compare desired state to live state: ${messageOf(error)}`;
      const condition = { type: 'ComparisonError' as const, message };
      return { ...facts, live: { ...facts.live, failed: true, conditions: [...facts.live.conditions, condition] } };
    }
    const outcomes = await dryRuns.outcomes({ key: bound.key, cluster, user, noCache }, toDryRun(facts), signal);
    return { ...facts, serverSideDiff: { ...wanted, user, outcomes } };
  }

  #instance(key: AppKey): string {
    return instanceName(key, this.#config.namespace);
  }

  #normalize(
    { bound: { app, key, settings } }: CompareRequest,
    cluster: LiveCluster,
    objects: readonly KubeObject[],
  ): NormalTargets {
    const [instance, destinationNamespace] = [this.#instance(key), destinationNamespaceOf(app)];
    const served = discoveryOf(cluster);
    const make = (): NormalTargets =>
      normalizeTargets(objects, {
        instance,
        destinationNamespace,
        tracking: settings.tracking,
        isNamespaced: (gk) => cluster.isNamespaced(gk),
        isExcluded: (gk) => isExcluded(settings, gk, cluster.server),
      });
    if (served === undefined) return make();
    return this.#normal.of(objects, [instance, destinationNamespace, settings, cluster, served], make);
  }

  async #live(
    request: CompareRequest,
    cluster: LiveCluster,
    targets: readonly KubeObject[],
    signal: AbortSignal,
  ): Promise<LiveState> {
    try {
      cluster.discovery();
      const { key, app } = request.bound;
      // A hook has done its work: nobody needs to find it again.
      const resources = app.status?.resources ?? noResources;
      const had = this.#had.of(resources, [], () => namesOf(resources.filter(({ hook }) => hook !== true)));
      const since = this.#deps.rows?.lastObjects(key);
      const query = { app: this.#instance(key), targets, had, since };
      const { degraded, ...cache } = await cluster.managed(query, signal);
      const unread = [...cache.unread, ...undiscovered(app, cache, cluster.discovery())];
      return { ...cache, unread, degraded: degraded.kinds, conditions: [], failed: false };
    } catch (error) {
      if (isAbort(error) || signal.aborted) throw error;
      const where = error instanceof ClusterUnavailable ? `failed to get cluster info for "${cluster.server}": ` : '';
      const message = `Failed to load live state: ${where}${messageOf(error)}`;
      const conditions = [{ type: 'ComparisonError' as const, message }];
      return { objects: new Map(), unread: [], degraded: [], conditions, failed: true };
    }
  }
}

/** Undefined while the cluster says nothing. */
function discoveryOf(cluster: LiveCluster): ApiDiscovery | undefined {
  try {
    return cluster.discovery();
  } catch {
    return undefined;
  }
}

/** As they are now: a comparison in slices must not see one half of its resources by what the cluster serves later. */
function scopesOf(cluster: LiveCluster): CompareFacts['isNamespaced'] {
  const discovery = discoveryOf(cluster);
  return (gk) => (discovery === undefined ? undefined : findResource(discovery, gk)?.namespaced);
}

/** The names of what an application had when it was compared last. */
export function namesOf(resources: readonly ResourceStatus[]): readonly ObjectName[] {
  return resources.flatMap(({ group = '', version = '', kind = '', namespace = '', name = '' }) => {
    if (kind === '' || name === '' || version === '') return [];
    const metadata = { name, ...(namespace === '' ? {} : { namespace }) };
    return [{ apiVersion: apiVersionOf(group, version), kind, metadata }];
  });
}

/** Another cluster at the same URL counts the versions of what it serves from the beginning. */
const clusterNumbers = new WeakMap<LiveCluster, number>();
let lastCluster = 0;

/** What the cluster and the project say of kinds and places; nothing while the cluster says nothing. */
function premisesOf(cluster: LiveCluster, gate: string): { readonly premises?: string } {
  try {
    const number = clusterNumbers.get(cluster) ?? (lastCluster += 1);
    clusterNumbers.set(cluster, number);
    return { premises: `${number} ${cluster.discovery().version} ${gate}` };
  } catch {
    return {};
  }
}

/**
 * What the application had when it was compared last, of kinds that discovery has not been able to read since the start: nobody watches them,
 * so that the cache does not have it says nothing. What a manifest names is among the unread already.
 */
function undiscovered(
  app: Application,
  { objects, unread }: Pick<ManagedObjects, 'objects' | 'unread'>,
  discovery: ApiDiscovery,
): readonly UnreadObject[] {
  if (discovery.failedGroups.size === 0) return [];
  const known = new Set([...objects.keys(), ...unread.map(({ key }) => key)]);
  return (app.status?.resources ?? []).flatMap((resource): UnreadObject[] => {
    const ref = refOfStatus(resource);
    const failure = failureOf(discovery, ref.group);
    const isOpen = failure !== undefined && resource.hook !== true && !known.has(keyOfRef(ref));
    if (!isOpen || findResource(discovery, ref) !== undefined) return [];
    const message = `failed to get managed objects: unexpected error getting managed object: ${failure}`;
    return [{ ...ref, key: keyOfRef(ref), version: resource.version ?? '', message }];
  });
}
