import { outsideText } from '#base';
import { diffObjects, JqAnswers } from '#diff';
import type { RuleFault } from '#diff';
import { defaultSettings } from '#model';
import type { ResourceIgnoreDifferences } from '#model';
import { rows } from './rows.ts';
import type { UsedFeature } from './rows.ts';

/**
 * One feature per faulty part of an ignore rule, in the words of the comparison. A rule that cannot
 * run is left out, and the objects it might concern are not synced; a rule without effect in Argo
 * CD as well is only reported.
 */
export function ruleFeatures(rule: Omit<ResourceIgnoreDifferences, 'kind'>, where: string): readonly UsedFeature[] {
  return faultsOf(rule).map(({ rule: text, problem, undecided }) => ({
    feature: `an ignore rule with a fault: ${outsideText('field', `${text} ${problem}`)}`,
    where,
    severity: undecided ? 'refused' : 'info',
    row: undecided ? rows.brokenRule : rows.idleRule,
  }));
}

const anything = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'any' } };

/**
 * Uses the comparison itself, so that both always agree. Faults on particular objects show in their
 * verdicts.
 */
function faultsOf(rule: Omit<ResourceIgnoreDifferences, 'kind'>): readonly RuleFault[] {
  const { jsonPointers = [], jqPathExpressions = [] } = rule;
  const forAnything = { kind: 'ConfigMap', jsonPointers, jqPathExpressions };
  const ignoreDifferences = [forAnything];
  const jq = new JqAnswers();
  for (;;) {
    const { faults } = diffObjects(anything, anything, { settings: defaultSettings, ignoreDifferences, jq });
    if (jq.openQuestions().length === 0) return faults;
    // Programs that need jq run during the comparison.
    for (const { key } of jq.openQuestions()) jq.put(key, { paths: [] });
  }
}
