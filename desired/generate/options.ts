import { isObject, own } from '#base';
import type { Json, JsonObject } from '#base';

// Options of a source as the API server stores them: checked by the CRD, but also read from override files, which nobody checks.

/** A text; numbers and booleans as they are written; "" where there is none. */
export function textOf(options: JsonObject, key: string): string {
  return wordOf(own(options, key));
}

/** The objects of a list. */
export function listOf(options: JsonObject, key: string): readonly JsonObject[] {
  const value = own(options, key);
  return Array.isArray(value) ? (value as readonly Json[]).filter(isObject) : [];
}

/** The texts of a list that are not empty. */
export function wordsOf(options: JsonObject, key: string): readonly string[] {
  const value = own(options, key);
  return Array.isArray(value) ? (value as readonly Json[]).map(wordOf).filter((text) => text !== '') : [];
}

/** A map of texts. */
export function mapOf(options: JsonObject, key: string): Readonly<Record<string, string>> {
  const value = own(options, key);
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
