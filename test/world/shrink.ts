import { omit } from '#base';
import { shrinkList } from '../support/shrink-list.ts';
import { play } from './simulation.ts';
import type { WorldPlan } from './plan.ts';

export interface ShrunkPlan {
  readonly plan: WorldPlan;
  readonly violation: string;
  /** Schedules that were played. */
  readonly plays: number;
}

/**
 * Leaves out acts of a failing schedule, the larger part first, as long as it still fails. Returns
 * undefined if the schedule does not fail.
 */
export async function shrink(plan: WorldPlan, maxPlays = 60): Promise<ShrunkPlan | undefined> {
  const first = await play(plan);
  if (first.violation === undefined) return undefined;
  const attempt = async (acts: WorldPlan['acts']): Promise<string | undefined> =>
    (await play({ ...plan, acts })).violation;
  const { items: acts, result, attempts } = await shrinkList(plan.acts, attempt, maxPlays - 1);
  return { plan: { ...plan, acts }, violation: result ?? first.violation, plays: attempts + 1 };
}

/** A schedule as the text of a test. */
export function testOf({ plan, violation }: Pick<ShrunkPlan, 'plan' | 'violation'>): string {
  const acts = plan.acts.map((act) => `      ${JSON.stringify(act)},`).join('\n');
  const head = JSON.stringify(omit(plan, 'acts')).slice(1, -1);
  return [
    `// ${violation}`,
    `it('keeps its promises in the schedule ${plan.seed}', async () => {`,
    `  const { violation } = await play({`,
    `    ${head},`,
    `    acts: [`,
    acts,
    `    ],`,
    `  } as WorldPlan);`,
    `  expect(violation).toBeUndefined();`,
    `});`,
    '',
  ].join('\n');
}
