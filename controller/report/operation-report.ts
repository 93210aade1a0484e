import { asCount, defined } from '#base';
import { isCompleted } from '#model';
import type { Application, Operation, OperationState, ResourceRef, ResourceResult } from '#model';
import { parseWaitingMessage } from '#sync';
import type { AppMemory } from '../comparison/memory.ts';
import { nextRetryAt, retriesBefore } from '../application/operation-state.ts';
import { parseTime } from '../shared/kube-time.ts';
import type { ApplicationOperation, OperationBlocker, OperationResource } from './application-facts.ts';
import { isoTime, isoTimeOf } from './iso-time.ts';

const maxResults = 100;

export interface OperationFacts {
  readonly memory: Pick<AppMemory, 'waiting' | 'deletionBlockedBy' | 'wave'> | undefined;
  /** The sync windows that block the operation, and until when. */
  readonly window: { readonly message: string; readonly until: number | undefined } | undefined;
  /** --sync-timeout; 0: none. */
  readonly syncTimeoutMs: number;
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
  const subject = blockedBy?.object ?? runningResults(results)[0];
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
    resources: results.filter(isNotable).slice(0, maxResults).map(resultOf),
  };
}

function initiatorOf({ initiatedBy }: Operation): string {
  return initiatedBy?.automated === true ? 'automated sync' : (initiatedBy?.username ?? '');
}

function revisionsOf({ syncResult }: OperationState): readonly string[] {
  if (syncResult === undefined) return [];
  return syncResult.revisions ?? [syncResult.revision];
}

function reportDeletion(startedAt: string, { memory }: OperationFacts): ApplicationOperation {
  const blocked = memory?.deletionBlockedBy;
  const since = blocked === undefined ? undefined : isoTime(blocked.since);
  return {
    type: 'deletion',
    phase: 'Running',
    message: blocked?.what ?? '',
    startedAt,
    initiatedBy: '',
    revisions: [],
    retries: 0,
    ...(blocked === undefined
      ? {}
      : { blockedBy: { type: 'finalizer', message: blocked.what, ...defined({ since }) } as const }),
    resources: [],
  };
}

/** The blocker of a running operation; undefined while it makes progress. */
function blockerOf(
  state: OperationState,
  { memory, window, syncTimeoutMs }: OperationFacts,
): OperationBlocker | undefined {
  const { waiting } = memory ?? {};
  const since = waiting === undefined ? isoTimeOf(state.startedAt) : isoTime(waiting.since);
  if (state.finishedAt !== undefined) return retryBlocker(state);
  if (window !== undefined)
    return { type: 'window', message: window.message, ...defined({ since, until: optionalTime(window.until) }) };
  const named = namedBlocker(state);
  // The time of the next look is no end of the wait.
  const timesOutAt = syncTimeoutMs > 0 ? (parseTime(state.startedAt) ?? Number.NaN) + syncTimeoutMs : undefined;
  if (named !== undefined) return { ...named, ...defined({ since, until: optionalTime(timesOutAt) }) };
  if (waiting === undefined) return undefined;
  const until = waiting.until > 0 ? isoTime(waiting.until) : undefined;
  return { type: 'other', message: waiting.what, ...defined({ since, until }) };
}

/** The hook that runs, or the object that the message of the operation names. */
function namedBlocker({ message = '', syncResult }: OperationState): OperationBlocker | undefined {
  const results = syncResult?.resources ?? [];
  const [hook] = runningResults(results);
  if (hook !== undefined) return { type: 'hook', message, object: refOfResult(hook) };
  if (message.includes('delay between sync waves')) return { type: 'wave', message };
  const subject = parseWaitingMessage(message);
  if (subject === undefined) return undefined;
  const { what, group, kind, name } = subject;
  const namespace = results.find((result) => result.kind === kind && result.name === name)?.namespace ?? '';
  return { type: what, message, object: { group, kind, namespace, name } };
}

function retryBlocker(state: OperationState): OperationBlocker {
  const finished = parseTime(state.finishedAt) ?? Number.NaN;
  const at = nextRetryAt(state.operation.retry, finished, retriesBefore(state));
  const [since, until] = [isoTimeOf(state.finishedAt), optionalTime(typeof at === 'number' ? at : undefined)];
  // Argo CD's note about the next attempt has no date; `until` has.
  const message = (state.message ?? '').replace(/\.? Retrying attempt #\d+ at [^.]{1,20}\.$/, '');
  return { type: 'retry', message, ...defined({ since, until }) };
}

function runningResults(results: readonly ResourceResult[]): readonly ResourceResult[] {
  return results.filter(({ hookType, hookPhase }) => hookType !== undefined && hookPhase === 'Running');
}

function isNotable({ status, hookPhase }: ResourceResult): boolean {
  return status === 'SyncFailed' || status === 'PruneSkipped' || (hookPhase !== undefined && hookPhase !== 'Succeeded');
}

function refOfResult({ group, kind, namespace, name }: ResourceResult): ResourceRef {
  return { group, kind, namespace, name };
}

function resultOf(result: ResourceResult): OperationResource {
  const { status = '', message = '', hookType, hookPhase, syncPhase } = result;
  return { ...refOfResult(result), status, message, ...defined({ hookType, hookPhase, syncPhase }) };
}

function optionalTime(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : isoTime(ms);
}
