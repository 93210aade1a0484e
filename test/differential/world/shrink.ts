import { shrinkList } from '../../support/shrink-list.ts';
import type { Act, DifferentialPlan } from './plan.ts';
import type { Finding, PlayOutcome } from './play.ts';

export interface ShrunkPlan {
  readonly plan: DifferentialPlan;
  readonly finding: Finding;
  readonly plays: number;
}

interface ShrinkLimits {
  readonly maxPlays: number;
  readonly play: (plan: DifferentialPlan) => Promise<PlayOutcome>;
}

/**
 * Keeps the Application of a finding alone with its acts, then leaves out acts, the larger part
 * first, as long as one area of the finding still differs. Undefined if the Application alone does
 * not differ.
 */
export async function shrinkPlan(
  plan: DifferentialPlan,
  finding: Finding,
  { maxPlays, play }: ShrinkLimits,
): Promise<ShrunkPlan | undefined> {
  const areas = new Set(finding.differences.map(({ area }) => area));
  const alone = aloneWith(plan, finding);
  const attempt = async (acts: DifferentialPlan['acts']): Promise<Finding | undefined> => {
    const { findings } = await play({ ...alone, acts });
    return findings.find(({ differences }) => differences.some(({ area }) => areas.has(area)));
  };
  const first = await attempt(alone.acts);
  if (first === undefined) return undefined;
  const { items: acts, result, attempts } = await shrinkList(alone.acts, attempt, maxPlays - 1);
  return { plan: { ...alone, acts }, finding: result ?? first, plays: attempts + 1 };
}

/** The plan with the Application of a finding only, up to its act. */
export function aloneWith(plan: DifferentialPlan, { act, app }: Finding): DifferentialPlan {
  const acts = plan.acts
    .slice(0, act + 1)
    .filter((each) => !('app' in each) || each.app === app)
    .map((each): Act => ('app' in each ? { ...each, app: 0 } : each));
  return { ...plan, apps: plan.apps.slice(app, app + 1), acts };
}
