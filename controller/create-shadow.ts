import { newAbortController } from '#base';
import type { AppKey, Application } from '#model';
import type { Handler, WorkQueue } from '#queues';
import { ArgoController } from './controller.ts';
import type { Claims } from './claims.ts';
import type { RefreshRequest } from './freshness.ts';
import type { JqRunner } from './jq-runner.ts';
import { Ledger } from './ledger.ts';
import { LoopWatch } from './loop-watch.ts';
import { Memories } from './memory.ts';
import { AppMetrics } from './metrics.ts';
import {
  applicationIn,
  isWatched,
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
import { Projects } from './projects.ts';
import { RefreshProcessor } from './refresh.ts';
import { ShadowEffects } from './shadow.ts';
import { OwnershipGuard } from './ownership-guard.ts';
import type { Controller, ControllerConfig, WatchDeps } from './types.ts';
import type { Verdict } from './verdict.ts';

export interface ShadowDeps extends WatchDeps {
  /** Told after each comparison, in the turn in which it ended. Must not throw. */
  readonly onVerdict?: (verdict: Verdict) => void;
}

export interface ShadowConfig extends ControllerConfig {
  /** How long both may disagree before it counts in metrics and log: either sees a change some seconds before the other. */
  readonly disagreementMs: number;
}

/**
 * Builds a controller that runs beside the one in charge and writes nothing, anywhere: the same passes from the same triggers, with effects
 * that record what they would have done ({@link ShadowEffects}). Nothing starts before `run`.
 *
 * What it is made of imports no module that writes; test/shadow-writes-nothing.test.ts walks the imports from here. Operations, deletions, projects
 * on their way out, Events, published trees and `argocd_app_info` (it would count each Application twice) are the other's.
 */
export function createShadowController(deps: ShadowDeps, config: ShadowConfig): Controller {
  return new ArgoController({
    ...deps,
    parts: wire(deps, config),
    persist: newAbortController(),
    graceMs: config.graceMs,
  });
}

/** What triggers put into the queues of work that is not done here. */
const nobody = { add: () => undefined, addRateLimited: () => undefined, drop: () => undefined };

function wire(deps: ShadowDeps, config: ShadowConfig): Parts {
  warnOfPatterns(deps, config);
  const queue = makeRefreshQueue(deps, config);
  const { apps, projects: informer } = makeInformers(deps, config);
  const memories = new Memories();
  const loop = new LoopWatch(deps);
  const guard = new OwnershipGuard(deps, (namespace) => isWatched(config, namespace));
  const projects = new Projects({ ...deps, informer, guard }, config);
  const effects = makeEffects(deps, config, { queue, lookup: (key) => applicationIn(apps, key) });
  const triggers = makeTriggers(deps, config, {
    queues: { refreshQueue: queue, operationQueue: nobody, projectQueue: nobody },
    apps,
    projectInformer: informer,
    guard,
    projects,
    seen: (key) => {
      memories.of(key).seenAt = deps.clock.monotonic();
    },
    forget: (key) => {
      memories.forget(key);
      effects.forget(key);
    },
  });
  const [jq, jqEnd] = makeJq(deps, config);
  const claims = makeClaims(apps, guard, projects);
  const refresher = makeRefresher(deps, config, { effects, memories, loop, guard, projects, jq, claims });
  const handler: Handler<AppKey, RefreshRequest> = (taken, signal, place) => refresher.handle(taken, signal, place);
  return {
    apps,
    projects: informer,
    triggers,
    watchers: [jqEnd],
    pools: [makePool(deps, config, { queue, handler, workers: config.statusProcessors })],
    queues: [queue],
    memories,
    loop,
    guard,
    mine: ownApplications(triggers, apps),
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
  // The other looks for new commits at its own time, with the same interval.
  const revisionMs = disagreementMs + appResyncMs + jitterMs;
  return new ShadowEffects({
    lookup: parts.lookup,
    ledger: new Ledger(deps, { disagreementMs, revisionMs }),
    requeue: (key, options) => parts.queue.add(key, options),
    onVerdict: (verdict) => deps.onVerdict?.(verdict),
  });
}

function makeRefresher(
  deps: ShadowDeps,
  config: ShadowConfig,
  parts: {
    readonly effects: ShadowEffects;
    readonly memories: Memories;
    readonly loop: LoopWatch;
    readonly guard: OwnershipGuard;
    readonly projects: Projects;
    readonly jq: JqRunner;
    readonly claims: Claims;
  },
): RefreshProcessor {
  const { effects, memories, loop, guard, projects, jq, claims } = parts;
  const { clock, random, logger, live } = deps;
  return new RefreshProcessor(
    {
      effects,
      memories,
      claims,
      clock,
      random,
      logger,
      lookup: (key) => effects.lookup(key),
      comparer: makeComparer(deps, config, { loop, rows: memories.rows, jq }),
      metrics: new AppMetrics(deps.metrics, (app) => guard.clusterOf(app)?.server),
      isMine: (app) => guard.isMine(app),
      validate: (app) => projects.validate(app),
      peek: (server) => live.peek(server),
    },
    config,
  );
}
