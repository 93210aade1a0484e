import { aborted } from '#base';
import type { Runnable } from '#base';
import type { KnownRepositories } from '#desired';
import { createInformer } from '#kube';
import type { Informer } from '#kube';
import { asApplication } from '#model';
import type { AppKey, Application, Repository } from '#model';
import { matchesNamespacePattern, namespacePatternFault } from '#policy';
import { createRateLimiter, createWorkQueue, ItemBackoff, Processors } from '#queues';
import type { Handler, RateLimiter, WorkQueue } from '#queues';
import { Claims } from './claims.ts';
import { cacheFillings } from './cluster-caches.ts';
import { Comparer } from './comparer.ts';
import type { ComparerDeps } from './comparer.ts';
import { JqRunner } from './jq-runner.ts';
import type { LoopWatch } from './loop-watch.ts';
import { mergeRequests } from './freshness.ts';
import type { RefreshRequest } from './freshness.ts';
import type { Memories } from './memory.ts';
import type { Projects } from './projects.ts';
import { applicationResource, projectResource } from './resources.ts';
import type { OwnershipGuard } from './ownership-guard.ts';
import { Triggers } from './triggers.ts';
import type { TriggerDeps } from './triggers.ts';
import type { ControllerConfig, WatchDeps } from './types.ts';

/**
 * Fetches and compares both sides, with the repositories that settings know; in full, unless there are `rows` to keep. Who may ask API servers for dry
 * runs hands them in.
 */
export function makeComparer(
  { desired, live, settings, clock }: WatchDeps,
  config: ControllerConfig,
  helpers: Pick<ComparerDeps, 'loop' | 'rows' | 'dryRuns' | 'jq'>,
): Comparer {
  const repository = (url: string, project: string): Repository => settings.repository(url, project);
  const chartRepositories = (): KnownRepositories => settings.chartRepositories();
  return new Comparer({ desired, live, repository, chartRepositories, clock, ...helpers }, config);
}

/** Who runs jq programs for all comparisons, and who ends that at the end. */
export function makeJq({ clock }: WatchDeps, { jqLimitMs = 1000 }: ControllerConfig): readonly [JqRunner, Runnable] {
  const jq = new JqRunner({ clock }, { limitMs: jqLimitMs });
  const run = async (signal: AbortSignal): Promise<void> => {
    await aborted(signal);
    await jq.close();
  };
  return [jq, { name: 'jq', run }];
}

/** The queues that triggers fill. */
export type TriggerQueues = Pick<TriggerDeps, 'refreshQueue' | 'operationQueue' | 'projectQueue'>;

/** A pool and the queue that it empties, without their types. */
type Pool = Runnable & Pick<Processors<string, unknown>, 'progress'>;

/** Everything that the controller is made of. */
export interface Parts {
  readonly apps: Informer;
  readonly projects: Informer;
  readonly triggers: Triggers;
  /** Runs beside the pools. */
  readonly watchers: readonly Runnable[];
  readonly pools: readonly Pool[];
  /** In the order of `pools`. */
  readonly queues: readonly Pick<WorkQueue<string, unknown>, 'name' | 'delayed' | 'shutDown'>[];
  readonly memories: Memories;
  readonly loop: LoopWatch;
  readonly guard: OwnershipGuard;
  /** The applications of this replica. */
  readonly mine: () => Iterable<Application>;
}

export function makeRefreshQueue(deps: WatchDeps, config: ControllerConfig): WorkQueue<AppKey, RefreshRequest> {
  return createWorkQueue<AppKey, RefreshRequest>({
    clock: deps.clock,
    ...(deps.queueMetrics === undefined ? {} : { metrics: deps.queueMetrics }),
    name: 'app_reconciliation_queue',
    merge: mergeRequests,
    ...limiters(config),
  });
}

/** Failed passes come back after half a second, later after half a minute: the cause is mostly outside, and mostly goes away. */
export function limiters<K>(config: Pick<ControllerConfig, 'rateLimiter'>): {
  readonly rateLimiter: RateLimiter<K>;
  readonly failureBackoff: RateLimiter<K>;
} {
  const failure = { baseDelayMs: 500, maxDelayMs: 30_000, backoffFactor: 2, coolDownMs: Number.POSITIVE_INFINITY };
  return { rateLimiter: createRateLimiter(config.rateLimiter), failureBackoff: new ItemBackoff<K>(failure) };
}

export function makeInformers(
  deps: WatchDeps,
  config: ControllerConfig,
): { readonly apps: Informer; readonly projects: Informer } {
  const { hub, clock, random, logger } = deps;
  const common = { client: hub, clock, random, logger };
  const everywhere = config.applicationNamespaces.length > 0;
  return {
    apps: createInformer({
      ...common,
      resource: applicationResource,
      ...(everywhere ? {} : { namespace: config.namespace }),
    }),
    projects: createInformer({ ...common, resource: projectResource, namespace: config.namespace }),
  };
}

/** A pattern that matches nothing leaves the Applications of a namespace to themselves: that must be said. */
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
  parts: Pick<TriggerDeps, 'apps' | 'forget' | 'seen' | 'written'> & {
    readonly queues: TriggerQueues;
    readonly projectInformer: Informer;
    readonly guard: OwnershipGuard;
    readonly projects: Projects;
  },
): Triggers {
  const { queues, guard, projects } = parts;
  return new Triggers({
    apps: parts.apps,
    projects: parts.projectInformer,
    settings: deps.settings,
    ownership: deps.ownership,
    live: deps.live,
    ...queues,
    isMine: (app) => guard.isMine(app),
    isWatched: (namespace) => isWatched(config, namespace),
    watchesOrphans: (app) => projects.watchesOrphans(app),
    forget: parts.forget,
    seen: parts.seen,
    ...(parts.written === undefined ? {} : { written: parts.written }),
    namespace: config.namespace,
    clock: deps.clock,
    keepLostMs: config.keepLostClustersMs ?? 0,
    onCacheFilled: cacheFillings(deps.metrics),
  });
}

/** The last known versions of the applications that this replica looks after. */
export function ownApplications(triggers: Triggers, apps: Informer): () => Iterable<Application> {
  return function* () {
    for (const key of triggers.mine()) {
      const app = applicationIn(apps, key);
      if (app !== undefined) yield app;
    }
  };
}

/** Which of all Applications that are known have an object among their manifests. */
export function makeClaims(apps: Informer, guard: OwnershipGuard, projects: Projects): Claims {
  return new Claims({
    apps: () => apps.list().map(asApplication),
    serverOf: (app) => guard.clusterOf(app)?.server,
    permits: (app, ref) => projects.permits(app, ref),
  });
}

export function applicationIn(apps: Informer, key: AppKey): Application | undefined {
  const object = apps.get(key);
  return object === undefined ? undefined : asApplication(object);
}

/** A queue, who works on its items, and how many at once. */
interface PoolWork<K extends string, P> {
  readonly queue: WorkQueue<K, P>;
  readonly handler: Handler<K, P>;
  readonly workers: number;
}

export function makePool<K extends string, P>(
  { clock, logger, queueMetrics }: WatchDeps,
  { graceMs }: ControllerConfig,
  { queue, handler, workers }: PoolWork<K, P>,
): Pool {
  const metrics = queueMetrics === undefined ? {} : { metrics: queueMetrics };
  return new Processors<K, P>({ queue, handler, clock, logger, ...metrics }, { workers, graceMs });
}
