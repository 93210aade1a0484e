import { inSlices, omit } from '#base';
import type { Clock, Random } from '#base';
import { buildTree, managedSteps, treeRoots } from '#compare';
import type { BuiltTree, Comparison } from '#compare';
import type { LiveCluster } from '#live';
import { appKeyOf, appKeyOfInstance, hasMultipleSources, isCompleted, isErrorCondition, sourcesOf } from '#model';
import type { AppKey, Application, ApplicationCondition, ApplicationStatus, ResourceKey } from '#model';
import type { ManagedResource } from '#publish';
import type { Outcome, Place, Taken } from '#queues';
import type { Logger } from '#telemetry';
import { decideAutosync } from './autosync.ts';
import type { AutosyncDecision, SelfHealBackoff } from './autosync.ts';
import type { BoundApplication, SpecVerdict } from './bound.ts';
import { leftovers } from './claims.ts';
import type { Claims } from './claims.ts';
import type { Comparer } from './comparer.ts';
import { ownedConditions } from './conditions.ts';
import { ClusterNotReady, SourceUnavailable } from './errors.ts';
import { hookFinalizers } from './finalizers.ts';
import { compareLevel, msUntilExpiry, refreshAnnotation, refreshDue } from './freshness.ts';
import type { AskedRefresh, FreshnessFacts, Refresh, RefreshRequest } from './freshness.ts';
import { differences } from './differences.ts';
import { hydrationConditions } from './hydration.ts';
import type { AppMemory, Memories } from './memory.ts';
import type { AppMetrics } from './metrics.ts';
import type { WorkMetrics } from './apply-metrics.ts';
import { mustStampReconciledAt, nextHealth, statusPatch, withConditions } from './status-patch.ts';
import { kubeTime } from './kube-time.ts';

export interface RefreshDeps {
  /** The last known version of an application, from memory; its status says what this controller compared last. */
  readonly lookup: (key: AppKey) => Application | undefined;
  readonly effects: RefreshEffects;
  readonly comparer: Comparer;
  readonly memories: Memories;
  readonly metrics: AppMetrics;
  readonly work: Pick<WorkMetrics, 'stage'>;
  readonly isMine: (app: Application) => boolean;
  readonly claims: Pick<Claims, 'claimants'>;
  readonly validate: (app: Application) => SpecVerdict;
  readonly peek: (server: string) => LiveCluster | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface RefreshConfig {
  readonly namespace: string;
  readonly appResyncMs: number;
  readonly hardResyncMs: number;
  readonly jitterMs: number;
  readonly repoErrorGraceMs: number;
  readonly persistResourceHealth: boolean;
  readonly selfHeal: SelfHealBackoff;
}

/** A cluster or a source that cannot be read is tried again soon, not at the next resync. */
const soonMs = 1000;
const unreadableMs = 30_000;
/** For so long what is found while an operation runs waits for its end. */
export const holdMs = 1000;

/** One pass over one application. */
export interface Pass {
  readonly key: AppKey;
  readonly refresh: Refresh;
  readonly asked: AskedRefresh | undefined;
  /** As it stands in the API server when the pass begins: what the patch is computed against. */
  readonly before: Application;
  readonly memory: AppMemory;
  /** One time for the whole pass; its one snapshot of the settings is in {@link BoundApplication}. */
  readonly time: string;
  readonly now: number;
  /** Its lines name the application and this pass. */
  readonly logger: Logger;
  /** When what this pass answers was asked for, at the latest; by the monotonic clock. */
  readonly askedAt?: number | undefined;
  /** In the pool that it works in. */
  readonly place?: Place | undefined;
}

/** What was found at one time, for whoever stores it. */
export interface Look {
  readonly pass: Pass;
  /** By the monotonic clock. */
  readonly started: number;
  readonly assessment: Assessment;
}

/** Both sides compared, and what follows from it. */
export interface Found {
  readonly comparison: Comparison;
  /** The finalizers that the application should have; undefined when it has them. */
  readonly finalizers: readonly string[] | undefined;
  /** What automated sync is to do; undefined: it may not act now. */
  readonly decision: AutosyncDecision | undefined;
}

/** What a comparison came to, and what others read of it. */
interface Looked {
  readonly comparison: Comparison;
  readonly built: BuiltTree;
  readonly bound: BoundApplication;
  readonly managed: readonly ManagedResource[];
}

/** What a pass found out. Nothing of it has been told or written yet. */
export interface Assessment {
  /** The status that the application should have. */
  readonly status: ApplicationStatus;
  readonly tree: BuiltTree['tree'];
  /** Undefined: what was published before stands. None: it goes, and clients tell the conditions in its place. */
  readonly managed: readonly ManagedResource[] | 'none' | undefined;
  /** Of this pass alone: the status has those of other steps, too. */
  readonly conditions: readonly ApplicationCondition[];
  /** Undefined: nothing was compared, because the spec is invalid or only the tree moved. */
  readonly found: Found | undefined;
}

/**
 * What is done about what a pass finds out: everything that leaves this process. The seam between looking and acting; the pass itself is the
 * same for the controller in charge (`refresh-writes`) and for one that must not write (`shadow`). Called in this order.
 */
export interface RefreshEffects {
  /** What is asked of a pass: what the queue says, or more. */
  request(key: AppKey, queued: RefreshRequest | undefined): RefreshRequest | undefined;
  /** The application as the pass shall see it, and the request in its annotations. */
  begin(app: Application): Promise<Begun>;
  publish(pass: Pass, assessment: Assessment, signal: AbortSignal): Promise<void>;
  /** Stores the status, starts what is to be started, and takes away the request that is answered by it: in as few writes as may be. */
  settle(pass: Pass, assessment: Assessment): Promise<Settled>;
}

export interface Begun {
  readonly before: Application;
  readonly asked: AskedRefresh | undefined;
}

export interface Settled {
  /** As it is stored now. */
  readonly app: Application;
  /** False when a new request was made meanwhile. */
  readonly answered: boolean;
  /** What was found was not stored, because of what has happened meanwhile: it is to be looked for again. */
  readonly again?: boolean;
}

/**
 * Refreshes one Application: is it stale, how deeply, why; compare; decide about automated sync; hand over what is to be published and
 * written. Source: Argo CD processAppRefreshQueueItem.
 *
 * Errors: whatever keeps a pass from its end is thrown, and the queue tries the key again with its request (Argo CD forgets it until the
 * next event). Nothing is half done: the status is written last, and by difference.
 */
export class RefreshProcessor {
  readonly #deps: RefreshDeps;
  readonly #config: RefreshConfig;
  #passes = 0;

  constructor(deps: RefreshDeps, config: RefreshConfig) {
    this.#deps = deps;
    this.#config = config;
  }

  async handle(
    { key, payload }: Taken<AppKey, RefreshRequest>,
    signal: AbortSignal,
    place?: Place,
  ): Promise<Outcome<RefreshRequest>> {
    const app = this.#deps.lookup(key);
    if (app === undefined || !this.#deps.isMine(app)) {
      this.#deps.memories.forget(key);
      return 'done';
    }
    const memory = this.#deps.memories.of(key);
    const due = refreshDue(app, this.#deps.effects.request(key, payload), this.#facts(memory));
    if (due === undefined) return this.#untilExpiry(app, memory);
    const { level, reason, resources } = due;
    const again = { level, reason, ...(resources === undefined ? {} : { resources }) };
    const heldMs = this.#heldMs(app, memory);
    if (heldMs > 0) return { requeueAfterMs: heldMs, payload: again };
    memory.lastRefresh = { at: this.#now(), reason, level };
    let settled: Settled;
    try {
      settled = await this.#run(app, due, signal, place);
    } catch (error) {
      if (!(error instanceof ClusterNotReady || error instanceof SourceUnavailable)) throw error;
      const ms = error instanceof ClusterNotReady ? soonMs : unreadableMs;
      memory.waiting = { what: error.message, since: this.#now(), until: this.#now() + ms };
      return { requeueAfterMs: ms, payload: again };
    }
    if (!settled.answered) return { requeueAfterMs: 0, priority: 'asked' };
    // The end that is on its way asks for a pass itself.
    if (settled.again === true) return { requeueAfterMs: memory.ending === true ? soonMs : 0, payload: again };
    return this.#untilExpiry(this.#deps.lookup(key) ?? app, memory);
  }

  /**
   * How long a pass waits for an operation that runs: its end tells what has come of it, in one write (decision D17). What the end does not tell within
   * a second is told then, with whatever came in that second. What somebody has asked for does not wait.
   */
  #heldMs(app: Application, memory: AppMemory): number {
    if (!isRunning(app)) delete memory.telling;
    const { telling } = memory;
    if (telling === undefined || refreshAnnotation(app) !== undefined) return 0;
    const now = this.#deps.clock.monotonic();
    telling.at ??= now + holdMs;
    const heldMs = telling.at - now;
    if (heldMs <= 0) delete telling.at;
    return heldMs;
  }

  /**
   * What a pass would find now of an application that stands so, compared with its sources and its cluster. Nothing is told and nothing written.
   *
   * Errors: as those of a pass.
   */
  async look(app: Application, refresh: Refresh, signal: AbortSignal): Promise<Look> {
    const started = this.#deps.clock.monotonic();
    const pass = this.#newPass(app, refresh);
    return { pass, started, assessment: await this.#assess(pass, signal) };
  }

  /** What was found is stored now: notes and says so. */
  stored({ pass, started, assessment }: Look, stored: Application): void {
    const { level, reason } = pass.refresh;
    pass.memory.lastRefresh = { at: pass.now, reason, level };
    this.#remember(pass, assessment);
    this.#report(pass, stored, started);
  }

  async #run(app: Application, due: Refresh, signal: AbortSignal, place: Place | undefined): Promise<Settled> {
    const started = this.#deps.clock.monotonic();
    const { before, asked } = await this.#deps.effects.begin(app);
    const pass: Pass = { ...this.#newPass(before, due), asked, place };
    const settled = await this.#pass(pass, signal);
    this.#report(pass, settled.app, started);
    return settled;
  }

  #newPass(before: Application, refresh: Refresh): Pass {
    const key = appKeyOf(before);
    const memory = this.#deps.memories.of(key);
    const now = this.#now();
    const logger = this.#deps.logger.child({ application: key, pass: this.#nextPass() });
    return { key, refresh, asked: undefined, before, memory, askedAt: memory.seenAt, time: kubeTime(now), now, logger };
  }

  #report({ refresh, logger }: Pass, stored: Application, started: number): void {
    const durationMs = this.#deps.clock.monotonic() - started;
    this.#deps.metrics.reconciled(stored, durationMs);
    logger.info('Reconciliation completed', {
      'comparison-level': refresh.level,
      reason: refresh.reason,
      time_ms: Math.round(durationMs),
      sync: stored.status?.sync?.status,
      health: stored.status?.health?.status,
    });
  }

  async #pass(pass: Pass, signal: AbortSignal): Promise<Settled> {
    const { effects, work } = this.#deps;
    const assessment = await this.#assess(pass, signal);
    await work.stage('publishing', () => effects.publish(pass, assessment, signal));
    const settled = await work.stage('status', () => effects.settle(pass, assessment));
    this.#remember(pass, assessment);
    return settled;
  }

  #remember(pass: Pass, { found }: Assessment): void {
    const compared = pass.refresh.level >= compareLevel.latest && found?.comparison.failed === false;
    if (compared) pass.memory.comparedAt = pass.now;
  }

  async #assess(pass: Pass, signal: AbortSignal): Promise<Assessment> {
    const verdict = this.#deps.validate(pass.before);
    if (pass.refresh.level === compareLevel.nothing && verdict.ok) {
      const done = await this.#treeOnly(pass, verdict.bound, signal);
      if (done !== undefined) return done;
    }
    const conditions = [...(verdict.ok ? [] : verdict.conditions), ...hydrationConditions(pass.before)];
    const status = withConditions(pass.before.status ?? {}, conditions, ownedConditions.spec, pass.time);
    if (!verdict.ok || conditions.some(isErrorCondition)) return this.#invalid(pass, status, conditions);
    return this.#compare(pass, status, verdict.bound, signal);
  }

  /** The spec cannot be worked with: Unknown, and nothing is touched. */
  #invalid(pass: Pass, status: ApplicationStatus, conditions: readonly ApplicationCondition[]): Assessment {
    return {
      status: {
        ...status,
        sync: { ...status.sync, status: 'Unknown' },
        health: nextHealth(status.health, { status: 'Unknown', message: '' }, { inline: true, time: pass.time }),
      },
      tree: { nodes: [], orphanedNodes: [] },
      managed: 'none',
      conditions,
      found: undefined,
    };
  }

  /** A child moved: the tree changes, the comparison does not. Undefined when there is nothing to build it from. */
  async #treeOnly(pass: Pass, bound: BoundApplication, signal: AbortSignal): Promise<Assessment | undefined> {
    const cluster = this.#deps.peek(bound.cluster.server);
    if (cluster === undefined || pass.memory.roots === undefined) return undefined;
    const { tree, conditions, summary } = await this.#tree(pass, bound, cluster, signal);
    const status = withConditions(pass.before.status ?? {}, conditions, ownedConditions.tree, pass.time);
    return { status: { ...status, summary }, tree, managed: undefined, conditions, found: undefined };
  }

  async #compare(
    pass: Pass,
    status: ApplicationStatus,
    bound: BoundApplication,
    signal: AbortSignal,
  ): Promise<Assessment> {
    const { app } = bound;
    // Nothing that is remembered counts for a hard refresh: what its sync sends, it sends whole.
    if (pass.refresh.hard) this.#deps.memories.gate?.forget(pass.key);
    const { comparison, cluster } = await this.#deps.comparer.compare(
      {
        bound,
        revisions: this.#revisions(app, pass.refresh),
        noCache: pass.refresh.hard,
        noRevisionCache: pass.refresh.level === compareLevel.forceResolve,
        revisionsSince: pass.askedAt,
        localManifests: app.status?.operationState?.operation.sync?.manifests ?? [],
        ...(pass.refresh.resources === undefined ? {} : { changed: pass.refresh.resources }),
        place: pass.place,
      },
      (error) => this.#tolerates(pass, error),
      signal,
    );
    if (!comparison.failed) delete pass.memory.sourceFailedAt;
    pass.memory.unreadable = comparison.failed || comparison.unread.length > 0;
    pass.memory.roots = treeRoots(comparison);
    pass.memory.differences = differences(comparison);
    const built = await this.#tree(pass, bound, cluster, signal);
    const managed = await inSlices(managedSteps(comparison, bound.settings), this.#deps, signal);
    return this.#conclude(pass, status, { comparison, built, bound, managed });
  }

  #conclude(pass: Pass, status: ApplicationStatus, found: Looked): Assessment {
    const { comparison, built } = found;
    const fresh = [...comparison.conditions, ...built.conditions];
    const evaluated = [...ownedConditions.comparison, ...ownedConditions.tree];
    const compared = withConditions(status, fresh, evaluated, pass.time);
    const decision = this.#decide(pass, comparison, found.bound);
    const decided = decision === undefined ? compared : withSyncError(compared, decision, pass.time);
    return {
      status: this.#nextStatus(pass, decided, comparison, built),
      tree: built.tree,
      managed: found.managed,
      conditions: fresh,
      found: { comparison, decision, finalizers: finalizersOf(pass.before, comparison) },
    };
  }

  #decide(pass: Pass, comparison: Comparison, bound: BoundApplication): AutosyncDecision | undefined {
    const { driftSeenAt } = pass.memory;
    if (comparison.syncStatus.status === 'OutOfSync') pass.memory.driftSeenAt = pass.now;
    if (!bound.windows.automated()) return undefined;
    return decideAutosync({
      app: pass.before,
      syncStatus: comparison.syncStatus,
      resources: comparison.resources,
      revisionsMayHaveChanges: comparison.mayHaveChanges,
      backoff: this.#config.selfHeal,
      driftSeenAt,
      unread: comparison.unread.length > 0,
      stale: comparison.degraded,
      claimed: this.#claimed(pass.key, comparison, bound),
      now: pass.now,
    });
  }

  /** Asked only of what is to go: that is little, and rare. */
  #claimed(key: AppKey, comparison: Comparison, { app, cluster }: BoundApplication): ReadonlySet<ResourceKey> {
    if (app.spec.syncPolicy?.automated?.prune !== true) return new Set();
    const claimants = this.#deps.claims.claimants({ key, server: cluster.server, refs: leftovers(comparison) });
    return new Set(claimants.keys());
  }

  #nextStatus(pass: Pass, status: ApplicationStatus, comparison: Comparison, built: BuiltTree): ApplicationStatus {
    const inline = comparison.resourceHealthSource === '';
    const rest = omit(status, 'resourceHealthSource', 'sourceType', 'sourceTypes', 'resources');
    const types = comparison.sourceTypes;
    const multiple = hasMultipleSources(pass.before.spec);
    const next: ApplicationStatus = {
      ...rest,
      sync: comparison.syncStatus,
      health: nextHealth(status.health, comparison.health, { inline, time: pass.time }),
      ...(comparison.resources.length === 0 ? {} : { resources: comparison.resources }),
      ...(inline ? {} : { resourceHealthSource: comparison.resourceHealthSource }),
      ...(multiple && types.length > 0 ? { sourceTypes: types } : {}),
      ...(!multiple && types[0] !== undefined ? { sourceType: types[0] } : {}),
      summary: built.summary,
      sourceHydrator: status.sourceHydrator ?? {},
      controllerNamespace: this.#config.namespace,
    };
    const counts = status.reconciledAt === undefined || pass.refresh.level >= compareLevel.latest;
    const written = mustStampReconciledAt(pass.before.status, pass.asked !== undefined);
    const stamp = counts && (written || statusPatch(pass.before.status, next) !== undefined);
    return stamp ? { ...next, reconciledAt: pass.time } : next;
  }

  async #tree(pass: Pass, bound: BoundApplication, cluster: LiveCluster, signal: AbortSignal): Promise<BuiltTree> {
    const { app, project, gate, settings } = bound;
    const subject = { app, project, roots: pass.memory.roots ?? [] };
    const isApplication = (instance: string): boolean =>
      this.#deps.lookup(appKeyOfInstance(instance, this.#config.namespace)) !== undefined;
    const where = {
      key: pass.key,
      cluster,
      permitted: gate.permitsRef,
      premise: gate.version,
      clock: this.#deps.clock,
    };
    const query = { ...subject, ...where, isApplication };
    const rows = await this.#deps.work.stage('tree', () => this.#deps.memories.trees.read(query, signal));
    return buildTree({ ...subject, rows, nodeLabels: settings.allowedNodeLabels });
  }

  /** Level 1 stays at the revisions of the last comparison. */
  #revisions(app: Application, refresh: Refresh): readonly string[] {
    const sync = app.status?.sync;
    const last = hasMultipleSources(app.spec) ? (sync?.revisions ?? []) : [sync?.revision ?? ''];
    return sourcesOf(app.spec).map((source, i) => {
      const recent = refresh.level === compareLevel.recent ? (last[i] ?? '') : '';
      return recent === '' ? (source.targetRevision ?? '') : recent;
    });
  }

  /** Within the grace period, and unless someone asked, a source that cannot be read leaves the last comparison standing. */
  #tolerates(pass: Pass, error: unknown): boolean {
    if (pass.refresh.level === compareLevel.forceResolve) return false;
    const since = pass.memory.sourceFailedAt ?? pass.now;
    pass.memory.sourceFailedAt = since;
    const tolerated = pass.now - since <= this.#config.repoErrorGraceMs;
    if (tolerated) pass.logger.warn('Source cannot be read, its last comparison stands', { error });
    return tolerated;
  }

  #untilExpiry(app: Application, memory: AppMemory): Outcome<RefreshRequest> {
    if (memory.unreadable === true)
      return {
        requeueAfterMs: unreadableMs,
        priority: 'resync',
        payload: { level: compareLevel.latest, reason: 'its source or cluster could not be read' },
      };
    const ms = msUntilExpiry(app, this.#facts(memory));
    if (ms === undefined) return 'done';
    const jitter = this.#config.jitterMs > 0 ? this.#deps.random.next() * this.#config.jitterMs : 0;
    return { requeueAfterMs: Math.max(1000, ms + jitter), priority: 'resync' };
  }

  #facts(memory: AppMemory): FreshnessFacts {
    return {
      now: this.#now(),
      comparedAt: memory.comparedAt,
      softMs: this.#config.appResyncMs,
      hardMs: this.#config.hardResyncMs,
    };
  }

  /** Short, and not seen again in the log of this process: what belongs together is found by it. */
  #nextPass(): string {
    this.#passes += 1;
    return `refresh-${this.#passes}`;
  }

  #now(): number {
    return this.#deps.clock.now();
  }
}

export function withSyncError(status: ApplicationStatus, decision: AutosyncDecision, time: string): ApplicationStatus {
  const fresh: readonly ApplicationCondition[] =
    decision.do === 'refuse' ? [{ type: 'SyncError', message: decision.message }] : [];
  return withConditions(status, fresh, ownedConditions.autosync, time);
}

function isRunning({ status }: Application): boolean {
  return status?.operationState !== undefined && !isCompleted(status.operationState.phase);
}

/** None while the application is on its way out, or while nobody knows its hooks. */
function finalizersOf(app: Application, comparison: Comparison): readonly string[] | undefined {
  if (app.metadata.deletionTimestamp !== undefined || comparison.failed) return undefined;
  return hookFinalizers(app, comparison.hasPreDeleteHooks, comparison.hasPostDeleteHooks);
}
