import { asCount, defined, omit, outsideText, parseSecondsOrDuration } from '#base';
import { hasOperation, isCompleted } from '#model';
import type { Application, Operation, OperationState, RetryStrategy } from '#model';
import { malformedField } from './malformed-state.ts';
import { believedSkewMs, kubeTime, parseTime } from '../shared/kube-time.ts';

/**
 * The state machine of `status.operationState`. The object is the only memory of an operation
 * (decision D8): each pass reads it, runs one step and writes what the next pass needs, here, after
 * a restart, or on another replica.
 *
 *   (none, completed) --operation set--> Running --step ends--> Succeeded | Failed | Error
 *                                         |  ^  |
 *                        retries left --> |  |  +-- timeout, user, deletion --> Terminating
 *                                  Running + finishedAt                        |
 *                                  (waits for its retry)                       +--> Failed | Error
 *
 * Source: Argo CD appcontroller.go processRequestedAppOperation. Difference: the wait before a
 * retry matches its message (Argo CD waits one exponent longer).
 */
export type PassStart =
  /** Write `state`, then run a step of it. */
  | { readonly do: 'begin' | 'continue'; readonly state: OperationState; readonly timedOut: boolean }
  /** Run a step; nothing to write first. */
  | { readonly do: 'resume'; readonly state: OperationState }
  | { readonly do: 'wait'; readonly ms: number; readonly reason: string }
  /** Write `state`, which is final. */
  | { readonly do: 'end'; readonly state: OperationState };

/** How a pass begins. Requires {@link hasOperation}. */
export function startPass(app: Application, now: number, syncTimeoutMs: number): PassStart {
  const current = app.status?.operationState ?? undefined;
  if (current === undefined || isCompleted(current.phase)) {
    const state = initialOperationState(app.operation ?? {}, now, current);
    return app.metadata.deletionTimestamp === undefined
      ? { do: 'begin', timedOut: false, state }
      : { do: 'end', state: withEndTime({ ...state, phase: 'Failed', message: 'Operation terminated' }, now) };
  }
  const malformed = malformedField(current);
  if (malformed !== undefined) return { do: 'end', state: unreadableState(current, malformed, now) };
  if (current.phase === 'Terminating') return { do: 'resume', state: current };
  const started = parseTime(current.startedAt) ?? now;
  const timedOut = syncTimeoutMs > 0 && now > started + syncTimeoutMs;
  const reason = terminationReason(app, timedOut);
  if (reason !== undefined)
    return {
      do: 'continue',
      timedOut,
      state: { ...current, phase: 'Terminating', message: `operation is terminating ${reason}` },
    };
  return current.finishedAt === undefined ? { do: 'resume', state: current } : startRetry(current, now);
}

/** Ends an operation whose state no step can read: what it has done is unknown. */
function unreadableState({ startedAt }: OperationState, malformed: string, now: number): OperationState {
  const message = `The state of the operation cannot be read: status.operationState.${malformed}. Start it again.`;
  const start = parseTime(typeof startedAt === 'string' ? startedAt : undefined) ?? now;
  return withEndTime({ operation: {}, phase: 'Error', message, startedAt: kubeTime(start) }, now);
}

/**
 * Why a running operation is terminated; undefined: it is not. Argo CD terminates it by the timeout
 * only: a deletion waits for the operation, and one that was removed stays Running.
 */
function terminationReason({ metadata, operation }: Application, timedOut: boolean): string | undefined {
  if (metadata.deletionTimestamp !== undefined) return 'because the application is being deleted';
  if (operation === undefined) return 'because it was removed from the application';
  return timedOut ? 'due to timeout' : undefined;
}

/** Identifies this attempt of this operation on every replica. */
export function attemptOf({ startedAt, retryCount = 0 }: OperationState): string {
  return `${startedAt}/${retryCount}`;
}

/** The initial state of an operation. `last`: that of the Application's last one. */
export function initialOperationState(
  operation: Operation,
  now: number,
  last: OperationState | undefined,
): OperationState {
  // Argo CD's structs always include these two, even when empty.
  const { sync, ...rest } = operation;
  // Without the schema of Applications, a null may be stored.
  const shown = {
    ...rest,
    ...defined({ sync: sync ?? undefined }),
    initiatedBy: operation.initiatedBy ?? {},
    retry: operation.retry ?? {},
  };
  return { operation: shown, phase: 'Running', startedAt: kubeTime(startTime(now, last)) };
}

/**
 * Later than that of the last operation, in whole seconds: hooks, and writes that arrive late, are
 * recognized by it. A clock that was set back by more than a minute is believed.
 */
function startTime(now: number, last: OperationState | undefined): number {
  const before = parseTime(last?.startedAt);
  const aheadMs = before === undefined ? -1 : before - Math.floor(now / 1000) * 1000;
  return before !== undefined && aheadMs >= 0 && aheadMs < believedSkewMs ? before + 1000 : now;
}

/** The wait ends at once if a clock that was far ahead wrote its begin. */
function startRetry(current: OperationState, now: number): PassStart {
  const finished = parseTime(current.finishedAt) ?? now;
  const retryAt = nextRetryAt(current.operation.retry, finished, retriesBefore(current));
  if (typeof retryAt === 'string')
    return { do: 'end', state: withEndTime({ ...current, phase: 'Error', message: retryAt }, now) };
  if (retryAt > now && finished - now <= believedSkewMs)
    return { do: 'wait', ms: retryAt - now, reason: `retry ${current.retryCount ?? 1} of the operation` };
  const latest = current.operation.retry?.refresh === true;
  const rest = omit(current, 'finishedAt', 'syncResult');
  const attempt = `Attempt #${current.retryCount ?? 1}`;
  return {
    do: 'continue',
    timedOut: false,
    state: {
      ...rest,
      operation: latest ? withoutRevisions(current.operation) : current.operation,
      message: latest ? `Retrying operation with latest revisions. ${attempt}` : `Retrying operation. ${attempt}`,
    },
  };
}

function withoutRevisions(operation: Operation): Operation {
  if (operation.sync === undefined) return operation;
  return { ...operation, sync: omit(operation.sync, 'revision', 'revisions') };
}

/** First syncs of many new Applications must not delay the repairs of those that are in use. */
export function isNeverSynced({ status }: Application): boolean {
  return (status?.history ?? []).length === 0;
}

/** A sync began at least once, so the resources of the status may be the Application's own. */
export function wasSynced({ status }: Application): boolean {
  return (status?.history ?? []).length > 0 || status?.operationState !== undefined;
}

/** Whether an operation or a deletion is in progress. */
export function hasWork(app: Application): boolean {
  return hasOperation(app) || app.metadata.deletionTimestamp !== undefined;
}

/** End of a sync that a comparison must follow; undefined while it runs, and for a dry run. */
export function syncEndedAt(state: OperationState | undefined): number | undefined {
  if (state?.operation.sync === undefined || state.operation.sync.dryRun === true) return undefined;
  return isCompleted(state.phase) ? parseTime(state.finishedAt) : undefined;
}

export interface PassEnd {
  /** The state that the step ran with, updated by its phase, message and result. */
  readonly state: OperationState;
  /** The phase was Terminating when the step began. */
  readonly wasTerminating: boolean;
  /** The sync timeout was detected in this pass. */
  readonly timedOut: boolean;
  readonly now: number;
}

/** The state to store after a step: counts retries, and gives final states a time and message. */
export function endPass({ state, wasTerminating, timedOut, now }: PassEnd): OperationState {
  if (state.phase === 'Succeeded') return withEndTime(state, now);
  if (state.phase !== 'Failed' && state.phase !== 'Error') return state;
  const retried = asCount(state.retryCount, 0);
  const limit = state.operation.retry?.limit ?? 0;
  if (!wasTerminating && (limit < 0 || retried < limit)) return retryLater(state, now);
  const message = (state.message ?? '') + (wasTerminating && timedOut ? ', triggered by controller sync timeout' : '');
  return withEndTime({ ...state, message: retried > 0 ? `${message} (retried ${retried} times).` : message }, now);
}

function retryLater(state: OperationState, now: number): OperationState {
  const retried = asCount(state.retryCount, 0);
  const retryAt = nextRetryAt(state.operation.retry, now, retried);
  if (typeof retryAt === 'string')
    return withEndTime(
      { ...state, phase: 'Error', message: `${state.message ?? ''} (failed to retry: ${retryAt})` },
      now,
    );
  return {
    ...state,
    phase: 'Running',
    finishedAt: kubeTime(now),
    retryCount: retried + 1,
    message: `${state.message ?? ''}. Retrying attempt #${retried + 1} at ${kubeTime(retryAt)}.`,
  };
}

function withEndTime(state: OperationState, now: number): OperationState {
  return { ...state, finishedAt: kubeTime(now) };
}

/**
 * When attempt `retryCount + 1` starts, or why the backoff is invalid. Defaults: 5 s, doubled each
 * time, at most 3 minutes.
 */
export function nextRetryAt(retry: RetryStrategy | undefined, from: number, retryCount: number): number | string {
  const backoff = retry?.backoff;
  const duration = parseDurationMs(backoff?.duration, 5000);
  const max = parseDurationMs(backoff?.maxDuration, 180_000);
  if (typeof duration === 'string') return duration;
  if (typeof max === 'string') return max;
  const wait = duration === 0 ? 0 : duration * asCount(backoff?.factor, 2) ** retryCount;
  return from + Math.max(shortestRetryMs, Math.min(wait, max > 0 ? max : longestRetryMs));
}

/**
 * Bounds of the wait before a retry; the upper one without a maxDuration. Argo CD has none: by a
 * duration of 0 it retries without a pause, and a large factor overflows.
 */
const shortestRetryMs = 1000;
const longestRetryMs = 86_400_000;

/** The retries before the one that `state` waits for. */
export function retriesBefore({ retryCount }: OperationState): number {
  return Math.max(0, asCount(retryCount, 1) - 1);
}

function parseDurationMs(text: string | undefined, fallback: number): number | string {
  if (text === undefined || text === '') return fallback;
  return parseSecondsOrDuration(text) ?? `time: invalid duration "${text}"`;
}

/** Longest time until an operation in this state must be checked again, in milliseconds. */
export function backstopMs(state: OperationState, now: number, syncTimeoutMs: number): number {
  const backstop = 30_000;
  if (syncTimeoutMs <= 0 || state.phase === 'Terminating') return backstop;
  const started = parseTime(state.startedAt) ?? now;
  return Math.max(1000, Math.min(backstop, started + syncTimeoutMs + 1000 - now));
}

/** A state that is safe to store: messages may quote servers, or URLs that contain a password. */
export function redactedState(state: OperationState): OperationState {
  const { message, syncResult } = state;
  const resources = syncResult?.resources?.map((result) =>
    result.message === undefined ? result : { ...result, message: outsideText('field', result.message) },
  );
  return {
    ...state,
    ...(message === undefined ? {} : { message: outsideText('field', message) }),
    ...(syncResult === undefined || resources === undefined ? {} : { syncResult: { ...syncResult, resources } }),
  };
}
