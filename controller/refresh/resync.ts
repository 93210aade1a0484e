import { deepEqual } from '#base';
import type { RandomSource } from '#base';
import type { Comparison } from '#compare';
import { isAutomated, isCompleted, jsonOf } from '#model';
import type { Application, ApplicationStatus, ResourceKey } from '#model';
import { syncedLine } from '../application/autosync-log.ts';
import { hasSameInputs } from '../comparison/basis.ts';
import type { LiveSight, RestingPass } from '../comparison/basis.ts';
import type { StatusWrite } from '../application/application-writes.ts';
import { compareLevel } from '../application/freshness.ts';
import type { RefreshRequest } from '../application/freshness.ts';
import { withReconciledAt } from '../application/status-patch.ts';
import type { StatusChange } from '../application/status-patch.ts';
import type { Decisions, PassAssessment, RefreshPass } from './pass.ts';

/** The longest time between two full comparisons of an Application. */
const fullComparisonMs = 86_400_000;
/** The jitter shortens it by up to this share, so that Applications do not compare at once. */
const fullComparisonSpread = 0.25;

/**
 * Resources that a pass has to compare; undefined: all. Rows whose input is the same are reused,
 * until a full comparison is due or a hard refresh is requested.
 */
export function resourcesToCompare(pass: RefreshPass): ReadonlySet<ResourceKey> | undefined {
  const { hard, resources } = pass.refresh;
  if (hard) return undefined;
  return isFullDue(pass) ? resources : (resources ?? noResources);
}

/**
 * The inputs with which this pass needs no comparison: it is a timed refresh or one that a user
 * requested, the last pass left nothing to do, and no full comparison is due.
 */
export function restingBefore(pass: RefreshPass): RestingPass | undefined {
  const { memory } = pass;
  const isQuiet = memory.contests === undefined && memory.unreadable !== true && !memory.hold.isCompleting;
  return isProvable(pass) && isQuiet && !isFullDue(pass) ? memory.resting : undefined;
}

const noResources: ReadonlySet<ResourceKey> = new Set();

/** A hard refresh always compares. */
function isProvable({ refresh }: RefreshPass): boolean {
  return (refresh.cause === 'timer' || refresh.cause === 'user') && !refresh.hard;
}

function isFullDue({ memory, startedAt }: RefreshPass): boolean {
  return memory.fullComparisonDueAt === undefined || memory.fullComparisonDueAt <= startedAt;
}

/** Schedules the next full comparison after a pass that compared all resources. */
export function noteComparison(pass: RefreshPass, random: RandomSource): void {
  if (resourcesToCompare(pass) !== undefined) return;
  const delayMs = fullComparisonMs * (1 - fullComparisonSpread * random.next());
  pass.memory.fullComparisonDueAt = pass.startedAt + delayMs;
}

/**
 * The rest that a pass proved to be possible; undefined if its result may change without its
 * inputs: an operation runs, or automated sync may start one later.
 */
function restAfter(
  { before, memory }: RefreshPass,
  { decisions, status }: PassAssessment,
  { app, again }: StatusWrite,
): RestingPass | undefined {
  if (decisions?.basis === undefined || memory.contests !== undefined || again === true) return undefined;
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

/** Remembers what a pass proved, for the next one. */
export function noteRest(pass: RefreshPass, assessment: PassAssessment, settled: StatusWrite): void {
  const { memory } = pass;
  delete memory.resting;
  delete memory.sight;
  const next = restAfter(pass, assessment, settled);
  if (next !== undefined) memory.resting = next;
  const sight = sightAfter(pass, assessment, settled);
  if (sight !== undefined) memory.sight = sight;
}

/** Undefined if nothing was stored, or another pass may decide otherwise with the same objects. */
function sightAfter(
  { before }: RefreshPass,
  { decisions }: PassAssessment,
  { answered, again }: StatusWrite,
): LiveSight | undefined {
  if (decisions === undefined || !answered || again === true) return undefined;
  const { comparison, finalizers, sight } = decisions;
  const isLeft = finalizers !== undefined || isOpen(comparison) || mayStartLater(before, decisions);
  return isLeft || isBusy(before) ? undefined : sight;
}

/**
 * Ends a pass whose inputs are still those of `resting`: logs and remembers it, and answers a
 * refresh request.
 */
export async function rest(
  pass: RefreshPass,
  resting: RestingPass,
  settle: (change: StatusChange) => Promise<StatusWrite>,
): Promise<StatusWrite> {
  const { before, asked, logger, memory, time } = pass;
  noteProof(pass, resting);
  if (asked === undefined) {
    logger.info('No status changes. Skipping patch');
    return { app: before, answered: true };
  }
  const change = withReconciledAt({ status: before.status ?? {}, patch: undefined }, time);
  const settled = await settle(change);
  if (isStoredAs(before, change.status, settled.app))
    memory.resting = { ...resting, basis: { ...resting.basis, app: settled.app } };
  else delete memory.resting;
  return settled;
}

function noteProof({ memory, before, now, logger }: RefreshPass, { isOutOfSync }: RestingPass): void {
  if (isOutOfSync) memory.driftSeenAt = now;
  if (memory.autosync !== undefined) memory.autosync = { ...memory.autosync, at: now };
  delete memory.sourceFailedAt;
  delete memory.sourceError;
  delete memory.sourceRetryAt;
  delete memory.waiting;
  delete memory.consecutiveHolds;
  memory.comparedAt = now;
  const line = syncedLine(before);
  if (line !== undefined) logger[line.level](line.message);
}

/** Answers a request that was identical to the last one, and so has left no trace. */
export const recheckRequest: RefreshRequest = {
  level: compareLevel.forceResolve,
  reason: 'an identical refresh may have been requested during the last one',
  cause: 'user',
};
