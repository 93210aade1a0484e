import { isObject, outsideText } from '#base';
import type { Json } from '#base';
import type { ResourceOverride } from '#model';
import { lineOf, textList } from './values.ts';

type IgnoredFields = NonNullable<ResourceOverride['ignoreDifferences']>;

const ruleLists = ['jsonPointers', 'jqPathExpressions', 'managedFieldsManagers'] as const;
/** Members of an Application's rule that administrators copy here: they have no effect. */
const scopeMembers: ReadonlySet<string> = new Set(['group', 'kind', 'name', 'namespace']);

/**
 * Reads the ignore rules of a kind strictly: a misspelt member or a text instead of a list would
 * ignore less than its author wanted. The case of members is ignored, as in Go. The readable part
 * is returned even if the rest is reported.
 * @param text the YAML text, for line numbers.
 */
export function readIgnoreRules(value: Json, text: string, report: (message: string) => void): IgnoredFields {
  if (!isObject(value)) {
    if (value !== null) report('must be a YAML map with jsonPointers, jqPathExpressions or managedFieldsManagers');
    return {};
  }
  const rules: Record<string, readonly string[]> = {};
  for (const [member, content] of Object.entries(value)) {
    const name = ruleLists.find((list) => list.toLowerCase() === member.toLowerCase());
    const reportHere = (message: string): void => report(`${lineOf(text, member)}${message}`);
    if (name !== undefined) rules[name] = textList({ [name]: content }, name, reportHere);
    else if (!scopeMembers.has(member)) reportHere(`unknown member "${outsideText('field', member)}"`);
  }
  return {
    jsonPointers: rules['jsonPointers'] ?? [],
    jqPathExpressions: rules['jqPathExpressions'] ?? [],
    managedFieldsManagers: rules['managedFieldsManagers'] ?? [],
  };
}
