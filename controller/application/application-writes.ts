import { deepEqual, defined, messageOf } from '#base';
import type { JsonObject } from '#base';
import { isConflict, isTooLarge, KubeApiError } from '#kube';
import type { Patch } from '#kube';
import { isCompleted, jsonOf } from '#model';
import type { Application, OperationState, RevisionHistory } from '#model';
import { StateRefused } from '../shared/errors.ts';
import { isSameRequest, refreshAnnotation } from './refresh-annotation.ts';
import type { RefreshAnnotation } from './refresh-annotation.ts';
import { stateWithoutResults } from './state-size.ts';
import { endPatch, operationStateMerge, operationStatePatch, reconciledAtBeforeEnd } from './status-patch.ts';

/** After this time the pass fails: its step is repeated, and a condition can report it. */
export const stateWriteLimitMs = 60_000;
/** Conflicts after which a write is left to the next pass, so that one tenant cannot block us. */
export const maxWriteConflicts = 5;

/** The outcome of a status write. */
export interface StatusWrite {
  /** The Application as the API server stores it now. */
  readonly app: Application;
  /** False when a new request was made in the meantime. */
  readonly answered: boolean;
  /** Compare again: a sync ended or is about to end. Without a request, nothing was stored. */
  readonly again?: boolean;
  /** An identical request may have been made in the meantime: look at the sources once more. */
  readonly recheck?: boolean;
}

/** The outcome of starting an operation, and the Application as stored afterwards. */
export interface OperationStart {
  readonly result: 'started' | 'busy' | 'changed' | 'gone';
  readonly app: Application;
  /** {@link StatusWrite.again} */
  readonly again?: boolean;
}

/** How to store the status of a pass. */
export interface SettleTerms extends Pick<ApplicationWriteTerms, 'isExact'> {
  /** The refresh request that it answers. */
  readonly asked: RefreshAnnotation | undefined;
}

/** A state of an operation to store, and the history entry that goes with it. */
export interface StateWrite {
  readonly state: OperationState;
  readonly history?: readonly RevisionHistory[] | undefined;
}

/** How to perform a write of an Application. */
export interface ApplicationWriteTerms {
  /** The Application after the write if no other client changes it. */
  readonly expected: Application;
  /** The Application whose owner may write; the written one by default. */
  readonly fence?: Application;
  /** Called after the preceding writes have completed; throws to prevent this one. */
  readonly check?: () => void;
  /** A merge patch fails with a conflict if the Application has changed since it was read. */
  readonly isExact?: boolean;
}

/** A sync ended after the comparison whose result was to be written. */
export class SyncEnded extends Error {
  readonly app: Application;

  constructor(app: Application) {
    super('a sync ended in the meantime');
    this.app = app;
  }
}

/**
 * Detects other clients' changes in the response to our own write. The informer drops their events
 * if our write overtakes them.
 */
export function hasForeignChanges(before: Application, after: Application): boolean {
  return (
    !deepEqual(jsonOf(before.spec), jsonOf(after.spec)) ||
    before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp ||
    (before.operation === undefined) !== (after.operation === undefined) ||
    before.status?.operationState?.phase !== after.status?.operationState?.phase ||
    !isSameRequest(refreshAnnotation(before), refreshAnnotation(after))
  );
}

export function lastRunId(app: Application): string {
  const state = app.status?.operationState;
  return `${state?.phase ?? ''} ${state?.startedAt ?? ''} ${state?.finishedAt ?? ''}`;
}

/**
 * Why an operation that was decided for `app` does not begin with `fresh`. `outdated`: the spec is
 * another one, or the server refused the known version, so the decided status is old too.
 */
export function startRefusal(
  fresh: Application,
  app: Application,
  attempt: number,
): 'busy' | 'changed' | 'outdated' | undefined {
  if (fresh.operation !== undefined) return 'busy';
  if (!deepEqual(jsonOf(fresh.spec), jsonOf(app.spec))) return 'outdated';
  if (attempt > maxWriteConflicts) return 'changed';
  if (lastRunId(fresh) === lastRunId(app) && fresh.metadata.deletionTimestamp === undefined) return undefined;
  return attempt > 1 ? 'outdated' : 'changed';
}

/** The merge patch of a status, with the version that was read if the write is exact. */
export function statusMerge(before: Application, patch: JsonObject, { isExact = false }: ApplicationWriteTerms): Patch {
  const { resourceVersion = null } = before.metadata;
  return { type: 'merge', body: isExact ? { ...patch, metadata: { resourceVersion } } : patch };
}

export function operationPatch(app: Application, { state, history }: StateWrite): Patch {
  if (isUnrecorded(app, state)) return { type: 'merge', body: recordPatch(app, { state, history }) };
  return app.status === undefined
    ? { type: 'merge', body: operationStateMerge(app, state, history) }
    : { type: 'json', body: operationStatePatch(app, state, history) };
}

/** Whether an operation has ended that `app` does not have, neither running nor as its last one. */
export function isUnrecorded({ operation, status }: Application, { phase, startedAt }: OperationState): boolean {
  return operation === undefined && isCompleted(phase) && status?.operationState?.startedAt !== startedAt;
}

/** For the version of `app` only: a user may have started an operation since. */
function recordPatch(app: Application, { state, history }: StateWrite): JsonObject {
  const reconciledAt = reconciledAtBeforeEnd(app.status?.reconciledAt, state);
  return endPatch(app, state, { ...app.status, ...defined({ history, reconciledAt }) });
}

/**
 * The final state without its results, which the server did not store.
 * @throws the server's error, or {@link StateRefused}, when nothing can be dropped.
 */
export function shrinkState(state: OperationState, refusal: unknown): OperationState {
  if (!isCompleted(state.phase)) throw new StateRefused(refusal);
  const bare = stateWithoutResults(state);
  if (bare === undefined) throw refusal as Error;
  const message = `${bare.message ?? ''} (its results are omitted: ${messageOf(refusal)})`;
  return isTooLarge(refusal) ? bare : { ...bare, message };
}

/** The server did not store a status because of what it contains: a retry does not help. */
export function isContentRefused(error: unknown): boolean {
  return isTooLarge(error) || (error instanceof KubeApiError && (error.status === 422 || error.status === 400));
}

/** A JSON patch test failed, or its path does not exist. */
export function isPatchRefused(error: unknown): boolean {
  return error instanceof KubeApiError && error.status === 422;
}

/** The stored operation or its state is no longer the one that was read. */
export function isStateRefused(error: unknown): boolean {
  return isPatchRefused(error) || isConflict(error);
}

/** Whether the operations and the steps that they have reached are equal. */
export function isSameStep(a: Application, b: Application): boolean {
  const [of, other] = [a.status?.operationState, b.status?.operationState];
  const isSameState = of?.phase === other?.phase && of?.startedAt === other?.startedAt;
  return isSameState && deepEqual(jsonOf(a.operation), jsonOf(b.operation));
}

/** Whether the same write may succeed soon. */
export function isTransient(error: unknown): boolean {
  if (error instanceof KubeApiError) return error.status >= 500 || error.status === 429;
  return (
    error instanceof Error && 'code' in error && ['KUBE_CONNECTION', 'DEADLINE_EXCEEDED'].includes(String(error.code))
  );
}
