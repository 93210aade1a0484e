import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { parseYamlDocuments } from '#base';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { createSchemaBook } from './book.ts';
import { withChange, kindIn, widgetSchema } from './samples.ts';

const book = createSchemaBook();
const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: widgetSchema as Json } };
const crd: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [version],
  },
};
const withSchema = (spec: Json): Json => ({
  spec: { versions: [{ ...version, schema: { openAPIV3Schema: { type: 'object', properties: { spec } } } }] },
});
const where = 'spec.validation.openAPIV3Schema.properties[spec]';

describe('a CustomResourceDefinition', () => {
  it('is accepted if it is valid', () => {
    expect(book.validateCrd(crd)).toEqual([]);
  });

  it.each<[string, Json, string | RegExp]>([
    [
      'name',
      { metadata: { name: 'other' } },
      'metadata.name: Invalid value: "other": must be spec.names.plural+"."+spec.group',
    ],
    [
      'scope',
      { spec: { scope: 'World' } },
      'spec.scope: Unsupported value: "World": supported values: "Cluster", "Namespaced"',
    ],
    ['no scope', { spec: { scope: null } }, 'spec.scope: Required value'],
    ['no kind', { spec: { names: { kind: null } } }, 'spec.names.kind: Required value'],
    [
      'same kinds',
      { spec: { names: { listKind: 'Widget' } } },
      'spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same',
    ],
    [
      'no storage version',
      { spec: { versions: [{ ...version, storage: false }] } },
      /^spec.versions: Invalid value: \[.*"Storage":false.*\]: must have exactly one version marked as storage version, status.storedVersions: Invalid value: null: must have at least one stored version$/,
    ],
    [
      'two storage versions',
      { spec: { versions: [version, { ...version, name: 'v2' }] } },
      /^spec.versions: Invalid value: \[.*"Name":"v2".*\]: must have exactly one version marked as storage version$/,
    ],
    [
      'a version twice',
      { spec: { versions: [version, { ...version, storage: false }] } },
      'spec.versions[1].name: Invalid value: "v1": must be unique',
    ],
    [
      'no schema',
      { spec: { versions: [{ ...version, schema: null }] } },
      'spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required',
    ],
    [
      'no type',
      withSchema({ properties: {} }),
      `${where}.type: Required value: must not be empty for specified object fields`,
    ],
    [
      'unknown type',
      withSchema({ type: 'text' }),
      `${where}.type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"`,
    ],
    ['array without items', withSchema({ type: 'array' }), `${where}.items: Required value: must be specified`],
    [
      'both kinds of members',
      withSchema({ type: 'object', properties: { a: { type: 'string' } }, additionalProperties: { type: 'string' } }),
      `${where}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive`,
    ],
    ['$ref', withSchema({ type: 'object', $ref: '#/x' }), `${where}.$ref: Forbidden: $ref is not supported`],
    [
      'uniqueItems',
      withSchema({ type: 'array', items: { type: 'string' }, uniqueItems: true }),
      `${where}.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic`,
    ],
    [
      'list map without keys',
      withSchema({ type: 'array', items: { type: 'object' }, 'x-kubernetes-list-type': 'map' }),
      `${where}.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map`,
    ],
    [
      'list map with a strange key',
      withSchema({
        type: 'array',
        items: { type: 'object', properties: { a: { type: 'string' } } },
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['b'],
      }),
      `${where}.x-kubernetes-list-map-keys[0]: Invalid value: "b": entries must all be names of item properties`,
    ],
    [
      'int-or-string with type',
      withSchema({ type: 'string', 'x-kubernetes-int-or-string': true }),
      `${where}.type: Invalid value: "string": must be empty if x-kubernetes-int-or-string is true`,
    ],
    [
      'structure inside a branch',
      withSchema({ type: 'object', anyOf: [{ type: 'object' }] }),
      `${where}.anyOf[0].type: Forbidden: must be empty to be structural`,
    ],
    [
      'default of another type',
      withSchema({ type: 'integer', default: 'x' }),
      `${where}.default: Invalid value: "string":  in body must be of type integer: "string"`,
    ],
    [
      'default beyond 64 bits',
      withSchema({ type: 'integer', default: 2n ** 63n }),
      `${where}.default: Invalid value: "number":  in body must be of type integer: "number", ${where}.<nil>: Invalid value: "": Checked value must be of type integer (default format) in default`,
    ],
    [
      'pattern',
      withSchema({ type: 'string', pattern: '(' }),
      `${where}.pattern: Invalid value: "(": must be a valid regular expression, but isn't: error parsing regexp`,
    ],
    [
      'column type',
      {
        spec: { versions: [{ ...version, additionalPrinterColumns: [{ name: 'a', jsonPath: '.a', type: 'color' }] }] },
      },
      'spec.additionalPrinterColumns[0].type: Invalid value: "color": must be one of boolean,date,integer,number,string',
    ],
  ])('is rejected: %s', (_what, change, problem) => {
    const found = book.validateCrd(withChange(crd, change)).map(({ field, message }) => `${field}: ${message}`);
    expect(found.join(', ')).toEqual(typeof problem === 'string' ? problem : expect.stringMatching(problem));
  });

  it("accepts Argo CD's own definitions, which decode without loss", () => {
    const folder = new URL('../../manifests/crds/', import.meta.url);
    const files = readdirSync(folder).filter((name) => /[.]ya?ml$/.test(name));
    const definitions = files
      .flatMap((name) => parseYamlDocuments(readFileSync(new URL(name, folder), 'utf8')) as unknown as KubeObject[])
      .filter((object) => object.kind === 'CustomResourceDefinition');
    expect(definitions.length).toBeGreaterThan(0);
    for (const definition of definitions) {
      const kind = kindIn(book, 'CustomResourceDefinition');
      const decoded = book.decode(kind, definition);
      expect([decoded.typeError, decoded.unknownFields]).toEqual([undefined, []]);
      expect(book.validateCrd(book.applyDefaults(kind, decoded.object))).toEqual([]);
    }
  });
});
