import { deepEqual } from '#base';
import type { Comparison } from '#compare';
import { isAutomated, isCompleted, jsonOf } from '#model';
import type { Application, ApplicationStatus } from '#model';
import type { StatusWrite } from '../application/application-writes.ts';
import { hasSameInputs } from '../comparison/basis.ts';
import type { LiveSight, RestingPass } from '../comparison/basis.ts';
import type { AppMemory, MemoryChange } from '../comparison/memory.ts';
import type { Decisions, RefreshDecision } from './decide-refresh.ts';
import type { RefreshFacts } from './refresh-facts.ts';
import { outageOver } from './sources.ts';

type Written = Pick<RefreshFacts, 'before'>;
type Decided = Pick<RefreshDecision, 'status' | 'decisions' | 'memory'>;

/** What the next passes may skip. Nothing if the writes of this one have to be repeated. */
export function provedAfter(facts: Written, decided: Decided, written: StatusWrite): MemoryChange {
  if (written.again === true) return { resting: undefined, sight: undefined };
  return { resting: restAfter(facts, decided, written), sight: sightAfter(facts, decided, written) };
}

/**
 * The rest that a pass proved to be possible; undefined if its result may change without its
 * inputs: an operation runs, or automated sync may start one later.
 */
function restAfter(
  { before }: Written,
  { decisions, status, memory }: Decided,
  { app }: StatusWrite,
): RestingPass | undefined {
  if (decisions?.basis === undefined || memory.contests !== undefined) return undefined;
  const { basis, comparison, finalizers } = decisions;
  if (finalizers !== undefined || isBusy(before) || isOpen(comparison) || mayStartLater(before, decisions))
    return undefined;
  if (!isStoredAs(before, status, app)) return undefined;
  const isOutOfSync = comparison.syncStatus.status === 'OutOfSync';
  return { basis: { ...basis, app }, rowsCount: comparison.pairs.length, isOutOfSync };
}

/** Whether `app` is what the pass compared, with the status that it determined and no more. */
function isStoredAs(before: Application, status: ApplicationStatus, app: Application): boolean {
  return app === before || (hasSameInputs(before, app) && deepEqual(jsonOf(app.status ?? {}), jsonOf(status)));
}

function isBusy({ operation, status, metadata }: Application): boolean {
  const phase = status?.operationState?.phase;
  const isRunning = operation !== undefined || (phase !== undefined && !isCompleted(phase));
  return isRunning || metadata.deletionTimestamp !== undefined;
}

function isOpen({ failed, unread, pruneBlocked }: Comparison): boolean {
  return failed || unread.length > 0 || pruneBlocked !== undefined;
}

/** Whether a sync starts also depends on other Applications and on the time. */
function mayStartLater({ spec }: Application, { comparison, decision }: Decisions): boolean {
  return decision?.do !== 'skip' || (comparison.syncStatus.status !== 'Synced' && isAutomated(spec));
}

/** Undefined if nothing was stored, or another pass may decide otherwise with the same objects. */
function sightAfter({ before }: Written, { decisions }: Decided, { answered }: StatusWrite): LiveSight | undefined {
  if (decisions === undefined || !answered) return undefined;
  const { comparison, finalizers, sight } = decisions;
  const isLeft = finalizers !== undefined || isOpen(comparison) || mayStartLater(before, decisions);
  return isLeft || isBusy(before) ? undefined : sight;
}

/** Changes of the memory after a pass that finds the inputs of `resting` unchanged. */
export function restMemory(
  { autosync }: Pick<AppMemory, 'autosync'>,
  { isOutOfSync }: RestingPass,
  now: number,
): MemoryChange {
  return {
    ...outageOver,
    ...(isOutOfSync ? { driftSeenAt: now } : {}),
    ...(autosync === undefined ? {} : { autosync: { ...autosync, at: now } }),
    waiting: undefined,
    consecutiveHolds: undefined,
    comparedAt: now,
  };
}

/** `resting` after an answer to a refresh request that changed nothing else. */
export function restAnswered(
  before: Application,
  resting: RestingPass,
  { status, written }: { readonly status: ApplicationStatus; readonly written: StatusWrite },
): RestingPass | undefined {
  const isSame = isStoredAs(before, status, written.app);
  return isSame ? { ...resting, basis: { ...resting.basis, app: written.app } } : undefined;
}
