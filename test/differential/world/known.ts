import type { WorldDifference } from './reading.ts';
import type { DifferentialPlan } from './plan.ts';

/** A deliberate difference. */
export interface KnownDifference {
  /** The row of docs/compatibility.md, by its subject. */
  readonly row: string;
  readonly explains: (difference: WorldDifference, plan: DifferentialPlan) => boolean;
}

export const knownDifferences: readonly KnownDifference[] = [];

/** The row that explains a difference. */
export function rowOf(difference: WorldDifference, plan: DifferentialPlan): string | undefined {
  return knownDifferences.find(({ explains }) => explains(difference, plan))?.row;
}
