import { formatGoDuration } from '#base';
import { isCompleted, keyOfRef } from '#model';
import type { OperationState, ResourceResult } from '#model';
import type { LogFields, Logger } from '#telemetry';
import type { PassStart } from '../application/operation-state.ts';
import { kubeTime, parseTime } from '../shared/kube-time.ts';

/** The line by which Argo CD reports how a pass of an operation begins. */
export function logStart(logger: Logger, start: PassStart, now: number, syncTimeoutMs: number): void {
  if (start.do === 'end') return;
  if (start.do === 'wait')
    logger.info(`Skipping retrying in-progress operation. Attempting again at: ${kubeTime(now + start.ms)}`);
  else if (start.do === 'begin') logger.info('Initialized new operation', requestFields(start.state));
  else logger.info(start.do === 'resume' ? resumeLine(start.state) : continueLine(start, syncTimeoutMs));
}

/** The request may contain manifests, so only who asked for what is logged. */
function requestFields({ operation: { initiatedBy, sync } }: OperationState): LogFields {
  const who = initiatedBy?.automated === true ? 'automated' : (initiatedBy?.username ?? '');
  return { initiatedBy: who, revisions: sync?.revisions ?? [sync?.revision ?? ''] };
}

function resumeLine({ phase, message = '' }: OperationState): string {
  return `Resuming in-progress operation. phase: ${phase}, message: ${message}`;
}

function continueLine(
  { state, timedOut }: PassStart & { readonly do: 'begin' | 'continue' },
  timeoutMs: number,
): string {
  if (!timedOut) return state.message ?? '';
  const timeout = formatGoDuration(timeoutMs);
  return `Terminating in-progress operation due to timeout. Started at: ${state.startedAt}, timeout: ${timeout}`;
}

/** The lines of one step: what changed in the phase and in the result of each resource. */
export function logStep(logger: Logger, before: OperationState, after: OperationState): void {
  const known = new Map((before.syncResult?.resources ?? []).map((result) => [resultKey(result), result]));
  for (const result of after.syncResult?.resources ?? []) {
    const line = resultLine(known.get(resultKey(result)), result);
    const { namespace, kind, name, syncPhase = '' } = result;
    if (line !== undefined) logger.info(line, { namespace, kind, name, phase: syncPhase });
  }
  const [was, is] = [before.message ?? '', after.message ?? ''];
  if (before.phase !== after.phase || was !== is)
    logger.info(`Updating operation state. phase: ${before.phase} -> ${after.phase}, message: '${was}' -> '${is}'`);
}

function resultKey(result: ResourceResult): string {
  return `${keyOfRef(result)}:${result.syncPhase ?? ''}`;
}

function resultLine(before: ResourceResult | undefined, after: ResourceResult): string | undefined {
  const { status = '', hookPhase = '', message = '' } = after;
  if (before === undefined)
    return `Adding resource result, status: '${status}', phase: '${hookPhase}', message: '${message}'`;
  const [wasStatus, wasPhase, wasMessage] = [before.status ?? '', before.hookPhase ?? '', before.message ?? ''];
  if (wasStatus === status && wasPhase === hookPhase && wasMessage === message) return undefined;
  return `Updating resource result, status: '${wasStatus}' -> '${status}', phase '${wasPhase}' -> '${hookPhase}', message '${wasMessage}' -> '${message}'`;
}

/** How Events name an operation. */
export function operationName({ operation: { sync }, syncResult }: OperationState): string {
  const isPartial = (sync?.resources?.length ?? 0) > 0;
  return `${isPartial ? 'Partial sync' : 'Sync'} operation${syncResult === undefined ? '' : ` to ${syncResult.revision}`}`;
}

/** The fields of `Finished processing requested app operation`. */
export function finishedFields(state: OperationState | undefined): LogFields {
  if (state === undefined) return {};
  const { phase, retryCount = 0, startedAt, finishedAt, syncResult } = state;
  const revisions = syncResult?.revisions ?? [];
  const single = syncResult?.revision ?? '';
  return {
    phase,
    retryCount,
    startedAt: unixSeconds(startedAt),
    ...(isCompleted(phase) ? { finishedAt: unixSeconds(finishedAt) } : {}),
    revisions: revisions.length > 0 ? revisions : single === '' ? [] : [single],
  };
}

function unixSeconds(time: string | undefined): number {
  return Math.floor((parseTime(time) ?? 0) / 1000);
}
