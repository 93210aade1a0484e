import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { isObject, parseJson, stringifyJson } from './json.ts';
import type { Json } from './json.ts';
import { parseYamlDocuments } from './yaml.ts';

/** A text with the reading of sigs.k8s.io/yaml (scripts/record-yaml-readings.mjs). */
type Reading = readonly [text: string, json: string];

const readings = JSON.parse(
  readFileSync(new URL('./testdata/yaml-readings.json', import.meta.url), 'utf8'),
) as readonly Reading[];

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map((item: Json) => sorted(item));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key] as Json)]),
  );
}

/** Our reading as JSON; undefined if we refuse the text, or if it has several documents. */
function ours(text: string): string | undefined {
  try {
    const documents = parseYamlDocuments(text);
    return documents.length > 1 ? undefined : stringifyJson(sorted(documents[0] ?? null));
  } catch {
    return undefined;
  }
}

describe('thousands of spellings of YAML', () => {
  it('never have another value than in Go', () => {
    const different = readings.flatMap(([text, json]) => {
      const own = ours(text);
      const theirs = stringifyJson(sorted(parseJson(json)));
      return own === undefined || own === theirs ? [] : [{ text, own, theirs }];
    });
    expect(different).toEqual([]);
  });
});
