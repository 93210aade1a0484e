import { UsageError } from '#base';
import type { LabelRequirement } from './types.ts';

const checks: Readonly<
  Record<LabelRequirement['operator'], (value: string | undefined, values: readonly string[]) => boolean>
> = {
  In: (value, values) => value !== undefined && values.includes(value),
  NotIn: (value, values) => value === undefined || !values.includes(value),
  Exists: (value) => value !== undefined,
  DoesNotExist: (value) => value === undefined,
};

/**
 * A label selector as in Kubernetes: all members must match.
 * @throws UsageError for an unknown operator, or values that it does not take
 */
export function labelSelector(
  matchLabels: Readonly<Record<string, string>>,
  matchExpressions: readonly LabelRequirement[],
): (labels: Readonly<Record<string, string>>) => boolean {
  const equal = Object.entries(matchLabels);
  for (const { key, operator, values = [] } of matchExpressions) {
    if (!Object.hasOwn(checks, operator))
      throw new UsageError(`the operator of ${key} must be one of ${Object.keys(checks).join(', ')}`);
    const takesValues = operator === 'In' || operator === 'NotIn';
    if (takesValues !== values.length > 0)
      throw new UsageError(`${operator} of ${key} takes ${takesValues ? '' : 'no '}values`);
  }
  return (labels) =>
    equal.every(([name, value]) => labels[name] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => checks[operator](labels[key], values));
}
