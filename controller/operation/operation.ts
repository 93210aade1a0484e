import { deepEqual, defined, isAbort, messageOf, recordedText } from '#base';
import type { Clock } from '#base';
import { appLogFields, hasOperation, isCompleted, jsonOf } from '#model';
import type { AppKey, Application, OperationState } from '#model';
import { SlotLoan } from '#queues';
import type { HandlerResult, Priority, WorkerSlot, TakenItem } from '#queues';
import { noTracer } from '#telemetry';
import type { Logger, Span, Tracer } from '#telemetry';
import type { BoundApplication } from '../admission/bound.ts';
import type { PolicyFacts } from '../admission/policy-facts.ts';
import type { Syncer } from './syncer.ts';
import type { OperationCompleter } from './completion.ts';
import type { Deleter } from './deletion.ts';
import { ApplicationChanged, ClusterNotReady, StateRefused } from '../shared/errors.ts';
import { compareLevel } from '../application/freshness.ts';
import type { CompareLevel, RefreshRequest } from '../application/freshness.ts';
import { operationWrite, waitOn } from '../comparison/memory.ts';
import type { AppMemories } from '../comparison/memory.ts';
import { endStep, failedStep, hooksMayRun } from '../decide/operation-step.ts';
import type { StepResult } from '../decide/operation-step.ts';
import type { OperationCapture } from '../recorder/capture.ts';
import type { AppMetrics } from '../report/metrics.ts';
import { keepFailure } from '../recorder/pass-log.ts';
import { captureOperation, captureStep } from '../recorder/step-capture.ts';
import { attemptOf, backstopMs, endPass, hasWork, redactedState, startPass } from '../application/operation-state.ts';
import type { PassStart } from '../application/operation-state.ts';
import type { ApplicationStore } from '../application/application-store.ts';
import { parseTime } from '../shared/kube-time.ts';
import { tracePass } from '../shared/pass-spans.ts';
import { unstoredState } from '../application/state-size.ts';
import { PassTimes } from '../report/pass-times.ts';
import { stepWait } from '../report/waits.ts';
import type { WaitReason } from '../shared/waits.ts';
import { finishedFields, logStart, logStep, operationName } from './operation-log.ts';
import { Repairs } from './repairs.ts';

export interface OperationDeps {
  readonly store: ApplicationStore;
  readonly syncer: Syncer;
  readonly deleter: Deleter;
  readonly completer: Pick<OperationCompleter, 'complete'>;
  readonly memories: AppMemories;
  readonly metrics: AppMetrics;
  /** Resolves project and cluster; throws with the message that the operation shows. */
  readonly bind: (app: Application) => BoundApplication;
  /** Inputs of `bind`. */
  readonly policyFacts: (app: Application) => PolicyFacts;
  /** Whether its cluster stopped answering writes. */
  readonly isStalled: (app: Application) => boolean;
  readonly refresh: (key: AppKey, request: RefreshRequest, priority?: Priority) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tracer?: Tracer | undefined;
}

export interface OperationConfig {
  readonly syncTimeoutMs: number;
  readonly syncWaveDelayMs: number;
}

/** Delay after a step that changed results: its objects may be healthy already. */
const progressRecheckMs = 50;
/** Recheck interval while the cluster does not answer writes. */
const stalledRecheckMs = 5000;
/** How long the response to our own write stands for the stored Application. */
const ownWriteMs = 30_000;
/** How long termination waits for the cluster in order to stop hooks. */
const terminateLimitMs = 60_000;
const stalledCluster: WaitReason = { cause: 'cluster', what: 'its cluster, which does not answer writes' };
const waveDelay: WaitReason = { cause: 'wave', what: 'waiting for the delay between sync waves' };

/** One step of an operation. */
interface OperationPass {
  readonly key: AppKey;
  /** Adds the application and the id of the pass to each line. */
  readonly logger: Logger;
  readonly place: WorkerSlot | undefined;
  readonly span: Span;
  /** The times that are logged. */
  readonly times: PassTimes;
  /** The stored Application of a repair, which the operation is not recorded in yet. */
  readonly unrecorded?: Application | undefined;
}

/** A time in which an operation has nothing to do. */
interface OperationRest {
  readonly reason: WaitReason;
  readonly ms: number;
}

/** The Application with the end of its operation; undefined: it is gone. */
interface StoredEnd {
  readonly stored: Application | undefined;
  readonly isCompared: boolean;
}

/** Empty: the state of an operation is in its object. */
export type OperationPayload = undefined;

/**
 * Runs one step of an Application's operation or deletion per call. All state is in the object
 * (decision D8), so it can stop anywhere and continue here or on another replica. Source: Argo CD
 * processAppOperationQueueItem.
 */
export class OperationProcessor {
  readonly #deps: OperationDeps;
  readonly #config: OperationConfig;
  readonly #repairs: Repairs;
  #passes = 0;

  constructor(deps: OperationDeps, config: OperationConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#repairs = new Repairs(deps);
  }

  /**
   * @param place the worker slot, lent to others while the cluster or sources are slow; undefined:
   * kept.
   */
  async handle(
    taken: TakenItem<AppKey, OperationPayload>,
    signal: AbortSignal,
    place?: WorkerSlot,
  ): Promise<HandlerResult<OperationPayload>> {
    const known = this.#deps.store.get(taken.key);
    const repair = this.#deps.memories.peek(taken.key)?.repair;
    if (known === undefined || (repair === undefined && !hasWork(known))) return 'done';
    const rest = this.#rest(taken.key, known);
    if (rest !== undefined) return this.#awaitRest(taken.key, rest);
    const stored = await this.#current(taken.key, known);
    const app = stored && repair ? this.#repairs.begin(stored, repair) : stored;
    if (app === undefined || !hasWork(app)) return 'done';
    const unrecorded = app === stored ? undefined : stored;
    this.#passes += 1;
    const logger = this.#deps.logger.child({ ...appLogFields(app), pass: `operation-${this.#passes}` });
    const isDeletion = !hasOperation(app);
    const name = isDeletion ? 'controller.finalizeApplicationDeletion' : 'controller.Operation';
    const times = new PassTimes(this.#deps.clock);
    return tracePass(this.#deps.tracer, { name, app }, (span) => {
      const pass = { key: taken.key, logger, place, span, times, unrecorded };
      if (unrecorded === undefined) return this.#guarded(pass, app, signal);
      return this.#repairs.run(taken.key, logger, signal, () => this.#pass(pass, app, signal));
    });
  }

  /**
   * The Application as the API server has it. The response to our own write of this operation is as
   * good for a moment: the write after the step is refused if it is outdated.
   */
  async #current(key: AppKey, known: Application): Promise<Application | undefined> {
    const { store, memories, clock } = this.#deps;
    const written = memories.peek(key)?.operationWrite;
    const isOurs = written !== undefined && written.version === known.metadata.resourceVersion;
    const isRunning = known.operation !== undefined && known.metadata.deletionTimestamp === undefined;
    return isOurs && isRunning && clock.monotonic() - written.at < ownWriteMs ? known : store.fetch(known);
  }

  async #guarded(pass: OperationPass, app: Application, signal: AbortSignal): Promise<HandlerResult<OperationPayload>> {
    const { deleter } = this.#deps;
    try {
      if (!hasOperation(app)) return await deleter.handle(pass.key, app, { signal, place: pass.place });
      deleter.awaitOperation(pass.key, app);
      return await this.#pass(pass, app, signal);
    } catch (error) {
      // The operation changed between our read and our write: read and decide again.
      if (error instanceof ApplicationChanged) return { requeueAfterMs: 0 };
      if (error instanceof ClusterNotReady) return this.#await(pass, app, error, signal);
      if (hasOperation(app) && !isAbort(error) && !signal.aborted)
        await deleter.recordUnterminated(pass.key, app, messageOf(error));
      throw error;
    }
  }

  async #pass(pass: OperationPass, app: Application, signal: AbortSignal): Promise<HandlerResult<OperationPayload>> {
    const [now, startedAt] = [this.#now(), this.#deps.clock.monotonic()];
    const start = startPass(app, now, this.#config.syncTimeoutMs);
    logStart(pass.logger, start, now, this.#config.syncTimeoutMs);
    const { passLog } = this.#deps.memories;
    const { wave } = this.#deps.memories.of(pass.key);
    const capture = captureOperation({ key: pass.key, app, start, now, startedAt, wave });
    if (start.do === 'wait' || start.do === 'end') passLog.keep(capture);
    try {
      return await this.#run(pass, app, capture, signal);
    } finally {
      const time_ms = Math.floor(this.#deps.clock.monotonic() - startedAt);
      const state = this.#deps.store.get(pass.key)?.status?.operationState;
      const fields = { ...pass.times.fields(), time_ms, ...finishedFields(state) };
      pass.logger[start.do === 'wait' ? 'debug' : 'info']('Finished processing requested app operation', fields);
    }
  }

  async #run(
    pass: OperationPass,
    app: Application,
    capture: OperationCapture,
    signal: AbortSignal,
  ): Promise<HandlerResult<OperationPayload>> {
    const { start } = capture;
    if (start.do === 'wait') {
      this.#remember(pass.key, { cause: 'retry', what: start.reason }, start.ms);
      return { requeueAfterMs: start.ms };
    }
    if (start.do === 'end') return this.#finish(pass, app, { state: start.state, history: undefined }, signal);
    const begun = await this.#begin(pass, app, start);
    if (begun === undefined) return 'done';
    if (begun instanceof StateRefused) return this.#endWith(pass, app, unstoredState(start.state, begun.cause), signal);
    if (start.do === 'begin') this.#deps.memories.of(pass.key).hold.operationStarted();
    const { state } = start;
    capture.begun = begun;
    const { passLog } = this.#deps.memories;
    const step = (): Promise<OperationState> =>
      keepFailure(capture, passLog, () => this.#step({ ...pass, capture }, begun, state, signal));
    const after = await pass.times.measure('sync_app_state_ms', step);
    logStep(pass.logger, state, after);
    const endedAt = this.#now();
    const result = endStep(start, begun, after, endedAt);
    Object.assign(capture, { endedAt, next: result.state, history: result.history });
    passLog.keep(capture);
    return pass.times.measure('final_set_operation_state_ms', () => this.#finish(pass, begun, result, signal));
  }

  /** Writes how the pass begins; undefined: the Application is gone. */
  async #begin(
    pass: OperationPass,
    app: Application,
    start: PassStart & { readonly state: OperationState },
  ): Promise<Application | StateRefused | undefined> {
    if (start.do === 'resume') return app;
    const write = (): Promise<Application | StateRefused | undefined> =>
      this.#deps.store.writeOperationState(app, start.state, undefined).catch((error: unknown) => {
        if (error instanceof StateRefused) return error;
        throw error;
      });
    return pass.times.measure('initial_operation_stage_ms', write);
  }

  /** Ends an operation without another attempt, such as one whose state the server refuses. */
  #endWith(
    pass: OperationPass,
    app: Application,
    ended: OperationState,
    signal: AbortSignal,
  ): Promise<HandlerResult<OperationPayload>> {
    const state = endPass({ state: ended, wasTerminating: true, timedOut: false, now: this.#now() });
    return this.#finish(pass, app, { state, history: undefined }, signal);
  }

  /**
   * Why a running operation has nothing to do, and for how long: its cluster is stalled, or a wave
   * delay runs. Sends no request.
   */
  #rest(key: AppKey, app: Application): OperationRest | undefined {
    const state = app.status?.operationState;
    const { syncTimeoutMs, syncWaveDelayMs } = this.#config;
    if (state?.phase !== 'Running' || startPass(app, this.#now(), syncTimeoutMs).do !== 'resume') return undefined;
    if (this.#deps.isStalled(app)) return { reason: stalledCluster, ms: stalledRecheckMs };
    const wave = this.#deps.memories.peek(key)?.wave;
    if (wave?.name.startsWith(`${attemptOf(state)} `) !== true) return undefined;
    const pauseMs = wave.at + syncWaveDelayMs - this.#deps.clock.monotonic();
    const ms = Math.min(pauseMs, backstopMs(state, this.#now(), syncTimeoutMs));
    return ms > 0 ? { reason: waveDelay, ms } : undefined;
  }

  async #step(
    pass: OperationPass & { readonly capture: OperationCapture },
    app: Application,
    state: OperationState,
    signal: AbortSignal,
  ): Promise<OperationState> {
    try {
      pass.capture.policy = this.#deps.policyFacts(app);
      const tap = captureStep(pass.capture);
      const mayWrite = pass.unrecorded && this.#repairs.mayWrite(pass.unrecorded);
      const work = { signal, place: pass.place, tap, ...defined({ mayWrite }) };
      const step = (): Promise<OperationState> => this.#deps.syncer.step(this.#deps.bind(app), state, work);
      return redactedState(await (this.#deps.tracer ?? noTracer).span('controller.SyncAppState', {}, step));
    } catch (error) {
      if (isAbort(error) || signal.aborted || error instanceof ClusterNotReady) throw error;
      pass.logger.warn('A step of an operation failed', { error });
      return failedStep(state, error);
    }
  }

  async #finish(
    pass: OperationPass,
    app: Application,
    { state, history }: StepResult,
    signal: AbortSignal,
  ): Promise<HandlerResult<OperationPayload>> {
    if (pass.unrecorded !== undefined && state.phase !== 'Succeeded')
      return this.#repairs.fail(pass.key, pass.logger, state.message ?? '');
    if (isCompleted(state.phase)) return this.#end(pass, app, { state, history }, signal);
    let stored: Application | undefined;
    try {
      stored = await this.#deps.store.writeOperationState(app, state, history);
    } catch (error) {
      if (!(error instanceof StateRefused)) throw error;
      return this.#endWith(pass, app, unstoredState(state, error.cause), signal);
    }
    if (stored === undefined) return 'done';
    this.#deps.memories.note(pass.key, operationWrite(stored, this.#deps.clock.monotonic()));
    const waiting = startPass(stored, this.#now(), this.#config.syncTimeoutMs);
    const moved = !deepEqual(
      jsonOf(state.syncResult?.resources),
      jsonOf(app.status?.operationState?.syncResult?.resources),
    );
    const quiet = moved ? progressRecheckMs : backstopMs(state, this.#now(), this.#config.syncTimeoutMs);
    const rest = this.#rest(pass.key, stored) ?? { reason: stepWait(state), ms: quiet };
    return this.#awaitRest(pass.key, waiting.do === 'wait' ? { reason: stepWait(state), ms: waiting.ms } : rest);
  }

  /** Writes the end, together with the final comparison if possible. */
  async #end(
    pass: OperationPass,
    app: Application,
    { state, history }: StepResult,
    signal: AbortSignal,
  ): Promise<HandlerResult<OperationPayload>> {
    const level = levelAfter(state);
    const { unrecorded, place } = pass;
    const write = (): Promise<StoredEnd> => this.#storeEnd(pass, unrecorded ?? app, { state, history, level }, signal);
    const { stored, isCompared } =
      unrecorded === undefined
        ? await write()
        : await this.#repairs.record({ stored: unrecorded, state, place, signal }, write);
    if (stored === undefined) return 'done';
    this.#completed(pass, stored, state);
    if (level !== undefined)
      this.#deps.refresh(pass.key, {
        reason: 'an operation completed',
        cause: 'operation',
        // After the final comparison, check only for results that were held back.
        ...(isCompared ? {} : { level }),
      });
    // A deletion waiting for the operation continues now.
    return stored.metadata.deletionTimestamp === undefined ? 'done' : { requeueAfterMs: 0 };
  }

  #storeEnd(
    { key, place }: OperationPass,
    app: Application,
    { state, history, level }: StepResult & { readonly level: CompareLevel | undefined },
    signal: AbortSignal,
  ): Promise<StoredEnd> {
    const { store, completer, clock, memories } = this.#deps;
    return memories.of(key).hold.complete(clock.monotonic(), async () => {
      const loan = new SlotLoan(place, clock);
      const completion = level === undefined ? undefined : completer.complete(app, { state, history, level }, signal);
      const closed = completion === undefined ? undefined : await loan.during(completion);
      return {
        stored: closed ?? (await store.writeOperationState(app, state, history)),
        isCompared: closed !== undefined,
      };
    });
  }

  #completed({ key, logger, span }: OperationPass, app: Application, state: OperationState): void {
    const { store, metrics, memories } = this.#deps;
    memories.of(key).hold.operationEnded();
    memories.note(key, {
      waiting: undefined,
      terminatingSince: undefined,
      wave: undefined,
      operationWrite: undefined,
      hasRepairFailed: undefined,
    });
    metrics.synced(app, state);
    this.#recordSync(key, state);
    const what = operationName(state);
    const ok = state.phase === 'Succeeded';
    span.set({ 'argocd.operation.phase': state.phase });
    if (!ok) span.fail(state.message ?? '');
    store.announce(app, {
      type: ok ? 'Normal' : 'Warning',
      reason: 'OperationCompleted',
      message: ok ? `${what} succeeded` : `${what} failed: ${state.message ?? ''}`,
    });
    logger.info('Operation completed', { phase: state.phase, message: state.message });
  }

  #recordSync(key: AppKey, { phase, message = '', startedAt }: OperationState): void {
    const at = this.#now();
    const durationMs = at - (parseTime(startedAt) ?? at);
    this.#deps.memories.activity.syncs.push({ key, at, durationMs, phase, message: recordedText(message) });
  }

  /**
   * Waits for a cluster that is not ready. Like Argo CD, does not keep a termination waiting
   * forever.
   */
  async #await(
    pass: OperationPass,
    app: Application,
    { message, reason, afterMs }: ClusterNotReady,
    signal: AbortSignal,
  ): Promise<HandlerResult<OperationPayload>> {
    const { key } = pass;
    if (app.metadata.deletionTimestamp === undefined) this.#remember(key, reason, afterMs);
    else await this.#deps.deleter.recordBlocked(key, app, reason);
    const { memories } = this.#deps;
    // The operation may have timed out, and become Terminating, in this pass.
    const fresh = this.#deps.store.get(key) ?? app;
    const state = fresh.status?.operationState;
    if (state?.phase !== 'Terminating') {
      memories.note(key, { terminatingSince: undefined });
      return { requeueAfterMs: afterMs };
    }
    const { terminatingSince = this.#now() } = memories.of(key);
    memories.note(key, { terminatingSince });
    if (this.#now() - terminatingSince < terminateLimitMs) return { requeueAfterMs: afterMs };
    const failure = `Operation termination had errors: ${message}${hooksMayRun(state)}`;
    return this.#endWith(pass, fresh, { ...state, phase: 'Error', message: failure }, signal);
  }

  #awaitRest(key: AppKey, { reason, ms }: OperationRest): { readonly requeueAfterMs: number } {
    this.#remember(key, reason, ms);
    return { requeueAfterMs: ms };
  }

  #remember(key: AppKey, reason: WaitReason, ms: number): void {
    this.#deps.memories.note(key, waitOn(this.#deps.memories.of(key), reason, this.#now(), ms));
  }

  #now(): number {
    return this.#deps.clock.now();
  }
}

/** The level of the comparison that must follow; undefined: nothing can have changed. */
function levelAfter({ operation: { sync, initiatedBy } }: OperationState): CompareLevel | undefined {
  if (sync === undefined || sync.dryRun === true) return undefined;
  return initiatedBy?.automated === true ? compareLevel.latest : compareLevel.forceResolve;
}
