import { deepEqual, isAbort, messageOf } from '#base';
import type { Clock } from '#base';
import { isCompleted, jsonOf } from '#model';
import type { AppKey, Application, OperationState, RevisionHistory } from '#model';
import type { Outcome, Taken } from '#queues';
import type { Logger } from '#telemetry';
import type { BoundApplication } from './bound.ts';
import type { Syncer } from './syncer.ts';
import type { Deleter } from './deletion.ts';
import { ApplicationChanged, ClusterNotReady, StateTooLarge } from './errors.ts';
import { compareLevel } from './freshness.ts';
import type { RefreshRequest } from './freshness.ts';
import { nextHistory } from './history.ts';
import type { Memories } from './memory.ts';
import type { AppMetrics } from './metrics.ts';
import { backstopMs, endPass, shownState, startPass } from './operation-state.ts';
import type { ApplicationStore } from './application-store.ts';
import { tooLargeState } from './state-size.ts';

export interface OperationDeps {
  readonly store: ApplicationStore;
  readonly syncer: Syncer;
  readonly deleter: Deleter;
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
      if (error instanceof ClusterNotReady) return this.#await(pass, app, error);
      throw error;
    }
  }

  async #pass(pass: OperationPass, app: Application, signal: AbortSignal): Promise<Outcome<OperationPayload>> {
    const start = startPass(app, this.#now(), this.#config.syncTimeoutMs);
    if (start.do === 'wait') {
      this.#remember(pass.key, start.reason, start.ms);
      return { requeueAfterMs: start.ms };
    }
    if (start.do === 'end') return this.#finish(pass, app, start.state, undefined);
    const begun = start.do === 'resume' ? app : await this.#deps.store.writeOperationState(app, start.state, undefined);
    if (begun === undefined) return 'done';
    const { state } = start;
    const after = await this.#step(pass, begun, state, signal);
    const next = endPass({
      state: after,
      wasTerminating: state.phase === 'Terminating',
      timedOut: start.do !== 'resume' && start.timedOut,
      now: this.#now(),
    });
    return this.#finish(pass, begun, next, nextHistory(begun, next, this.#now()));
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
    state: OperationState,
    history: readonly RevisionHistory[] | undefined,
  ): Promise<Outcome<OperationPayload>> {
    let stored: Application | undefined;
    try {
      stored = await this.#deps.store.writeOperationState(app, state, history);
    } catch (error) {
      if (!(error instanceof StateTooLarge)) throw error;
      // To wait for a retry would be to try the same again.
      const over = endPass({ ...untimed, state: tooLargeState(state), now: this.#now() });
      return this.#finish(pass, app, over, undefined);
    }
    if (stored === undefined) return 'done';
    if (isCompleted(state.phase)) {
      this.#completed(pass, stored, state);
      // A deletion that had to wait for the operation goes on now.
      return stored.metadata.deletionTimestamp === undefined ? 'done' : { requeueAfterMs: 0 };
    }
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

  #completed({ key, logger }: OperationPass, app: Application, state: OperationState): void {
    const { store, metrics, memories } = this.#deps;
    delete memories.of(key).waiting;
    delete memories.of(key).terminatingSince;
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
    if (state.operation.sync === undefined || state.operation.sync.dryRun === true) return;
    const level = state.operation.initiatedBy?.automated === true ? compareLevel.latest : compareLevel.forceResolve;
    this.#deps.refresh(key, { level, reason: 'an operation completed' });
  }

  /** Something that comes by itself is not there yet. An operation that is to end does not wait for it for ever, as in Argo CD. */
  async #await(
    pass: OperationPass,
    app: Application,
    { message }: ClusterNotReady,
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
    return this.#finish(pass, fresh, endPass({ ...untimed, state: ended, now: this.#now() }), undefined);
  }

  #remember(key: AppKey, what: string, ms: number): void {
    this.#deps.memories.of(key).waiting = { what, since: this.#now(), until: this.#now() + ms };
  }

  #now(): number {
    return this.#deps.clock.now();
  }
}

function hasWork(app: Application): boolean {
  return (app.operation ?? undefined) !== undefined || app.metadata.deletionTimestamp !== undefined;
}
