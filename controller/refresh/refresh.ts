import { defined, inSlices, isAbort, messageOf, omit, recordedText } from '#base';
import { buildTree, managedResourceSteps, treeRoots } from '#compare';
import type { BuiltTree, Comparison } from '#compare';
import type { LiveCluster } from '#live';
import { appKeyOf, appKeyOfInstance, isCompleted, isErrorCondition } from '#model';
import type { AppKey, Application, ApplicationStatus, ResourceKey } from '#model';
import type { HandlerResult, WorkerSlot, TakenItem } from '#queues';
import type { StatusWrite } from '../application/application-writes.ts';
import { autosyncLine } from '../application/autosync-log.ts';
import { decideAutosync, onlyKeptLeft } from '../application/autosync.ts';
import type { AutosyncDecision, AutosyncFacts } from '../application/autosync.ts';
import { observeAutosync } from '../application/autosync-checks.ts';
import { keptConditions, keptObjects } from '../application/kept-objects.ts';
import type { BoundApplication } from '../admission/bound.ts';
import { pruneCandidates } from '../admission/claims.ts';
import type { ComparedApplication } from '../comparison/comparer.ts';
import { contestConditions, contestPauses, noContests } from '../comparison/contest.ts';
import { boundConditions, ownedConditions } from '../shared/conditions.ts';
import { ClusterNotReady, SourceUnavailable, unreadableRetryMs } from '../shared/errors.ts';
import { finalizersOf } from '../application/finalizers.ts';
import { compareLevel, msUntilExpiry, refreshDue } from '../application/freshness.ts';
import type { FreshnessFacts, DueRefresh, RefreshRequest } from '../application/freshness.ts';
import { describeDifferences } from '../comparison/differences.ts';
import { hydrationConditions } from '../application/hydration.ts';
import { noteWait } from '../comparison/memory.ts';
import type { AppMemory } from '../comparison/memory.ts';
import { PassTimes } from '../report/pass-times.ts';
import type { StageTimes } from '../write/apply-metrics.ts';
import { statusChange, withConditions } from '../application/status-patch.ts';
import type { StatusChange } from '../application/status-patch.ts';
import { kubeTime } from '../shared/kube-time.ts';
import type { ComparisonBasis } from '../comparison/basis.ts';
import { noteContests } from './contests.ts';
import { keepFailure } from '../recorder/captured-error.ts';
import { captureRefresh } from './pass-capture.ts';
import { PassRecorder } from './pass-recorder.ts';
import { cachePolicyOf, passLogFields, withoutBasis } from './pass.ts';
import { invalidAssessment, nextStatus, revisionsToCompare, withSyncError } from './next-status.ts';
import { isOldNews } from './old-news.ts';
import { noteComparison, noteRest, recheckRequest, resourcesToCompare, rest, restingBefore } from './resync.ts';
import { traceRefresh } from './refresh-span.ts';
import { noteSources, shownOutage, SourceOutages } from './source-outage.ts';
import type { RefreshAnnotation } from '../application/refresh-annotation.ts';
import type { BegunComparison, ComparisonResult, PassRun, RefreshDeps } from './refresh-deps.ts';
import type { RefreshConfig, PassAssessment, PassResult, RefreshPass } from './pass.ts';

/** Retry delays that are shorter than the resync period. */
const completionRecheckMs = 1000;

/**
 * Refreshes one Application: decides whether it is stale, at which level and why; compares it;
 * decides about automated sync; passes the result to {@link RefreshEffects}. Source: Argo CD
 * processAppRefreshQueueItem.
 *
 * Errors are thrown, and the queue retries the key with its request (Argo CD drops the request
 * until the next event). No partial results: the status is written last, as a patch.
 */
export class RefreshProcessor {
  readonly #deps: RefreshDeps;
  readonly #config: RefreshConfig;
  readonly #recorder: PassRecorder;
  readonly #outage: SourceOutages;
  #passes = 0;

  constructor(deps: RefreshDeps, config: RefreshConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#recorder = new PassRecorder(deps);
    this.#outage = new SourceOutages(deps, config);
  }

  async handle(
    taken: TakenItem<AppKey, RefreshRequest>,
    signal: AbortSignal,
    place?: WorkerSlot,
  ): Promise<HandlerResult<RefreshRequest>> {
    const { key, payload } = taken;
    const app = this.#deps.lookup(key);
    if (app === undefined) return 'done';
    const memory = this.#deps.memories.of(key);
    const decidedBy = { app, request: this.#deps.effects.request(key, payload), facts: this.#facts(memory) };
    const due = refreshDue(app, decidedBy.request, decidedBy.facts);
    if (due === undefined) return this.#untilExpiry(app, memory);
    const again = omit(due, 'hard', 'requested');
    const heldMs = this.#heldMs(app, due, memory);
    if (heldMs > 0) return { requeueAfterMs: heldMs, payload: again };
    if (await isOldNews({ app, due, memory }, this.#deps, signal)) return this.#untilExpiry(app, memory);
    const record = this.#recorder.begin(memory, due, taken);
    let settled: StatusWrite;
    try {
      const run = { due: this.#outage.passOf(app, due), decidedBy, record, place };
      settled = await traceRefresh(this.#deps.tracer, app, run.due, () => this.#run(app, run, signal));
      record.end('completed');
    } catch (error) {
      record.end(isAbort(error) ? 'waiting' : 'failed', messageOf(error));
      if (!(error instanceof ClusterNotReady || error instanceof SourceUnavailable)) throw error;
      record.end('waiting', error.message);
      const since = error instanceof SourceUnavailable ? memory.sourceFailedAt : undefined;
      const reason = { cause: error.reason.cause, what: recordedText(error.message), since };
      noteWait(memory, reason, this.#now(), error.afterMs);
      return { requeueAfterMs: error.afterMs, payload: again };
    }
    return this.#afterPass(app, settled, again);
  }

  /** When to look again after a pass. */
  #afterPass(app: Application, settled: StatusWrite, again: RefreshRequest): HandlerResult<RefreshRequest> {
    const key = appKeyOf(app);
    const memory = this.#deps.memories.of(key);
    if (!settled.answered) return { requeueAfterMs: 0, priority: 'user' };
    // The next pass accepts only revisions that are resolved from now on.
    if (settled.recheck === true) memory.seenAt = this.#deps.clock.monotonic();
    // An operation that is completing requests the next refresh itself; this recheck is a fallback.
    if (settled.again === true)
      return { requeueAfterMs: memory.hold.isCompleting ? completionRecheckMs : 0, payload: again };
    if (settled.recheck === true) return { requeueAfterMs: 0, priority: 'user', payload: recheckRequest };
    return this.#outage.untilRetry(memory, again) ?? this.#untilExpiry(this.#deps.lookup(key) ?? app, memory);
  }

  /**
   * How long a running operation delays this refresh. Refreshes that users request are not delayed.
   */
  #heldMs(app: Application, { requested }: DueRefresh, { hold }: AppMemory): number {
    if (!isRunning(app)) hold.operationEnded();
    return requested === undefined ? hold.remainingMs(this.#deps.clock.monotonic()) : 0;
  }

  /**
   * Compares `app` exactly as passed in with its sources and cluster, without publishing or
   * writing. Throws like a pass.
   */
  async evaluate(
    app: Application,
    refresh: DueRefresh,
    signal: AbortSignal,
    asked?: RefreshAnnotation,
  ): Promise<PassResult> {
    const started = this.#deps.clock.monotonic();
    const pass = { ...this.#newPass(app, this.#outage.passOf(app, refresh), {}), asked };
    return { pass, started, assessment: await this.#assess(pass, signal) };
  }

  /** Records and logs a result that the caller has stored. */
  recordStored({ pass, started, assessment }: PassResult, stored: Application): void {
    this.#recorder.compared(pass, started);
    this.#deps.memories.passLog.keep(pass.capture);
    this.#remember(pass, assessment);
    noteRest(pass, assessment, { app: stored, answered: true });
    this.#report(pass, stored, started);
  }

  async #run(app: Application, { due, decidedBy, record, place }: PassRun, signal: AbortSignal): Promise<StatusWrite> {
    const started = this.#deps.clock.monotonic();
    const { before, asked } = await this.#deps.effects.begin(app, due.requested);
    const pass: RefreshPass = { ...this.#newPass(before, due, record.stages), asked, place };
    pass.capture.isAsked = asked !== undefined;
    pass.capture.due = decidedBy;
    pass.logger.info(`Refreshing app status (${due.reason}), level (${due.level})`);
    const settled = await this.#pass(pass, signal);
    this.#report(pass, settled.app, started);
    return settled;
  }

  #newPass(before: Application, refresh: DueRefresh, stages: StageTimes): RefreshPass {
    const key = appKeyOf(before);
    const memory = this.#deps.memories.of(key);
    const now = this.#now();
    const times = { askedAt: memory.seenAt, time: kubeTime(now), now, startedAt: this.#deps.clock.monotonic() };
    const logger = this.#deps.logger.child({ ...passLogFields(before, refresh), pass: this.#nextPass() });
    const logged = new PassTimes(this.#deps.clock, ['patch_ms', 'setop_ms']);
    const capture = captureRefresh({ key, before, refresh, memory, ...times });
    return { key, refresh, asked: undefined, before, memory, stages, ...times, times: logged, logger, capture };
  }

  #report({ refresh, times, logger }: RefreshPass, stored: Application, started: number): void {
    const durationMs = this.#deps.clock.monotonic() - started;
    this.#deps.metrics.reconciled(stored, durationMs);
    logger.info('Reconciliation completed', {
      reason: refresh.reason,
      time_ms: Math.floor(durationMs),
      ...times.fields(),
      sync: stored.status?.sync?.status,
      health: stored.status?.health?.status,
    });
  }

  async #pass(pass: RefreshPass, signal: AbortSignal): Promise<StatusWrite> {
    const { effects, work } = this.#deps;
    const { passLog } = this.#deps.memories;
    const resting = this.#mayRest(pass) ? restingBefore(pass) : undefined;
    const assessment = await keepFailure(pass.capture, passLog, () => this.#judge(pass, resting?.basis, signal));
    if (assessment === undefined) return this.#rest(pass);
    pass.capture.decided = assessment;
    passLog.keep(pass.capture);
    delete pass.memory.resting;
    const publish = (): Promise<void> => effects.publish(pass, assessment, signal);
    const settle = (): Promise<StatusWrite> => effects.settle(pass, assessment);
    const { times, stages } = pass;
    await work.stage('publishing', () => times.measure('set_app_managed_resources_ms', publish), stages);
    const settled = await work.stage('status', () => times.measure('persist_app_status_ms', settle), stages);
    this.#remember(pass, assessment);
    noteRest(pass, assessment, settled);
    return settled;
  }

  /** A recording needs every comparison. */
  #mayRest(pass: RefreshPass): boolean {
    return this.#deps.effects.stands(pass) && !this.#deps.memories.passLog.isFollowed(pass.key);
  }

  /** The inputs are those of the last pass, which left nothing to do. */
  async #rest(pass: RefreshPass): Promise<StatusWrite> {
    const { before: app, memory, times, stages } = pass;
    const { effects, work } = this.#deps;
    const resting = memory.hold.isCompleting ? undefined : memory.resting;
    // Another writer was faster: decide again.
    if (resting === undefined || !effects.stands(pass)) return { app, answered: true, again: true };
    work.rows({ kept: resting.rowsCount, made: new Map() });
    const settle = (change: StatusChange): Promise<StatusWrite> =>
      work.stage(
        'status',
        () => times.measure('persist_app_status_ms', () => effects.settle(pass, { ...change, decisions: undefined })),
        stages,
      );
    return rest(pass, resting, settle);
  }

  #remember(pass: RefreshPass, { decisions, managed, tree }: PassAssessment): void {
    // An invalid Application has no tree.
    if (managed !== 'none') this.#deps.metrics.orphaned(pass.before, tree.orphanedNodes.length);
    const compared =
      pass.memory.sourceRetryAt === undefined &&
      pass.refresh.level >= compareLevel.latest &&
      decisions?.comparison.failed === false;
    if (compared) pass.memory.comparedAt = pass.now;
  }

  async #assess(pass: RefreshPass, signal: AbortSignal): Promise<PassAssessment> {
    const assessment = await this.#judge(pass, undefined, signal);
    if (assessment === undefined) throw new TypeError('only a pass with a basis can do without a comparison');
    pass.capture.decided = assessment;
    return assessment;
  }

  /** Undefined: `basis` still holds. */
  async #judge(
    pass: RefreshPass,
    basis: ComparisonBasis | undefined,
    signal: AbortSignal,
  ): Promise<PassAssessment | undefined> {
    const verdict = this.#deps.validate(pass.before);
    pass.capture.policy = this.#deps.policyFacts(pass.before);
    if (pass.refresh.level === compareLevel.nothing && verdict.ok) {
      const done = await this.#treeOnly(pass, verdict.bound, signal);
      if (done !== undefined) return done;
    }
    const conditions = [
      ...(verdict.ok ? boundConditions(verdict.bound) : verdict.conditions),
      ...hydrationConditions(pass.before, this.#config.hydrates),
    ];
    const status = withConditions(pass.before.status ?? {}, conditions, ownedConditions.spec, pass.time);
    if (!verdict.ok || conditions.some(isErrorCondition)) return invalidAssessment(pass, status, conditions);
    // The basis does not cover conditions of the spec and sync windows.
    const isPlain = conditions.length === 0 && verdict.bound.windows.automated();
    const started = { pass, status, basis: isPlain ? basis : undefined };
    const compared = await this.#compare(started, verdict.bound, signal);
    return compared === undefined || isPlain ? compared : withoutBasis(compared);
  }

  /**
   * Rebuilds only the tree, after a child resource changed. Undefined if no earlier comparison
   * provides its roots.
   */
  async #treeOnly(
    pass: RefreshPass,
    bound: BoundApplication,
    signal: AbortSignal,
  ): Promise<PassAssessment | undefined> {
    const cluster = this.#deps.peek(bound.cluster.server);
    if (cluster === undefined || pass.memory.roots === undefined) return undefined;
    const { tree, conditions, summary } = await this.#tree(pass, bound, cluster, signal);
    const status = withConditions(pass.before.status ?? {}, conditions, ownedConditions.tree, pass.time);
    const change = statusChange(pass.before.status, { ...status, summary });
    return { ...change, tree, managed: undefined, conditions, decisions: undefined };
  }

  async #compare(
    { pass, status, basis }: BegunComparison,
    bound: BoundApplication,
    signal: AbortSignal,
  ): Promise<PassAssessment | undefined> {
    const { app } = bound;
    const { server = '', namespace = '' } = app.spec.destination;
    pass.logger.info(`Comparing app state (cluster: ${server}, namespace: ${namespace})`);
    // A hard refresh discards the entries of the apply gate, so the next sync sends every resource.
    if (pass.refresh.hard) this.#deps.memories.gate?.forget(pass.key);
    const away = this.#outage.begin(pass, app);
    const compare = (): Promise<ComparedApplication | undefined> =>
      this.#deps.comparer.compareUnless(
        basis,
        {
          bound,
          lastGood: away.lastGood,
          hurry: away.hurry,
          revisions: away.revisions ?? revisionsToCompare(app, pass.refresh),
          cache: cachePolicyOf(pass),
          readsStale: pass.asked !== undefined,
          localManifests: app.status?.operationState?.operation.sync?.manifests ?? [],
          ...defined({ changed: resourcesToCompare(pass) }),
          place: pass.place,
          times: pass.times,
          capture: pass.capture.comparison,
        },
        (error) => this.#outage.tolerates(pass, error),
        signal,
      );
    const compared = await pass.times.measure('compare_app_state_ms', compare).finally(away.end);
    if (compared === undefined) return undefined;
    const { comparison, cluster } = compared;
    if (!comparison.failed) noteComparison(pass, this.#deps.random);
    const isBlocked = comparison.pruneBlocked !== undefined && pruneCandidates(comparison).length > 0;
    pass.memory.unreadable = comparison.failed || comparison.unread.length > 0 || isBlocked;
    noteSources(pass, compared);
    pass.memory.roots = treeRoots(comparison);
    pass.memory.differences = describeDifferences(comparison);
    const built = await this.#tree(pass, bound, cluster, signal);
    const managed = await inSlices(managedResourceSteps(comparison, bound.settings), this.#deps, signal);
    const watchesOrphans = bound.project.spec.orphanedResources !== undefined;
    const { basis: lasting, sight } = watchesOrphans ? { basis: undefined, sight: undefined } : compared;
    const outage = shownOutage(pass, compared);
    return this.#conclude(pass, status, { comparison, built, bound, managed, basis: lasting, sight, outage });
  }

  #conclude(pass: RefreshPass, status: ApplicationStatus, result: ComparisonResult): PassAssessment {
    const { comparison, built, basis, sight } = result;
    const { tracking } = result.bound.settings;
    const contests = noteContests(pass, comparison, { tracking, namespace: this.#config.namespace });
    const { conditions: ofOutage, shown } = result.outage;
    const decision = this.#decide(pass, comparison, result.bound);
    const isLeft = decision?.do === 'skip' && decision.reason === onlyKeptLeft;
    const ofKept = isLeft ? keptConditions(keptObjects(comparison, pass.before)) : [];
    const found = [...comparison.conditions, ...ofOutage, ...contestConditions(contests), ...ofKept];
    const fresh = [...found, ...built.conditions];
    const evaluated = [...ownedConditions.comparison, ...ownedConditions.tree];
    const compared = withConditions(status, fresh, evaluated, pass.time);
    const decided = decision === undefined ? compared : withSyncError(compared, decision, pass.time);
    return {
      ...nextStatus(pass, decided, { comparison: shown, built, namespace: this.#config.namespace }),
      tree: built.tree,
      managed: result.managed,
      conditions: fresh,
      decisions: { comparison, decision, finalizers: finalizersOf(pass.before, comparison), basis, sight },
    };
  }

  #decide(pass: RefreshPass, comparison: Comparison, bound: BoundApplication): AutosyncDecision | undefined {
    const { driftSeenAt } = pass.memory;
    if (comparison.syncStatus.status === 'OutOfSync') pass.memory.driftSeenAt = pass.now;
    const facts: AutosyncFacts = {
      app: pass.before,
      syncStatus: comparison.syncStatus,
      resources: comparison.resources,
      revisionsMayHaveChanges: comparison.mayHaveChanges,
      backoff: this.#config.selfHeal,
      driftSeenAt,
      unread: comparison.unread.length > 0,
      stale: comparison.degraded,
      pruneBlocked: comparison.pruneBlocked !== undefined,
      claimed: this.#claimed(pass, comparison, bound),
      kept: keptObjects(comparison, pass.before),
      contested: contestPauses(pass.memory.contests ?? noContests, pass.startedAt),
      retryLatestRevision: this.#config.retryLatestRevision === true,
      now: pass.now,
    };
    const decision = bound.windows.automated() ? decideAutosync(facts) : undefined;
    if (decision === undefined) pass.logger.info('Sync prevented by sync window');
    const line = decision === undefined ? undefined : autosyncLine(facts, decision);
    if (line !== undefined) pass.logger[line.level](line.message);
    pass.memory.autosync = observeAutosync(facts, decision);
    return decision;
  }

  /** Resources that other Applications declare too. Only the few to be pruned are looked up. */
  #claimed(
    { key, capture }: RefreshPass,
    comparison: Comparison,
    { app, cluster }: BoundApplication,
  ): ReadonlySet<ResourceKey> {
    if (app.spec.syncPolicy?.automated?.prune !== true) return new Set();
    const claimants = this.#deps.claims.claimants({ key, server: cluster.server, refs: pruneCandidates(comparison) });
    capture.claims = claimants;
    return new Set(claimants.keys());
  }

  async #tree(
    pass: RefreshPass,
    bound: BoundApplication,
    cluster: LiveCluster,
    signal: AbortSignal,
  ): Promise<BuiltTree> {
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
    const { work, memories } = this.#deps;
    const rows = await work.stage('tree', () => memories.trees.read(query, signal), pass.stages);
    pass.capture.tree = rows;
    return buildTree({ ...subject, rows, nodeLabels: settings.allowedNodeLabels });
  }

  #untilExpiry(app: Application, memory: AppMemory): HandlerResult<RefreshRequest> {
    if (memory.unreadable === true)
      return {
        requeueAfterMs: unreadableRetryMs,
        priority: 'resync',
        payload: {
          level: compareLevel.latest,
          reason: 'its source or cluster could not be read in full',
          cause: 'retry',
        },
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
      hydrates: this.#config.hydrates,
      owesResolution: memory.owesResolution,
      softMs: this.#config.appResyncMs,
      hardMs: this.#config.hardResyncMs,
    };
  }

  /** A short id that correlates the log lines of one pass. */
  #nextPass(): string {
    this.#passes += 1;
    return `refresh-${this.#passes}`;
  }

  #now(): number {
    return this.#deps.clock.now();
  }
}

function isRunning({ status }: Application): boolean {
  return status?.operationState !== undefined && !isCompleted(status.operationState.phase);
}
