import { newAbortController } from '#base';
import type { AppKey, Application } from '#model';
import type { ItemHandler, WorkQueue } from '#queues';
import { WorkMetrics } from '../write/apply-metrics.ts';
import { ArgoController } from '../assembly/controller.ts';
import type { RefreshRequest } from '../application/freshness.ts';
import { DisagreementLedger } from './ledger.ts';
import { LoopWatch } from '../comparison/loop-watch.ts';
import { AppMemories } from '../comparison/memory.ts';
import { CostBook } from '../report/costs.ts';
import {
  applicationIn,
  isWatched,
  makeAppMetrics,
  makeClaims,
  makeComparer,
  makeInformers,
  makeJq,
  makePool,
  makeRefreshQueue,
  makeReport,
  tenantOfApplication,
  makeTriggers,
  noting,
  warnOfPatterns,
  tenantIn,
} from '../assembly/parts.ts';
import type { ControllerParts, WiredParts } from '../assembly/parts.ts';
import { ProjectPolicies } from '../admission/projects.ts';
import { RefreshProcessor } from '../refresh/refresh.ts';
import { ShadowEffects } from './shadow.ts';
import { ownedPasses, OwnershipGuard } from '../admission/ownership-guard.ts';
import type { Controller, ControllerConfig, WatchDeps } from '../assembly/types.ts';
import type { ShadowVerdict } from '../application/verdict.ts';

export interface ShadowDeps extends WatchDeps {
  /** Called synchronously after each comparison. Must not throw. */
  readonly onVerdict?: (verdict: ShadowVerdict) => void;
}

export interface ShadowConfig extends ControllerConfig {
  /**
   * How long a disagreement must last to count in metrics and log: either controller may see a
   * change seconds before the other.
   */
  readonly disagreementMs: number;
}

/**
 * Builds a controller that runs beside the one in charge and writes nothing: the same passes from
 * the same triggers, with effects that record the intended writes ({@link ShadowEffects}). `run`
 * starts it.
 *
 * Imports no module that writes; test/shadow-writes-nothing.test.ts checks all transitive imports.
 * Operations, deletions, project finalizers, Events, published trees and `argocd_app_info` (which
 * would count each Application twice) are left to the controller in charge.
 */
export function createShadowController(deps: ShadowDeps, config: ShadowConfig): Controller {
  return new ArgoController({
    ...deps,
    parts: wireShadow(deps, config),
    persist: newAbortController(),
    graceMs: config.graceMs,
  });
}

/** Discards queue items: a shadow runs no operations and no project cleanup. */
const discardingQueue = { add: () => undefined, addRateLimited: () => undefined, drop: () => undefined };

function wireShadow(deps: ShadowDeps, config: ShadowConfig): ControllerParts {
  warnOfPatterns(deps, config);
  const { apps, projects: informer } = makeInformers(deps, config, (key) => triggers.mine().has(key));
  const memories = new AppMemories(undefined, config.comparisonBytes);
  const costs = new CostBook(deps.clock);
  const loop = new LoopWatch({
    ...deps,
    spent: (key, ms) => costs.ofApp(key, 'cpuMs', ms),
    owns: (key) => triggers.mine().has(key),
  });
  const guard = new OwnershipGuard(deps, (namespace) => isWatched(config, namespace));
  const projects = new ProjectPolicies({ ...deps, informer, guard }, config);
  const tenantOf = tenantOfApplication(apps, (app) => projects.permitsNamespaceOf(app));
  const queue = makeRefreshQueue(deps, config, tenantOf);
  const effects = makeEffects(deps, config, { queue, lookup: (key) => applicationIn(apps, key) });
  const triggers = makeTriggers(deps, config, {
    queues: { refreshQueue: queue, operationQueue: discardingQueue, projectQueue: discardingQueue },
    apps,
    projectInformer: informer,
    guard,
    projects,
    ...noting(memories, costs, deps.clock),
    forget: (key) => {
      memories.forget(key);
      effects.forget(key);
    },
  });
  const [jq, jqEnd] = makeJq(deps, config);
  const claims = makeClaims(apps, guard, projects);
  const metrics = makeAppMetrics(deps, { triggers, apps, guard });
  const shared = { effects, memories, loop, guard, projects, jq, claims, metrics, costs };
  const refresher = makeRefresher(deps, config, shared);
  const handler: ItemHandler<AppKey, RefreshRequest> = ownedPasses(
    {
      lookup: (key) => applicationIn(apps, key),
      isMine: (app) => guard.isMine(app),
      forget: (key) => memories.forget(key),
    },
    (taken, signal, place) => refresher.handle(taken, signal, place),
  );
  const { activity } = memories;
  const work = { queue, handler, workers: config.statusProcessors, activity, tenantOf: tenantIn(apps) };
  const made = makePool(deps, config, work);
  return {
    apps,
    projects: informer,
    triggers,
    watchers: [jqEnd],
    pools: [made.pool],
    queues: [queue],
    report: makeReport(deps, config, { apps, guard, projects, memories, triggers, pools: [made], costs }),
    loop,
  };
}

function makeEffects(
  deps: ShadowDeps,
  config: ShadowConfig,
  parts: {
    readonly queue: WorkQueue<AppKey, RefreshRequest>;
    readonly lookup: (key: AppKey) => Application | undefined;
  },
): ShadowEffects {
  const { disagreementMs, appResyncMs, jitterMs } = config;
  // The other controller looks for commits at its own time, with the same interval.
  const revisionMs = disagreementMs + appResyncMs + jitterMs;
  return new ShadowEffects({
    lookup: parts.lookup,
    ledger: new DisagreementLedger(deps, { disagreementMs, revisionMs }),
    requeue: (key, options) => parts.queue.add(key, options),
    onVerdict: (verdict) => deps.onVerdict?.(verdict),
  });
}

function makeRefresher(
  deps: ShadowDeps,
  config: ShadowConfig,
  parts: Omit<WiredParts, 'apps' | 'projectInformer' | 'triggers' | 'work'> & { readonly effects: ShadowEffects },
): RefreshProcessor {
  const { effects, memories, loop, projects, jq, claims, metrics, costs } = parts;
  const { clock, random, logger, tracer, live } = deps;
  const work = new WorkMetrics(deps);
  return new RefreshProcessor(
    {
      effects,
      memories,
      claims,
      clock,
      random,
      logger,
      tracer,
      lookup: (key) => effects.lookup(key),
      comparer: makeComparer(deps, config, { loop, rows: memories.rows, jq, work, claims }),
      work,
      metrics,
      costs,
      validate: (app) => projects.validate(app),
      policyFacts: (app) => projects.facts(app),
      peek: (server) => live.peek(server),
    },
    { ...config, hydrates: config.hydration !== undefined },
  );
}
