import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseYamlDocuments } from '#base';
import type { JsonObject } from '#base';
import { compareKeys, goFloat, writeManifests } from './go-yaml.ts';

interface RecordedDocument {
  readonly objects: readonly JsonObject[];
  readonly yaml: string;
}

/** Written by go.yaml.in/yaml/v3 v3.0.4 with an indent of 2. */
const recorded = JSON.parse(
  readFileSync(new URL('go-yaml.cases.json', import.meta.url), 'utf8'),
) as readonly RecordedDocument[];

describe('manifest.yaml', () => {
  it.each(recorded.map((one, i) => [i, one] as const))('has the bytes of yaml.v3: case %i', (_i, { objects, yaml }) => {
    expect(writeManifests(objects)).toBe(yaml);
  });

  it('is empty without objects', () => {
    expect(writeManifests([])).toBe('');
  });

  it('reads back as the same objects', () => {
    const text = fc.string({ unit: fc.constantFrom(...'aZ09 .:-#\'"\n\t{}[],&*!|>%@~_\\\r\u0085\u2028é😀\u0000') });
    const leaf = fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null), fc.constantFrom(0.5, 1e-7, 1234567.5));
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        leaf,
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(text, tie('tree'), { maxKeys: 3 }),
      ),
    }));
    fc.assert(
      fc.property(fc.dictionary(text, tree, { minKeys: 1, maxKeys: 4 }), (object) => {
        const plain = JSON.parse(JSON.stringify(object)) as JsonObject;
        expect(JSON.parse(JSON.stringify(parseYamlDocuments(writeManifests([plain]))))).toEqual([plain]);
      }),
      { numRuns: 500 },
    );
  });
});

it('keys with numbers are ordered by value', () => {
  expect(['b', 'a10', 'a9', 'A', '_', '1', '10', '2'].sort(compareKeys)).toEqual([
    '_',
    '1',
    '2',
    '10',
    'A',
    'a9',
    'a10',
    'b',
  ]);
});

it.each([
  [0.5, '0.5'],
  [1e-7, '1e-07'],
  [1234567.5, '1.2345675e+06'],
  [1e300, '1e+300'],
  [-0.0001, '-0.0001'],
])('the number %d is written as Go does: %s', (value, text) => {
  expect(goFloat(value)).toBe(text);
});
