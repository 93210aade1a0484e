import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { kinds } from '../schema/schema-data.ts';
import { schemaOf } from '../schema/schema.ts';
import { parseKindExamples } from '../testing/kind-examples.ts';
import type { KindExample } from '../testing/kind-examples.ts';
import { canonicalise } from './canonical.ts';
import { asStored } from './defaults.ts';

const kindExamples = parseKindExamples(readFileSync(new URL('../testdata/kinds.ndjson', import.meta.url), 'utf8'));

const byKind = new Map<string, KindExample[]>();
for (const example of kindExamples) {
  const kind = `${example.raw.apiVersion} ${example.raw.kind}`;
  byKind.set(kind, [...(byKind.get(kind) ?? []), example]);
}

function stored(object: Json): Json {
  const type = schemaOf(object as unknown as KubeObject);
  return type === undefined ? object : asStored(object, type);
}

describe('asStored', () => {
  it('is tested with examples of every kind', () => {
    expect([...byKind.keys()].sort()).toEqual(Object.keys(kinds).sort());
    expect(kindExamples.length).toBeGreaterThan(900);
  });

  it.each([...byKind])('returns what the API server stores: %s', (_kind, ofKind) => {
    for (const { raw, stored: expected } of ofKind) {
      expect(stored(raw)).toEqual(canonicalise(expected, schemaOf(raw)));
      expect(stored(stored(raw))).toEqual(stored(raw));
    }
  });
});
