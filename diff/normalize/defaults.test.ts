import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { isObject, valueAt } from '#base';
import type { Json, JsonObject } from '#base';
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

/** The examples are only defaulted. Conversion also writes some fields, as real API servers do. */
function converted(object: Json): Json {
  const spec = valueAt(object, 'spec');
  if (valueAt(object, 'kind') === 'Node' && isObject(spec)) return { ...(object as JsonObject), spec: inStep(spec) };
  const devices = valueAt(object, 'spec', 'devices');
  const isOld =
    valueAt(object, 'apiVersion') === 'resource.k8s.io/v1beta1' && valueAt(object, 'kind') === 'ResourceSlice';
  if (!isOld || !Array.isArray(devices)) return object;
  const filled = devices.map((device: Json) => ({ basic: {}, ...(device as JsonObject) }));
  return { ...(object as JsonObject), spec: { ...(valueAt(object, 'spec') as JsonObject), devices: filled } };
}

function inStep(spec: JsonObject): JsonObject {
  const { podCIDR = '', podCIDRs } = spec;
  const [first] = Array.isArray(podCIDRs) ? (podCIDRs as readonly Json[]) : [];
  if (podCIDR === '') return first === undefined ? spec : { ...spec, podCIDR: first };
  return first === podCIDR ? spec : { ...spec, podCIDRs: [podCIDR] };
}

describe('asStored', () => {
  it('is tested with examples of every kind', () => {
    expect([...byKind.keys()].sort()).toEqual(Object.keys(kinds).sort());
    expect(kindExamples.length).toBeGreaterThan(900);
  });

  it.each([...byKind])('returns what the API server stores: %s', (_kind, ofKind) => {
    for (const { raw, stored: expected } of ofKind) {
      expect(stored(raw)).toEqual(canonicalise(converted(expected), schemaOf(raw)));
      expect(stored(stored(raw))).toEqual(stored(raw));
    }
  });
});
