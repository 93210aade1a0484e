import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isObject, parseYamlDocuments, stringifyJson } from '#base';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { documentLines } from './manifests.ts';

const readBack = (objects: readonly KubeObject[]): string =>
  stringifyJson(parseYamlDocuments(objects.map((object) => `${documentLines(object)}\n`).join('')));

function yamlFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.yaml') && !name.includes('templates'))
    .map((name) => join(folder, name));
}

describe('driftless manifests prints what is applied', () => {
  it.each([...yamlFiles('examples'), ...yamlFiles('manifests')])('of %s', (file) => {
    const objects = parseYamlDocuments(readFileSync(file, 'utf8')).filter(isObject) as unknown as KubeObject[];
    expect(readBack(objects)).toBe(stringifyJson(objects as unknown as Json));
  });

  it('of any texts, with blank lines at their ends', () => {
    const part = fc.constantFrom(
      'a',
      ' ',
      '\n',
      '\n\n',
      '\t',
      ': ',
      '- ',
      '#',
      '---\n',
      "'",
      '"',
      '|',
      '{{ x }}',
      '\r\n',
    );
    const text = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.array(fc.dictionary(text, text, { maxKeys: 3 }), { minLength: 1, maxLength: 3 }), (all) => {
        const metadata = { name: 'a' };
        const objects = all.map((data) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }));
        expect(readBack(objects)).toBe(stringifyJson(objects));
      }),
      { numRuns: 300 },
    );
  });
});
