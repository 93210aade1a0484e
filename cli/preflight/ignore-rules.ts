import { outsideText } from '#base';
import { diffObjects, JqAnswers } from '#diff';
import type { RuleFault } from '#diff';
import { defaultSettings } from '#model';
import type { ResourceIgnoreDifferences } from '#model';
import { rows } from './rows.ts';
import type { Feature } from './rows.ts';

/**
 * One entry for each part of an ignore rule that has a fault, with the comparison's own words: a rule that cannot be run is left out, and what
 * it may have ignored is not synced; one that has no effect in Argo CD either is only told.
 */
export function ruleFeatures(rule: Omit<ResourceIgnoreDifferences, 'kind'>, where: string): readonly Feature[] {
  return faultsOf(rule).map(({ rule: text, problem, undecided }) => ({
    feature: `an ignore rule with a fault: ${outsideText('field', `${text} ${problem}`)}`,
    where,
    severity: undecided ? 'refused' : 'info',
    row: undecided ? rows.brokenRule : rows.idleRule,
  }));
}

const anything = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'any' } };

/** Asks the comparison itself, so that both always agree. What shows only with a certain object is in the verdict on that. */
function faultsOf(rule: Omit<ResourceIgnoreDifferences, 'kind'>): readonly RuleFault[] {
  const { jsonPointers = [], jqPathExpressions = [] } = rule;
  const forAnything = { kind: 'ConfigMap', jsonPointers, jqPathExpressions };
  const ignoreDifferences = [forAnything];
  const jq = new JqAnswers();
  for (;;) {
    const { faults } = diffObjects(anything, anything, { settings: defaultSettings, ignoreDifferences, jq });
    if (jq.open().length === 0) return faults;
    // What only jq can run is run, by those who compare.
    for (const { key } of jq.open()) jq.put(key, { paths: [] });
  }
}
