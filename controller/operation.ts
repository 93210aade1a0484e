import { deepEqual, isAbort, messageOf } from '#base';
import type { Clock } from '#base';
import { isCompleted, jsonOf } from '#model';
import type { AppKey, Application, OperationState, RevisionHistory } from '#model';
import type { Outcome, Taken } from '#queues';
import type { Logger } from '#telemetry';
import type { BoundApplication } from './bound.ts';
import type { Syncer } from './syncer.ts';
import type { Closing } from './closing.ts';
import type { Deleter } from './deletion.ts';
import { ApplicationChanged, ClusterNotReady, StateTooLarge } from './errors.ts';
import { compareLevel } from './freshness.ts';
import type { CompareLevel, RefreshRequest } from './freshness.ts';
import { nextHistory } from './history.ts';
import type { Memories } from './memory.ts';
import type { AppMetrics } from './metrics.ts';
import { backstopMs, endPass, shownState, startPass } from './operation-state.ts';
import type { ApplicationStore } from './application-store.ts';
import { holdMs } from './refresh.ts';
import { tooLargeState } from './state-size.ts';

export interface OperationDeps {
  readonly store: ApplicationStore;
  readonly syncer: Syncer;
  readonly deleter: Deleter;
  readonly closing: Pick<Closing, 'end'>;
  readonly memories: Memories;
  readonly metrics: AppMetrics;
  /** False: another replica's business. */
  readonly isMine: (app: Application) => boolean;
  /** Resolves project and cluster; throws with the text that the operation shows. */
  readonly bind: (app: Application) => BoundApplication;
  readonly refresh: (key: AppKey, request: RefreshRequest) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A step that changed results is followed by the next one at once: what it did may be healthy already. */
const movedMs = 50;
const soonMs = 1000;
/** How long the end of an operation waits for the cluster, so that its hooks can be stopped. */
const terminateMs = 60_000;
const untimed = { wasTerminating: true, timedOut: false };

/** One step: of which application, and where it logs. */
interface OperationPass {
  readonly key: AppKey;
  /** Its lines name the application and this pass. */
  readonly logger: Logger;
}

/** How a step left an operation, and the history that goes with it. */
interface Stepped {
  readonly state: OperationState;
  readonly history: readonly RevisionHistory[] | undefined;
}

/** Nothing: an operation is all in its object. */
export type OperationPayload = undefined;

/**
 * Works on one Application with an operation, or on its deletion: one step per call. Everything that the next call needs is in the object
 * (decision D8), so it may be stopped anywhere, and go on here or on another replica. Source: Argo CD processAppOperationQueueItem.
 */
export class OperationProcessor {
  readonly #deps: OperationDeps;
  readonly #config: { readonly syncTimeoutMs: number };
  #passes = 0;

  constructor(deps: OperationDeps, config: { readonly syncTimeoutMs: number }) {
    this.#deps = deps;
    this.#config = config;
  }

  async handle(taken: Taken<AppKey, OperationPayload>, signal: AbortSignal): Promise<Outcome<OperationPayload>> {
    const known = this.#deps.store.get(taken.key);
    if (known === undefined || !this.#deps.isMine(known) || !hasWork(known)) return 'done';
    const app = await this.#deps.store.fetch(taken.key);
    if (app === undefined || !hasWork(app)) return 'done';
    this.#passes += 1;
    const logger = this.#deps.logger.child({ application: taken.key, pass: `operation-${this.#passes}` });
    const pass = { key: taken.key, logger };
    try {
      return (app.operation ?? undefined) === undefined
        ? await this.#deps.deleter.handle(taken.key, app, signal)
        : await this.#pass(pass, app, signal);
    } catch (error) {
      // Someone changed the operation between our read and our write: read again, decide again.
      if (error instanceof ApplicationChanged) return { requeueAfterMs: 0 };
      if (error instanceof ClusterNotReady) return this.#await(pass, app, error, signal);
      throw error;
    }
  }

  async #pass(pass: OperationPass, app: Application, signal: AbortSignal): Promise<Outcome<OperationPayload>> {
    const start = startPass(app, this.#now(), this.#config.syncTimeoutMs);
    if (start.do === 'wait') {
      this.#remember(pass.key, start.reason, start.ms);
      return { requeueAfterMs: start.ms };
    }
    if (start.do === 'end') return this.#finish(pass, app, { state: start.state, history: undefined }, signal);
    const begun = start.do === 'resume' ? app : await this.#deps.store.writeOperationState(app, start.state, undefined);
    if (begun === undefined) return 'done';
    if (start.do === 'begin') this.#deps.memories.of(pass.key).telling = {};
    const { state } = start;
    const after = await this.#step(pass, begun, state, signal);
    const next = endPass({
      state: after,
      wasTerminating: state.phase === 'Terminating',
      timedOut: start.do !== 'resume' && start.timedOut,
      now: this.#now(),
    });
    return this.#finish(pass, begun, { state: next, history: nextHistory(begun, next, this.#now()) }, signal);
  }

  async #step(
    pass: OperationPass,
    app: Application,
    state: OperationState,
    signal: AbortSignal,
  ): Promise<OperationState> {
    try {
      return shownState(await this.#deps.syncer.step(this.#deps.bind(app), state, signal));
    } catch (error) {
      if (isAbort(error) || signal.aborted || error instanceof ClusterNotReady) throw error;
      pass.logger.warn('A step of an operation failed', { error });
      return shownState({ ...state, phase: 'Error', message: messageOf(error) });
    }
  }

  async #finish(
    pass: OperationPass,
    app: Application,
    { state, history }: Stepped,
    signal: AbortSignal,
  ): Promise<Outcome<OperationPayload>> {
    if (isCompleted(state.phase)) return this.#end(pass, app, { state, history }, signal);
    let stored: Application | undefined;
    try {
      stored = await this.#deps.store.writeOperationState(app, state, history);
    } catch (error) {
      if (!(error instanceof StateTooLarge)) throw error;
      // To wait for a retry would be to try the same again.
      const over = endPass({ ...untimed, state: tooLargeState(state), now: this.#now() });
      return this.#finish(pass, app, { state: over, history: undefined }, signal);
    }
    if (stored === undefined) return 'done';
    const waiting = startPass(stored, this.#now(), this.#config.syncTimeoutMs);
    const moved = !deepEqual(
      jsonOf(state.syncResult?.resources),
      jsonOf(app.status?.operationState?.syncResult?.resources),
    );
    const quiet = moved ? movedMs : backstopMs(state, this.#now(), this.#config.syncTimeoutMs);
    const ms = waiting.do === 'wait' ? waiting.ms : quiet;
    this.#remember(pass.key, state.message ?? 'the next step of the operation', ms);
    return { requeueAfterMs: ms };
  }

  /** With the comparison that has to follow, where that can be one write. */
  async #end(
    pass: OperationPass,
    app: Application,
    { state, history }: Stepped,
    signal: AbortSignal,
  ): Promise<Outcome<OperationPayload>> {
    const { store, closing } = this.#deps;
    const level = levelAfter(state);
    const memory = this.#deps.memories.of(pass.key);
    // Nothing else is to be told just now: it would be told twice.
    if (memory.telling !== undefined) memory.telling.at = this.#deps.clock.monotonic() + holdMs;
    memory.ending = true;
    let closed: Application | undefined;
    let stored: Application | undefined;
    try {
      closed = level === undefined ? undefined : await closing.end(app, { state, history, level }, signal);
      stored = closed ?? (await store.writeOperationState(app, state, history));
    } finally {
      delete memory.ending;
    }
    if (stored === undefined) return 'done';
    this.#completed(pass, stored, state);
    if (level !== undefined)
      this.#deps.refresh(pass.key, {
        reason: 'an operation completed',
        // Otherwise only what had to wait for the end: see whether there is anything.
        ...(closed === undefined ? { level } : {}),
      });
    // A deletion that had to wait for the operation goes on now.
    return stored.metadata.deletionTimestamp === undefined ? 'done' : { requeueAfterMs: 0 };
  }

  #completed({ key, logger }: OperationPass, app: Application, state: OperationState): void {
    const { store, metrics, memories } = this.#deps;
    delete memories.of(key).waiting;
    delete memories.of(key).terminatingSince;
    delete memories.of(key).telling;
    metrics.synced(app, state);
    const partial = (state.operation.sync?.resources?.length ?? 0) > 0;
    const revision = state.syncResult === undefined ? '' : ` to ${state.syncResult.revision}`;
    const what = `${partial ? 'Partial sync' : 'Sync'} operation${revision}`;
    const ok = state.phase === 'Succeeded';
    store.announce(app, {
      type: ok ? 'Normal' : 'Warning',
      reason: 'OperationCompleted',
      message: ok ? `${what} succeeded` : `${what} failed: ${state.message ?? ''}`,
    });
    logger.info('Operation completed', { phase: state.phase, message: state.message });
  }

  /** Something that comes by itself is not there yet. An operation that is to end does not wait for it for ever, as in Argo CD. */
  async #await(
    pass: OperationPass,
    app: Application,
    { message }: ClusterNotReady,
    signal: AbortSignal,
  ): Promise<Outcome<OperationPayload>> {
    const { key } = pass;
    if (app.metadata.deletionTimestamp === undefined) this.#remember(key, message, soonMs);
    else await this.#deps.deleter.waits(key, app, message);
    const memory = this.#deps.memories.of(key);
    // An operation that ran out of its time in this very pass is Terminating by now.
    const fresh = this.#deps.store.get(key) ?? app;
    const state = fresh.status?.operationState;
    if (state?.phase !== 'Terminating') {
      delete memory.terminatingSince;
      return { requeueAfterMs: soonMs };
    }
    memory.terminatingSince ??= this.#now();
    if (this.#now() - memory.terminatingSince < terminateMs) return { requeueAfterMs: soonMs };
    const told = `Operation termination had errors: ${message}, its hooks may still run`;
    const ended = { ...state, phase: 'Error' as const, message: told };
    const next = endPass({ ...untimed, state: ended, now: this.#now() });
    return this.#finish(pass, fresh, { state: next, history: undefined }, signal);
  }

  #remember(key: AppKey, what: string, ms: number): void {
    this.#deps.memories.of(key).waiting = { what, since: this.#now(), until: this.#now() + ms };
  }

  #now(): number {
    return this.#deps.clock.now();
  }
}

/** How deep the comparison goes that has to follow; undefined: nothing can have changed. */
function levelAfter({ operation: { sync, initiatedBy } }: OperationState): CompareLevel | undefined {
  if (sync === undefined || sync.dryRun === true) return undefined;
  return initiatedBy?.automated === true ? compareLevel.latest : compareLevel.forceResolve;
}

function hasWork(app: Application): boolean {
  return (app.operation ?? undefined) !== undefined || app.metadata.deletionTimestamp !== undefined;
}
