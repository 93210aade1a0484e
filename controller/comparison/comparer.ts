import { DeadlineExceeded, defined, isAbort, messageOf, withDeadline } from '#base';
import type { Clock } from '#base';
import { normalizeTargets, RowStore, toDryRun, writesNamespaceMetadata } from '#compare';
import type { CompareFacts, Comparison, LiveState, NormalTargets, StoredComparison } from '#compare';
import { JqAnswers } from '#diff';
import { findResource } from '#kube';
import type { ApiDiscovery } from '#kube';
import { ClusterIgnored, ClusterUnavailable, failureOf, isExcluded } from '#live';
import type { LiveCluster, LiveClusters, ManagedObjects, ManagedQuery, UnreadObject } from '#live';
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
import { SlotLoan } from '#queues';
import type { WorkerSlot } from '#queues';
import type { ManifestClaims } from '../admission/claims.ts';
import { PassTimes } from '../report/pass-times.ts';
import type { StageTimes, WorkMetrics } from '../write/apply-metrics.ts';
import { withIncompleteApis } from '../discovery/capabilities.ts';
import { formerMarks } from '../application/former-marks.ts';
import { ClusterNotReady, SourceRefused } from '../shared/errors.ts';
import { basisOf, hasChangedSince, isSameBasis } from './basis.ts';
import type { ComparisonBasis, LiveSight, SeenQuestion } from './basis.ts';
import { DerivedCache } from './derived-cache.ts';
import { Renderer } from './rendering.ts';
import { SchemaReads } from './schema-reads.ts';
import type { ReadSchemas } from './schema-reads.ts';
import { SourceReader } from './source-reader.ts';
import type { LoopWatch } from './loop-watch.ts';
import type { RenderedSources, RendererConfig, RendererDeps, RenderRequest, SourceOutage } from './rendering.ts';
import { serverSideDiffOf } from './compare-options.ts';
import type { ComparisonCapture } from '../recorder/capture.ts';
import type { DryRuns } from './server-side-diff.ts';
import type { JqRunner } from './jq-runner.ts';
import type { BoundApplication } from '../admission/bound.ts';

export interface ComparerDeps extends RendererDeps {
  readonly live: LiveClusters;
  readonly loop: LoopWatch;
  /** Keeps rows between comparisons; absent: every comparison is a full one. */
  readonly rows?: RowStore;
  /** Runs server-side dry runs; absent: not permitted, and server-side diff is computed locally. */
  readonly dryRuns?: Pick<DryRuns, 'outcomes'>;
  /** Runs jq programs beyond path expressions; absent: they are refused. */
  readonly jq?: Pick<JqRunner, 'answer'>;
  /** Finds Applications that share a Namespace; absent: none do. */
  readonly claims?: Pick<ManifestClaims, 'namespaceSharers'>;
  /** Counts rows and measures stages. */
  readonly work: Pick<WorkMetrics, 'rows' | 'stage'>;
}

export interface ComparerConfig extends RendererConfig {
  readonly persistResourceHealth: boolean;
  /** --server-side-diff-enabled. */
  readonly serverSideDiff?: boolean;
}

export interface CompareRequest extends Omit<RenderRequest, 'sources'> {
  /** Overrides the sources of the spec (rollback). */
  readonly sources?: readonly ApplicationSource[];
  /** Resources that changed since the last comparison; only these are compared. Absent: all. */
  readonly changed?: ReadonlySet<ResourceKey>;
  /** A user asked for it: objects of kinds that are not fresh are read from the server. */
  readonly readsStale?: boolean;
  /** Runs discovery before it calls a kind unknown. */
  readonly mustKnowKinds?: boolean;
  /** Gets the time of each stage. */
  readonly stages?: StageTimes;
  /** Collects references to what is read. */
  readonly capture?: ComparisonCapture;
  /** Collects the times that are logged. */
  readonly times?: PassTimes;
}

export interface ComparedApplication {
  readonly comparison: Comparison;
  readonly cluster: LiveCluster;
  readonly revisions: readonly string[];
  /** Undefined if another comparison of the same inputs might give another result. */
  readonly basis: ComparisonBasis | undefined;
  /** The sources could not be read, and the last good rendering was compared. */
  readonly outage?: SourceOutage | undefined;
  /** Undefined if the live objects may be others without another evidence. */
  readonly sight: LiveSight | undefined;
}

/** The desired side of a comparison, and how to read the live one. */
interface DesiredSide {
  readonly cluster: LiveCluster;
  readonly rendered: RenderedSources;
  readonly normal: NormalTargets;
  readonly read: ReadSchemas;
  readonly query: ManagedQuery;
  readonly times: PassTimes;
  /** Identifies both sides. */
  readonly basis: ComparisonBasis | undefined;
  /** Identifies the live side. */
  readonly evidence: string | undefined;
}

/** `isLasting`: equal facts give the same comparison again. */
interface LastingComparison {
  readonly comparison: Comparison;
  readonly isLasting: boolean;
}

const noResources: readonly ResourceStatus[] = [];

/** Upper bound on rounds of dependent jq programs for one comparison. */
const maxJqRounds = 50;

/** How long a pass waits for a cluster cache to fill before it is requeued. */
const cacheWaitMs = 3000;

/**
 * Waits briefly, without the worker slot, until the cache is filled or discovery has failed.
 * @throws ClusterNotReady after that time: the pass is requeued and does not hold a worker.
 */
export async function filledCluster(
  deps: { readonly live: LiveClusters; readonly clock: Clock },
  server: string,
  { signal, place }: { readonly signal: AbortSignal; readonly place: WorkerSlot | undefined },
): Promise<LiveCluster> {
  const what = `the filled cache of cluster ${server}`;
  try {
    const filled = withDeadline(signal, { clock: deps.clock, limitMs: cacheWaitMs, what }, (inner) =>
      deps.live.cluster(server, inner),
    );
    return await new SlotLoan(place, deps.clock).during(filled);
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof DeadlineExceeded || error instanceof ClusterIgnored) throw new ClusterNotReady(server, error);
    throw error;
  }
}

/**
 * Fetches both sides of a comparison and compares them with {@link RowStore.steps}, which is pure
 * apart from the rows it keeps.
 *
 * A side that fails becomes a condition, and the comparison is `failed`, as in Argo CD. Throws only
 * what prevents a comparison: the abort reason, {@link ClusterNotReady}, and {@link
 * SourceUnavailable} if `tolerate` accepts the source error for now.
 */
export class Comparer {
  readonly #deps: ComparerDeps;
  readonly #config: ComparerConfig;
  readonly #renderer: Renderer;
  readonly #reader: SourceReader;
  /**
   * The normalized objects of each rendered list; a list that is reused is not normalized again.
   */
  readonly #normal = new DerivedCache<readonly KubeObject[], NormalTargets>();
  readonly #schemas = new SchemaReads();
  /** The names of the resources in each status. */
  readonly #had = new DerivedCache<readonly ResourceStatus[], readonly ObjectName[]>();

  constructor(deps: ComparerDeps, config: ComparerConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#renderer = new Renderer(deps, config);
    this.#reader = new SourceReader(this.#renderer, deps.clock);
  }

  async compare(
    request: CompareRequest,
    tolerate: (error: unknown) => boolean,
    signal: AbortSignal,
  ): Promise<ComparedApplication> {
    return this.#compareWith(await this.#desired(request, tolerate, signal), request, signal);
  }

  /** Like {@link compare}; undefined, without a comparison, if `basis` still holds. */
  async compareUnless(
    basis: ComparisonBasis | undefined,
    request: CompareRequest,
    tolerate: (error: unknown) => boolean,
    signal: AbortSignal,
  ): Promise<ComparedApplication | undefined> {
    const desired = await this.#desired(request, tolerate, signal);
    const holds = basis !== undefined && desired.basis !== undefined && isSameBasis(basis, desired.basis);
    return holds ? undefined : this.#compareWith(desired, request, signal);
  }

  /** The desired side, and what identifies both sides. */
  async #desired(
    request: CompareRequest,
    tolerate: (error: unknown) => boolean,
    signal: AbortSignal,
  ): Promise<DesiredSide> {
    const { app, key, settings, gate } = request.bound;
    const sources = request.sources ?? sourcesOf(app.spec);
    const wait = { signal, place: request.place };
    const times = request.times ?? new PassTimes(this.#deps.clock);
    const { server } = request.bound.cluster;
    const cluster = await times.measure('live_ms', () => filledCluster(this.#deps, server, wait));
    const { loop, work } = this.#deps;
    const render = (): Promise<RenderedSources> =>
      this.#reader.read({ ...request, sources }, cluster, noting(tolerate, request.capture), signal);
    const rendered = await work.stage('sources', () => times.measure('git_ms', render), request.stages);
    const knowing = cluster.knowKinds(rendered.objects, request.mustKnowKinds === true, signal);
    await times.measure('live_ms', () => new SlotLoan(request.place, this.#deps.clock).during(knowing));
    const normal = times.measureSync('dedup_ms', () =>
      loop.run(key, 'normalization', () => this.#normalize(request, cluster, rendered.objects)),
    );
    const read = await this.#schemas.begin({ cluster, targets: normal.targets }, app, settings, signal);
    const { schemas } = read;
    const { readsStale } = request;
    const isFormer = formerMarks(app, this.#instance(request.bound.key), settings);
    const query = { ...this.#query(request.bound, normal.targets), isFormer, ...defined({ readsStale }) };
    // Before the objects are read: a change meanwhile makes the evidence older, never newer.
    const evidence = await evidenceIn(cluster, query, signal);
    const { policyVersion } = policyVersionOf(cluster, gate.version);
    const dryRuns = serverSideDiffOf(app, this.#config.serverSideDiff === true);
    const facts = { app, settings, policyVersion, schemas, isServerSide: dryRuns !== undefined };
    const { outage } = rendered;
    if (outage !== undefined && request.capture?.sourceError !== undefined)
      request.capture.sourceError = { ...request.capture.sourceError, outage: outage.message };
    const basis = outage === undefined ? basisOf({ ...facts, rendered, evidence }) : undefined;
    return { cluster, rendered, normal, read, query, times, basis, evidence };
  }

  async #compareWith(desired: DesiredSide, request: CompareRequest, signal: AbortSignal): Promise<ComparedApplication> {
    const { cluster, rendered, normal, query, times } = desired;
    const { work } = this.#deps;
    const { stages } = request;
    const { app, key, settings, gate } = request.bound;
    const readLive = (): Promise<LiveState> => this.#live(app, cluster, query, signal);
    const live = await work.stage('live', () => times.measure('live_ms', readLive), stages);
    const schemas = await this.#schemas.complete({ cluster, targets: normal.targets }, desired.read, live, signal);
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
      ...policyVersionOf(cluster, gate.version),
      persistResourceHealth: this.#config.persistResourceHealth,
      ...defined({ schemas }),
      ...this.#sharers(app, cluster),
    };
    const complete = await times.measure('diff_ms', () => this.#withDryRuns(facts, request, cluster, signal));
    Object.assign(request.capture ?? {}, { facts: complete, rendered });
    const compare = (): Promise<LastingComparison> => this.#compareFacts(complete, request.changed, signal);
    const compared = await work.stage('comparison', () => times.measure('diff_ms', compare), stages);
    const isWhole = !live.failed && (live.unread ?? []).length === 0;
    const isLasting = compared.isLasting && isWhole && schemas === desired.read.schemas;
    return {
      comparison: withIncompleteApis(compared.comparison, rendered.apis),
      cluster,
      revisions: rendered.facts.revisions,
      outage: rendered.outage,
      basis: isLasting ? desired.basis : undefined,
      sight: isWhole && rendered.outage === undefined ? sightOf(desired) : undefined,
    };
  }

  /** Whether a comparison has seen the live objects of the Application as they are now. */
  async hasSeen({ sight, key, app, changed }: SeenQuestion, signal: AbortSignal): Promise<boolean> {
    const { cluster, targets, evidence } = sight;
    const known = targets.deref();
    if (known === undefined || this.#deps.live.peek(cluster.server) !== cluster) return false;
    if (await hasChangedSince(cluster, changed, this.#deps.rows?.lastObjects(key), signal)) return false;
    return (await evidenceIn(cluster, this.#query({ key, app }, known), signal)) === evidence;
  }

  /**
   * Renders and normalizes the manifests only, for delete hooks. Throws whatever prevents
   * rendering.
   */
  async targets(request: CompareRequest, cluster: LiveCluster, signal: AbortSignal): Promise<readonly KubeObject[]> {
    const sources = sourcesOf(request.bound.app.spec);
    const rendered = await this.#renderer.sources({ ...request, sources }, cluster, signal);
    const [refusal] = rendered.facts.conditions;
    if (rendered.facts.failed && refusal !== undefined) throw new SourceRefused(refusal);
    // A missing delete hook would be skipped, and everything would be deleted without it.
    if (rendered.apis?.mayLack === true)
      throw new SourceRefused({ type: 'ComparisonError', message: rendered.apis.message });
    return this.#normalize(request, cluster, rendered.objects).targets;
  }

  /**
   * Compares, runs the jq programs that the comparison needs, and repeats until it needs no more: a
   * later rule depends on the results of earlier ones.
   */
  async #compareFacts(
    facts: CompareFacts,
    changed: ReadonlySet<ResourceKey> | undefined,
    signal: AbortSignal,
  ): Promise<LastingComparison> {
    const { rows, jq: runner, loop } = this.#deps;
    const store = rows ?? new RowStore();
    const once = async (given: CompareFacts, fresh: ReadonlySet<ResourceKey> | undefined): Promise<LastingComparison> =>
      this.#count(await loop.slices(facts.key, 'comparison', store.steps(given, fresh), signal));
    if (runner === undefined) return once(facts, changed);
    const jq = new JqAnswers();
    let compared = await once({ ...facts, jq }, changed);
    for (let round = 0; jq.openQuestions().length > 0 && round < maxJqRounds; round += 1) {
      await runner.answer(jq, signal);
      // An answer may be that a program took too long this time.
      compared = { ...(await once({ ...facts, jq }, new Set())), isLasting: false };
    }
    return compared;
  }

  #count({ comparison, rows, made, misses }: StoredComparison): LastingComparison {
    this.#deps.work.rows({ kept: rows.length - made, made: misses });
    return { comparison, isLasting: rows.every(({ row }) => !row.isVolatile) };
  }

  /** Adds the dry-run results of the API server if the application uses server-side diff. */
  async #withDryRuns(
    facts: CompareFacts,
    { bound, cache, place }: CompareRequest,
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
    const loan = new SlotLoan(place, this.#deps.clock);
    const useKnown = cache.manifests === 'cached';
    const asking = { key: bound.key, cluster, user, useKnown, loan, schemas: facts.schemas };
    const outcomes = await dryRuns.outcomes(asking, toDryRun(facts), signal);
    return { ...facts, serverSideDiff: { ...wanted, user, outcomes } };
  }

  #sharers(app: Application, { server }: LiveCluster): Pick<CompareFacts, 'namespaceSharers'> {
    const namespaceSharers = this.#deps.claims?.namespaceSharers(app, server) ?? [];
    return namespaceSharers.length === 0 ? {} : { namespaceSharers };
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

  #query({ key, app }: Pick<BoundApplication, 'key' | 'app'>, targets: readonly KubeObject[]): ManagedQuery {
    // Hooks are not looked up one by one: a finished one may be gone.
    const resources = app.status?.resources ?? noResources;
    const lastKnown = this.#had.of(resources, [], () => namesOf(resources.filter(({ hook }) => hook !== true)));
    const since = this.#deps.rows?.lastObjects(key);
    return { app: this.#instance(key), targets, lastKnown, since, ...destinationOf(app) };
  }

  async #live(app: Application, cluster: LiveCluster, query: ManagedQuery, signal: AbortSignal): Promise<LiveState> {
    try {
      cluster.discovery();
      const { degraded, ...cache } = await cluster.managed(query, signal);
      const unread = [...cache.unread, ...undiscoveredResources(app, cache, cluster.discovery())];
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

/** The Namespace whose metadata the Application writes. */
function destinationOf(app: Application): Pick<ManagedQuery, 'destination'> {
  if (!writesNamespaceMetadata(app)) return {};
  return { destination: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: destinationNamespaceOf(app) } } };
}

function sightOf({ cluster, normal, evidence }: DesiredSide): LiveSight | undefined {
  return evidence === undefined ? undefined : { cluster, targets: new WeakRef(normal.targets), evidence };
}

/** Undefined while the cluster is unreachable. */
async function evidenceIn(cluster: LiveCluster, query: ManagedQuery, signal: AbortSignal): Promise<string | undefined> {
  try {
    return await cluster.evidence(query, signal);
  } catch (error) {
    if (error instanceof ClusterUnavailable) return undefined;
    throw error;
  }
}

/** Notes the error of a source, and what `tolerate` says about it. */
function noting(
  tolerate: (error: unknown) => boolean,
  capture: ComparisonCapture | undefined,
): (error: unknown) => boolean {
  return (error) => {
    const isTolerated = tolerate(error);
    if (capture !== undefined) capture.sourceError = { message: messageOf(error), isTolerated };
    return isTolerated;
  };
}

/** Undefined while the cluster is unreachable. */
function discoveryOf(cluster: LiveCluster): ApiDiscovery | undefined {
  try {
    return cluster.discovery();
  } catch {
    return undefined;
  }
}

/** A snapshot: discovery may change between the slices of one comparison. */
function scopesOf(cluster: LiveCluster): CompareFacts['isNamespaced'] {
  const discovery = discoveryOf(cluster);
  return (gk) => (discovery === undefined ? undefined : findResource(discovery, gk)?.namespaced);
}

/** The object names in the resource list of a status. */
export function namesOf(resources: readonly ResourceStatus[]): readonly ObjectName[] {
  return resources.flatMap(({ group = '', version = '', kind = '', namespace = '', name = '' }) => {
    if (kind === '' || name === '' || version === '') return [];
    const metadata = { name, ...(namespace === '' ? {} : { namespace }) };
    return [{ apiVersion: apiVersionOf(group, version), kind, metadata }];
  });
}

/** Discovery versions restart when another cluster takes over a URL, so clusters are numbered. */
const clusterNumbers = new WeakMap<LiveCluster, number>();
let lastCluster = 0;

/**
 * Identifies the discovery and the project rules that a comparison is based on; empty while the
 * cluster is unreachable.
 */
function policyVersionOf(cluster: LiveCluster, gate: string): { readonly policyVersion?: string } {
  try {
    const number = clusterNumbers.get(cluster) ?? (lastCluster += 1);
    clusterNumbers.set(cluster, number);
    return { policyVersion: `${number} ${cluster.discovery().version} ${gate}` };
  } catch {
    return {};
  }
}

/**
 * Resources of the last comparison whose API group discovery has never read. They are not watched,
 * so their absence from the cache proves nothing. `unread` already contains those with a target.
 */
function undiscoveredResources(
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
