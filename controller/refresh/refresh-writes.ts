import { isAbort, messageOf } from '#base';
import type { Clock } from '#base';
import { appKeyOf, instanceName } from '#model';
import type { AppKey, Application } from '#model';
import type { OwnershipFence, Publisher } from '#publish';
import type { AddOptions, Priority } from '#queues';
import { operationWrite, waitOn } from '../comparison/memory.ts';
import type { RecordTurns } from '../comparison/record-turns.ts';
import type { AutosyncDecision } from '../application/autosync.ts';
import { startedEvent } from '../application/events.ts';
import { droppedFields, removalEvent } from '../application/dropped-fields.ts';
import { compareLevel } from '../application/freshness.ts';
import type { RefreshRequest } from '../application/freshness.ts';
import { initialOperationState, isNeverSynced } from '../application/operation-state.ts';
import { canHideAnother } from '../application/refresh-annotation.ts';
import type { RefreshAnnotation } from '../application/refresh-annotation.ts';
import { withSyncError } from '../decide/next-status.ts';
import type { StatusWrite } from '../application/application-writes.ts';
import type { Decisions } from '../decide/decide-refresh.ts';
import { whyRecordFirst } from '../decide/repair-first.ts';
import { rememberDecided } from './pass.ts';
import type { PassAssessment, PassStart, RefreshEffects, RefreshPass, SettledAssessment } from './pass.ts';
import type { ApplicationStore } from '../application/application-store.ts';

export interface RefreshWritesDeps {
  readonly store: ApplicationStore;
  readonly publisher: Publisher;
  /** Guards publishing for an application: valid while this replica owns it. */
  readonly fence: (key: AppKey) => OwnershipFence;
  readonly requeue: (key: AppKey, options: AddOptions<RefreshRequest>) => void;
  readonly startOperation: (key: AppKey, priority: Priority) => void;
  readonly records: Pick<RecordTurns, 'begin' | 'hurry'>;
  readonly clock: Clock;
  /** The controller's own namespace. */
  readonly namespace: string;
}

type StartDecision = AutosyncDecision & { readonly do: 'start' };

/** An automated sync to start, with the status that explains it. */
interface AutosyncStart {
  readonly before: Application;
  readonly change: SettledAssessment;
  readonly decision: StartDecision;
}

/**
 * Whether publishing may be delayed a little: no user requested the refresh, and no status write
 * follows. Argo CD's API server copies health from the tree when a status is written, so the tree
 * must be published before that write.
 */
function mayWait({ asked, refresh }: RefreshPass, { patch, decisions }: PassAssessment): boolean {
  const isLive = asked === undefined && refresh.level <= compareLevel.recent;
  return isLive && decisions?.decision?.do !== 'start' && patch === undefined;
}

/**
 * The effects of the controller in charge: publishes, writes differences and starts automated
 * syncs.
 */
export class RefreshWrites implements RefreshEffects {
  readonly #deps: RefreshWritesDeps;

  constructor(deps: RefreshWritesDeps) {
    this.#deps = deps;
  }

  request(_key: AppKey, queued: RefreshRequest | undefined): RefreshRequest | undefined {
    return queued;
  }

  async begin(app: Application, requested: RefreshAnnotation | undefined): Promise<PassStart> {
    const { store } = this.#deps;
    const asked = requested === undefined ? undefined : await store.markRefresh(app, requested);
    return { asked, before: await store.normalize(store.get(appKeyOf(app)) ?? app) };
  }

  /** Without Redis the UI shows stale data, but reconciliation continues. */
  async publish(pass: RefreshPass, assessment: PassAssessment, signal: AbortSignal): Promise<void> {
    // The comparison after a repair is published.
    if (this.#mayRepairFirst(pass, assessment)) return;
    const { publisher, namespace, fence } = this.#deps;
    const { tree, managed } = assessment;
    const terms = { signal, fence: fence(pass.key), mayWait: mayWait(pass, assessment) };
    const instance = instanceName(pass.key, namespace);
    try {
      await publisher.setTree(instance, tree, terms);
      if (managed === undefined) return;
      await publisher.setManagedResources(instance, managed === 'none' ? undefined : managed, terms);
    } catch (error) {
      if (signal.aborted || isAbort(error)) throw error;
      pass.logger.warn('Unable to publish the state of an application', { error });
    }
  }

  stands({ key, before }: Pick<RefreshPass, 'key' | 'before'>): boolean {
    const { store, publisher, namespace } = this.#deps;
    return store.get(key) === before && publisher.stands(instanceName(key, namespace));
  }

  /**
   * Postpones background results while the final write of an operation is in flight: they were
   * computed against a status that this write replaces.
   */
  async settle(pass: RefreshPass, assessment: SettledAssessment): Promise<StatusWrite> {
    if (pass.asked === undefined && pass.memory.hold.isCompleting)
      return { app: pass.before, answered: true, again: true };
    const settled = await this.#settle(pass, assessment);
    const recheck = settled.answered && pass.asked !== undefined && canHideAnother(pass.asked);
    return recheck ? { ...settled, recheck } : settled;
  }

  async #settle(pass: RefreshPass, assessment: SettledAssessment): Promise<StatusWrite> {
    const { decisions } = assessment;
    this.#announceRemovals(pass, decisions);
    const before =
      decisions?.finalizers === undefined ? pass.before : await this.#setHookFinalizers(pass, decisions.finalizers);
    const decision = decisions?.decision;
    // The wait of an operation goes on, and keeps its begin.
    const isOver = decision !== undefined && decision.do !== 'wait' && pass.before.operation === undefined;
    if (isOver) pass.note({ waiting: undefined });
    // It drifts again: the last repair counts for the backoff as soon as it is recorded.
    if (decision?.do === 'start' && pass.memory.repair !== undefined) this.#deps.records.hurry(pass.key);
    else if (decision?.do === 'start') {
      const start = { before, change: assessment, decision };
      return this.#mayRepairFirst(pass, assessment) ? this.#repair(pass, start) : this.#start(pass, start);
    }
    const settled = await this.#storeStatus(pass, before, assessment);
    if (decision?.do === 'wait') {
      const wait = { cause: 'automated sync', what: decision.reason } as const;
      pass.note(waitOn(pass.memory, wait, pass.now, decision.ms));
      const payload = { level: compareLevel.latest, reason: decision.reason, cause: 'retry' } as const;
      this.#deps.requeue(pass.key, { delayMs: decision.ms, priority: 'live', payload });
    }
    return settled;
  }

  async #storeStatus(pass: RefreshPass, before: Application, change: SettledAssessment): Promise<StatusWrite> {
    const { asked, memory } = pass;
    // A new owner may know an old version only, if it was suspended or disconnected.
    const terms = { asked, isExact: memory.isCurrent !== true };
    try {
      const settled = await pass.times.measure('patch_ms', () => this.#deps.store.settle(before, change, terms));
      pass.note({ isCurrent: true });
      if (settled.again !== true) rememberDecided(pass, change);
      if (change.patch === undefined) pass.logger.info('No status changes. Skipping patch');
      else if (settled.again !== true) pass.logger.info('Update successful');
      return settled;
    } catch (error) {
      if (!isAbort(error)) pass.logger.warn('Error updating application', { error });
      throw error;
    }
  }

  #mayRepairFirst({ before: app, asked, memory }: RefreshPass, { decisions }: SettledAssessment): boolean {
    if (decisions?.decision?.do !== 'start' || memory.repair !== undefined) return false;
    const { comparison, decision } = decisions;
    const facts = { app, comparison, isAsked: asked !== undefined, hasFailed: memory.hasRepairFailed === true };
    return whyRecordFirst({ ...facts, operation: decision.operation }) === undefined;
  }

  /** Runs a self-heal that is not in the Application: its end is recorded with the next status. */
  #repair(pass: RefreshPass, { before, change, decision }: AutosyncStart): StatusWrite {
    const state = initialOperationState(decision.operation, pass.now, before.status?.operationState);
    pass.note({ repair: { before, state } });
    this.#deps.records.begin(pass.key);
    pass.memory.hold.operationStarted();
    rememberDecided(pass, change);
    pass.logger.info(startedEvent(decision.operation).message, { reason: decision.reason });
    this.#deps.startOperation(pass.key, automatedPriority(before));
    return { app: before, answered: true };
  }

  /**
   * Starts the sync before it removes the refresh request, so that a client that waits for the
   * removal sees the operation.
   */
  async #start(pass: RefreshPass, { before, change, decision }: AutosyncStart): Promise<StatusWrite> {
    const { store, clock } = this.#deps;
    try {
      const { result, app, again } = await pass.times.measure('setop_ms', () =>
        store.startOperation(before, decision.operation, change),
      );
      if (result === 'changed')
        this.#deps.requeue(pass.key, {
          priority: automatedPriority(before),
          payload: { level: compareLevel.latest, reason: 'the last operation changed', cause: 'operation' },
        });
      if (again !== true && result !== 'changed') rememberDecided(pass, change);
      if (result === 'started') {
        pass.memory.hold.operationStarted();
        pass.note(operationWrite(app, clock.monotonic()));
        if (change.patch !== undefined) pass.logger.info('Update successful');
        this.#announceStart(pass, app, decision);
      }
      // The status was not stored, so the requested refresh stays open.
      if (again === true) return { app, answered: pass.asked === undefined, again };
      return { app, answered: pass.asked === undefined || (await store.consumeRefresh(app, pass.asked)) };
    } catch (error) {
      if (isAbort(error)) throw error;
      const { revision = '', revisions = [revision] } = decision.operation.sync ?? {};
      pass.logger.error(`Failed to initiate auto-sync to [${revisions.join(' ')}]`, { error });
      const refusal = { do: 'refuse', message: messageOf(error) } as const;
      await store.persistStatus(before, withSyncError(change.status, refusal, pass.time));
      throw error;
    }
  }

  /**
   * Runs before the status write, as in Argo CD: an Application must not be deleted without its
   * delete hooks. A failure is only logged.
   */
  async #setHookFinalizers(pass: RefreshPass, names: readonly string[]): Promise<Application> {
    try {
      const stored = await this.#deps.store.setFinalizers(pass.before, names);
      // Keep the status that this pass read: the patch is computed against it.
      return stored === undefined ? pass.before : { ...pass.before, metadata: stored.metadata };
    } catch (error) {
      if (isAbort(error)) throw error;
      pass.logger.warn('Unable to update finalizers of delete hooks', { error });
      return pass.before;
    }
  }

  /** Before this owner's first write, the status may be Argo CD's. */
  #announceRemovals({ before, memory }: RefreshPass, decisions: Decisions | undefined): void {
    if (memory.isCurrent === true || decisions === undefined) return;
    const event = removalEvent(droppedFields(before.status, decisions.comparison));
    if (event !== undefined) this.#deps.store.announce(before, event);
  }

  #announceStart(pass: RefreshPass, app: Application, decision: StartDecision): void {
    const event = startedEvent(decision.operation);
    pass.logger.info(event.message, { reason: decision.reason });
    this.#deps.store.announce(app, event);
    this.#deps.startOperation(pass.key, automatedPriority(app));
  }
}

const automatedPriority = (app: Application): Priority => (isNeverSynced(app) ? 'resync' : 'live');
