import type { Comparison } from '#compare';
import { instanceName, isAutomated } from '#model';
import type { TrackingSettings } from '#model';
import { afterComparison, noContests } from '../comparison/contest.ts';
import type { ContestMemory } from '../comparison/contest.ts';
import type { RefreshFacts } from './refresh-facts.ts';

/**
 * The contested objects after a comparison. Without self-heal there is no fight, but the API server
 * may still keep what a sync has sent.
 */
export function contestsAfter(
  { memory, before, key, startedAt: at, config: { namespace } }: RefreshFacts,
  comparison: Comparison,
  tracking: TrackingSettings,
): ContestMemory {
  const { contests = noContests } = memory;
  const heals = isAutomated(before.spec) && before.spec.syncPolicy?.automated?.selfHeal === true;
  const of = { instance: instanceName(key, namespace), tracking, heals };
  const facts = { pairs: comparison.pairs, at, ...of, conditions: before.status?.conditions ?? [] };
  return comparison.failed ? contests : afterComparison(contests, facts);
}
