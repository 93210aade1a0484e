import { describe, expect, it } from '@jest/globals';
import { valueAt } from '#base';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { createSchemaBook } from './book.ts';
import { deploymentSample, kindIn, podSample, withChange } from './samples.ts';

const book = createSchemaBook();
const decode = (object: KubeObject) => book.decode(kindIn(book, object.kind), object);

/** test/conformance/scenarios/defaults.ts has the wrong types and the notation of a real server. */
describe('decoding a built-in object', () => {
  it.each<[string, KubeObject, Json, readonly (string | number)[], Json | undefined]>([
    [
      'times',
      podSample,
      { metadata: { creationTimestamp: '2024-05-01T12:00:00.5+02:00' } },
      ['metadata', 'creationTimestamp'],
      '2024-05-01T10:00:00Z',
    ],
    [
      'an integer beyond 2^53',
      deploymentSample,
      { metadata: { generation: 9007199254740993n } },
      ['metadata', 'generation'],
      9007199254740993n,
    ],
  ])('formats values as Go does: %s', (_what, object, change, path, expected) => {
    expect(valueAt(decode(withChange(object, change)).object as Json, ...path)).toEqual(expected);
  });

  it('does not add unset fields: those come with the defaults', () => {
    const spec = { replicas: 1 };
    const partial = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'x' }, spec } as KubeObject;
    expect(decode(partial).object).toEqual(partial);
  });
});
