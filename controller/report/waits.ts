import { defined, omit } from '#base';
import { isCompleted } from '#model';
import type { Application, OperationState, ResourceRef, ResourceResult } from '#model';
import { parseWaitingMessage } from '#sync';
import type { WaitedFor } from '#sync';
import { ownFinalizers } from '../application/finalizers.ts';
import { refreshAnnotation } from '../application/refresh-annotation.ts';
import type { AppMemory } from '../comparison/memory.ts';
import { parseTime } from '../shared/kube-time.ts';
import type { WaitCause, WaitReason, WaitType } from '../shared/waits.ts';

/** The part of its memory that says what an Application waits for. */
export type WaitMemory = Pick<AppMemory, 'waiting' | 'deletionBlockedBy' | 'deletedObjects'>;

/** The work of an Application that waits now, and the reason. */
export interface Wait extends WaitReason {
  readonly type: WaitType;
  /** Since when, by the memory of this process or by the status (wall time). */
  readonly since?: number;
  /** When it ends at the latest. */
  readonly until?: number;
  readonly object?: ResourceRef;
  /** Names the work that waits. A wait for other work is a new one. */
  readonly work: string;
  /** Grows as the work goes on. Attempts that repeat the same steps do not count. */
  readonly progress: number;
  /** When the work last made progress by the status, which survives a restart (wall time). */
  readonly storedSince?: number;
}

const turn: WaitReason = { cause: 'turn', what: 'waiting for its next step' };
/** A wait that nothing has renewed for so long after its end is over. */
const expiredWaitMs = 30_000;
const causeOfSubject: Readonly<Record<WaitedFor, WaitCause>> = {
  hook: 'hook',
  health: 'health',
  'object deletion': 'object deletion',
  confirmation: 'confirmation',
  other: 'turn',
};

/** Causes that delay a step, whatever the last one waited for. */
const delays: ReadonlySet<WaitCause> = new Set(['cluster', 'settings', 'wave']);

/** Undefined: it waits for nothing. */
export function waitOf(app: Application, memory: WaitMemory | undefined, now: number): Wait | undefined {
  return deletionWait(app, memory) ?? operationWait(app, memory) ?? comparisonWait(app, memory, now);
}

function deletionWait(app: Application, memory: WaitMemory | undefined): Wait | undefined {
  const { deletionTimestamp, finalizers = [] } = app.metadata;
  if (deletionTimestamp === undefined) return undefined;
  const others = `waiting for finalizers of other controllers: ${finalizers.join(', ')}`;
  const reason: WaitReason & { readonly since?: number } =
    ownFinalizers(app).length === 0
      ? { cause: 'foreign finalizer', what: others }
      : (memory?.deletionBlockedBy ?? turn);
  const storedSince = parseTime(deletionTimestamp);
  return {
    type: 'deletion',
    ...reason,
    ...defined({ since: reason.since ?? storedSince, storedSince }),
    work: deletionTimestamp,
    progress: (memory?.deletedObjects ?? 0) - finalizers.length,
  };
}

function operationWait({ operation, status }: Application, memory: WaitMemory | undefined): Wait | undefined {
  const state = status?.operationState;
  if (state === undefined || isCompleted(state.phase)) {
    if (operation === undefined) return undefined;
    return { type: 'operation', cause: 'turn', what: 'waiting for its first step', work: 'not begun', progress: 0 };
  }
  const progress = (state.syncResult?.resources ?? []).filter(isDone).length;
  const startedAt = parseTime(state.startedAt);
  const reason = operationReason(state, memory?.waiting);
  return {
    type: 'operation',
    ...reason,
    ...defined({ since: reason.since ?? startedAt }),
    work: state.startedAt,
    progress,
    // When its results were stored is unknown.
    ...(progress === 0 && startedAt !== undefined ? { storedSince: startedAt } : {}),
  };
}

/** The reason that delays the next step; without one, the reason of the last step. */
function operationReason(
  state: OperationState,
  waiting: WaitMemory['waiting'],
): WaitReason & Pick<Wait, 'since' | 'until' | 'object'> {
  const step = stepWait(state);
  if (state.finishedAt !== undefined || waiting === undefined) return step;
  const isDelayed = delays.has(waiting.cause) || step.cause === 'turn';
  return isDelayed ? { ...omit(waiting, 'until'), ...untilOf(waiting) } : { ...step, since: waiting.since };
}

function isDone({ status, hookPhase }: ResourceResult): boolean {
  return hookPhase === 'Succeeded' || (hookPhase === undefined && status !== undefined);
}

function comparisonWait(app: Application, memory: WaitMemory | undefined, now: number): Wait | undefined {
  const asked = refreshAnnotation(app);
  const { waiting } = memory ?? {};
  const known = waiting === undefined ? undefined : { ...omit(waiting, 'until'), ...untilOf(waiting) };
  if (asked !== undefined)
    return {
      type: 'refresh',
      cause: 'turn',
      what: 'waiting for its comparison',
      ...known,
      work: JSON.stringify(asked),
      progress: 0,
    };
  if (known === undefined || (waiting?.until ?? 0) < now - expiredWaitMs) return undefined;
  return { type: 'comparison', ...known, work: String(known.since), progress: 0, storedSince: known.since };
}

function untilOf({ until }: { readonly until: number }): { readonly until?: number } {
  return until > 0 ? { until } : {};
}

/** Reads from its state why a running operation waits. */
export function stepWait(state: OperationState): WaitReason & { readonly object?: ResourceRef } {
  const { message = '', syncResult } = state;
  const what = message === '' ? turn.what : message;
  if (state.finishedAt !== undefined) return { cause: 'retry', what };
  const results = syncResult?.resources ?? [];
  const [hook] = runningHooks(results);
  if (hook !== undefined) return { cause: 'hook', what, object: refOfResult(hook) };
  if (message.includes('delay between sync waves')) return { cause: 'wave', what };
  if (message.startsWith('Sync operation blocked by sync window')) return { cause: 'window', what };
  const subject = parseWaitingMessage(message);
  if (subject === undefined) return { cause: 'turn', what };
  const { group, kind, name } = subject;
  const namespace = results.find((result) => result.kind === kind && result.name === name)?.namespace ?? '';
  return { cause: causeOfSubject[subject.what], what, object: { group, kind, namespace, name } };
}

export function runningHooks(results: readonly ResourceResult[]): readonly ResourceResult[] {
  return results.filter(({ hookType, hookPhase }) => hookType !== undefined && hookPhase === 'Running');
}

export function refOfResult({ group, kind, namespace, name }: ResourceResult): ResourceRef {
  return { group, kind, namespace, name };
}
