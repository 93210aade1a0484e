import { messageOf, omit, stringifyJson } from '#base';
import { isTooLarge } from '#kube';
import { isCompleted, jsonOf } from '#model';
import type { ApplicationStatus, OperationState, ResourceResult } from '#model';

/**
 * Size limit of a status. etcd refuses requests above 1.5 MiB, and the object also contains the
 * spec and what the next comparison adds.
 */
export const maxStatusBytes = 1024 * 1024;

const maxResultMessageLength = 200;
/** An operation's message quotes each reason once, at any length. */
const maxOperationMessageLength = 4000;

/**
 * Cuts an operation's state until the status fits: drops the messages of successes first, then
 * shortens the rest. A running operation keeps every result, since the next step needs it. A
 * completed one also drops successful results, and its message reports how many. A state that fits
 * is unchanged.
 *
 * Difference to Argo CD, which sends the state as it is, retries forever when refused, and blocks
 * an operation processor meanwhile.
 */
export function storableState(
  state: OperationState,
  status: ApplicationStatus | undefined,
  limit = maxStatusBytes,
): OperationState {
  const left = limit - jsonBytesOf(omit(status ?? {}, 'operationState'));
  if (jsonBytesOf(state) <= left) return state;
  const short = withResults(cutOperationMessage(state), resultsOf(state).map(shortenResult));
  if (jsonBytesOf(short) <= left) return short;
  return isCompleted(state.phase) ? dropResults(short, left) : withResults(short, resultsOf(short).map(minimizeResult));
}

/** The state without results, as a last resort; undefined when it has none. */
export function stateWithoutResults(state: OperationState): OperationState | undefined {
  return resultsOf(state).length === 0 ? undefined : withResults(cutOperationMessage(state), []);
}

/**
 * Ends an operation whose running state the server refuses: without it, the next step is unknown.
 */
export function unstoredState(state: OperationState, refusal: unknown): OperationState {
  const count = resultsOf(state).length;
  const message = isTooLarge(refusal)
    ? `The state of the operation (${count} resources) is too large to be stored with the Application, so it cannot go on. ` +
      'Set ApplyOutOfSyncOnly=true, sync fewer resources at a time, or split the Application.'
    : `The API server refused the state of the operation, so it cannot go on: ${messageOf(refusal)}`;
  return { ...withResults(state, []), phase: 'Error', message };
}

/** Keeps failures first, then as many successes as fit. */
function dropResults(state: OperationState, left: number): OperationState {
  const results = resultsOf(state);
  const order = [...results.filter(hasFailed), ...results.filter((result) => !hasFailed(result))];
  const message = (count: number): string =>
    `${state.message ?? ''} (${count} of ${results.length} results are omitted: the status would be too large)`;
  let room = left - jsonBytesOf({ ...withResults(state, []), message: message(results.length) });
  const kept = new Set<ResourceResult>();
  for (const result of order) {
    room -= jsonBytesOf(result) + 1;
    if (room < 0) break;
    kept.add(result);
  }
  const shown = results.filter((result) => kept.has(result));
  return { ...withResults(state, shown), message: message(results.length - shown.length) };
}

function cutOperationMessage(state: OperationState): OperationState {
  const { message = '' } = state;
  return message.length <= maxOperationMessageLength
    ? state
    : { ...state, message: `${message.slice(0, maxOperationMessageLength)} …` };
}

function shortenResult(result: ResourceResult): ResourceResult {
  const { message = '' } = result;
  const rest = omit(result, 'message', 'images');
  return hasFailed(result) && message !== '' ? { ...rest, message: message.slice(0, maxResultMessageLength) } : rest;
}

/** Also drops values that the next step assumes by default (`keyOfResult` of sync). */
function minimizeResult(result: ResourceResult): ResourceResult {
  const named = result.syncPhase === 'Sync' ? omit(result, 'syncPhase') : result;
  return named.status === 'Synced' && named.hookPhase !== undefined ? omit(named, 'status') : named;
}

/** Includes skipped prunes, so that their reasons are kept: automated sync depends on them. */
function hasFailed({ status, hookPhase }: ResourceResult): boolean {
  return status === 'SyncFailed' || status === 'PruneSkipped' || hookPhase === 'Failed' || hookPhase === 'Error';
}

function resultsOf(state: OperationState): readonly ResourceResult[] {
  return state.syncResult?.resources ?? [];
}

function withResults(state: OperationState, resources: readonly ResourceResult[]): OperationState {
  return state.syncResult === undefined ? state : { ...state, syncResult: { ...state.syncResult, resources } };
}

function jsonBytesOf(value: object): number {
  return Buffer.byteLength(stringifyJson(jsonOf(value)));
}
