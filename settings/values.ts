import { messageOf, parseYamlDocuments } from '#base';
import type { Json } from '#base';

/** An entry that could not be read. `object` names the Kubernetes object; the message names the key and never holds a value. */
export interface Problem {
  readonly object: string;
  readonly message: string;
}

/** Collects what is wrong with the keys of argocd-cm. */
export type Report = (key: string, message: string) => void;

/** Items of a comma-separated list, trimmed, without empties. */
export function csv(text: string | undefined): readonly string[] {
  return (text ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** The first document of a YAML text; undefined, and reported, when it cannot be read. */
export function yamlValue(text: string | undefined, key: string, report: Report): Json | undefined {
  if (text === undefined || text.trim() === '') return undefined;
  try {
    return parseYamlDocuments(text)[0] ?? undefined;
  } catch (error) {
    report(key, `not valid YAML: ${messageOf(error)}`);
    return undefined;
  }
}

/** The strings of a list; anything else in it is left out. */
export function strings(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? (value as readonly Json[]).filter((item) => typeof item === 'string') : [];
}
