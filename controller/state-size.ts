import { omit } from '#base';
import { isCompleted } from '#model';
import type { ApplicationStatus, OperationState, ResourceResult } from '#model';

/**
 * How big a status may be. An API server's etcd takes no request over 1.5 MiB, and the object has more than its status: its spec, and what another
 * comparison adds before the next operation.
 */
export const mostStatusBytes = 1024 * 1024;

const longestMessage = 200;
/** The message of an operation names each reason once, however long it is. */
const longestSummary = 4000;

/**
 * A state of an operation that leaves its status small enough to be stored, with less and less said about resources: first nothing about those that went
 * well, then little about the others. As long as it runs, each result stays, since the next step needs it: what it says is shorter, that is all. When
 * it is over, results that went well go, and the message says how many. Where that is not needed nothing changes.
 *
 * Difference to Argo CD, which sends what it has, for ever if the server refuses it, and holds an operation processor meanwhile.
 */
export function storableState(
  state: OperationState,
  status: ApplicationStatus | undefined,
  limit = mostStatusBytes,
): OperationState {
  const left = limit - bytesOf(omit(status ?? {}, 'operationState'));
  if (bytesOf(state) <= left) return state;
  const short = withResults(cut(state), resultsOf(state).map(shortened));
  if (bytesOf(short) <= left) return short;
  return isCompleted(state.phase) ? withoutSome(short, left) : withResults(short, resultsOf(short).map(barest));
}

/** The same, without any result: what is stored when the server refuses all else. Undefined when there is none to leave out. */
export function bareState(state: OperationState): OperationState | undefined {
  return resultsOf(state).length === 0 ? undefined : withResults(cut(state), []);
}

/** The end of an operation whose state the server does not take any more: its next step could not be told from its last one. */
export function tooLargeState(state: OperationState): OperationState {
  const count = resultsOf(state).length;
  const message =
    `The state of the operation (${count} resources) is too big to be stored with the Application, so it cannot go on. ` +
    'Set ApplyOutOfSyncOnly=true, sync fewer resources at a time, or split the Application.';
  return { ...withResults(state, []), phase: 'Error', message };
}

/** Failures first; of the others as many as there is room for. */
function withoutSome(state: OperationState, left: number): OperationState {
  const results = resultsOf(state);
  const order = [...results.filter(hasFailed), ...results.filter((result) => !hasFailed(result))];
  const message = (count: number): string =>
    `${state.message ?? ''} (${count} of ${results.length} results are left out: the status would be too big)`;
  let room = left - bytesOf({ ...withResults(state, []), message: message(results.length) });
  const kept = new Set<ResourceResult>();
  for (const result of order) {
    room -= bytesOf(result) + 1;
    if (room < 0) break;
    kept.add(result);
  }
  const shown = results.filter((result) => kept.has(result));
  return { ...withResults(state, shown), message: message(results.length - shown.length) };
}

function cut(state: OperationState): OperationState {
  const { message = '' } = state;
  return message.length <= longestSummary ? state : { ...state, message: `${message.slice(0, longestSummary)} …` };
}

function shortened(result: ResourceResult): ResourceResult {
  const { message = '' } = result;
  const rest = omit(result, 'message', 'images');
  return hasFailed(result) && message !== '' ? { ...rest, message: message.slice(0, longestMessage) } : rest;
}

/** What the next step takes for granted goes, too (`keyOfResult` of sync). */
function barest(result: ResourceResult): ResourceResult {
  const named = result.syncPhase === 'Sync' ? omit(result, 'syncPhase') : result;
  return named.status === 'Synced' && named.hookPhase !== undefined ? omit(named, 'status') : named;
}

/** Also what was not pruned, and why: automated sync decides by it. */
function hasFailed({ status, hookPhase }: ResourceResult): boolean {
  return status === 'SyncFailed' || status === 'PruneSkipped' || hookPhase === 'Failed' || hookPhase === 'Error';
}

function resultsOf(state: OperationState): readonly ResourceResult[] {
  return state.syncResult?.resources ?? [];
}

function withResults(state: OperationState, resources: readonly ResourceResult[]): OperationState {
  return state.syncResult === undefined ? state : { ...state, syncResult: { ...state.syncResult, resources } };
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
