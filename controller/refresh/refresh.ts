import { defined, inSlices, isAbort, messageOf, omit, recordedText } from '#base';
import { managedResourceSteps } from '#compare';
import { appKeyOf, isCompleted } from '#model';
import type { AppKey, Application } from '#model';
import type { HandlerResult, TakenItem, WorkerSlot } from '#queues';
import type { Tracer } from '#telemetry';
import type { StatusWrite } from '../application/application-writes.ts';
import { syncedLine } from '../application/autosync-log.ts';
import { compareLevel, msUntilExpiry, refreshDue, resyncDelayMs } from '../application/freshness.ts';
import type { DueRefresh, FreshnessFacts, RefreshRequest } from '../application/freshness.ts';
import { hasWork } from '../application/operation-state.ts';
import type { RefreshAnnotation } from '../application/refresh-annotation.ts';
import { withReconciledAt } from '../application/status-patch.ts';
import type { ComparisonBasis, RestingPass } from '../comparison/basis.ts';
import { waitOn } from '../comparison/memory.ts';
import type { AppMemory } from '../comparison/memory.ts';
import { provedAfter, restAnswered, restMemory } from '../decide/after-write.ts';
import { decideRefresh } from '../decide/decide-refresh.ts';
import type { RefreshFacts } from '../decide/refresh-facts.ts';
import { keepFailure } from '../recorder/pass-log.ts';
import { PassTimes } from '../report/pass-times.ts';
import { ClusterNotReady, SourceUnavailable, unreadableRetryMs } from '../shared/errors.ts';
import { kubeTime } from '../shared/kube-time.ts';
import { tracePass } from '../shared/pass-spans.ts';
import type { StageTimes } from '../write/apply-metrics.ts';
import { PassRecorder } from './pass-recorder.ts';
import { captureRefresh, passLogFields, rememberDecided } from './pass.ts';
import type { PassAssessment, PassResult, RefreshConfig, RefreshPass, SettledAssessment } from './pass.ts';
import { PassReader } from './read-pass.ts';
import type { PassRun, RefreshDeps } from './refresh-deps.ts';
import { recheckRequest, restingBefore } from './resync.ts';
import { SourceOutages } from './source-outage.ts';

/** Retry delays that are shorter than the resync period. */
const completionRecheckMs = 1000;

/**
 * Refreshes one Application: decides whether it is stale, at which level and why; reads both sides
 * ({@link PassReader}); decides ({@link decideRefresh}); passes the decision to {@link
 * RefreshEffects}, and remembers it when its writes have landed. Source: Argo CD
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
  readonly #reader: PassReader;
  #passes = 0;

  constructor(deps: RefreshDeps, config: RefreshConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#recorder = new PassRecorder(deps);
    this.#outage = new SourceOutages(deps, config);
    this.#reader = new PassReader({ ...deps, trees: deps.memories.trees, outage: this.#outage }, config);
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
    const { records } = this.#deps.memories;
    if (due?.requested !== undefined || hasWork(app)) records.hurry(key);
    else if (!records.turn(key)) return { requeueAfterMs: completionRecheckMs, ...defined({ payload }) };
    if (due === undefined) return this.#untilExpiry(app, memory);
    const again = omit(due, 'hard', 'requested');
    const heldMs = this.#heldMs(app, due, memory);
    if (heldMs > 0) return { requeueAfterMs: heldMs, payload: again };
    if (await this.#isOldNews(app, due, memory, signal)) return this.#untilExpiry(app, memory);
    const record = this.#recorder.begin(due, taken);
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
      this.#deps.memories.note(key, waitOn(memory, reason, this.#now(), error.afterMs));
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
    if (settled.recheck === true) this.#deps.memories.note(key, { seenAt: this.#deps.clock.monotonic() });
    // An operation that is completing requests the next refresh itself; this recheck is a fallback.
    if (settled.again === true)
      return { requeueAfterMs: memory.hold.isCompleting ? completionRecheckMs : 0, payload: again };
    if (settled.recheck === true) return { requeueAfterMs: 0, priority: 'user', payload: recheckRequest };
    return this.#outage.untilRetry(key, again) ?? this.#untilExpiry(this.#deps.lookup(key) ?? app, memory);
  }

  /**
   * How long a running operation delays this refresh. Refreshes that users request are not delayed.
   */
  #heldMs(app: Application, { requested }: DueRefresh, { hold, repair }: AppMemory): number {
    if (!isRunning(app) && repair === undefined) hold.operationEnded();
    return requested === undefined ? hold.remainingMs(this.#deps.clock.monotonic()) : 0;
  }

  /**
   * Whether a refresh is about nothing but changed objects, and the last comparison has seen them
   * as they are. After a sync, these are the objects that it has applied.
   */
  async #isOldNews(
    app: Application,
    { cause, level, resources: changed }: DueRefresh,
    { sight }: AppMemory,
    signal: AbortSignal,
  ): Promise<boolean> {
    const isAboutObjects = cause === 'object' && changed !== undefined && level <= compareLevel.recent;
    if (!isAboutObjects || sight === undefined) return false;
    const key = appKeyOf(app);
    return this.#mayRest({ key, before: app }) && this.#deps.comparer.hasSeen({ sight, key, app, changed }, signal);
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
    const assessment = await this.#assess(pass, undefined, signal);
    if (assessment === undefined) throw new TypeError('only a pass with a basis can do without a comparison');
    pass.capture.decided = assessment;
    return { pass, started, assessment };
  }

  /** Records and logs a result that the caller has stored. */
  recordStored({ pass, started, assessment }: PassResult, stored: Application): void {
    this.#recorder.compared(pass, started);
    this.#deps.memories.passLog.keep(pass.capture);
    rememberDecided(pass, assessment);
    this.#proved(pass, assessment, { app: stored, answered: true });
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
    const { memories } = this.#deps;
    const memory = memories.of(key);
    const note: RefreshPass['note'] = (change) => memories.note(key, change);
    const now = this.#now();
    const times = { askedAt: memory.seenAt, time: kubeTime(now), now, startedAt: this.#deps.clock.monotonic() };
    const logger = this.#deps.logger.child({ ...passLogFields(before, refresh), pass: this.#nextPass() });
    const logged = new PassTimes(this.#deps.clock, ['patch_ms', 'setop_ms']);
    const capture = captureRefresh({ key, before, refresh, memory, ...times });
    return { key, refresh, asked: undefined, before, memory, note, stages, ...times, times: logged, logger, capture };
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
    const assessment = await keepFailure(pass.capture, passLog, () => this.#assess(pass, resting?.basis, signal));
    if (assessment === undefined) return this.#rest(pass);
    pass.capture.decided = assessment;
    passLog.keep(pass.capture);
    // The first write ends what the last pass has proved.
    pass.note({ resting: undefined });
    const publish = (): Promise<void> => effects.publish(pass, assessment, signal);
    await work.stage('publishing', () => pass.times.measure('set_app_managed_resources_ms', publish), pass.stages);
    const settled = await this.#settle(pass, assessment);
    this.#proved(pass, assessment, settled);
    return settled;
  }

  #settle(pass: RefreshPass, assessment: SettledAssessment): Promise<StatusWrite> {
    const { effects, work } = this.#deps;
    const settle = (): Promise<StatusWrite> => effects.settle(pass, assessment);
    return work.stage('status', () => pass.times.measure('persist_app_status_ms', settle), pass.stages);
  }

  /** A recording needs every comparison. */
  #mayRest(pass: Pick<RefreshPass, 'key' | 'before'>): boolean {
    return this.#deps.effects.stands(pass) && !this.#deps.memories.passLog.isFollowed(pass.key);
  }

  /** The inputs are those of the last pass, which left nothing to do. */
  async #rest(pass: RefreshPass): Promise<StatusWrite> {
    const { before: app, memory } = pass;
    const { effects, work } = this.#deps;
    const resting = memory.hold.isCompleting ? undefined : memory.resting;
    // Another writer was faster: decide again.
    if (resting === undefined || !effects.stands(pass)) return { app, answered: true, again: true };
    work.rows({ kept: resting.rowsCount, made: new Map() });
    const line = syncedLine(app);
    if (line !== undefined) pass.logger[line.level](line.message);
    if (pass.asked !== undefined) return this.#answer(pass, resting);
    pass.note(restMemory(memory, resting, pass.now));
    pass.logger.info('No status changes. Skipping patch');
    return { app, answered: true };
  }

  /** Answers a refresh request that finds everything as it was. */
  async #answer(pass: RefreshPass, resting: RestingPass): Promise<StatusWrite> {
    const { before, memory, now, time } = pass;
    const change = withReconciledAt({ status: before.status ?? {}, patch: undefined }, time);
    const rested = restMemory(memory, resting, now);
    const decided = { ...change, decisions: undefined, memory: rested, decidedFrom: memory };
    const written = await this.#settle(pass, decided);
    pass.note({ resting: restAnswered(before, resting, { status: change.status, written }) });
    return written;
  }

  #proved(pass: RefreshPass, assessment: PassAssessment, written: StatusWrite): void {
    // An invalid Application has no tree.
    if (assessment.managed !== 'none') this.#deps.metrics.orphaned(pass.before, assessment.tree.orphanedNodes.length);
    pass.note(provedAfter(pass, assessment, written));
  }

  /** Reads and decides. Undefined: `basis` still holds. */
  async #assess(
    pass: RefreshPass,
    basis: ComparisonBasis | undefined,
    signal: AbortSignal,
  ): Promise<PassAssessment | undefined> {
    // A hard refresh discards the entries of the apply gate, so the next sync sends every resource.
    if (pass.refresh.hard) this.#deps.memories.gate?.forget(pass.key);
    const facts = await this.#reader.read(pass, basis, signal);
    if (facts === undefined) return undefined;
    const decision = decideRefresh(facts);
    for (const line of decision.log) pass.logger[line.level](line.message);
    return { ...decision, managed: await this.#managed(facts, signal) };
  }

  async #managed({ read }: RefreshFacts, signal: AbortSignal): Promise<PassAssessment['managed']> {
    if (read === undefined) return 'none';
    const { bound, compared } = read;
    if (compared === undefined) return undefined;
    return inSlices(managedResourceSteps(compared.comparison, bound.settings), this.#deps, signal);
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
    const facts = this.#facts(memory);
    const ms = msUntilExpiry(app, facts);
    if (ms === undefined) return 'done';
    const jitter = this.#config.jitterMs > 0 ? this.#deps.random.next() * this.#config.jitterMs : 0;
    const delayMs = resyncDelayMs(ms + jitter, this.#deps.clock.monotonic(), facts);
    return { requeueAfterMs: delayMs, priority: 'resync' };
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

/** Traces a refresh: why it runs, how deep, and what it found. */
function traceRefresh(
  tracer: Tracer | undefined,
  app: Application,
  { level, reason }: DueRefresh,
  work: () => Promise<StatusWrite>,
): Promise<StatusWrite> {
  const more = (): Readonly<Record<string, string | number>> => ({
    'argocd.app.comparison_level': level,
    'argocd.app.refresh_reason': reason,
  });
  return tracePass(tracer, { name: 'controller.Refresh', app, more }, async (span) => {
    const written = await work();
    const { status } = written.app;
    span.set({
      'argocd.app.sync_status': status?.sync?.status ?? '',
      'argocd.app.health': status?.health?.status ?? '',
    });
    return written;
  });
}
