import { describe, expect, it } from '@jest/globals';
import { isObject, parseJson } from '#base';
import type { Json, JsonObject } from '#base';
import { defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { fuzz } from '#support';
import type { FuzzTarget } from '#support';
import { parseFields } from '../field-ownership/field-set.ts';
import { readOpenApi } from '../field-ownership/open-api.ts';
import { JqAnswers } from '../jq/answers.ts';
import { compileExpression } from '../jq/compile.ts';
import { canonicalQuantity, milliQuantity } from '../normalize/quantity.ts';
import { diffObjects } from './diff.ts';
import { maskSecrets } from './mask.ts';

const head = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' } };
const live: KubeObject = { ...head, spec: { replicas: 1, template: { spec: { containers: [{ name: 'c' }] } } } };
const objectOf = (text: Buffer): JsonObject => {
  const value = parseJson(text.toString());
  return isObject(value) ? value : { value };
};
const openApi =
  '{"components":{"schemas":{"a":{"type":"object","x-kubernetes-group-version-kind":[{"group":"g","version":"v1","kind":"A"}],"properties":{"l":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"$ref":"#/components/schemas/b"}}}},"b":{"allOf":[{"$ref":"#/components/schemas/b"}],"default":{}}}}}';
const input: Json = { a: [{ name: 'x', n: 1 }, null], s: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!' };

const targets: readonly FuzzTarget[] = [
  {
    name: 'a jq program',
    seeds: [
      '.spec.containers[] | select(.name == "a") | .env[]?',
      '.s | test("^((a|a))*b$")',
      '.. | select(type == "object")',
      '.a[0:2]',
      'to_entries | map(.value)',
      'def f: f; f',
    ],
    read: (text) => compileExpression(text.toString().slice(0, 4000)).find(input),
    // Too much work, or an unsupported feature.
    refuses: (error) => error instanceof Error && !/stack/i.test(error.message),
  },
  {
    name: 'a quantity',
    seeds: ['1500m', '1.5Gi', '1e3', '-0.000001n', `1e${'9'.repeat(50)}`, '1'.repeat(1000)],
    read: (text) => [canonicalQuantity(text.toString()), milliQuantity(text.toString())],
  },
  {
    name: 'managed fields',
    seeds: [
      '{"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:l":{"k:{\\"name\\":\\"a\\"}":{"f:x":{}},"v:1":{},"i:0":{}}}',
    ],
    read: (text) => parseFields(objectOf(text)),
  },
  { name: 'an OpenAPI document', seeds: [openApi], read: (text) => useSchemas(parseJson(text.toString())) },
  {
    name: 'a target object',
    seeds: [
      '{"spec":{"replicas":"1","template":{"spec":{"containers":[{"name":"c"},{"name":"c"}]}}},"metadata":{"labels":null}}',
    ],
    read: (text) => {
      const target = { ...objectOf(text), ...head } as KubeObject;
      return diffObjects(target, live, { settings: defaultSettings, ignoreDifferences: [], jq: new JqAnswers() });
    },
  },
  {
    name: 'a Secret',
    seeds: ['{"data":{"a":"YQ==","b":1},"stringData":{"c":[]},"metadata":{"annotations":{"k":"{\\"data\\":{}}"}}}'],
    read: (text) => {
      const parsed = objectOf(text);
      const metadata = isObject(parsed['metadata']) ? parsed['metadata'] : {};
      const secret: KubeObject = { ...parsed, apiVersion: 'v1', kind: 'Secret', metadata: { ...metadata, name: 's' } };
      const live = { ...secret, data: { a: 'Yg==' } };
      return [maskSecrets(secret, live, ['k']), maskSecrets(live, secret, ['k'])];
    },
  },
];

function useSchemas(document: Json): void {
  for (const { withDefaults } of readOpenApi(document).values()) withDefaults({ l: [{ k: 1 }] });
}

describe('parsers of rules and objects', () => {
  it.each(targets)(
    '$name: returns a result or throws our error, in time',
    async (target) => {
      expect((await fuzz(target)).inputs).toBeGreaterThan(0);
    },
    120_000,
  );
});
