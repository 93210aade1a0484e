import { outsideText } from '#base';
import type { ApplicationCondition, ConditionType } from '#model';

/** Which step of a pass owns which condition types: it replaces all of them and none of the others. */
export const ownedConditions = {
  spec: ['InvalidSpecError', 'UnknownError', 'HydrationWarning'],
  comparison: [
    'ComparisonError',
    'SharedResourceWarning',
    'RepeatedResourceWarning',
    'ExcludedResourceWarning',
    'StaleResourceWarning',
    'IgnoreRuleWarning',
    'UnownedClusterWarning',
  ],
  tree: ['OrphanedResourceWarning'],
  autosync: ['SyncError'],
  deletion: ['DeletionError'],
  quarantine: ['QuarantineWarning'],
} as const satisfies Record<string, readonly ConditionType[]>;

/**
 * The conditions of an Application after one step has evaluated some types: those of other types stay, the fresh ones replace the
 * evaluated ones. A fresh condition with a known message keeps the time at which it first appeared.
 *
 * Source: Argo CD types.go SetConditions. Difference: the message is looked up among all conditions of the type, not only the first
 * one, so that several conditions of one type do not get a new time (and a write) at each comparison. Messages that name an address with a
 * password in it, as a spec may have it, are stored without.
 */
export function setConditions(
  existing: readonly ApplicationCondition[] | undefined,
  fresh: readonly ApplicationCondition[],
  evaluated: readonly ConditionType[],
  now: string,
): readonly ApplicationCondition[] {
  const before = existing ?? [];
  const kept = before.filter((condition) => !evaluated.includes(condition.type));
  const known = (condition: ApplicationCondition): ApplicationCondition | undefined =>
    before.find((old) => old.type === condition.type && old.message === condition.message);
  const shown = fresh.map((condition) => ({ ...condition, message: outsideText('field', condition.message) }));
  const result = [...kept, ...shown.map((condition) => known(condition) ?? condition)];
  return dedupe(result.map((condition) => ({ lastTransitionTime: now, ...condition }))).sort(byText);
}

function dedupe(conditions: readonly ApplicationCondition[]): ApplicationCondition[] {
  const seen = new Map(conditions.map((condition) => [`${condition.type}/${condition.message}`, condition]));
  return [...seen.values()];
}

function byText(a: ApplicationCondition, b: ApplicationCondition): number {
  const [left, right] = [sortKey(a), sortKey(b)];
  return left < right ? -1 : Number(left > right);
}

function sortKey(condition: ApplicationCondition): string {
  return `${condition.type}/${condition.message}/${condition.lastTransitionTime ?? ''}`;
}

/** Conditions as one line of an operation's message: `<Type>: <message>;<Type>: <message>`. */
export function formatConditions(conditions: readonly ApplicationCondition[]): string {
  return conditions.map((condition) => `${condition.type}: ${condition.message}`).join(';');
}
