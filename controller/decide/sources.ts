import type { Comparison } from '#compare';
import { sourcesOf } from '#model';
import type { Application, ApplicationCondition } from '#model';
import { compareLevel } from '../application/freshness.ts';
import type { MemoryChange } from '../comparison/memory.ts';
import { kubeTime, parseTime } from '../shared/kube-time.ts';
import type { ComparedFacts, RefreshFacts, RememberedPasses } from './refresh-facts.ts';

/** The begin of an outage that a replica reported before. */
export function reportedSince({ status }: Application): number | undefined {
  const reported = status?.conditions?.find(({ type }) => type === 'SourceUnavailableWarning');
  return parseTime(/ since (\S+?Z)\./.exec(reported?.message ?? '')?.[1]);
}

/**
 * Forgets the outage after a comparison with the sources, and remembers this comparison as the last
 * good one. A comparison with known revisions proves nothing about the sources.
 */
export function sourcesAfter(
  { before, refresh }: Pick<RefreshFacts, 'before' | 'refresh'>,
  { comparison, outage, revisions }: ComparedFacts,
): MemoryChange {
  const failure = outage?.isTolerated === false ? { sourceError: outage.message } : {};
  if (comparison.failed || outage !== undefined) return failure;
  const lastGood = { sources: sourcesOf(before.spec), revisions };
  if (refresh.level < compareLevel.latest) return { lastGood };
  return { lastGood, ...outageOver, owesResolution: undefined };
}

/** The sources are readable. */
export const outageOver: MemoryChange = {
  sourceFailedAt: undefined,
  sourceError: undefined,
  sourceRetryAt: undefined,
};

/** How the status of an Application shows an outage. */
export interface ShownOutage {
  readonly conditions: readonly ApplicationCondition[];
  /** The comparison; whether it is synced with unreadable sources is unknown. */
  readonly shown: Comparison;
}

/**
 * Whether the sources were readable once. Until then there is no drift that an outage could hide,
 * and the ComparisonError says it all.
 */
function wasRendered(before: Application, { lastGood }: Pick<MemoryChange, 'lastGood'>): boolean {
  const { sync, history = [] } = before.status ?? {};
  const isCompared = sync !== undefined && sync.status !== 'Unknown';
  return lastGood !== undefined || isCompared || history.length > 0 || reportedSince(before) !== undefined;
}

/**
 * The conditions and the comparison to show during an outage. A tolerated one is not shown; later
 * the status has the error of the source and the begin of the outage. Decisions use the comparison
 * with the last good rendering.
 * @param memory with what this comparison has changed.
 */
export function shownOutage(
  { before, now, refresh }: Pick<RefreshFacts, 'before' | 'now' | 'refresh'>,
  { comparison, outage, revisions }: ComparedFacts,
  memory: Pick<MemoryChange, keyof RememberedPasses>,
): ShownOutage {
  const isDeep = refresh.level >= compareLevel.latest;
  const error = outage === undefined && isDeep ? undefined : memory.sourceError;
  const { sourceFailedAt } = memory;
  const isFailed = comparison.failed && (error !== undefined || memory.sourceRetryAt !== undefined);
  if (sourceFailedAt === undefined || (error === undefined && !isFailed)) return { conditions: [], shown: comparison };
  if (comparison.failed && !wasRendered(before, memory)) return { conditions: [], shown: comparison };
  const what = comparison.failed
    ? 'Drift is not repaired, because no commit that was rendered before can be used'
    : `Drift is repaired: live objects are compared with commit ${revisions.join(', ')}`;
  const message = `The source cannot be read since ${kubeTime(Math.min(now, sourceFailedAt))}. ${what}.`;
  const warning: ApplicationCondition = { type: 'SourceUnavailableWarning', message };
  if (comparison.failed || error === undefined) return { conditions: [warning], shown: comparison };
  const syncStatus = { ...comparison.syncStatus, status: 'Unknown' } as const;
  return { conditions: [{ type: 'ComparisonError', message: error }, warning], shown: { ...comparison, syncStatus } };
}
