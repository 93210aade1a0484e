import type { RandomSource } from '#base';
import type { Comparison } from '#compare';
import { isAutomated, isCompleted } from '#model';
import type { Application, ResourceKey } from '#model';
import { syncedLine } from '../application/autosync-log.ts';
import type { RestingPass } from '../comparison/basis.ts';
import type { StatusWrite } from '../application/application-writes.ts';
import type { Decisions, PassAssessment, RefreshPass } from './pass.ts';

/** The longest time between two full comparisons of an Application. */
const fullComparisonMs = 86_400_000;
/** The jitter shortens it by up to this share, so that Applications do not compare at once. */
const fullComparisonSpread = 0.25;

/**
 * Resources that a pass has to compare; undefined: all. A timed refresh reuses the rows whose input
 * is the same, until a full comparison is due. Every other level 2 refresh compares all.
 */
export function resourcesToCompare(pass: RefreshPass): ReadonlySet<ResourceKey> | undefined {
  return isTimed(pass) && !isFullDue(pass) ? noResources : pass.refresh.resources;
}

/**
 * The inputs with which this pass needs no comparison: it is a timed refresh, the last pass left
 * nothing to do, and no full comparison is due.
 */
export function restingBefore(pass: RefreshPass): RestingPass | undefined {
  const { memory } = pass;
  const isQuiet = memory.contests === undefined && memory.unreadable !== true && !memory.hold.isCompleting;
  return isTimed(pass) && isQuiet && !isFullDue(pass) ? memory.resting : undefined;
}

const noResources: ReadonlySet<ResourceKey> = new Set();

function isTimed({ refresh, asked }: RefreshPass): boolean {
  return refresh.cause === 'timer' && !refresh.hard && asked === undefined;
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
 * The rest that a pass proved to be possible; undefined if it wrote something, or if its result may
 * change without its inputs: an operation runs, or automated sync may start one later.
 */
export function restAfter(
  { before, asked, memory }: RefreshPass,
  { decisions, patch }: PassAssessment,
  settled: StatusWrite,
): RestingPass | undefined {
  if (decisions?.basis === undefined || memory.contests !== undefined) return undefined;
  const { basis, comparison, finalizers } = decisions;
  const isWritten = asked !== undefined || patch !== undefined || finalizers !== undefined || settled.again === true;
  if (isWritten || isBusy(before) || isOpen(comparison) || mayStartLater(before, decisions)) return undefined;
  const isOutOfSync = comparison.syncStatus.status === 'OutOfSync';
  return { basis, rowsCount: comparison.pairs.length, isOutOfSync };
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

/** Remembers and logs a pass whose inputs are still those of the resting pass. */
export function rest(pass: RefreshPass, { isOutOfSync }: RestingPass): void {
  const { memory, before, now, logger } = pass;
  if (isOutOfSync) memory.driftSeenAt = now;
  if (memory.autosync !== undefined) memory.autosync = { ...memory.autosync, at: now };
  delete memory.sourceFailedAt;
  delete memory.waiting;
  delete memory.consecutiveHolds;
  memory.comparedAt = now;
  const line = syncedLine(before);
  if (line !== undefined) logger[line.level](line.message);
  logger.info('No status changes. Skipping patch');
}
