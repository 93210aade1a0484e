import { describe, expect, it } from '@jest/globals';
import type { Json, JsonObject } from '#base';
import { schemaOf } from '../schema/schema.ts';
import { asKube } from '../shared/values.ts';
import { canonicalise } from './canonical.ts';

function podWith(spec: JsonObject): JsonObject {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' }, spec };
}

function canonicalSpec(spec: JsonObject): Json | undefined {
  const pod = podWith(spec);
  return (canonicalise(pod, schemaOf(asKube(pod))) as JsonObject)['spec'];
}

describe('empty fields of a built-in kind', () => {
  it('are dropped when they are zeros of their own type', () => {
    const kept = { terminationGracePeriodSeconds: 0, enableServiceLinks: false };
    const dropped = { schedulerName: '', hostNetwork: false, volumes: [], nodeSelector: {} };
    expect(canonicalSpec({ ...dropped, ...kept })).toEqual(kept);
  });

  it('are dropped when they are quantities that Go always writes', () => {
    const reference = { resource: 'limits.cpu' };
    const items = (resourceFieldRef: JsonObject): JsonObject => ({
      volumes: [{ name: 'v', downwardAPI: { items: [{ path: 'cpu', resourceFieldRef }] } }],
    });
    expect(canonicalSpec(items({ ...reference, divisor: '0' }))).toEqual(items(reference));
    const limits = { containers: [{ name: 'a', resources: { limits: { cpu: '0' } } }] };
    expect(canonicalSpec(limits)).toEqual(limits);
  });

  it.each<[string, Json]>([
    ['schedulerName', 0],
    ['schedulerName', false],
    ['hostNetwork', 0],
    ['hostNetwork', ''],
    ['volumes', ''],
    ['nodeSelector', []],
  ])('stay when they are zeros of another type, for the API server to refuse: %s %j', (field, value) => {
    expect(canonicalSpec({ [field]: value })).toEqual({ [field]: value });
  });
});
