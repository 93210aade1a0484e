import type { RandomSource } from '#base';
import type { ResourceKey } from '#model';
import type { RestingPass } from '../comparison/basis.ts';
import { compareLevel } from '../application/freshness.ts';
import type { RefreshRequest } from '../application/freshness.ts';
import type { RefreshPass } from './pass.ts';

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

/** Time until all resources are compared again. */
export function untilFullComparisonMs(random: RandomSource): number {
  return fullComparisonMs * (1 - fullComparisonSpread * random.next());
}

/** Answers a request that was identical to the last one, and so has left no trace. */
export const recheckRequest: RefreshRequest = {
  level: compareLevel.forceResolve,
  reason: 'an identical refresh may have been requested during the last one',
  cause: 'user',
};
