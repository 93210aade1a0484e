import type { ResourceIgnoreDifferences } from '#model';
import type { RuleFault } from './diff-rules.ts';

/**
 * Limits for the ignore rules of one Application: total weight and text length. Rules written by
 * hand come nowhere near.
 */
export const ruleBudget = { weight: 12_000, textLength: 512 * 1024 } as const;
/** jq programs weigh more: they take longer to compile than a pointer. */
const ruleWeights = { entry: 2, pointer: 1, program: 2, manager: 1 } as const;
/** Real group and kind patterns are far shorter. */
export const maxGlobLength = 1024;

/** The rules within the budget, and a fault if some exceed it. */
export interface BudgetedRules {
  readonly list: readonly ResourceIgnoreDifferences[];
  readonly fault: RuleFault | undefined;
}

/** The remaining budget; negative once something did not fit. */
interface BudgetLeft {
  weight: number;
  textLength: number;
}

/**
 * Returns the ignore rules of an Application that fit its budget, without duplicates. Rules beyond
 * the budget are not in force, so what they would ignore is unknown: a resource that differs is
 * then undecided, and neither self-healed nor synced.
 */
export function withinBudget(
  list: readonly ResourceIgnoreDifferences[],
  where = 'spec.ignoreDifferences',
): BudgetedRules {
  const left = { ...ruleBudget };
  const kept: ResourceIgnoreDifferences[] = [];
  for (const [i, rule] of list.entries()) {
    const budgeted = budgetedRule(rule, left);
    if (budgeted !== undefined) kept.push(budgeted);
    if (isSpent(left)) return { list: kept, fault: faultFrom(list, i, where) };
  }
  return { list: kept, fault: undefined };
}

function isSpent({ weight, textLength }: BudgetLeft): boolean {
  return weight < 0 || textLength < 0;
}

/** Takes from the budget. Returns false once it is exceeded. */
function take(left: BudgetLeft, weight: number, text: string): boolean {
  left.weight -= weight;
  left.textLength -= text.length;
  return !isSpent(left);
}

/** The part of a rule that fits. */
function budgetedRule(rule: ResourceIgnoreDifferences, left: BudgetLeft): ResourceIgnoreDifferences | undefined {
  const { group = '', kind, name = '', namespace = '', jsonPointers, jqPathExpressions, managedFieldsManagers } = rule;
  if (group.length > maxGlobLength || kind.length > maxGlobLength) left.weight = -1;
  if (!take(left, ruleWeights.entry, group + kind + name + namespace)) return undefined;
  const each = (texts: readonly string[] | undefined, weight: number, repeats = maybeIndexed): readonly string[] => {
    const seen = new Set<string>();
    const fitting: string[] = [];
    for (const text of texts ?? []) {
      // Removing the same list index twice removes two items; other repetitions have no effect.
      if (seen.has(text) && !repeats.test(text)) continue;
      if (!take(left, weight, text)) break;
      seen.add(text);
      fitting.push(text);
    }
    return fitting;
  };
  return {
    ...rule,
    jsonPointers: each(jsonPointers, ruleWeights.pointer),
    jqPathExpressions: each(jqPathExpressions, ruleWeights.program, anyText),
    managedFieldsManagers: each(managedFieldsManagers, ruleWeights.manager),
  };
}

/** A pointer that may contain a list index. */
const maybeIndexed = /\/-?[0-9]/;
/** A program runs on the result of the previous ones, so repeating it may have an effect. */
const anyText = /^/;

/** The fault for the first entry that does not fit completely. */
function faultFrom(list: readonly ResourceIgnoreDifferences[], entry: number, where: string): RuleFault {
  let count = 0;
  for (const { jsonPointers = [], jqPathExpressions = [], managedFieldsManagers = [] } of list)
    count += 1 + jsonPointers.length + jqPathExpressions.length + managedFieldsManagers.length;
  return {
    where,
    rule: `end of entry ${entry}, with all entries after it,`,
    problem: `is not in force: ${count} rules exceed the limit for one Application (${ruleBudget.weight}, where a jq program counts ${ruleWeights.program} and an entry ${ruleWeights.entry}, or ${ruleBudget.textLength} characters)`,
    undecided: true,
  };
}
