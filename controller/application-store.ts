import { deepEqual, isAbort, KeyedMutex, messageOf, Superseded } from '#base';
import type { Clock, JsonObject } from '#base';
import { isConflict, isNotFound, isTooLarge, KubeApiError } from '#kube';
import type { Informer, KubeClient, Patch } from '#kube';
import { annotations, appKeyOf, asApplication, asObject, isCompleted, jsonOf, splitAppKey } from '#model';
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
import { ownedConditions } from './conditions.ts';
import { ApplicationChanged, StateTooLarge } from './errors.ts';
import type { AppEvent, EventRecorder } from './events.ts';
import { inProgressMark, refreshAnnotation } from './freshness.ts';
import type { AskedRefresh } from './freshness.ts';
import { endOfSync, firstState } from './operation-state.ts';
import type { Settled } from './refresh.ts';
import { applicationResource } from './resources.ts';
import { bareState, storableState } from './state-size.ts';
import {
  comparedBefore,
  endPatch,
  normalizationPatch,
  operationStateMerge,
  operationStatePatch,
  patched,
  statusEvents,
  statusPatch,
  tooLargeStatus,
  withConditions,
} from './status-patch.ts';
import type { Send } from './ownership-guard.ts';
import { kubeTime } from './kube-time.ts';
import { changedByOthers, lastRun, requestOf, requestText, SyncEnded } from './application-writes.ts';
import type { Manner } from './application-writes.ts';

export interface ApplicationStoreDeps {
  readonly hub: KubeClient;
  readonly informer: Informer;
  readonly events: EventRecorder;
  /** Sends a write if this replica may write this Application now; throws OwnershipLost otherwise. */
  readonly fenced: <T>(app: Application, signal: AbortSignal, send: Send<T>) => Promise<T>;
  /** Someone else's change came back with the answer to our write: look at the application again. */
  readonly onForeignChange: (key: AppKey) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ends later than the work does: a finished step must still reach the API server while the process goes down. */
  readonly signal: AbortSignal;
}

/** An object that somebody else has written so often between our read and our write is left to the next pass: no tenant shall hold one up. */
const mostConflicts = 5;

/** How the start of an operation went, and the application as it is stored then. */
export interface Started {
  readonly result: 'started' | 'busy' | 'changed' | 'gone';
  readonly app: Application;
}

/**
 * The only writer of Application objects. Writes of one application never overlap (T-Q-2); each checks ownership first; each answer goes
 * back into the informer's store, so that the next pass does not read what was before. All methods may be called concurrently.
 *
 * Errors: OwnershipLost, KubeApiError, KubeConnectionError. Superseded when the Application is gone and the write means nothing without it.
 */
export class ApplicationStore {
  readonly #deps: ApplicationStoreDeps;
  readonly #locks = new KeyedMutex<AppKey>();
  /** Writes that are under way: the version that each makes. */
  readonly #writing = new Map<AppKey, Promise<string | undefined>>();

  constructor(deps: ApplicationStoreDeps) {
    this.#deps = deps;
  }

  /** The last known version, from memory. */
  get(key: AppKey): Application | undefined {
    const object = this.#deps.informer.get(key);
    return object === undefined ? undefined : asApplication(object);
  }

  list(): readonly Application[] {
    return this.#deps.informer.list().map(asApplication);
  }

  /** The current version, from the API server; undefined when it is gone. */
  async fetch(key: AppKey): Promise<Application | undefined> {
    try {
      return asApplication(await this.#deps.hub.get(applicationResource, splitAppKey(key), this.#call()));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /**
   * Writes what differs between `before.status` and `assessed`, and nothing when nothing does; says so by Events. A status that is too big
   * for the server is replaced by a condition that says that.
   */
  async persistStatus(before: Application, assessed: ApplicationStatus): Promise<Application> {
    return this.#persist(before, assessed, { expected: before });
  }

  async #persist(before: Application, assessed: ApplicationStatus, manner: Manner): Promise<Application> {
    const after = this.#dated(before, assessed);
    const patch = statusPatch(before.status, after);
    if (patch === undefined) return before;
    try {
      const stored = await this.#patchExisting(before, { type: 'merge', body: patch }, manner);
      this.#announceStatus(before, after);
      return stored;
    } catch (error) {
      if (!isTooLarge(error)) throw error;
      const smaller = statusPatch(before.status, tooLargeStatus(before.status, kubeTime(this.#deps.clock.now())));
      return smaller === undefined ? before : this.#patchExisting(before, { type: 'merge', body: smaller }, manner);
    }
  }

  /** A comparison that an operation ended under does not count as one after it. */
  #dated(before: Application, after: ApplicationStatus): ApplicationStatus {
    const known = this.#endedSince(before);
    if (known === undefined || after.reconciledAt === before.status?.reconciledAt) return after;
    const reconciledAt = comparedBefore(after.reconciledAt, known.status?.operationState);
    return reconciledAt === undefined ? after : { ...after, reconciledAt };
  }

  /** The Application as it is known now, if a sync of it has ended since `before` was read. */
  #endedSince(before: Application): Application | undefined {
    const known = this.get(appKeyOf(before));
    if (known === undefined || lastRun(known) === lastRun(before)) return undefined;
    return endOfSync(known.status?.operationState) === undefined ? undefined : known;
  }

  /** Deletion failed: says why, once. */
  async persistDeletionError(app: Application, message: string): Promise<void> {
    const fresh: ApplicationCondition = { type: 'DeletionError', message };
    const status = withConditions(
      app.status ?? {},
      [fresh],
      ownedConditions.deletion,
      kubeTime(this.#deps.clock.now()),
    );
    const patch = statusPatch(app.status, status);
    if (patch === undefined) return;
    this.#announce(app, {
      type: 'Warning',
      reason: 'StatusRefreshed',
      message: `Unable to delete application resources: ${message}`,
    });
    await this.#patchExisting(app, { type: 'merge', body: patch });
  }

  /**
   * Marks a refresh request that carries no timestamp as being worked on, so that an equal one written meanwhile changes the object, and
   * is seen. Returns the request as it stands now, undefined when it is gone.
   */
  async markRefresh(app: Application, asked: AskedRefresh): Promise<AskedRefresh | undefined> {
    if (asked.timestamp !== undefined || asked.marked) return asked;
    const path = pointer(annotations.refresh);
    const marked = `${asked.value}${inProgressMark}`;
    const body = [
      { op: 'test', path, value: asked.value },
      { op: 'replace', path, value: marked },
    ];
    try {
      return refreshAnnotation(await this.#patch(app, { type: 'json', body }));
    } catch (error) {
      if (!isInvalid(error)) throw error;
      const now = await this.fetch(appKeyOf(app));
      return now === undefined ? undefined : refreshAnnotation(now);
    }
  }

  /**
   * Removes the refresh request that was answered. False when another one stands there now: it must be answered too.
   */
  async consumeRefresh(app: Application, asked: AskedRefresh): Promise<boolean> {
    const body: JsonObject[] = [{ op: 'test', path: pointer(annotations.refresh), value: asked.value }];
    if (asked.timestamp !== undefined)
      body.push(
        { op: 'test', path: pointer(annotations.refreshTimestamp), value: asked.timestamp },
        { op: 'remove', path: pointer(annotations.refreshTimestamp) },
      );
    body.push({ op: 'remove', path: pointer(annotations.refresh) });
    try {
      const now = refreshAnnotation(await this.#patch(app, { type: 'json', body }));
      return now === undefined;
    } catch (error) {
      if (!isInvalid(error)) throw error;
      const fresh = await this.fetch(appKeyOf(app));
      if (fresh === undefined) return true;
      this.#store(app, asObject(fresh));
      const now = refreshAnnotation(fresh);
      // The very request still stands there: the patch was refused for another reason, which must not become a busy loop.
      if (now?.value === asked.value && now.timestamp === asked.timestamp) throw error;
      return now === undefined;
    }
  }

  /**
   * Stores `after` and, in the same write, takes away the refresh request that it answers: if the object has not changed since `before` was
   * read. Otherwise in two writes, each by its own difference and test. `answered` is false when another request stands there now. What nobody
   * asked for is not written when a sync has ended meanwhile, whose end may have told of a later comparison: it is to be made `again`.
   */
  async settle(before: Application, after: ApplicationStatus, asked: AskedRefresh | undefined): Promise<Settled> {
    if (asked === undefined) return this.#settleUnlessEnded(before, after);
    if (requestOf(before) === requestText(asked)) {
      const app = await this.#settleAtOnce(before, after);
      if (app !== undefined) return { app, answered: true };
    }
    const app = await this.persistStatus(before, after);
    const again = this.#endedSince(before) === undefined ? {} : { again: true };
    return { app, answered: await this.consumeRefresh(app, asked), ...again };
  }

  /**
   * Whether a sync has ended is asked when the writes before this one have been answered: its end, with another comparison, may be one of them. Stored by
   * its difference to what was there before that, this one would be mixed with the other.
   */
  async #settleUnlessEnded(before: Application, after: ApplicationStatus): Promise<Settled> {
    const key = appKeyOf(before);
    const check = (): void => {
      const ended = this.#endedSince(before);
      if (ended !== undefined) throw new SyncEnded(ended);
    };
    try {
      // Also where there is nothing to write.
      await this.#locks.run(key, this.#deps.signal, () => Promise.resolve().then(check));
      const app = await this.#persist(before, after, { expected: before, check });
      return { app, answered: true };
    } catch (error) {
      if (error instanceof SyncEnded) return { app: error.app, answered: true, again: true };
      throw error;
    }
  }

  /** Undefined: the object has changed meanwhile, or the status is too big for it. */
  async #settleAtOnce(before: Application, after: ApplicationStatus): Promise<Application | undefined> {
    const { resourceVersion = null } = before.metadata;
    const taken = { [annotations.refresh]: null, [annotations.refreshTimestamp]: null };
    const body = { ...statusPatch(before.status, after), metadata: { resourceVersion, annotations: taken } };
    try {
      const app = await this.#patchExisting(before, { type: 'merge', body }, { expected: patched(before, body) });
      this.#announceStatus(before, after);
      return app;
    } catch (error) {
      if (isConflict(error) || isTooLarge(error)) return undefined;
      throw error;
    }
  }

  /**
   * Begins an operation, with the status that says why: one PUT with the resourceVersion that was read, so that no two starters can both
   * win. It holds the state that the operation begins with, too, in the place of the last one's. `busy` when an operation is there already,
   * `changed` when one has run since `app` was read, or somebody writes the object all the time (decide again); the status is stored all the
   * same, unless the Application is gone.
   */
  async startOperation(app: Application, operation: Operation, status: ApplicationStatus): Promise<Started> {
    let patch = statusPatch(app.status, status);
    for (let attempt = 1; ; attempt += 1) {
      const fresh = await this.fetch(appKeyOf(app));
      if (fresh === undefined) return { result: 'gone', app };
      const isBusy = fresh.operation !== undefined && fresh.operation !== null;
      const isContended = attempt > mostConflicts;
      const isChanged =
        lastRun(fresh) !== lastRun(app) || fresh.metadata.deletionTimestamp !== undefined || isContended;
      if (isBusy || isChanged)
        return { result: isBusy ? 'busy' : 'changed', app: (await this.settle(app, status, undefined)).app };
      const begun = { operation, operationState: firstState(operation, this.#deps.clock.now()) };
      try {
        const stored = await this.#replace(fresh, begun, patch);
        if (patch !== undefined) this.#announceStatus(app, status);
        return { result: 'started', app: stored };
      } catch (error) {
        if (isNotFound(error)) return { result: 'gone', app };
        if (isTooLarge(error) && patch !== undefined) {
          await this.persistStatus(app, status);
          patch = undefined;
        } else if (!isConflict(error)) throw error;
      }
    }
  }

  async #replace(
    fresh: Application,
    { operation, operationState }: { readonly operation: Operation; readonly operationState: OperationState },
    patch: JsonObject | undefined,
  ): Promise<Application> {
    const { status = {} } = patch === undefined ? fresh : patched(fresh, patch);
    const begun = { operation: jsonOf(operation), status: jsonOf({ ...status, operationState }) };
    const next = { ...asObject(fresh), ...begun } as KubeObject;
    const send: Send<KubeObject> = (signal) =>
      this.#deps.hub.replace(applicationResource, next, { signal, fieldValidation: 'Ignore' });
    return this.#locked(fresh, send, { expected: asApplication(next) });
  }

  /**
   * Stores the state of an operation; a final one clears `operation` and adds `history` in the same write, so that a crash leaves all or
   * nothing. Retries for as long as the process lives: without this write the operation would run again. A state that is too big is stored with less,
   * see {@link storableState}.
   *
   * @throws StateTooLarge when even that is refused and the operation still runs: end it.
   * @throws ApplicationChanged when the stored state is of another operation or in another phase than the one that `app` was read with (a person
   * terminated it, another owner began the next one); read again.
   */
  async writeOperationState(
    app: Application,
    wanted: OperationState,
    history: readonly RevisionHistory[] | undefined,
  ): Promise<Application | undefined> {
    let state = storableState(wanted, (this.get(appKeyOf(app)) ?? app).status);
    if (
      history === undefined &&
      !isCompleted(state.phase) &&
      deepEqual(jsonOf(state), jsonOf(app.status?.operationState))
    )
      return app;
    for (;;) {
      try {
        return await this.#patch(app, operationPatch(this.#comparedLast(app), state, history));
      } catch (error) {
        if (isNotFound(error)) return undefined;
        if (isTooLarge(error)) {
          state = smaller(state, error);
          continue;
        }
        if (isInvalid(error)) {
          await this.#refused(app, error);
          return;
        }
        if (error instanceof KubeApiError && error.status < 500 && error.status !== 429) throw error;
        if (!(error instanceof KubeApiError) && !isTransient(error)) throw error;
        this.#deps.logger.warn('Unable to store the state of an operation, trying again', { error });
        await this.#deps.clock.sleep(1000, this.#deps.signal);
      }
    }
  }

  /**
   * Stores the end of an operation together with the status of a comparison that was made after its last step: one write, of exactly the version
   * `known`. Undefined when that could not be, for whatever reason (somebody has written the object since, the status is too big, the server does
   * not answer): nothing is lost then, {@link writeOperationState} stores the end alone.
   */
  async endOperation(
    known: Application,
    { state, status }: { readonly state: OperationState; readonly status: ApplicationStatus },
  ): Promise<Application | undefined> {
    const body = endPatch(known, state, status);
    try {
      const stored = await this.#patch(known, { type: 'merge', body }, { expected: patched(known, body) });
      this.#announceStatus(known, status);
      return stored;
    } catch (error) {
      if (isAbort(error)) throw error;
      this.#deps.logger.debug('The end of an operation is stored without a comparison', { error });
      return undefined;
    }
  }

  /** With the time of the last comparison, which others make meanwhile. */
  #comparedLast(app: Application): Application {
    const { reconciledAt } = this.get(appKeyOf(app))?.status ?? {};
    return reconciledAt === undefined ? app : { ...app, status: { ...app.status, reconciledAt } };
  }

  /** A state was refused: because the stored one is another than we knew, or for a reason of its own. */
  async #refused(app: Application, error: unknown): Promise<undefined> {
    const fresh = await this.fetch(appKeyOf(app));
    if (fresh === undefined) return undefined;
    const [now, then] = [fresh, app].map(({ status }) => status?.operationState);
    if (now?.phase === then?.phase && now?.startedAt === then?.startedAt) throw error as Error;
    this.#store(app, asObject(fresh));
    throw new ApplicationChanged(appKeyOf(app));
  }

  /** Replaces the list of finalizers, if the object has not changed since it was read. */
  async setFinalizers(app: Application, finalizers: readonly string[]): Promise<Application | undefined> {
    const metadata = { finalizers, resourceVersion: app.metadata.resourceVersion ?? null };
    try {
      return await this.#patch(app, { type: 'merge', body: jsonOf({ metadata }) });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Writes the spec in its normal form, if it is not. */
  async normalize(app: Application): Promise<Application> {
    const body = normalizationPatch(app);
    return body === undefined ? app : this.#patchExisting(app, { type: 'merge', body });
  }

  #announce(app: Application, event: AppEvent): void {
    void this.#deps.events.record(app, event, this.#deps.signal);
  }

  announce(app: Application, event: AppEvent): void {
    this.#announce(app, event);
  }

  #announceStatus(before: Application, after: ApplicationStatus): void {
    for (const event of statusEvents(before.status, after)) this.#announce(before, { type: 'Normal', ...event });
  }

  /** For writes that mean nothing once the Application is gone: the pass ends then, quietly, since the deletion is what counts. */
  async #patchExisting(app: Application, patch: Patch, manner: Manner = { expected: app }): Promise<Application> {
    try {
      return await this.#patch(app, patch, manner);
    } catch (error) {
      // A server that does not serve Applications just now (their CRD, an aggregator) says 404, too, and names none.
      const named = messageOf(error).includes(`"${app.metadata.name ?? ''}"`);
      if (isNotFound(error) && named) throw new Superseded(`the deletion of ${appKeyOf(app)}`);
      throw error;
    }
  }

  async #patch(app: Application, patch: Patch, manner: Manner = { expected: app }): Promise<Application> {
    const { namespace, name } = splitAppKey(appKeyOf(app));
    const send: Send<KubeObject> = (signal) =>
      this.#deps.hub.patch(applicationResource, { namespace, name }, patch, { signal });
    return this.#locked(app, send, manner);
  }

  /** One write after the other: each knows what those before it have stored. */
  #locked(app: Application, send: Send<KubeObject>, { expected, check }: Manner): Promise<Application> {
    const { signal, fenced } = this.#deps;
    const key = appKeyOf(app);
    return this.#locks.run(key, signal, async () => {
      check?.();
      const sent = fenced(app, signal, send);
      this.#writing.set(
        key,
        sent.then(
          ({ metadata }) => metadata.resourceVersion,
          () => undefined,
        ),
      );
      try {
        const stored = await sent;
        this.#store(expected, stored);
        return asApplication(stored);
      } finally {
        this.#writing.delete(key);
      }
    });
  }

  /** The version that the write makes that is under way for an application, undefined where it fails; undefined: there is none. */
  written(key: AppKey): Promise<string | undefined> | undefined {
    return this.#writing.get(key);
  }

  #call(): { readonly signal: AbortSignal } {
    return { signal: this.#deps.signal };
  }

  #store(before: Application, stored: KubeObject): void {
    this.#deps.informer.writeBack(stored);
    if (changedByOthers(before, asApplication(stored))) this.#deps.onForeignChange(appKeyOf(before));
  }
}

function operationPatch(
  app: Application,
  state: OperationState,
  history: readonly RevisionHistory[] | undefined,
): Patch {
  return app.status === undefined
    ? { type: 'merge', body: operationStateMerge(state, history) }
    : { type: 'json', body: operationStatePatch(app, state, history) };
}

/** @throws what the server said, or {@link StateTooLarge}, when nothing can be left out. */
function smaller(state: OperationState, refusal: unknown): OperationState {
  if (!isCompleted(state.phase)) throw new StateTooLarge(refusal);
  const bare = bareState(state);
  if (bare === undefined) throw refusal as Error;
  return bare;
}

function pointer(annotation: string): string {
  return `/metadata/annotations/${annotation.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** A test of a JSON patch failed, or what it names is not there. */
function isInvalid(error: unknown): boolean {
  return error instanceof KubeApiError && error.status === 422;
}

function isTransient(error: unknown): boolean {
  return (
    error instanceof Error && 'code' in error && ['KUBE_CONNECTION', 'DEADLINE_EXCEEDED'].includes(String(error.code))
  );
}
