import { deepEqual, isAbort, KeyedMutex, messageOf, Superseded } from '#base';
import type { Clock, JsonObject } from '#base';
import { isConflict, isNotFound, isTooLarge, unlessNotFound } from '#kube';
import type { Informer, KubeClient, Patch } from '#kube';
import { appLogFields, appKeyOf, appNameOf, asApplication, asObject, isCompleted, jsonOf } from '#model';
import type {
  AppKey,
  Application,
  ApplicationCondition,
  ApplicationStatus,
  KubeObject,
  Operation,
  OperationState,
  RevisionHistory,
} from '#model';
import type { Logger } from '#telemetry';
import { ownedConditions } from '../shared/conditions.ts';
import { ApplicationChanged } from '../shared/errors.ts';
import { repairEvent } from './events.ts';
import type { AppEvent, EventRecorder } from './events.ts';
import { syncEndedAt, initialOperationState } from './operation-state.ts';
import {
  isSameRequest,
  markRefreshPatch,
  noRefreshAnnotations,
  refreshAnnotation,
  removeRequestPatch,
} from './refresh-annotation.ts';
import type { RefreshAnnotation } from './refresh-annotation.ts';
import { applicationResource } from '../shared/resources.ts';
import { storableState } from './state-size.ts';
import {
  reconciledAtBeforeEnd,
  endPatch,
  normalizationPatch,
  withMergePatch,
  statusEvents,
  statusChange,
  statusPatch,
  unstoredStatus,
  withConditions,
} from './status-patch.ts';
import type { StatusChange } from './status-patch.ts';
import type { FencedSend } from '../admission/ownership-guard.ts';
import { kubeTime } from '../shared/kube-time.ts';
import {
  operationPatch,
  statusMerge,
  shrinkState,
  stateWriteLimitMs,
  isContentRefused,
  isPatchRefused,
  isSameStep,
  isUnrecorded,
  isStateRefused,
  isTransient,
  hasForeignChanges,
  lastRunId,
  startRefusal,
  SyncEnded,
} from './application-writes.ts';
import { ApplicationWriteOutcomes } from './application-write-outcomes.ts';
import type {
  ApplicationWriteTerms,
  OperationStart,
  SettleTerms,
  StateWrite,
  StatusWrite,
} from './application-writes.ts';

export interface ApplicationStoreDeps {
  readonly hub: KubeClient;
  readonly informer: Informer;
  readonly events: EventRecorder;
  /**
   * Sends a write if this replica may write this Application now; throws OwnershipLost otherwise.
   */
  readonly fenced: <T>(app: Application, signal: AbortSignal, send: FencedSend<T>) => Promise<T>;
  /** The response to our write contained another client's change: check the Application again. */
  readonly onForeignChange: (key: AppKey) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Aborts later than the work: a finished step must still reach the API server during shutdown.
   */
  readonly signal: AbortSignal;
}

/**
 * The only writer of Application objects. Writes of one Application never overlap; each checks
 * ownership first and puts its response into the informer's store, so that the next pass does not
 * read a stale version. All methods may be called concurrently.
 *
 * Errors: OwnershipLost, KubeApiError, KubeConnectionError. Superseded when the Application is gone
 * and the write has lost its purpose.
 */
export class ApplicationStore {
  readonly #deps: ApplicationStoreDeps;
  readonly #locks = new KeyedMutex<AppKey>();
  readonly #outcomes = new ApplicationWriteOutcomes();
  /** Announced repairs: resources that cannot be read stay until a comparison writes them. */
  readonly #repairs = new Map<AppKey, string>();

  constructor(deps: ApplicationStoreDeps) {
    this.#deps = deps;
  }

  /** The last known version, from the informer's cache. */
  get(key: AppKey): Application | undefined {
    const object = this.#deps.informer.get(key);
    return object === undefined ? undefined : asApplication(object);
  }

  /** The current version, from the API server; undefined when it is deleted. */
  async fetch(app: Application): Promise<Application | undefined> {
    const { hub, signal } = this.#deps;
    const found = await unlessNotFound(hub.get(applicationResource, appNameOf(app), { signal }));
    return found === undefined ? undefined : asApplication(found);
  }

  /**
   * Writes the difference between `before.status` and `assessed`, if any, and records Events. A
   * status that the server refuses is replaced by a condition that reports this.
   */
  async persistStatus(before: Application, assessed: ApplicationStatus): Promise<Application> {
    return this.#persist(before, statusChange(before.status, assessed), { expected: before });
  }

  async #persist(before: Application, change: StatusChange, manner: ApplicationWriteTerms): Promise<Application> {
    const { status: after, patch } = this.#withSafeReconciledAt(before, change);
    if (patch === undefined) return before;
    try {
      const stored = await this.#patchExisting(before, statusMerge(before, patch, manner), manner);
      this.#announceStatus(before, after);
      return stored;
    } catch (error) {
      if (!isContentRefused(error)) throw error;
      const time = kubeTime(this.#deps.clock.now());
      const smaller = statusPatch(before.status, unstoredStatus(before.status, error, time));
      return smaller === undefined ? before : this.#patchExisting(before, { type: 'merge', body: smaller }, manner);
    }
  }

  /** A comparison during which an operation ended must not count as one that followed it. */
  #withSafeReconciledAt(before: Application, change: StatusChange): StatusChange {
    const { status } = change;
    const known = this.#endedSince(before);
    if (known === undefined || status.reconciledAt === before.status?.reconciledAt) return change;
    const reconciledAt = reconciledAtBeforeEnd(status.reconciledAt, known.status?.operationState);
    return reconciledAt === undefined ? change : statusChange(before.status, { ...status, reconciledAt });
  }

  /** The latest known Application, if one of its syncs ended after `before` was read. */
  #endedSince(before: Application): Application | undefined {
    const known = this.get(appKeyOf(before));
    if (known === undefined || lastRunId(known) === lastRunId(before)) return undefined;
    return syncEndedAt(known.status?.operationState) === undefined ? undefined : known;
  }

  /** Records why the deletion failed, once. */
  async persistDeletionError(app: Application, message: string): Promise<boolean> {
    const fresh: ApplicationCondition = { type: 'DeletionError', message };
    const time = kubeTime(this.#deps.clock.now());
    const status = withConditions(app.status ?? {}, [fresh], ownedConditions.deletion, time);
    const patch = statusPatch(app.status, status);
    if (patch === undefined) return false;
    this.announce(app, {
      type: 'Warning',
      reason: 'StatusRefreshed',
      message: `Unable to delete application resources: ${message}`,
    });
    await this.#patchExisting(app, { type: 'merge', body: patch });
    return true;
  }

  /**
   * Marks a hard refresh request without a timestamp as in progress, so that an identical later
   * request changes the object. Returns the request as it is now; undefined when it is gone.
   */
  async markRefresh(app: Application, asked: RefreshAnnotation): Promise<RefreshAnnotation | undefined> {
    const body = markRefreshPatch(asked);
    if (body === undefined) return asked;
    try {
      return refreshAnnotation(await this.#patch(app, { type: 'json', body }));
    } catch (error) {
      if (!isPatchRefused(error)) throw error;
      const now = await this.fetch(app);
      return now === undefined ? undefined : refreshAnnotation(now);
    }
  }

  /**
   * Removes the answered refresh request. False when a new one is present, which must be answered
   * too.
   */
  async consumeRefresh(app: Application, asked: RefreshAnnotation): Promise<boolean> {
    try {
      const stored = await this.#patch(app, { type: 'json', body: removeRequestPatch('refresh', asked) });
      return refreshAnnotation(stored) === undefined;
    } catch (error) {
      if (!isPatchRefused(error)) throw error;
      const fresh = await this.fetch(app);
      if (fresh === undefined) return true;
      this.#store(app, asObject(fresh));
      const now = refreshAnnotation(fresh);
      // The same request is still present: the patch was refused for another reason. Do not loop.
      if (isSameRequest(now, asked)) throw error;
      return now === undefined;
    }
  }

  /**
   * Stores a change to `before` and removes the refresh request that it answers, in one write if
   * `before` is current. `answered` is false when a new request is present. `again`: a sync ended
   * in the meantime. Without a request, nothing is written then, since the end may hold a later
   * comparison; neither if `isExact`, and the Application has changed since it was read.
   */
  async settle(before: Application, change: StatusChange, { asked, isExact }: SettleTerms): Promise<StatusWrite> {
    if (asked === undefined) return this.#settleUnlessEnded(before, change, isExact);
    if (isSameRequest(refreshAnnotation(before), asked)) {
      const app = await this.#settleAtOnce(before, change);
      if (app !== undefined) return { app, answered: true };
    }
    const app = await this.#persist(before, change, { expected: before });
    const again = this.#endedSince(before) === undefined ? {} : { again: true };
    return { app, answered: await this.consumeRefresh(app, asked), ...again };
  }

  /**
   * Checks for an ended sync after the preceding writes: one of them may store that end with a
   * later comparison, and our diff against the older status would mix the two.
   */
  async #settleUnlessEnded(before: Application, change: StatusChange, isExact = false): Promise<StatusWrite> {
    const key = appKeyOf(before);
    const check = (): void => {
      const ended = this.#endedSince(before);
      if (ended !== undefined) throw new SyncEnded(ended);
    };
    try {
      // Check even if there is nothing to write.
      await this.#locks.run(key, this.#deps.signal, () => Promise.resolve().then(check));
      const app = await this.#persist(before, change, { expected: before, check, isExact });
      return { app, answered: true };
    } catch (error) {
      if (error instanceof SyncEnded) return { app: error.app, answered: true, again: true };
      const fresh = isExact && isConflict(error) ? await this.fetch(before) : undefined;
      if (fresh === undefined) throw error;
      this.#store(before, asObject(fresh));
      return { app: fresh, answered: true, again: true };
    }
  }

  /** Undefined: the object changed in the meantime, or the server refuses the status. */
  async #settleAtOnce(before: Application, { status, patch }: StatusChange): Promise<Application | undefined> {
    const { resourceVersion = null } = before.metadata;
    const metadata = { resourceVersion, annotations: noRefreshAnnotations };
    const body = { ...patch, metadata };
    try {
      const manner = { expected: withMergePatch(before, body) };
      const app = await this.#patchExisting(before, { type: 'merge', body }, manner);
      this.#announceStatus(before, status);
      return app;
    } catch (error) {
      if (isConflict(error) || isContentRefused(error)) return undefined;
      throw error;
    }
  }

  /**
   * Starts an operation together with the status that explains it, in one PUT with the last known
   * version, so that two starters cannot both win. `busy`: an operation is set. `changed`: decide
   * again, because one ran since `app` was read, its spec is another one, the Application is being
   * deleted, or there were too many conflicts. Both store the status, unless `app` was outdated.
   */
  async startOperation(app: Application, operation: Operation, change: StatusChange): Promise<OperationStart> {
    let { patch } = change;
    for (let attempt = 1; ; attempt += 1) {
      const fresh = await this.#toStart(app, attempt);
      if (fresh === undefined) return { result: 'gone', app };
      const refusal = startRefusal(fresh, app, attempt);
      if (refusal === 'outdated') return { result: 'changed', app: fresh, again: true };
      if (refusal !== undefined) return { ...(await this.#settleUnlessEnded(app, change)), result: refusal };
      const now = this.#deps.clock.now();
      const operationState = initialOperationState(operation, now, fresh.status?.operationState);
      const begun = { operation, operationState };
      try {
        const stored = await this.#replace(fresh, begun, patch);
        if (patch !== undefined) this.#announceStatus(app, change.status);
        return { result: 'started', app: stored };
      } catch (error) {
        if (isNotFound(error)) return { result: 'gone', app };
        if (isContentRefused(error) && patch !== undefined) {
          await this.#persist(app, change, { expected: app });
          patch = undefined;
        } else if (!isConflict(error)) throw error;
      }
    }
  }

  /** The last known version, since the server refuses an outdated one. Then the stored one. */
  async #toStart(app: Application, attempt: number): Promise<Application | undefined> {
    const known = attempt === 1 ? this.get(appKeyOf(app)) : undefined;
    return known?.metadata.resourceVersion === undefined ? this.fetch(app) : known;
  }

  async #replace(
    fresh: Application,
    { operation, operationState }: { readonly operation: Operation; readonly operationState: OperationState },
    patch: JsonObject | undefined,
  ): Promise<Application> {
    const { status = {} } = patch === undefined ? fresh : withMergePatch(fresh, patch);
    const begun = { operation: jsonOf(operation), status: jsonOf({ ...status, operationState }) };
    const next = { ...asObject(fresh), ...begun } as KubeObject;
    const send: FencedSend<KubeObject> = (call) =>
      this.#deps.hub.replace(applicationResource, next, { ...call, fieldValidation: 'Ignore' });
    return this.#locked(fresh, send, { expected: asApplication(next) });
  }

  /**
   * Stores an operation's state, cut by {@link storableState}; a final one also clears `operation`
   * and adds `history`. Retries for a minute: without this write the step would run again.
   * @throws StateRefused when even the cut state is refused and the operation still runs: end it.
   * @throws ApplicationChanged when the stored operation or its phase is not that of `app`.
   */
  async writeOperationState(
    app: Application,
    wanted: OperationState,
    history: readonly RevisionHistory[] | undefined,
  ): Promise<Application | undefined> {
    let write: StateWrite = { state: storableState(wanted, (this.get(appKeyOf(app)) ?? app).status), history };
    const isSame = deepEqual(jsonOf(write.state), jsonOf(app.status?.operationState));
    if (history === undefined && !isCompleted(wanted.phase) && isSame) {
      this.#logOperation(app, (name) => `No operation updates necessary to '${name}'. Skipping patch`);
      return app;
    }
    const deadline = this.#deps.clock.monotonic() + stateWriteLimitMs;
    let base = app;
    for (;;) {
      try {
        const stored = await this.#patch(base, operationPatch(this.#withLastComparison(base), write));
        this.#logOperation(app, (name) => `updated '${name}' operation (phase: ${wanted.phase})`);
        return stored;
      } catch (error) {
        if (this.#deps.clock.monotonic() >= deadline) throw error;
        const next = await this.#afterFailure(base, write, error);
        if (next === undefined) return undefined;
        [base, write] = next;
      }
    }
  }

  /** The version and state to store after a failed write; undefined: the Application is gone. */
  async #afterFailure(
    app: Application,
    write: StateWrite,
    error: unknown,
  ): Promise<readonly [Application, StateWrite] | undefined> {
    if (isNotFound(error)) return undefined;
    if (isTooLarge(error)) return [app, { ...write, state: shrinkState(write.state, error) }];
    if (isStateRefused(error)) {
      const fresh = await this.fetch(app);
      if (fresh === undefined) return undefined;
      if (isSameStep(fresh, app) && !isConflict(error)) return [app, { state: shrinkState(write.state, error) }];
      this.#store(app, asObject(fresh));
      if (isSameStep(fresh, app) && isUnrecorded(app, write.state)) return [fresh, write];
      throw new ApplicationChanged(appKeyOf(app));
    }
    if (!isTransient(error)) throw error;
    this.#deps.logger.warn('error patching application with operation state', { ...appLogFields(app), error });
    await this.#deps.clock.sleep(1000, this.#deps.signal);
    return [app, write];
  }

  /**
   * Stores an operation's end and the comparison after it in one write, only against version
   * `known`. Undefined on any failure; {@link writeOperationState} then stores the end alone.
   */
  async endOperation(
    known: Application,
    { state, status }: { readonly state: OperationState; readonly status: ApplicationStatus },
  ): Promise<Application | undefined> {
    const body = endPatch(known, state, status);
    try {
      const stored = await this.#patch(known, { type: 'merge', body }, { expected: withMergePatch(known, body) });
      this.#logOperation(known, (name) => `updated '${name}' operation (phase: ${state.phase})`);
      this.#announceStatus(known, status);
      return stored;
    } catch (error) {
      if (isAbort(error)) throw error;
      this.#deps.logger.debug('Storing the end of an operation without a final comparison', { error });
      return undefined;
    }
  }

  #logOperation(app: Application, message: (name: string) => string): void {
    const { namespace = '', name = '' } = app.metadata;
    this.#deps.logger.info(message(`${namespace}/${name}`), { ...appLogFields(app) });
  }

  /** Takes over the time of the last comparison, which other writes may have changed. */
  #withLastComparison(app: Application): Application {
    const { reconciledAt } = this.get(appKeyOf(app))?.status ?? {};
    return reconciledAt === undefined ? app : { ...app, status: { ...app.status, reconciledAt } };
  }

  /** Replaces the finalizers if the object is unchanged since it was read. */
  setFinalizers(app: Application, finalizers: readonly string[]): Promise<Application | undefined> {
    const metadata = { finalizers, resourceVersion: app.metadata.resourceVersion ?? null };
    return unlessNotFound(this.#patch(app, { type: 'merge', body: jsonOf({ metadata }) }));
  }

  /** Normalizes the stored spec, and removes from the status what cannot be read, if necessary. */
  async normalize(app: Application): Promise<Application> {
    const body = normalizationPatch(app);
    const [event, key] = [repairEvent(app), appKeyOf(app)];
    if (event !== undefined && this.#repairs.get(key) !== event.message) this.announce(app, event);
    if (event === undefined) this.#repairs.delete(key);
    else this.#repairs.set(key, event.message);
    return body === undefined ? app : this.#patchExisting(app, { type: 'merge', body });
  }

  /**
   * Patches an Application for the owner of its hydration group, which is that of `leader`; the
   * owner of the Application itself may be another replica. Undefined if it is deleted.
   */
  patchHydration(app: Application, patch: Patch, leader: Application): Promise<Application | undefined> {
    const expected = patch.type === 'merge' ? withMergePatch(app, patch.body as JsonObject) : app;
    return unlessNotFound(this.#patch(app, patch, { expected, fence: leader }));
  }

  announce(app: Application, event: AppEvent): void {
    this.#deps.events.record(app, event, this.#deps.signal);
  }

  #announceStatus(before: Application, after: ApplicationStatus): void {
    for (const event of statusEvents(before.status, after)) this.announce(before, { type: 'Normal', ...event });
  }

  /**
   * Sends a patch that is pointless once the Application is deleted: the pass then ends silently.
   */
  async #patchExisting(
    app: Application,
    patch: Patch,
    manner: ApplicationWriteTerms = { expected: app },
  ): Promise<Application> {
    try {
      return await this.#patch(app, patch, manner);
    } catch (error) {
      // A 404 without our name means that the API server does not serve Applications just now.
      const named = messageOf(error).includes(`"${app.metadata.name ?? ''}"`);
      if (isNotFound(error) && named) throw new Superseded(`the deletion of ${appKeyOf(app)}`);
      throw error;
    }
  }

  async #patch(
    app: Application,
    patch: Patch,
    manner: ApplicationWriteTerms = { expected: app },
  ): Promise<Application> {
    const send: FencedSend<KubeObject> = (call) =>
      this.#deps.hub.patch(applicationResource, appNameOf(app), patch, call);
    return this.#locked(app, send, manner);
  }

  /** Serializes the writes of an Application: each sees what the previous ones stored. */
  #locked(
    app: Application,
    send: FencedSend<KubeObject>,
    { expected, fence = app, check }: ApplicationWriteTerms,
  ): Promise<Application> {
    const { signal, fenced } = this.#deps;
    const key = appKeyOf(app);
    return this.#locks.run(key, signal, async () => {
      check?.();
      try {
        const stored = await this.#outcomes.follow(key, fenced(fence, signal, send));
        this.#store(expected, stored);
        return asApplication(stored);
      } finally {
        this.#outcomes.stored(key);
      }
    });
  }

  /** The resourceVersion of a write of ours that the watch may show, undefined if it may be any. */
  written(key: AppKey): Promise<string | undefined> | undefined {
    return this.#outcomes.written(key);
  }

  /** The Application is deleted, or another replica owns it. */
  forget(key: AppKey): void {
    this.#outcomes.forget(key);
    this.#repairs.delete(key);
  }

  #store(before: Application, stored: KubeObject): void {
    this.#deps.informer.writeBack(stored);
    if (hasForeignChanges(before, asApplication(stored))) this.#deps.onForeignChange(appKeyOf(before));
  }
}
