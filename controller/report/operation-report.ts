import { defined } from '#base';
import { isCompleted } from '#model';
import type { Application, Operation, OperationState, ResourceRef, ResourceResult } from '#model';
import { parseWaitingMessage } from '#sync';
import type { AppMemory } from '../comparison/memory.ts';
import { nextRetryAt } from '../application/operation-state.ts';
import { parseTime } from '../shared/kube-time.ts';
import { isoTime, isoTimeOf } from './iso-time.ts';

export interface OperationBlocker {
  readonly type: 'hook' | 'health' | 'retry' | 'window' | 'cluster' | 'finalizer' | 'wave' | 'other';
  readonly message: string;
  readonly object?: ResourceRef;
  readonly since?: string;
  readonly until?: string;
}

export interface OperationResult extends ResourceRef {
  readonly status: string;
  readonly message: string;
  readonly hookType?: string;
  readonly hookPhase?: string;
  readonly syncPhase?: string;
}

export interface OperationReport {
  readonly type: 'sync' | 'deletion';
  readonly phase: string;
  readonly message: string;
  readonly startedAt: string;
  readonly finishedAt?: string;
  readonly initiatedBy: string;
  readonly revisions: readonly string[];
  readonly retries: number;
  readonly retryLimit?: number;
  readonly syncPhase?: string;
  readonly wave?: number;
  readonly blockedBy?: OperationBlocker;
  readonly resources: readonly OperationResult[];
}

const maxResults = 100;

export interface OperationFacts {
  readonly memory: Pick<AppMemory, 'waiting' | 'deletionBlockedBy' | 'wave'> | undefined;
  /** The message of a sync window that blocks the operation. */
  readonly windowMessage: string | undefined;
  /** Waves by resource, from the status. */
  readonly waveOf: (ref: ResourceRef) => number | undefined;
}

/** The running or the last operation, or the deletion, and what blocks it. */
export function reportOperation(app: Application, facts: OperationFacts): OperationReport | undefined {
  const deletedAt = isoTimeOf(app.metadata.deletionTimestamp);
  const state = app.status?.operationState;
  if (deletedAt !== undefined && app.operation === undefined) return reportDeletion(deletedAt, facts);
  return state === undefined ? undefined : reportSync(state, facts);
}

function reportSync(state: OperationState, facts: OperationFacts): OperationReport {
  const { operation, retryCount = 0, message = '' } = state;
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
    retries: retryCount,
    ...defined({
      // The end of an attempt, while the next one waits.
      finishedAt: isOver ? isoTimeOf(state.finishedAt) : undefined,
      retryLimit: operation.retry?.limit,
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

function reportDeletion(startedAt: string, { memory }: OperationFacts): OperationReport {
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
function blockerOf(state: OperationState, { memory, windowMessage }: OperationFacts): OperationBlocker | undefined {
  const { waiting } = memory ?? {};
  const since = waiting === undefined ? isoTimeOf(state.startedAt) : isoTime(waiting.since);
  if (state.finishedAt !== undefined) return retryBlocker(state);
  if (windowMessage !== undefined) return { type: 'window', message: windowMessage, ...defined({ since }) };
  const named = namedBlocker(state);
  if (named !== undefined) return { ...named, ...defined({ since }) };
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
  const at = nextRetryAt(state.operation.retry, finished, Math.max(0, (state.retryCount ?? 1) - 1));
  const [since, until] = [isoTimeOf(state.finishedAt), typeof at === 'number' ? isoTime(at) : undefined];
  return { type: 'retry', message: state.message ?? '', ...defined({ since, until }) };
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

function resultOf(result: ResourceResult): OperationResult {
  const { status = '', message = '', hookType, hookPhase, syncPhase } = result;
  return { ...refOfResult(result), status, message, ...defined({ hookType, hookPhase, syncPhase }) };
}
