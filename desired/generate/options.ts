import { isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';

// Reads the options of a source. The CRD validates those in a spec, but not those from override
// files.

/** A text. Numbers and booleans are formatted; "" if it is missing. */
export function textOf(options: JsonObject, key: string): string {
  return wordOf(ownMember(options, key));
}

/** The objects of a list. */
export function listOf(options: JsonObject, key: string): readonly JsonObject[] {
  const value = ownMember(options, key);
  return Array.isArray(value) ? (value as readonly Json[]).filter(isObject) : [];
}

/** The texts of a list. Empty ones count, as in Argo CD: programs refuse them, or number them. */
export function wordsOf(options: JsonObject, key: string): readonly string[] {
  const value = ownMember(options, key);
  return Array.isArray(value) ? (value as readonly Json[]).map(wordOf) : [];
}

/** A map of texts. */
export function mapOf(options: JsonObject, key: string): Readonly<Record<string, string>> {
  const value = ownMember(options, key);
  if (value === undefined || !isObject(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([name, text]) => [name, wordOf(text)]));
}

function wordOf(value: Json | undefined): string {
  return typeof value === 'string' ||
    typeof value === 'number' ||
    typeof value === 'boolean' ||
    typeof value === 'bigint'
    ? String(value)
    : '';
}
