import { describe, expect, it } from '@jest/globals';
import { annotationOf, csvAnnotation, labelOf } from './object.ts';
import type { KubeObject } from './object.ts';

function objectWith(metadata: unknown): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata } as KubeObject;
}

describe('labels and annotations of an object', () => {
  it('are read by their own names', () => {
    const object = objectWith({ annotations: { a: '1, 2' }, labels: { b: 'x' } });
    expect([annotationOf(object, 'a'), csvAnnotation(object, 'a'), labelOf(object, 'b')]).toEqual([
      '1, 2',
      ['1', '2'],
      'x',
    ]);
    expect([annotationOf(object, 'toString'), labelOf(object, 'constructor')]).toEqual([undefined, undefined]);
  });

  it.each([[null], ['text'], [3], [['a']], [{ a: null }], [{ a: 3 }], [{ a: {} }]])(
    'are absent where they cannot be read: %j',
    (value) => {
      const object = objectWith({ annotations: value, labels: value });
      expect([annotationOf(object, 'a'), labelOf(object, 'a'), csvAnnotation(object, 'a')]).toEqual([
        undefined,
        undefined,
        [],
      ]);
    },
  );
});
