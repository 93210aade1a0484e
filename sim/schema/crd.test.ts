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

/** test/conformance/scenarios/definitions.ts has the refusals, with a real server's answers. */
describe('a CustomResourceDefinition', () => {
  it('is rejected if a default is beyond 64 bits', () => {
    const found = book.validateCrd(withChange(crd, withSchema({ type: 'integer', default: 2n ** 63n })));
    expect(found.map(({ field, message }) => `${field}: ${message}`)).toEqual([
      `${where}.default: Invalid value: "number":  in body must be of type integer: "number"`,
      `${where}.<nil>: Invalid value: "": Checked value must be of type integer (default format) in default`,
    ]);
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
