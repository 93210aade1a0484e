import { messageOf, scrub } from '#base';
import { diffObjects } from '#diff';
import { defaultSettings } from '#model';
import type { ResourceIgnoreDifferences } from '#model';
import { rows } from './rows.ts';
import type { Feature } from './rows.ts';

/** One entry for each part of an ignore rule that this controller refuses, with its own words. */
export function ruleFeatures(rule: Omit<ResourceIgnoreDifferences, 'kind'>, where: string): readonly Feature[] {
  const parts = [
    ...(rule.jsonPointers ?? []).map((pointer) => ({ jsonPointers: [pointer] })),
    ...(rule.jqPathExpressions ?? []).map((expression) => ({ jqPathExpressions: [expression] })),
  ];
  return parts.flatMap((part): Feature[] => {
    const refusal = refusalOf(part);
    return refusal === undefined
      ? []
      : [{ feature: `an ignore rule that is refused: ${refusal}`, where, severity: 'refused', row: rows.ignoreRules }];
  });
}

const anything = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'any' } };

/** Asks the comparison itself, so that both always agree. */
function refusalOf(rule: Omit<ResourceIgnoreDifferences, 'kind'>): string | undefined {
  try {
    diffObjects(anything, anything, { settings: defaultSettings, ignoreDifferences: [{ kind: 'ConfigMap', ...rule }] });
    return undefined;
  } catch (error) {
    return scrub(messageOf(error));
  }
}
