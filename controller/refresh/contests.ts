import type { Comparison } from '#compare';
import { instanceName, isAutomated } from '#model';
import type { TrackingSettings } from '#model';
import { afterComparison, noContests } from '../comparison/contest.ts';
import type { ContestMemory } from '../comparison/contest.ts';
import type { RefreshPass } from './pass.ts';

/**
 * Updates and returns the memory of contested objects. Without self-heal there is no fight, but the
 * API server may still keep what a sync has sent.
 */
export function noteContests(
  { memory, before, key, startedAt: at }: RefreshPass,
  comparison: Comparison,
  { tracking, namespace }: { readonly tracking: TrackingSettings; readonly namespace: string },
): ContestMemory {
  const { contests = noContests } = memory;
  const heals = isAutomated(before.spec) && before.spec.syncPolicy?.automated?.selfHeal === true;
  const of = { instance: instanceName(key, namespace), tracking, heals };
  const facts = { pairs: comparison.pairs, at, ...of, conditions: before.status?.conditions ?? [] };
  const next = comparison.failed ? contests : afterComparison(contests, facts);
  if (next.size > 0) memory.contests = next;
  else delete memory.contests;
  return next;
}
