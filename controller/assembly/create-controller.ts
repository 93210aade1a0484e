import { defined, newAbortController, untilAborted } from '#base';
import { appKeyOf, asApplication, instanceName } from '#model';
import type { AppKey, Application, Settings } from '#model';
import { createWorkQueue } from '#queues';
import type { ItemHandler, WorkQueue } from '#queues';
import { AskedRefreshes } from '../refresh/asked-refreshes.ts';
import { ApplyGate } from '../write/apply-gate.ts';
import { WorkMetrics } from '../write/apply-metrics.ts';
import { ClusterLabels } from '../clusters/cluster-labels.ts';
import { ClusterReports } from '../clusters/cluster-reports.ts';
import { OperationCompleter } from '../operation/completion.ts';
import { Syncer } from '../operation/syncer.ts';
import { ArgoController } from './controller.ts';
import { Deleter } from '../operation/deletion.ts';
import { EventRecorder } from '../application/events.ts';
import type { EventLabels } from '../application/events.ts';
import type { RefreshRequest } from '../application/freshness.ts';
import { LoopWatch } from '../comparison/loop-watch.ts';
import { AppMemories } from '../comparison/memory.ts';
import { CostBook } from '../report/costs.ts';
import { exposeMetrics } from './expose-metrics.ts';
import { makeHydration } from './make-hydration.ts';
import { OperationProcessor } from '../operation/operation.ts';
import {
  applicationIn,
  isWatched,
  limiters,
  makeAppMetrics,
  makeClaims,
  makeComparer,
  makeInformers,
  makeJq,
  makePool,
  makeReport,
  makeRefreshQueue,
  makeTriggers,
  noting,
  ownApplications,
  tenantIn,
  tenantOfApplication,
  warnOfPatterns,
} from './parts.ts';
import type { ControllerParts, MadePool, WiredParts } from './parts.ts';
import { neverAborted, publishFence, recompareLostPublications, unpublish } from './publishing.ts';
import { ProjectFinalizers } from '../application/project-finalizers.ts';
import { ProjectPolicies } from '../admission/projects.ts';
import { ApplicationQuarantine, quarantineAfterMs } from '../triggers/quarantine.ts';
import { RefreshWrites } from '../refresh/refresh-writes.ts';
import { RefreshProcessor } from '../refresh/refresh.ts';
import { DryRuns } from '../comparison/server-side-diff.ts';
import { ApplicationStore } from '../application/application-store.ts';
import { ownedPasses, OwnershipGuard } from '../admission/ownership-guard.ts';
import type { Controller, ControllerConfig, ControllerDeps } from './types.ts';
import { makeClusterReach, makeWaitWatchers } from './watchers.ts';
import { KubectlMetrics } from '../write/kubectl-metrics.ts';
import { WriteSlots } from '../write/write-slots.ts';

interface ControllerQueues {
  readonly refresh: WorkQueue<AppKey, RefreshRequest>;
  readonly operation: WorkQueue<AppKey, undefined>;
  readonly project: WorkQueue<string, undefined>;
}

/** Builds the controller; `run` starts it. */
export function createController(deps: ControllerDeps, config: ControllerConfig): Controller {
  // Aborted after the work, so that finished passes can still write their status.
  const persist = newAbortController();
  return new ArgoController({
    ...deps,
    parts: wireController(deps, config, persist.signal),
    persist,
    graceMs: config.graceMs,
  });
}

/**
 * Constructs every part once and connects them.
 * @param persist signal for status writes; aborted after the work.
 */
function wireController(deps: ControllerDeps, config: ControllerConfig, persist: AbortSignal): ControllerParts {
  warnOfPatterns(deps, config);
  const { apps, projects: projectInformer } = makeInformers(deps, config, (key) => triggers.mine().has(key));
  const guard = new OwnershipGuard(deps, (namespace) => isWatched(config, namespace));
  const work = new WorkMetrics(deps);
  const costs = new CostBook(deps.clock);
  const memories = new AppMemories(new ApplyGate({ ...deps, counts: work.gate }), config.comparisonBytes);
  persist.addEventListener('abort', () => memories.reads.endAll(), { once: true });
  const loop = new LoopWatch({
    ...deps,
    spent: (key, ms) => costs.ofApp(key, 'cpuMs', ms),
    owns: (key) => triggers.mine().has(key),
  });
  const projects = new ProjectPolicies({ ...deps, informer: projectInformer, guard }, config);
  const queues = makeQueues(deps, config, { apps, guard, projects });
  const reach = makeClusterReach(deps, config);
  const triggers = makeTriggers(deps, config, {
    queues: { refreshQueue: queues.refresh, operationQueue: queues.operation, projectQueue: queues.project },
    apps,
    projectInformer,
    guard,
    projects,
    ...(reach === undefined ? {} : { confirmReach: (signal) => reach.confirm(signal) }),
    ...noting(memories, costs, deps.clock),
    written: (key) => store.written(key),
    forget: (key, deleted) => {
      for (const each of [memories, store]) each.forget(key);
      if (deleted === undefined) deps.publisher.forget(instanceName(key, config.namespace));
      else void unpublish(deps, config, { guard, app: deleted, current: () => store.get(key) }, persist);
    },
  });
  const events = makeEvents(deps, config, projects);
  const store = makeStore(deps, { apps, guard, costs, events, triggers }, persist);
  const [jq, jqEnd] = makeJq(deps, config);
  const claims = makeClaims(apps, guard, projects);
  const metrics = makeAppMetrics(deps, { triggers, apps, guard });
  const wired = { apps, projectInformer, triggers, memories, loop, guard, projects, jq, claims, work, metrics, costs };
  const shared: SharedParts = { ...wired, queues, store };
  const handlers = makeHandlers(deps, config, shared);
  const cleanup = new ProjectFinalizers({ ...deps, informer: projectInformer, apps });
  exposeMetrics(deps, config, shared);
  const hydration = makeHydration(deps, config, shared);
  const project: QueueHandlers['project'] = (taken, signal) => cleanup.handle(taken, signal);
  const pools = [...makePools(deps, config, shared, { ...handlers, project }), ...hydration.pools];
  return {
    apps,
    projects: projectInformer,
    triggers,
    watchers: [
      ...hydration.watchers,
      jqEnd,
      ...(reach === undefined ? [] : [reach]),
      ...makeWatchers(deps, config, shared),
    ],
    pools: pools.map(({ pool }) => pool),
    queues: [queues.refresh, queues.operation, queues.project, ...hydration.queues],
    report: makeReport(deps, config, { ...shared, pools }),
    loop,
  };
}

function makeWatchers(
  deps: ControllerDeps,
  config: ControllerConfig,
  shared: SharedParts,
): ControllerParts['watchers'] {
  return [
    recompareLostPublications(deps, config, shared.queues.refresh),
    { name: 'records', run: (signal) => untilAborted(signal).finally(() => shared.memories.records.open()) },
    makeClusterReports(deps, config, shared),
    ...makeWaitWatchers(deps, config, { ...shared, mine: ownApplications(shared.triggers, shared.apps) }),
  ];
}

function makeEvents(deps: ControllerDeps, config: ControllerConfig, projects: ProjectPolicies): EventRecorder {
  const settings = (): Settings => deps.settings.settings();
  const projectLabels = (app: Application): EventLabels | undefined => projects.labelsOf(app);
  const parts = { ...deps, hub: deps.eventHub ?? deps.hub, settings, projectLabels };
  return new EventRecorder(parts, config.enabledEvents ?? ['all']);
}

/** The only writer of Applications. */
function makeStore(
  { hub, clock, logger }: ControllerDeps,
  parts: Pick<SharedParts, 'apps' | 'guard' | 'costs' | 'triggers'> & { readonly events: EventRecorder },
  signal: AbortSignal,
): ApplicationStore {
  const { apps, guard, costs, events, triggers } = parts;
  return new ApplicationStore({
    hub,
    informer: apps,
    events,
    fenced: (app, inner, send) => guard.toApplication(app, inner, costs.counting(appKeyOf(app), send)),
    onForeignChange: (key) => triggers.look(key, 'the application changed'),
    clock,
    logger,
    signal,
  });
}

interface QueueHandlers {
  readonly refresh: ItemHandler<AppKey, RefreshRequest>;
  readonly operation: ItemHandler<AppKey, undefined>;
  readonly project: ItemHandler<string, undefined>;
}

/** In the order of the queues. */
function makePools(
  deps: ControllerDeps,
  config: ControllerConfig,
  { queues, memories: { activity }, apps }: Pick<SharedParts, 'queues' | 'memories' | 'apps'>,
  handlers: QueueHandlers,
): readonly MadePool[] {
  const { statusProcessors: workers, operationProcessors } = config;
  const { refresh, operation, project } = queues;
  const { operation: handler } = handlers;
  const tenantOf = tenantIn(apps);
  return [
    makePool(deps, config, { queue: refresh, handler: handlers.refresh, workers, activity, tenantOf }),
    makePool(deps, config, { queue: operation, handler, workers: operationProcessors, activity, tenantOf }),
    makePool(deps, config, { queue: project, handler: handlers.project, workers: 1, activity }),
  ];
}

/** The duration of an operation depends on its cluster, so tenants take turns on each cluster. */
function makeQueues(
  deps: ControllerDeps,
  config: ControllerConfig,
  { apps, guard, projects }: Pick<SharedParts, 'apps' | 'guard' | 'projects'>,
): ControllerQueues {
  const tenantOf = tenantOfApplication(apps, (app) => projects.permitsNamespaceOf(app));
  const serverOf = (key: AppKey): string => {
    const app = applicationIn(apps, key);
    return app === undefined ? '' : (guard.clusterOf(app)?.server ?? '');
  };
  const common = { clock: deps.clock, ...defined({ metrics: deps.queueMetrics }) };
  return {
    refresh: makeRefreshQueue(deps, config, tenantOf),
    operation: createWorkQueue<AppKey>({
      ...common,
      name: 'app_operation_processing_queue',
      flowOf: (key) => `${tenantOf(key)} ${serverOf(key)}`,
      ...limiters(config),
    }),
    project: createWorkQueue<string>({
      ...common,
      name: 'project_reconciliation_queue',
      ...limiters(config),
    }),
  };
}

function makeClusterReports(
  deps: ControllerDeps,
  config: ControllerConfig,
  { apps, guard, projects }: Pick<SharedParts, 'apps' | 'guard' | 'projects'>,
): ClusterReports {
  return new ClusterReports(
    {
      ...deps,
      labels: new ClusterLabels(deps, config.namespace),
      fenced: (server, signal, send) => guard.toWholeCluster(server, signal, send),
      clusters: () => deps.settings.clusters(),
      apps: () => apps.list().map(asApplication),
      serverOf: (app) => (projects.permitsNamespaceOf(app) ? guard.clusterOf(app)?.server : undefined),
    },
    config.clusterInfoMs ?? 10_000,
  );
}

interface SharedParts extends WiredParts {
  readonly queues: ControllerQueues;
  readonly store: ApplicationStore;
}

function makeHandlers(
  deps: ControllerDeps,
  config: ControllerConfig,
  shared: SharedParts,
): Omit<QueueHandlers, 'project'> {
  const { queues, store, memories, loop, guard, projects, jq, claims, work, metrics, costs } = shared;
  const { clock, random, logger, tracer, live, clients } = deps;
  const slots = new WriteSlots(clock, config.kubectlParallelism);
  const { rows, reads, dryRuns: known } = memories;
  const dryRuns = new DryRuns({ clients, slots, known });
  const rendering = (key: AppKey, sources: number): void => costs.ofApp(key, 'renders', sources);
  const comparer = makeComparer(deps, config, { loop, rows, dryRuns, jq, work, reads, rendering, claims });
  const common = { store, comparer, memories, claims, metrics, work, costs, clock, logger, tracer };
  const kubectl = new KubectlMetrics(deps.metrics, config.metrics?.hostname ?? '');
  const syncer = makeSyncer(deps, config, shared, { ...common, slots, kubectl });
  const effects = makeEffects(deps, config, shared);
  const asks = new AskedRefreshes({
    memories,
    clock,
    metrics: deps.metrics,
    lookup: (key) => store.get(key),
    hasProject: (app) => projects.permitsNamespaceOf(app),
    isMine: (app) => guard.isMine(app),
  });
  const refresher = new RefreshProcessor(
    {
      ...common,
      lookup: (key) => asks.view(key),
      effects,
      random,
      validate: (app) => loop.run(appKeyOf(app), 'validation', () => projects.validate(app)),
      policyFacts: (app) => projects.facts(app),
      peek: (server) => live.peek(server),
    },
    { ...config, hydrates: config.hydration !== undefined },
  );
  const operator = new OperationProcessor(
    {
      ...common,
      syncer,
      deleter: makeDeleter(deps, config, shared, { ...common, syncer }),
      completer: new OperationCompleter({ store, refresher, effects, clock, logger }),
      bind: (app) => projects.ofOperation(app),
      policyFacts: (app) => projects.facts(app),
      isStalled: (app) => slots.isStalled(guard.clusterOf(app)?.server ?? ''),
      refresh: (key, payload, priority = 'user') => queues.refresh.add(key, { payload, priority }),
    },
    config,
  );
  const refresh = withQuarantine(deps, config, { ...shared, asks }, (taken, signal, place) =>
    refresher.handle(taken, signal, place),
  );
  const owned = { lookup: (key: AppKey) => store.get(key), isMine: (app: Application) => guard.isMine(app) };
  return {
    refresh: ownedPasses({ ...owned, forget: (key) => memories.forget(key) }, refresh),
    operation: ownedPasses(owned, (taken, signal, place) => operator.handle(taken, signal, place)),
  };
}

function makeSyncer(
  { clients, live }: ControllerDeps,
  config: ControllerConfig,
  { guard, jq, costs }: SharedParts,
  common: Omit<ConstructorParameters<typeof Syncer>[0], 'clients' | 'peek' | 'toCluster' | 'jq'>,
): Syncer {
  return new Syncer(
    {
      ...common,
      clients,
      peek: (server) => live.peek(server),
      toCluster: (server, key, signal, send) => guard.toCluster(server, key, signal, costs.counting(key, send)),
      jq,
    },
    { waveDelayMs: config.syncWaveDelayMs },
  );
}

function withQuarantine(
  { clock, logger }: ControllerDeps,
  { quarantineAfterMs: limitMs = quarantineAfterMs }: ControllerConfig,
  { loop, memories, store, asks }: Pick<SharedParts, 'loop' | 'memories' | 'store'> & { readonly asks: AskedRefreshes },
  inner: QueueHandlers['refresh'],
): QueueHandlers['refresh'] {
  const quarantine = new ApplicationQuarantine({
    inner: asks.limited(inner),
    askedDelayMs: (key, app) => asks.delayMs(key, app),
    loop,
    memories,
    lookup: (key) => store.get(key),
    persist: (app, status) => store.persistStatus(app, status),
    clock,
    logger,
    limitMs,
  });
  return (taken, signal, place) => quarantine.handle(taken, signal, place);
}

function makeEffects(
  deps: ControllerDeps,
  config: ControllerConfig,
  { store, queues, guard, memories: { records } }: SharedParts,
): RefreshWrites {
  return new RefreshWrites({
    store,
    publisher: deps.publisher,
    fence: (key) => publishFence(guard, () => store.get(key), key),
    requeue: (key, options) => queues.refresh.add(key, options),
    startOperation: (key, priority) => queues.operation.add(key, { priority }),
    records,
    clock: deps.clock,
    namespace: config.namespace,
  });
}

function makeDeleter(
  deps: ControllerDeps,
  config: ControllerConfig,
  { queues, guard, projects, memories, store }: SharedParts,
  common: Omit<ConstructorParameters<typeof Deleter>[0], 'live' | 'bind' | 'labelKeys' | 'forget'>,
): Deleter {
  return new Deleter(
    {
      ...common,
      live: deps.live,
      bind: (app) => projects.ofDeletion(app),
      labelKeys: () => projects.labelKeys(),
      forget: async (key, app) => {
        memories.forget(key);
        queues.project.add(`${config.namespace}/${app.spec.project ?? 'default'}`);
        await unpublish(deps, config, { guard, app, current: () => store.get(key) }, neverAborted);
      },
    },
    config,
  );
}
