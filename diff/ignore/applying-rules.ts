import type { ResourceIgnoreDifferences, ResourceRef, Settings } from '#model';
import { kindMatcher } from './rules.ts';
import type { IgnoredNames } from './rule-parts.ts';

/** An ignore rule as it is written. */
export interface WrittenRule {
  /** The Application's spec.ignoreDifferences, or resource.customizations of argocd-cm. */
  readonly origin: 'application' | 'settings';
  readonly type: 'jsonPointer' | 'jq' | 'manager';
  readonly rule: string;
}

/** The ignore rules that apply to one object when it is compared, as they are written. */
export function applyingRules(
  ref: ResourceRef,
  list: readonly ResourceIgnoreDifferences[],
  { overrides }: Pick<Settings, 'overrides'>,
): readonly WrittenRule[] {
  const own = list.filter(({ group = '', kind, name = '', namespace = '' }) => {
    const isHere = (name === '' || name === ref.name) && (namespace === '' || namespace === ref.namespace);
    return isHere && kindMatcher(group, kind)(ref);
  });
  const system = Object.entries(overrides).flatMap(([key, { ignoreDifferences }]) => {
    const [first = '', second] = key.split('/');
    const matches = second === undefined ? kindMatcher('', first) : kindMatcher(first, second);
    return ignoreDifferences !== undefined && matches(ref) ? [ignoreDifferences] : [];
  });
  return [
    ...own.flatMap((rule) => writtenRules('application', rule)),
    ...system.flatMap((rule) => writtenRules('settings', rule)),
  ];
}

function writtenRules(origin: WrittenRule['origin'], rule: IgnoredNames): readonly WrittenRule[] {
  const all = { jsonPointer: rule.jsonPointers, jq: rule.jqPathExpressions, manager: rule.managedFieldsManagers };
  return (['jsonPointer', 'jq', 'manager'] as const).flatMap((type) =>
    (all[type] ?? []).map((text) => ({ origin, type, rule: text })),
  );
}
