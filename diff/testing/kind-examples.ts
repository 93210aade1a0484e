import { parseJson } from '#base';
import type { JsonObject } from '#base';

/** A manifest, and what Kubernetes' own code stores for it. */
export interface KindExample {
  readonly raw: JsonObject & { readonly apiVersion: string; readonly kind: string };
  readonly stored: JsonObject;
}

/** Parses testdata/kinds.ndjson: every built-in kind (scripts/generate/schema-data.mjs). */
export function parseKindExamples(text: string): readonly KindExample[] {
  return parseLines(text) as readonly KindExample[];
}

/** A server-side apply, and the API server's field manager's result, managed fields included. */
export interface MergeExample {
  readonly name: string;
  readonly target: JsonObject;
  readonly live: JsonObject;
  readonly after: JsonObject;
}

/** Parses testdata/merges.ndjson: server-side applies (scripts/generate/schema-data.mjs). */
export function parseMergeExamples(text: string): readonly MergeExample[] {
  return (parseLines(text) as readonly Omit<MergeExample, 'name'>[]).map((merge, i) => ({
    ...merge,
    name: `${i} ${merge.target['kind'] as string}`,
  }));
}

function parseLines(text: string): readonly unknown[] {
  return text
    .trim()
    .split('\n')
    .map((line) => parseJson(line) as unknown);
}
