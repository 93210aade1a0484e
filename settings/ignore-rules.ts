import { isObject, outsideText } from '#base';
import type { Json } from '#base';
import type { ResourceOverride } from '#model';
import { lineOf, textList } from './values.ts';

type IgnoredFields = NonNullable<ResourceOverride['ignoreDifferences']>;

const ruleLists = ['jsonPointers', 'jqPathExpressions', 'managedFieldsManagers'] as const;
/** Members of an Application's rule that administrators copy here: they have no effect. */
const scopeMembers: ReadonlySet<string> = new Set(['group', 'kind', 'name', 'namespace']);

/** Faults of a rule: `narrows` if it ignores less than its author wanted, else `widens`. */
export interface IgnoreRuleReport {
  readonly narrows: (message: string) => void;
  readonly widens: (message: string) => void;
}

/**
 * Reads the ignore rules of a kind strictly: a misspelt member or a text instead of a list would
 * ignore less than its author wanted. The case of members is ignored, as in Go. The readable part
 * is returned even if the rest is reported.
 * @param kind `group/Kind`, `Kind` or a glob: where the rule holds.
 * @param text the YAML text, for line numbers.
 */
export function readIgnoreRules(
  value: Json,
  { kind, text }: { readonly kind: string; readonly text: string },
  report: IgnoreRuleReport,
): IgnoredFields {
  if (!isObject(value)) {
    if (value !== null)
      report.narrows('must be a YAML map with jsonPointers, jqPathExpressions or managedFieldsManagers');
    return {};
  }
  const rules: Record<string, readonly string[]> = {};
  for (const [member, content] of Object.entries(value)) {
    const name = ruleLists.find((list) => list.toLowerCase() === member.toLowerCase());
    const reportHere = (message: string): void => report.narrows(`${lineOf(text, member)}${message}`);
    if (name !== undefined) rules[name] = textList({ [name]: content }, name, reportHere);
    else if (!scopeMembers.has(member)) reportHere(`unknown member "${outsideText('field', member)}"`);
    else if (!isSaidByKey(kind, member, content))
      report.widens(`${lineOf(text, member)}"${member}" has no effect: the rule holds for ${scopeOf(kind)}`);
  }
  return {
    jsonPointers: rules['jsonPointers'] ?? [],
    jqPathExpressions: rules['jqPathExpressions'] ?? [],
    managedFieldsManagers: rules['managedFieldsManagers'] ?? [],
  };
}

/** Whether the key of the rule selects the same. */
function isSaidByKey(kind: string, member: string, content: Json | undefined): boolean {
  const [group, name] = kind.includes('/') ? kind.split('/') : ['', kind];
  return (member === 'group' && content === group) || (member === 'kind' && content === name);
}

function scopeOf(kind: string): string {
  return kind === '*/*' ? 'all kinds' : `every object of ${outsideText('field', kind)}`;
}
