import { omit } from '#base';
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
  let best: ShrunkPlan = { plan, violation: first.violation, plays: 1 };
  let plays = 1;
  for (let size = Math.ceil(plan.acts.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < best.plan.acts.length && plays < maxPlays;) {
      const acts = best.plan.acts.filter((_, i) => i < from || i >= from + size);
      const { violation } = await play({ ...best.plan, acts });
      plays += 1;
      if (violation === undefined) from += size;
      else best = { plan: { ...best.plan, acts }, violation, plays };
    }
  }
  return { ...best, plays };
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
