import { messageOf, parseYamlDocuments } from '#base';
import type { Json } from '#base';

/**
 * An unreadable entry. `object` names the Kubernetes object; the message names the key, never a
 * value.
 */
export interface SettingsProblem {
  readonly object: string;
  readonly message: string;
}

/** An entry in effect that does less than in Argo CD, or one that is not read here. */
export interface SettingsNote extends SettingsProblem {
  readonly reason: 'jq' | 'unused' | 'selectors';
}

/** Collects problems with the keys of argocd-cm. */
export type ReportProblem = (key: string, message: string) => void;

/** Items of a comma-separated list, trimmed, without empty ones. */
export function splitCommaList(text: string | undefined): readonly string[] {
  return (text ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** The first document of a YAML text; undefined (and reported) if it is invalid. */
export function yamlValue(text: string | undefined, key: string, report: ReportProblem): Json | undefined {
  if (text === undefined || text.trim() === '') return undefined;
  try {
    return parseYamlDocuments(text)[0] ?? undefined;
  } catch (error) {
    report(key, `not valid YAML: ${messageOf(error)}`);
    return undefined;
  }
}

/** The strings of a list; any other value is left out. */
export function stringItems(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? (value as readonly Json[]).filter((item) => typeof item === 'string') : [];
}
