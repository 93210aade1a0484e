import type { Runnable } from '#base';
import type { KnownRepositories } from '#desired';
import { createInformer } from '#kube';
import type { Informer } from '#kube';
import { asApplication, instanceName } from '#model';
import type { AppKey, Application, Repository } from '#model';
import { matchesNamespacePattern } from '#policy';
import { createRateLimiter, createWorkQueue, ItemBackoff, Processors } from '#queues';
import type { Handler, RateLimiter, WorkQueue } from '#queues';
import { Syncer } from './apply.ts';
import { Comparer } from './compare.ts';
import { Deleter } from './deletion.ts';
import { EventRecorder } from './events.ts';
import { mergeRequests } from './freshness.ts';
import type { RefreshRequest } from './freshness.ts';
import { Memories } from './memory.ts';
import { AppMetrics, exposeApplications } from './metrics.ts';
import { OperationProcessor } from './operation.ts';
import { projectResource, Projects } from './projects.ts';
import { RefreshProcessor } from './refresh.ts';
import { applicationResource, ApplicationStore } from './status.ts';
import { isSkipped, Territory } from './territory.ts';
import { Triggers } from './triggers.ts';
import { UnownedWarnings } from './unowned.ts';
import type { ControllerConfig, ControllerDeps } from './types.ts';

interface Queues {
  readonly refresh: WorkQueue<AppKey, RefreshRequest>;
  readonly operation: WorkQueue<AppKey, undefined>;
  readonly project: WorkQueue<string, undefined>;
}

/** A pool and the queue that it empties, without their types. */
type Pool = Runnable & Pick<Processors<string, unknown>, 'progress'>;

/** Everything that the controller is made of. */
export interface Parts {
  readonly apps: Informer;
  readonly projects: Informer;
  readonly triggers: Triggers;
  readonly unowned: Runnable;
  readonly pools: readonly Pool[];
  /** In the order of `pools`. */
  readonly queues: readonly Pick<WorkQueue<string, unknown>, 'name' | 'delayed' | 'shutDown'>[];
  readonly memories: Memories;
  readonly territory: Territory;
  /** The applications of this replica. */
  readonly mine: () => Iterable<Application>;
}

/**
 * Constructs every part once and hands each what it needs.
 * @param persist the signal under which status is written; it ends after the work.
 */
export function wire(deps: ControllerDeps, config: ControllerConfig, persist: AbortSignal): Parts {
  const queues = makeQueues(deps, config);
  const { apps, projects: projectInformer } = makeInformers(deps, config);
  const memories = new Memories();
  const territory = new Territory(deps, (namespace) => isWatched(config, namespace));
  const projects = new Projects({ ...deps, informer: projectInformer, apps, territory }, config);
  const triggers = makeTriggers(deps, config, {
    queues,
    apps,
    projectInformer,
    territory,
    projects,
    memories,
    persist,
  });
  const store = new ApplicationStore({
    hub: deps.hub,
    informer: apps,
    events: new EventRecorder(deps),
    fenced: (app, signal, send) => territory.toApplication(app, signal, send),
    onForeignChange: (key) => triggers.look(key, 'the application changed'),
    clock: deps.clock,
    logger: deps.logger,
    signal: persist,
  });
  const handlers = makeHandlers(deps, config, { queues, store, memories, territory, projects });
  const mine = function* (): Iterable<Application> {
    for (const key of triggers.mine()) {
      const object = apps.get(key);
      if (object !== undefined) yield asApplication(object);
    }
  };
  exposeApplications(deps.metrics, mine);
  return {
    apps,
    projects: projectInformer,
    triggers,
    unowned: new UnownedWarnings({
      ...deps,
      apps,
      clusterOf: (app) => territory.clusterOf(app),
      isWanted: (app) => isWatched(config, app.metadata.namespace ?? '') && !isSkipped(app),
    }),
    pools: [
      makePool(deps, config, queues.refresh, handlers.refresh, config.statusProcessors),
      makePool(deps, config, queues.operation, handlers.operation, config.operationProcessors),
      makePool(deps, config, queues.project, (taken, signal) => projects.handle(taken, signal), 1),
    ],
    queues: [queues.refresh, queues.operation, queues.project],
    memories,
    territory,
    mine,
  };
}

function makeQueues(deps: ControllerDeps, config: ControllerConfig): Queues {
  const common = { clock: deps.clock, ...(deps.queueMetrics === undefined ? {} : { metrics: deps.queueMetrics }) };
  return {
    refresh: createWorkQueue<AppKey, RefreshRequest>({
      ...common,
      name: 'app_reconciliation_queue',
      merge: mergeRequests,
      ...limiters(config),
    }),
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

/** Failed passes come back after half a second, later after half a minute: the cause is mostly outside, and mostly goes away. */
function limiters<K>(config: ControllerConfig): {
  readonly rateLimiter: RateLimiter<K>;
  readonly failureBackoff: RateLimiter<K>;
} {
  const failure = { baseDelayMs: 500, maxDelayMs: 30_000, backoffFactor: 2, coolDownMs: Number.POSITIVE_INFINITY };
  return { rateLimiter: createRateLimiter(config.rateLimiter), failureBackoff: new ItemBackoff<K>(failure) };
}

function makeInformers(
  deps: ControllerDeps,
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

function isWatched(config: ControllerConfig, namespace: string): boolean {
  return (
    namespace === config.namespace ||
    config.applicationNamespaces.some((pattern) => matchesNamespacePattern(pattern, namespace))
  );
}

function makeTriggers(
  deps: ControllerDeps,
  config: ControllerConfig,
  parts: {
    readonly queues: Queues;
    readonly apps: Informer;
    readonly projectInformer: Informer;
    readonly territory: Territory;
    readonly projects: Projects;
    readonly memories: Memories;
    readonly persist: AbortSignal;
  },
): Triggers {
  const { queues, territory, projects, memories } = parts;
  return new Triggers({
    apps: parts.apps,
    projects: parts.projectInformer,
    settings: deps.settings,
    ownership: deps.ownership,
    live: deps.live,
    refreshQueue: queues.refresh,
    operationQueue: queues.operation,
    projectQueue: queues.project,
    isMine: (app) => territory.isMine(app),
    isWatched: (namespace) => isWatched(config, namespace),
    watchesOrphans: (app) => projects.watchesOrphans(app),
    forget: (key, deleted) => {
      memories.forget(key);
      if (deleted) forgetPublished(deps, config, key, parts.persist);
    },
    namespace: config.namespace,
    clock: deps.clock,
  });
}

function forgetPublished(deps: ControllerDeps, config: ControllerConfig, key: AppKey, signal: AbortSignal): void {
  deps.publisher.remove(instanceName(key, config.namespace), signal).catch((error: unknown) => {
    if (!signal.aborted)
      deps.logger.warn('Unable to remove the published state of an application', { application: key, error });
  });
}

interface Shared {
  readonly queues: Queues;
  readonly store: ApplicationStore;
  readonly memories: Memories;
  readonly territory: Territory;
  readonly projects: Projects;
}

function makeComparer({ desired, live, settings, clock }: ControllerDeps, config: ControllerConfig): Comparer {
  const repository = (url: string, project: string): Repository => settings.repository(url, project);
  const chartRepositories = (): KnownRepositories => settings.chartRepositories();
  return new Comparer({ desired, live, repository, chartRepositories, clock }, config);
}

function makeHandlers(
  deps: ControllerDeps,
  config: ControllerConfig,
  shared: Shared,
): { readonly refresh: Handler<AppKey, RefreshRequest>; readonly operation: Handler<AppKey, undefined> } {
  const { queues, store, memories, territory, projects } = shared;
  const { clock, random, logger, settings, live, publisher } = deps;
  const metrics = new AppMetrics(deps.metrics);
  const comparer = makeComparer(deps, config);
  const common = {
    store,
    comparer,
    memories,
    metrics,
    settings: () => settings.settings(),
    gate: projects.gate.bind(projects),
    isMine: (app: Application) => territory.isMine(app),
    actAs: projects.actAs.bind(projects),
    clock,
    logger,
  };
  const syncer = new Syncer(
    {
      ...common,
      windowBlocks: (app, project, state) => projects.windowBlocks(app, project, state),
      toCluster: (server, key, signal, send) => territory.toCluster(server, key, signal, send),
    },
    { kubectlParallelism: config.kubectlParallelism, waveDelayMs: config.syncWaveDelayMs },
  );
  const refresher = new RefreshProcessor(
    {
      ...common,
      publisher,
      random,
      validate: (app) => projects.validate(app),
      peek: (server) => live.peek(server),
      autosyncAllowed: (app, project) => projects.autosyncAllowed(app, project),
      requeue: (key, options) => queues.refresh.add(key, options),
      startOperation: (key) => queues.operation.add(key),
    },
    config,
  );
  const operator = new OperationProcessor(
    {
      ...common,
      syncer,
      deleter: makeDeleter(deps, config, shared, { ...common, syncer }),
      subjectOf: (app) => projects.subjectOf(app),
      refresh: (key, request) => queues.refresh.add(key, { payload: request, priority: 'asked' }),
    },
    config,
  );
  return {
    refresh: (taken, signal) => refresher.handle(taken, signal),
    operation: (taken, signal) => operator.handle(taken, signal),
  };
}

function makeDeleter(
  deps: ControllerDeps,
  config: ControllerConfig,
  { queues, territory, projects, memories }: Shared,
  common: Omit<ConstructorParameters<typeof Deleter>[0], 'live' | 'projectOf' | 'clusterOf' | 'deletesAs' | 'forget'>,
): Deleter {
  return new Deleter(
    {
      ...common,
      live: deps.live,
      projectOf: (app) => projects.of(app),
      clusterOf: (app) => territory.clusterOf(app),
      deletesAs: projects.deletesAs.bind(projects),
      forget: async (key, app) => {
        memories.forget(key);
        queues.project.add(`${config.namespace}/${app.spec.project ?? 'default'}`);
        await deps.publisher.remove(instanceName(key, config.namespace), new AbortController().signal);
      },
    },
    config,
  );
}

function makePool<K extends string, P>(
  ...[deps, config, queue, handler, workers]: [ControllerDeps, ControllerConfig, WorkQueue<K, P>, Handler<K, P>, number]
): Pool {
  const { clock, logger, queueMetrics } = deps;
  return new Processors<K, P>(
    { queue, handler, clock, logger, ...(queueMetrics === undefined ? {} : { metrics: queueMetrics }) },
    { workers, graceMs: config.graceMs },
  );
}
