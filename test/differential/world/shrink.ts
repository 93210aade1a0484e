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
  let plays = 0;
  const attempt = async (smaller: DifferentialPlan): Promise<ShrunkPlan | undefined> => {
    plays += 1;
    const { findings } = await play(smaller);
    const found = findings.find(({ differences }) => differences.some(({ area }) => areas.has(area)));
    return found === undefined ? undefined : { plan: smaller, finding: found, plays };
  };
  let best = await attempt(aloneWith(plan, finding));
  if (best === undefined) return undefined;
  for (let size = Math.ceil(best.plan.acts.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < best.plan.acts.length && plays < maxPlays;) {
      const acts = best.plan.acts.filter((_act, i) => i < from || i >= from + size);
      const found: ShrunkPlan | undefined = await attempt({ ...best.plan, acts });
      if (found === undefined) from += size;
      else best = found;
    }
  }
  return { ...best, plays };
}

/** The plan with the Application of a finding only, up to its act. */
export function aloneWith(plan: DifferentialPlan, { act, app }: Finding): DifferentialPlan {
  const acts = plan.acts
    .slice(0, act + 1)
    .filter((each) => !('app' in each) || each.app === app)
    .map((each): Act => ('app' in each ? { ...each, app: 0 } : each));
  return { ...plan, apps: plan.apps.slice(app, app + 1), acts };
}
