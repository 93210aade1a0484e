import type { KubeObject, ResourceIgnoreDifferences, ResourceRef, Settings } from '#model';
import { annotatedPointers } from './annotated-rules.ts';
import { kindMatcher, unreadableMember } from './rules.ts';
import type { IgnoredNames } from './rule-parts.ts';

/** An ignore rule as it is written. */
export interface WrittenRule {
  /**
   * The Application's spec.ignoreDifferences, the manifest's annotation, or resource.customizations
   * of argocd-cm.
   */
  readonly origin: 'application' | 'manifest' | 'settings';
  readonly type: 'jsonPointer' | 'jq' | 'manager';
  readonly rule: string;
}

/** The ignore rules that apply to one object when it is compared, as they are written. */
export function applyingRules(
  ref: ResourceRef,
  list: readonly ResourceIgnoreDifferences[],
  { overrides }: Pick<Settings, 'overrides'>,
  target?: KubeObject | null,
): readonly WrittenRule[] {
  const readable = list.filter((rule) => unreadableMember(rule) === undefined);
  const own = readable.filter(({ group = '', kind, name = '', namespace = '' }) => {
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
    ...(target === undefined || target === null
      ? []
      : writtenRules('manifest', { jsonPointers: annotatedPointers(target) })),
    ...system.flatMap((rule) => writtenRules('settings', rule)),
  ];
}

function writtenRules(origin: WrittenRule['origin'], rule: IgnoredNames): readonly WrittenRule[] {
  const all = { jsonPointer: rule.jsonPointers, jq: rule.jqPathExpressions, manager: rule.managedFieldsManagers };
  return (['jsonPointer', 'jq', 'manager'] as const).flatMap((type) =>
    (all[type] ?? []).map((text) => ({ origin, type, rule: text })),
  );
}
