import { untilAborted, defined, isAbort, messageOf, assignTenant, recordedText, RollingSums } from '#base';
import type { Runnable, Tenant } from '#base';
import type { KnownRepositories } from '#desired';
import { createInformer } from '#kube';
import type { Informer } from '#kube';
import { appKeyOfInstance, asApplication, projectOf } from '#model';
import type { AppKey, Application, Repository, ResourceRef, SourceDecryption } from '#model';
import { matchesNamespacePattern, namespacePatternFault } from '#policy';
import { createRateLimiter, createWorkQueue, ItemBackoff, Processors } from '#queues';
import type { ItemHandler, RateLimiter, WorkQueue } from '#queues';
import { ManifestClaims } from '../admission/claims.ts';
import { cacheFillRecorder } from '../clusters/cluster-caches.ts';
import { Comparer } from '../comparison/comparer.ts';
import type { ComparerDeps } from '../comparison/comparer.ts';
import { JqRunner } from '../comparison/jq-runner.ts';
import type { LoopWatch } from '../comparison/loop-watch.ts';
import { mergeRequests } from '../application/freshness.ts';
import type { RefreshCause, RefreshRequest } from '../application/freshness.ts';
import type { AppMemories } from '../comparison/memory.ts';
import type { ActivityLog } from '../report/activity.ts';
import type { RecordedConfig } from '../recorder/format.ts';
import { Recordings } from '../recorder/recordings.ts';
import { createControllerReport } from '../report/controller-report.ts';
import type { ControllerReport, ReportedPool } from '../report/controller-report.ts';
import type { CostBook } from '../report/costs.ts';
import type { ProjectPolicies } from '../admission/projects.ts';
import { ProjectUnusable } from '../shared/errors.ts';
import { AppMetrics } from '../report/metrics.ts';
import { applicationResource, projectResource } from '../shared/resources.ts';
import type { OwnershipGuard } from '../admission/ownership-guard.ts';
import { EventTriggers } from '../triggers/triggers.ts';
import type { TriggerDeps } from '../triggers/triggers.ts';
import type { WorkMetrics } from '../write/apply-metrics.ts';
import type { ControllerConfig, WatchDeps } from './types.ts';

/**
 * Builds the comparer with the configured repositories. Without `rows` every comparison is full;
 * without `dryRuns` server-side diff is computed locally.
 */
export function makeComparer(
  { desired, live, settings, clock }: WatchDeps,
  config: ControllerConfig,
  helpers: Pick<ComparerDeps, 'loop' | 'rows' | 'dryRuns' | 'jq' | 'work' | 'reads' | 'rendering' | 'claims'>,
): Comparer {
  const repository = (url: string, project: string): Repository => settings.repository(url, project);
  const chartRepositories = (): KnownRepositories => settings.chartRepositories();
  const decryptionKeys = (secret: string): SourceDecryption => settings.decryptionKeys(secret);
  return new Comparer({ desired, live, repository, chartRepositories, decryptionKeys, clock, ...helpers }, config);
}

/** Builds the shared jq runner, and the part that closes it on shutdown. */
export function makeJq({ clock }: WatchDeps, { jqLimitMs = 1000 }: ControllerConfig): readonly [JqRunner, Runnable] {
  const jq = new JqRunner({ clock }, { limitMs: jqLimitMs });
  const run = async (signal: AbortSignal): Promise<void> => {
    await untilAborted(signal);
    await jq.close();
  };
  return [jq, { name: 'jq', run }];
}

/** Components that several parts of the controller use. The assembly creates each of them once. */
export interface WiredParts {
  readonly apps: Informer;
  readonly projectInformer: Informer;
  readonly triggers: EventTriggers;
  readonly memories: AppMemories;
  readonly loop: LoopWatch;
  readonly guard: OwnershipGuard;
  readonly projects: ProjectPolicies;
  readonly jq: JqRunner;
  readonly claims: ManifestClaims;
  readonly work: WorkMetrics;
  readonly metrics: AppMetrics;
  readonly costs: CostBook;
}

/** The queues that triggers fill. */
export type TriggerQueues = Pick<TriggerDeps, 'refreshQueue' | 'operationQueue' | 'projectQueue'>;

/** A pool and its queue, with their types erased. */
type WorkerPool = Runnable & Pick<Processors<string, unknown>, 'progress'>;

/** All parts of the controller. */
export interface ControllerParts {
  readonly apps: Informer;
  readonly projects: Informer;
  readonly triggers: EventTriggers;
  /** Run beside the pools. */
  readonly watchers: readonly Runnable[];
  readonly pools: readonly WorkerPool[];
  readonly queues: readonly Pick<WorkQueue<string, unknown>, 'shutDown'>[];
  readonly report: ControllerReport;
  readonly loop: LoopWatch;
}

export function makeRefreshQueue(
  deps: WatchDeps,
  config: ControllerConfig,
  tenantOf: (key: AppKey) => string,
): WorkQueue<AppKey, RefreshRequest> {
  return createWorkQueue<AppKey, RefreshRequest>({
    clock: deps.clock,
    ...defined({ metrics: deps.queueMetrics }),
    name: 'app_reconciliation_queue',
    merge: mergeRequests,
    flowOf: tenantOf,
    ...limiters(config),
  });
}

/** Whether the project that an Application names exists and permits its namespace. */
export type HasProject = (app: Application) => boolean;

/**
 * The key by which the queue shares the processors fairly: projects take turns, and within a
 * project the namespaces of its Applications. An Application that may not use the project it names
 * takes no turn of that project.
 */
export function tenantOfApplication(apps: Informer, hasProject: HasProject): (key: AppKey) => string {
  return (key) => {
    const app = applicationIn(apps, key);
    if (app === undefined) return '';
    return `${hasProject(app) ? projectOf(app) : ''}/${app.metadata.namespace ?? ''}`;
  };
}

/** The tenant of an Application's pass. */
export function tenantIn(apps: Informer): (key: AppKey) => Tenant {
  return (key) => {
    const app = applicationIn(apps, key);
    return { project: app === undefined ? '' : projectOf(app), application: key };
  };
}

/**
 * Rate limiters of a queue. Failed passes are retried after half a second, doubled up to half a
 * minute: most causes are external and temporary.
 */
export function limiters<K>(config: Pick<ControllerConfig, 'rateLimiter'>): {
  readonly rateLimiter: RateLimiter<K>;
  readonly failureBackoff: RateLimiter<K>;
} {
  const failure = { baseDelayMs: 500, maxDelayMs: 30_000, backoffFactor: 2, coolDownMs: Number.POSITIVE_INFINITY };
  return { rateLimiter: createRateLimiter(config.rateLimiter), failureBackoff: new ItemBackoff<K>(failure) };
}

/** @param isMine whether this replica owns an Application: it parses only those as a whole. */
export function makeInformers(
  deps: WatchDeps,
  config: ControllerConfig,
  isMine: (key: AppKey) => boolean,
): { readonly apps: Informer; readonly projects: Informer } {
  const { hub, clock, random, logger } = deps;
  const common = { client: hub, clock, random, logger };
  const everywhere = config.applicationNamespaces.length > 0;
  return {
    apps: createInformer({
      ...common,
      resource: applicationResource,
      ...(everywhere ? {} : { namespace: config.namespace }),
      isDeferred: (key) => !isMine(key as AppKey),
    }),
    projects: createInformer({ ...common, resource: projectResource, namespace: config.namespace }),
  };
}

/**
 * Warns of patterns that match nothing: the Applications of that namespace would not be reconciled.
 */
export function warnOfPatterns({ logger }: Pick<WatchDeps, 'logger'>, config: ControllerConfig): void {
  for (const pattern of config.applicationNamespaces) {
    const fault = namespacePatternFault(pattern);
    if (fault !== undefined) logger.warn('A pattern of application.namespaces matches nothing', { pattern, fault });
  }
}

export function isWatched(config: ControllerConfig, namespace: string): boolean {
  return (
    namespace === config.namespace ||
    config.applicationNamespaces.some((pattern) => matchesNamespacePattern(pattern, namespace))
  );
}

export function makeTriggers(
  deps: WatchDeps,
  config: ControllerConfig,
  parts: Pick<TriggerDeps, 'forget' | 'seen' | 'written' | 'takenUp' | 'changed' | 'confirmReach'> &
    Pick<WiredParts, 'apps' | 'projectInformer' | 'guard' | 'projects'> & { readonly queues: TriggerQueues },
): EventTriggers {
  const { queues, guard, projects } = parts;
  return new EventTriggers({
    apps: parts.apps,
    projects: parts.projectInformer,
    settings: deps.settings,
    ownership: deps.ownership,
    live: deps.live,
    ...queues,
    isMine: (app) => guard.isMine(app),
    isWatched: (namespace) => isWatched(config, namespace),
    watchesOrphans: (app) => projects.watchesOrphans(app),
    serverOf: (app) => guard.clusterOf(app)?.server,
    forget: parts.forget,
    seen: parts.seen,
    ...defined({ written: parts.written, takenUp: parts.takenUp, changed: parts.changed }),
    ...defined({ confirmReach: parts.confirmReach }),
    namespace: config.namespace,
    clock: deps.clock,
    keepLostMs: config.keepLostClustersMs ?? 0,
    onCacheFilled: cacheFillRecorder(deps.metrics),
  });
}

/** Cached versions of the applications that this replica owns. */
export function ownApplications(triggers: EventTriggers, apps: Informer): () => Iterable<Application> {
  return function* () {
    for (const key of triggers.mine()) {
      const app = applicationIn(apps, key);
      if (app !== undefined) yield app;
    }
  };
}

/** The counters of the Applications of this replica. */
export function makeAppMetrics(
  { metrics }: WatchDeps,
  { triggers, apps, guard }: Pick<WiredParts, 'triggers' | 'apps' | 'guard'>,
): AppMetrics {
  return new AppMetrics({
    metrics,
    serverOf: (app) => guard.clusterOf(app)?.server,
    owned: (key) => (triggers.mine().has(key) ? applicationIn(apps, key) : undefined),
  });
}

/** Finds the Applications that declare an object in their manifests. */
export function makeClaims(apps: Informer, guard: OwnershipGuard, projects: ProjectPolicies): ManifestClaims {
  return new ManifestClaims({
    apps: () => apps.list().map(asApplication),
    serverOf: (app) => guard.clusterOf(app)?.server,
    permits: (app, ref) => projects.permits(app, ref),
  });
}

export function applicationIn(apps: Informer, key: AppKey): Application | undefined {
  const object = apps.get(key);
  return object === undefined ? undefined : asApplication(object);
}

/** A queue, its handler and the number of workers. */
interface PoolWork<K extends string, P extends ReasonedPayload> {
  readonly queue: WorkQueue<K, P>;
  readonly handler: ItemHandler<K, P>;
  readonly workers: number;
  /** The tenant of a key, for shared limits. Absent: work of the controller itself. */
  readonly tenantOf?: ((key: K) => Tenant) | undefined;
  /** Gets what fails. */
  readonly activity: Pick<ActivityLog, 'faults'>;
}

/** A pool, and what is shown of it. */
export interface MadePool {
  readonly pool: WorkerPool;
  readonly reported: ReportedPool;
}

/** Time for the writes of a pass that the end of the grace period has aborted. */
export const lastWritesMs = 1000;

type ReasonedPayload = { readonly reason?: string; readonly cause?: RefreshCause } | undefined;

export function makePool<K extends string, P extends ReasonedPayload>(
  { clock, logger, queueMetrics }: WatchDeps,
  { graceMs }: ControllerConfig,
  { queue, handler, workers, activity, tenantOf }: PoolWork<K, P>,
): MadePool {
  const metrics = queueMetrics === undefined ? {} : { metrics: queueMetrics };
  const rates = new RollingSums<'taken'>(['taken']);
  const counted: ItemHandler<K, P> = async (taken, signal, slot) => {
    rates.add(`${taken.priority} ${taken.payload?.cause ?? 'other'}`, 'taken', 1, clock.monotonic());
    try {
      if (tenantOf !== undefined) assignTenant(signal, tenantOf(taken.key));
      return await handler(taken, signal, slot);
    } catch (error) {
      if (!isAbort(error))
        activity.faults.push({ key: taken.key, at: clock.now(), message: recordedText(messageOf(error)) });
      throw error;
    }
  };
  const limits = { workers, graceMs, settleMs: lastWritesMs + 1000 };
  const pool = new Processors<K, P>({ queue, handler: counted, clock, logger, ...metrics }, limits);
  const reported = {
    name: queue.name,
    delayed: () => queue.delayed,
    progress: () => pool.progress(),
    contents: () => queue.contents(),
    waiting: (key: string) => queue.waiting(key as K),
    rates,
  };
  return { pool, reported };
}

/** Parts of the controller that are shown. */
export function makeReport(
  { clock, settings, live, random, desired }: WatchDeps,
  config: ControllerConfig,
  parts: Pick<WiredParts, 'apps' | 'guard' | 'projects' | 'memories' | 'triggers' | 'costs'> & {
    readonly pools: readonly MadePool[];
  },
): ControllerReport {
  const { apps, guard, projects, memories, triggers, pools, costs } = parts;
  const recordings = new Recordings({ log: memories.passLog, clock, random, config: recordedConfig(config) });
  return createControllerReport({
    clock,
    startedAt: clock.now(),
    resyncMs: config.appResyncMs > 0 ? config.appResyncMs + config.jitterMs : config.hardResyncMs,
    apps,
    settings: () => settings.settings(),
    memoryOf: (key) => memories.peek(key),
    rowsOf: (key) => memories.rows.rowsOf(key),
    clusterOf: (app) => live.peek(guard.clusterOf(app)?.server ?? ''),
    syncHold: (app) => projects.syncHold(app),
    permits: (app, ref) => isPermitted(projects, app, ref),
    syncTimeoutMs: config.syncTimeoutMs,
    commitOf: async (app, source, revision, signal) => {
      // A project that forbids the repository also hides its commits.
      if (!projects.validate(app).ok) return undefined;
      const repository = settings.repository(source.repoURL, projectOf(app));
      return desired.describe?.({ source, repository, revision }, signal);
    },
    rootsOf: (key) => memories.peek(key)?.roots,
    treeScope: (app) => {
      const verdict = projects.validate(app);
      if (!verdict.ok) return undefined;
      const { project, gate } = verdict.bound;
      const isApplication = (instance: string): boolean =>
        apps.get(appKeyOfInstance(instance, config.namespace)) !== undefined;
      return { project, permitted: gate.permitsRef, isApplication };
    },
    isWatched: (namespace) => isWatched(config, namespace),
    resolve: (app) => guard.clusterOf(app),
    isMine: (app) => guard.isMine(app),
    owned: () => triggers.mine(),
    pools: pools.map(({ reported }) => reported),
    activity: memories.activity,
    costs,
    recordings,
  });
}

/** The options that decisions of passes depend on. */
function recordedConfig(config: ControllerConfig): RecordedConfig {
  const { namespace, appResyncMs, hardResyncMs, repoErrorGraceMs, persistResourceHealth, selfHeal } = config;
  const { retryLatestRevision = false, syncTimeoutMs, syncWaveDelayMs, hydration, lastGoodLimitMs } = config;
  const hydrates = hydration === undefined ? {} : { hydrates: true };
  const passes = { appResyncMs, hardResyncMs, repoErrorGraceMs, persistResourceHealth, selfHeal };
  const limits = defined({ lastGoodLimitMs });
  return { namespace, ...passes, ...limits, retryLatestRevision, syncTimeoutMs, syncWaveDelayMs, ...hydrates };
}

/** False also while the project cannot be used. */
function isPermitted(projects: ProjectPolicies, app: Application, ref: ResourceRef): boolean {
  try {
    return projects.permits(app, ref);
  } catch (error) {
    if (error instanceof ProjectUnusable) return false;
    throw error;
  }
}

/** Notes events of Applications in their memories and costs. */
export function noting(
  memories: AppMemories,
  costs: CostBook,
  clock: WatchDeps['clock'],
): Required<Pick<TriggerDeps, 'seen' | 'changed' | 'takenUp'>> {
  return {
    seen: (key) => {
      memories.note(key, { seenAt: clock.monotonic() });
    },
    changed: (key, managed) => {
      costs.ofApp(key, 'watchEvents');
      if (managed) memories.peek(key)?.hurry?.();
    },
    takenUp: (key, reason) => {
      memories.note(key, { owned: { at: clock.now(), reason } });
    },
  };
}
