import { asCount, defined } from '#base';
import { isCompleted } from '#model';
import type { Application, Operation, OperationState, ResourceRef, ResourceResult } from '#model';
import { nextRetryAt, retriesBefore } from '../application/operation-state.ts';
import { parseTime } from '../shared/kube-time.ts';
import type { ApplicationOperation, OperationBlocker, OperationResource } from './application-facts.ts';
import { waitCauses } from '../shared/waits.ts';
import { isoTime, isoTimeOf } from './iso-time.ts';
import { refOfResult, runningHooks } from './waits.ts';
import type { Wait } from './waits.ts';

const maxResults = 100;

export interface OperationFacts {
  /** Undefined: the Application waits for nothing. */
  readonly wait: Wait | undefined;
  /** The sync windows that block the operation, and until when. */
  readonly window: { readonly message: string; readonly until: number | undefined } | undefined;
  /** --sync-timeout; 0: none. */
  readonly syncTimeoutMs: number;
  /** Whether the status lists the resource without a namespace. */
  readonly isClusterScoped: (ref: ResourceRef) => boolean;
  /** Waves by resource, from the status. */
  readonly waveOf: (ref: ResourceRef) => number | undefined;
}

/** The running or the last operation, or the deletion, and what blocks it. */
export function reportOperation(app: Application, facts: OperationFacts): ApplicationOperation | undefined {
  const deletedAt = isoTimeOf(app.metadata.deletionTimestamp);
  const state = app.status?.operationState;
  if (deletedAt !== undefined && app.operation === undefined) return reportDeletion(deletedAt, facts);
  return state === undefined ? undefined : reportSync(state, facts);
}

function reportSync(state: OperationState, facts: OperationFacts): ApplicationOperation {
  const { operation, retryCount, message = '' } = state;
  const isOver = isCompleted(state.phase);
  const blockedBy = isOver ? undefined : blockerOf(state, facts);
  const results = state.syncResult?.resources ?? [];
  const subject = blockedBy?.object ?? runningHooks(results)[0];
  return {
    type: 'sync',
    phase: state.phase,
    message,
    startedAt: isoTimeOf(state.startedAt) ?? '',
    initiatedBy: initiatorOf(operation),
    revisions: revisionsOf(state),
    retries: asCount(retryCount, 0),
    ...defined({
      // The end of an attempt, while the next one waits.
      finishedAt: isOver ? isoTimeOf(state.finishedAt) : undefined,
      retryLimit: operation.retry?.limit === undefined ? undefined : asCount(operation.retry.limit, 0),
      syncPhase: results.at(-1)?.syncPhase,
      wave: subject === undefined ? undefined : facts.waveOf(subject),
      blockedBy,
    }),
    resources: results
      .filter(isNotable)
      .slice(0, maxResults)
      .map((result) => resultOf(result, facts)),
  };
}

function initiatorOf({ initiatedBy }: Operation): string {
  return initiatedBy?.automated === true ? 'automated sync' : (initiatedBy?.username ?? '');
}

function revisionsOf({ syncResult }: OperationState): readonly string[] {
  if (syncResult === undefined) return [];
  return syncResult.revisions ?? [syncResult.revision];
}

function reportDeletion(startedAt: string, { wait }: OperationFacts): ApplicationOperation {
  const blocked = wait?.type === 'deletion' && wait.cause !== 'turn' ? wait : undefined;
  return {
    type: 'deletion',
    phase: 'Running',
    message: blocked?.what ?? '',
    startedAt,
    initiatedBy: '',
    revisions: [],
    retries: 0,
    ...(blocked === undefined ? {} : { blockedBy: deletionBlocker(blocked) }),
    resources: [],
  };
}

function deletionBlocker({ cause, what, since }: Wait): OperationBlocker {
  const { blocker } = waitCauses[cause];
  // Whatever else holds the Application does so by its finalizer.
  const type = blocker === 'other' ? 'finalizer' : blocker;
  return { type, message: what, ...defined({ since: optionalTime(since) }) };
}

/** The blocker of a running operation; undefined while it makes progress. */
function blockerOf(
  state: OperationState,
  { wait, window, syncTimeoutMs }: OperationFacts,
): OperationBlocker | undefined {
  const since = optionalTime(wait?.since);
  if (state.finishedAt !== undefined) return retryBlocker(state);
  if (window !== undefined)
    return { type: 'window', message: window.message, ...defined({ since, until: optionalTime(window.until) }) };
  if (wait?.type !== 'operation' || (wait.cause === 'turn' && wait.until === undefined)) return undefined;
  // The time of the next look is no end of the wait.
  const timesOutAt = syncTimeoutMs > 0 ? (parseTime(state.startedAt) ?? Number.NaN) + syncTimeoutMs : undefined;
  const until = optionalTime(wait.until ?? timesOutAt);
  const { object, what } = wait;
  return { type: waitCauses[wait.cause].blocker, message: what, ...defined({ object, since, until }) };
}

function retryBlocker(state: OperationState): OperationBlocker {
  const finished = parseTime(state.finishedAt) ?? Number.NaN;
  const at = nextRetryAt(state.operation.retry, finished, retriesBefore(state));
  const [since, until] = [isoTimeOf(state.finishedAt), optionalTime(typeof at === 'number' ? at : undefined)];
  // `until` has the time of the next attempt.
  const message = (state.message ?? '').replace(/\.? Retrying attempt #\d+ at [^.]{1,20}\.$/, '');
  return { type: 'retry', message, ...defined({ since, until }) };
}

function isNotable({ status, hookPhase }: ResourceResult): boolean {
  return status === 'SyncFailed' || status === 'PruneSkipped' || (hookPhase !== undefined && hookPhase !== 'Succeeded');
}

/** Results have the namespace of the destination also for objects that are in none. */
function resultOf(result: ResourceResult, { isClusterScoped }: OperationFacts): OperationResource {
  const { status = '', message = '', hookType, hookPhase, syncPhase } = result;
  const ref = refOfResult(result);
  const namespace = isClusterScoped(ref) ? '' : ref.namespace;
  return { ...ref, namespace, status, message, ...defined({ hookType, hookPhase, syncPhase }) };
}

function optionalTime(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : isoTime(ms);
}
