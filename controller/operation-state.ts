import { omit, outsideText, parseSecondsOrDuration } from '#base';
import { isCompleted } from '#model';
import type { Application, Operation, OperationState, RetryStrategy } from '#model';
import { kitchenTime, kubeTime, parseTime } from './kube-time.ts';

/**
 * The state machine of `status.operationState`. The object is the only memory of an operation (decision D8): each pass reads it, does one
 * step, and writes what the next pass (here, after a restart, or on another replica) needs.
 *
 *   (none, completed) --operation set--> Running --step ends--> Succeeded | Failed | Error
 *                                         |  ^  |
 *                        retries left --> |  |  +-- timeout, or a person asks --> Terminating --> Failed | Error
 *                                  Running + finishedAt (waits for its retry)
 *
 * Source: Argo CD appcontroller.go processRequestedAppOperation. Differences: the wait before a retry is the one that the message
 * announces (Argo CD waits one exponent longer); an automated operation is retried with the latest revision unless it is partial, so that
 * a commit that repairs a failing sync is not held up by the retries of the broken one.
 */
export type PassStart =
  /** Write `state`, then run a step of it. */
  | { readonly do: 'begin' | 'continue'; readonly state: OperationState; readonly timedOut: boolean }
  /** Run a step; nothing to write first. */
  | { readonly do: 'resume'; readonly state: OperationState }
  | { readonly do: 'wait'; readonly ms: number; readonly reason: string }
  /** Write `state`: it is final. */
  | { readonly do: 'end'; readonly state: OperationState };

/** What a pass begins with. `app.operation` is set. */
export function startPass(app: Application, now: number, syncTimeoutMs: number): PassStart {
  const current = app.status?.operationState;
  if (current === undefined || isCompleted(current.phase))
    return { do: 'begin', timedOut: false, state: firstState(app.operation ?? {}, now) };
  if (current.phase === 'Terminating') return { do: 'resume', state: current };
  const started = parseTime(current.startedAt) ?? now;
  if (syncTimeoutMs > 0 && now > started + syncTimeoutMs)
    return {
      do: 'continue',
      timedOut: true,
      state: { ...current, phase: 'Terminating', message: 'operation is terminating due to timeout' },
    };
  return current.finishedAt === undefined ? { do: 'resume', state: current } : startRetry(current, now);
}

/** What an operation begins with. */
export function firstState(operation: Operation, now: number): OperationState {
  // Argo CD's structs always show these two, also when they are empty.
  const shown = { ...operation, initiatedBy: operation.initiatedBy ?? {}, retry: operation.retry ?? {} };
  return { operation: shown, phase: 'Running', startedAt: kubeTime(now) };
}

function startRetry(current: OperationState, now: number): PassStart {
  const finished = parseTime(current.finishedAt) ?? now;
  const retryAt = nextRetryAt(current.operation.retry, finished, Math.max(0, (current.retryCount ?? 1) - 1));
  if (typeof retryAt === 'string')
    return { do: 'end', state: ended({ ...current, phase: 'Error', message: retryAt }, now) };
  if (retryAt > now)
    return { do: 'wait', ms: retryAt - now, reason: `retry ${current.retryCount ?? 1} of the operation` };
  const latest = retriesLatest(current.operation);
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

function retriesLatest(operation: Operation): boolean {
  if (operation.retry?.refresh !== undefined) return operation.retry.refresh;
  return operation.initiatedBy?.automated === true && (operation.sync?.resources?.length ?? 0) === 0;
}

function withoutRevisions(operation: Operation): Operation {
  if (operation.sync === undefined) return operation;
  return { ...operation, sync: omit(operation.sync, 'revision', 'revisions') };
}

/** When a sync ended that a comparison must follow; undefined for a dry run, and while it runs. */
export function endOfSync(state: OperationState | undefined): number | undefined {
  if (state?.operation.sync === undefined || state.operation.sync.dryRun === true) return undefined;
  return isCompleted(state.phase) ? parseTime(state.finishedAt) : undefined;
}

export interface PassEnd {
  /** The state that the step ran with, with the step's phase, message and result put in. */
  readonly state: OperationState;
  /** The phase was Terminating when the step began. */
  readonly wasTerminating: boolean;
  /** This same pass found the operation to be over its time. */
  readonly timedOut: boolean;
  readonly now: number;
}

/** What is written after a step: retries are counted, final states get their time and the words about retries. */
export function endPass({ state, wasTerminating, timedOut, now }: PassEnd): OperationState {
  if (state.phase === 'Succeeded') return ended(state, now);
  if (state.phase !== 'Failed' && state.phase !== 'Error') return state;
  const retried = state.retryCount ?? 0;
  const limit = state.operation.retry?.limit ?? 0;
  if (!wasTerminating && (limit < 0 || retried < limit)) return retryLater(state, now);
  const message = (state.message ?? '') + (wasTerminating && timedOut ? ', triggered by controller sync timeout' : '');
  return ended({ ...state, message: retried > 0 ? `${message} (retried ${retried} times).` : message }, now);
}

function retryLater(state: OperationState, now: number): OperationState {
  const retried = state.retryCount ?? 0;
  const retryAt = nextRetryAt(state.operation.retry, now, retried);
  if (typeof retryAt === 'string')
    return ended({ ...state, phase: 'Error', message: `${state.message ?? ''} (failed to retry: ${retryAt})` }, now);
  return {
    ...state,
    phase: 'Running',
    finishedAt: kubeTime(now),
    retryCount: retried + 1,
    message: `${state.message ?? ''}. Retrying attempt #${retried + 1} at ${kitchenTime(retryAt)}.`,
  };
}

function ended(state: OperationState, now: number): OperationState {
  return { ...state, finishedAt: kubeTime(now) };
}

/** When attempt `retryCount + 1` starts, or why that cannot be said. Defaults: 5 s, doubled each time, at most 3 minutes. */
export function nextRetryAt(retry: RetryStrategy | undefined, from: number, retryCount: number): number | string {
  const backoff = retry?.backoff;
  const duration = durationMs(backoff?.duration, 5000);
  const max = durationMs(backoff?.maxDuration, 180_000);
  if (typeof duration === 'string') return duration;
  if (typeof max === 'string') return max;
  const wait = duration * (backoff?.factor ?? 2) ** retryCount;
  return from + (max > 0 ? Math.min(wait, max) : wait);
}

function durationMs(text: string | undefined, fallback: number): number | string {
  if (text === undefined || text === '') return fallback;
  return parseSecondsOrDuration(text) ?? `time: invalid duration "${text}"`;
}

/** Milliseconds until an operation in this state must be looked at again at the latest. */
export function backstopMs(state: OperationState, now: number, syncTimeoutMs: number): number {
  const backstop = 30_000;
  if (syncTimeoutMs <= 0 || state.phase === 'Terminating') return backstop;
  const started = parseTime(state.startedAt) ?? now;
  return Math.max(1000, Math.min(backstop, started + syncTimeoutMs + 1000 - now));
}

/** A state as it may be stored: what it says may hold the words of servers, and addresses of a spec with a password in them. */
export function shownState(state: OperationState): OperationState {
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
