import { aborted, Limiter, newAbortController, OwnershipLost } from '#base';
import type { Runnable } from '#base';
import type { Informer } from '#kube';
import { appKeyOf, appKeyOfInstance, asApplication, instanceName } from '#model';
import type { AppKey, Application } from '#model';
import type { Fence } from '#publish';
import { createWorkQueue } from '#queues';
import type { Handler, WorkQueue } from '#queues';
import { ApplyGate } from './apply-gate.ts';
import { WorkMetrics } from './apply-metrics.ts';
import type { Claims } from './claims.ts';
import { ClusterLabels } from './cluster-labels.ts';
import { ClusterReports } from './cluster-reports.ts';
import { Closing } from './closing.ts';
import { Syncer } from './syncer.ts';
import { ArgoController } from './controller.ts';
import { Deleter } from './deletion.ts';
import { EventRecorder } from './events.ts';
import { compareLevel } from './freshness.ts';
import type { RefreshRequest } from './freshness.ts';
import type { JqRunner } from './jq-runner.ts';
import { LoopWatch } from './loop-watch.ts';
import { Memories } from './memory.ts';
import { AppMetrics, exposeApplications, exposeOverdue } from './metrics.ts';
import { OperationProcessor } from './operation.ts';
import {
  isWatched,
  limiters,
  makeClaims,
  makeComparer,
  makeInformers,
  makeJq,
  makePool,
  makeRefreshQueue,
  makeTriggers,
  ownApplications,
  warnOfPatterns,
} from './parts.ts';
import type { Parts } from './parts.ts';
import { ProjectFinalizers } from './project-finalizers.ts';
import { Projects } from './projects.ts';
import { Quarantine, quarantineAfterMs } from './quarantine.ts';
import { RefreshWrites } from './refresh-writes.ts';
import { RefreshProcessor } from './refresh.ts';
import { DryRuns } from './server-side-diff.ts';
import { ApplicationStore } from './application-store.ts';
import { isSkipped, OwnershipGuard } from './ownership-guard.ts';
import type { Controller, ControllerConfig, ControllerDeps } from './types.ts';
import { UnownedWarnings } from './unowned.ts';

interface Queues {
  readonly refresh: WorkQueue<AppKey, RefreshRequest>;
  readonly operation: WorkQueue<AppKey, undefined>;
  readonly project: WorkQueue<string, undefined>;
}

const never = new AbortController().signal;

/** Builds the controller; nothing starts before `run`. */
export function createController(deps: ControllerDeps, config: ControllerConfig): Controller {
  // Outlives the work: status writes of finished passes end with it.
  const persist = newAbortController();
  return new ArgoController({ ...deps, parts: wire(deps, config, persist.signal), persist, graceMs: config.graceMs });
}

/**
 * Constructs every part once and hands each what it needs.
 * @param persist the signal under which status is written; it ends after the work.
 */
function wire(deps: ControllerDeps, config: ControllerConfig, persist: AbortSignal): Parts {
  warnOfPatterns(deps, config);
  const queues = makeQueues(deps, config);
  const { apps, projects: projectInformer } = makeInformers(deps, config);
  const work = new WorkMetrics(deps);
  const memories = new Memories(new ApplyGate({ ...deps, counts: work.gate }));
  const loop = new LoopWatch(deps);
  const guard = new OwnershipGuard(deps, (namespace) => isWatched(config, namespace));
  const projects = new Projects({ ...deps, informer: projectInformer, guard }, config);
  const triggers = makeTriggers(deps, config, {
    queues: { refreshQueue: queues.refresh, operationQueue: queues.operation, projectQueue: queues.project },
    apps,
    projectInformer,
    guard,
    projects,
    seen: (key) => {
      memories.of(key).seenAt = deps.clock.monotonic();
    },
    written: (key) => store.written(key),
    forget: (key, deleted) => {
      memories.forget(key);
      if (deleted === undefined) deps.publisher.forget(instanceName(key, config.namespace));
      else void unpublish(deps, config, { guard, app: deleted, current: () => store.get(key) }, persist);
    },
  });
  const store = new ApplicationStore({
    hub: deps.hub,
    informer: apps,
    events: new EventRecorder(deps),
    fenced: (app, signal, send) => guard.toApplication(app, signal, send),
    onForeignChange: (key) => triggers.look(key, 'the application changed'),
    clock: deps.clock,
    logger: deps.logger,
    signal: persist,
  });
  const [jq, jqEnd] = makeJq(deps, config);
  const claims = makeClaims(apps, guard, projects);
  const handlers = makeHandlers(deps, config, { queues, store, memories, loop, guard, projects, jq, claims, work });
  const mine = ownApplications(triggers, apps);
  const leaving = new ProjectFinalizers({ ...deps, informer: projectInformer, apps });
  expose(deps, config, { memories, guard, mine });
  return {
    apps,
    projects: projectInformer,
    triggers,
    watchers: [
      jqEnd,
      publishedAgain(deps, config, queues.refresh),
      makeClusterReports(deps, config, { apps, guard, projects }),
      makeUnownedWarnings(deps, config, { apps, guard }),
    ],
    pools: makePools(deps, config, queues, { ...handlers, project: (taken, signal) => leaving.handle(taken, signal) }),
    queues: [queues.refresh, queues.operation, queues.project],
    memories,
    loop,
    guard,
    mine,
  };
}

/** What is counted at each scrape. */
function expose(
  { metrics, clock }: ControllerDeps,
  config: ControllerConfig,
  { memories, guard, mine }: Pick<Parts, 'memories' | 'guard' | 'mine'>,
): void {
  const serverOf = (app: Application): string | undefined => guard.clusterOf(app)?.server;
  exposeApplications(metrics, mine, serverOf);
  exposeOverdue(metrics, {
    mine,
    serverOf,
    comparedAt: (key) => memories.peek(key)?.comparedAt,
    now: () => clock.now(),
    resyncMs: config.appResyncMs > 0 ? config.appResyncMs : config.hardResyncMs,
  });
}

function makeUnownedWarnings(
  deps: ControllerDeps,
  config: ControllerConfig,
  { apps, guard }: { readonly apps: Informer; readonly guard: OwnershipGuard },
): UnownedWarnings {
  return new UnownedWarnings({
    ...deps,
    apps,
    clusterOf: (app) => guard.clusterOf(app),
    isWanted: (app) => isWatched(config, app.metadata.namespace ?? '') && !isSkipped(app),
  });
}

interface Handlers {
  readonly refresh: Handler<AppKey, RefreshRequest>;
  readonly operation: Handler<AppKey, undefined>;
  readonly project: Handler<string, undefined>;
}

/** In the order of the queues. */
function makePools(deps: ControllerDeps, config: ControllerConfig, queues: Queues, handlers: Handlers): Parts['pools'] {
  const { statusProcessors, operationProcessors } = config;
  return [
    makePool(deps, config, { queue: queues.refresh, handler: handlers.refresh, workers: statusProcessors }),
    makePool(deps, config, { queue: queues.operation, handler: handlers.operation, workers: operationProcessors }),
    makePool(deps, config, { queue: queues.project, handler: handlers.project, workers: 1 }),
  ];
}

function makeQueues(deps: ControllerDeps, config: ControllerConfig): Queues {
  const common = { clock: deps.clock, ...(deps.queueMetrics === undefined ? {} : { metrics: deps.queueMetrics }) };
  return {
    refresh: makeRefreshQueue(deps, config),
    operation: createWorkQueue<AppKey>({
      ...common,
      name: 'app_operation_processing_queue',
      ...limiters(config),
    }),
    project: createWorkQueue<string>({
      ...common,
      name: 'project_reconciliation_queue',
      ...limiters(config),
    }),
  };
}

/** Around what is published of an application, as it is known when it is written. */
function publishFence(guard: OwnershipGuard, current: () => Application | undefined, key: AppKey): Fence {
  return (send) => {
    const app = current();
    if (app === undefined) return Promise.reject(new OwnershipLost(`application ${key}, which is gone`));
    return guard.toApplication(app, never, send);
  };
}

/** Takes away what was published of an application that is gone; one of the same name may be another replica's by then. */
async function unpublish(
  deps: ControllerDeps,
  config: ControllerConfig,
  gone: { readonly guard: OwnershipGuard; readonly app: Application; readonly current: () => Application | undefined },
  signal: AbortSignal,
): Promise<void> {
  const key = appKeyOf(gone.app);
  const fence = publishFence(gone.guard, () => gone.current() ?? gone.app, key);
  try {
    await deps.publisher.remove(instanceName(key, config.namespace), { signal, fence });
  } catch (error) {
    if (!signal.aborted)
      deps.logger.warn('Unable to remove the published state of an application', { application: key, error });
  }
}

/** Compares applications anew whose published state is lost, and not in memory either. */
function publishedAgain(
  { publisher }: ControllerDeps,
  config: ControllerConfig,
  refresh: WorkQueue<AppKey, RefreshRequest>,
): Runnable {
  return {
    name: 'published again',
    run: async (signal) => {
      const stop = publisher.onLost((instance) => {
        const payload = { level: compareLevel.recent, reason: 'what its clients read was lost' };
        refresh.add(appKeyOfInstance(instance, config.namespace), { payload, priority: 'resync' });
      });
      await aborted(signal);
      stop();
    },
  };
}

function makeClusterReports(
  deps: ControllerDeps,
  config: ControllerConfig,
  { apps, guard, projects }: Pick<Shared, 'guard' | 'projects'> & { readonly apps: Informer },
): ClusterReports {
  return new ClusterReports(
    {
      ...deps,
      labels: new ClusterLabels(deps, config.namespace),
      clusters: () => deps.settings.clusters(),
      apps: () => apps.list().map(asApplication),
      serverOf: (app) => (projects.permitsNamespaceOf(app) ? guard.clusterOf(app)?.server : undefined),
    },
    config.clusterInfoMs ?? 10_000,
  );
}

interface Shared {
  readonly queues: Queues;
  readonly store: ApplicationStore;
  readonly memories: Memories;
  readonly loop: LoopWatch;
  readonly guard: OwnershipGuard;
  readonly projects: Projects;
  readonly jq: JqRunner;
  readonly claims: Claims;
  readonly work: WorkMetrics;
}

function makeHandlers(deps: ControllerDeps, config: ControllerConfig, shared: Shared): Omit<Handlers, 'project'> {
  const { queues, store, memories, loop, guard, projects, jq, claims, work } = shared;
  const { clock, random, logger, live, clients } = deps;
  const metrics = new AppMetrics(deps.metrics, (app) => guard.clusterOf(app)?.server);
  const limiter = new Limiter(config.kubectlParallelism);
  const dryRuns = new DryRuns({ clients, limiter, known: memories.dryRuns });
  const comparer = makeComparer(deps, config, { loop, rows: memories.rows, dryRuns, jq, work });
  const common = {
    store,
    comparer,
    memories,
    claims,
    metrics,
    work,
    isMine: (app: Application) => guard.isMine(app),
    clock,
    logger,
  };
  const syncer = new Syncer(
    {
      ...common,
      clients,
      peek: (server) => live.peek(server),
      toCluster: (server, key, signal, send) => guard.toCluster(server, key, signal, send),
      limiter,
      jq,
    },
    { waveDelayMs: config.syncWaveDelayMs },
  );
  const effects = makeEffects(deps, config, shared);
  const refresher = new RefreshProcessor(
    {
      ...common,
      lookup: (key) => store.get(key),
      effects,
      random,
      validate: (app) => loop.run(appKeyOf(app), 'validation', () => projects.validate(app)),
      peek: (server) => live.peek(server),
    },
    config,
  );
  const operator = new OperationProcessor(
    {
      ...common,
      syncer,
      deleter: makeDeleter(deps, config, shared, { ...common, syncer }),
      closing: new Closing({ store, refresher, effects, clock, logger }),
      bind: (app) => projects.ofOperation(app),
      refresh: (key, request) => queues.refresh.add(key, { payload: request, priority: 'asked' }),
    },
    config,
  );
  return {
    refresh: quarantined(deps, config, shared, (taken, signal, place) => refresher.handle(taken, signal, place)),
    operation: (taken, signal) => operator.handle(taken, signal),
  };
}

function quarantined(
  { clock, logger }: ControllerDeps,
  { quarantineAfterMs: limitMs = quarantineAfterMs }: ControllerConfig,
  { loop, guard, store }: Shared,
  inner: Handlers['refresh'],
): Handlers['refresh'] {
  const quarantine = new Quarantine({
    inner,
    loop,
    lookup: (key) => store.get(key),
    isMine: (app) => guard.isMine(app),
    persist: (app, status) => store.persistStatus(app, status),
    clock,
    logger,
    limitMs,
  });
  return (taken, signal, place) => quarantine.handle(taken, signal, place);
}

function makeEffects(deps: ControllerDeps, config: ControllerConfig, { store, queues, guard }: Shared): RefreshWrites {
  return new RefreshWrites({
    store,
    publisher: deps.publisher,
    fence: (key) => publishFence(guard, () => store.get(key), key),
    requeue: (key, options) => queues.refresh.add(key, options),
    startOperation: (key) => queues.operation.add(key),
    namespace: config.namespace,
  });
}

function makeDeleter(
  deps: ControllerDeps,
  config: ControllerConfig,
  { queues, guard, projects, memories, store }: Shared,
  common: Omit<ConstructorParameters<typeof Deleter>[0], 'live' | 'bind' | 'forget'>,
): Deleter {
  return new Deleter(
    {
      ...common,
      live: deps.live,
      bind: (app) => projects.ofDeletion(app),
      forget: async (key, app) => {
        memories.forget(key);
        queues.project.add(`${config.namespace}/${app.spec.project ?? 'default'}`);
        await unpublish(deps, config, { guard, app, current: () => store.get(key) }, never);
      },
    },
    config,
  );
}
