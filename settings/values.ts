import { messageOf, ownMember, parseYamlDocuments, SecretValue } from '#base';
import type { Json, JsonObject } from '#base';

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

/**
 * What an unreadable setting may narrow: every write, or the fields to ignore of a customization's
 * kind.
 */
export type Narrowed = 'every write' | { readonly kind: string };

/**
 * Collects problems with the keys of argocd-cm. `where` starts with the key; `narrowed` is set if
 * the unreadable part narrows what the controller does.
 */
export type ReportProblem = (where: string, message: string, narrowed?: Narrowed) => void;

/** Stands for a value that is not UTF-8; no setting that narrows can be read from it. */
export const notText = '\uFFFD';

/** Items of a comma-separated list, trimmed, without empty ones. */
export function splitCommaList(text: string | undefined): readonly string[] {
  return (text ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** The first document of a YAML text; undefined if it is empty or invalid (which is reported). */
export function yamlValue(text: string | undefined, report: (message: string) => void): Json | undefined {
  if (text === undefined || text.trim() === '') return undefined;
  try {
    return parseYamlDocuments(text)[0] ?? undefined;
  } catch (error) {
    report(`not valid YAML: ${messageOf(error)}`);
    return undefined;
  }
}

/** The strings of a list; any other value is left out. */
export function stringItems(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? (value as readonly Json[]).filter((item) => typeof item === 'string') : [];
}

/** Reads a list of texts strictly: anything else is reported. Absent and null are an empty list. */
export function textList(object: JsonObject, name: string, report: (message: string) => void): readonly string[] {
  const value = ownMember(object, name);
  if (value === undefined || value === null) return [];
  const items = stringItems(value);
  if (!Array.isArray(value) || items.length !== value.length) report(`${name} must be a list of texts`);
  return items;
}

/** `line 2: ` for the first line of a YAML text that names a member; empty if there is none. */
export function lineOf(text: string, member: string): string {
  const line = text.split('\n').findIndex((content) => content.replace(/^[\s"'{-]+/, '').startsWith(member));
  return line < 0 ? '' : `line ${line + 1}: `;
}

/** Deep equality of parsed values, Secret values included: a rotated token is a change. */
export function isSameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (a instanceof SecretValue || b instanceof SecretValue)
    return a instanceof SecretValue && b instanceof SecretValue && a.reveal() === b.reveal();
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  const [left, right] = [Object.entries(a), new Map(Object.entries(b))];
  return (
    left.length === right.size && left.every(([key, value]) => right.has(key) && isSameValue(value, right.get(key)))
  );
}
