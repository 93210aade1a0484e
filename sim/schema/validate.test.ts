import { describe, expect, it } from '@jest/globals';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { createSchemaBook } from './book.ts';
import * as samples from './samples.ts';
import { withChange, kindIn } from './samples.ts';

/** test/conformance/scenarios/refusals.ts has the refusals, with a real server's answers. */
const book = createSchemaBook();
const kindOf = (object: KubeObject) =>
  kindIn(book, object.kind, object.apiVersion.includes('/') ? object.apiVersion.split('/')[0] : '');
const problems = (object: KubeObject, old?: KubeObject): string[] => {
  const kind = kindOf(object);
  const before = old === undefined ? undefined : book.applyDefaults(kind, old);
  return book.validate(kind, book.applyDefaults(kind, object), before).map(({ message }) => message);
};

describe('validation accepts', () => {
  it.each(
    Object.entries(samples).filter(
      ([name, value]) => typeof value === 'object' && 'apiVersion' in value && name !== 'widgetSample',
    ),
  )('a valid object, and no change of it: %s', (_name, value) => {
    expect(problems(value as KubeObject)).toEqual([]);
    expect(problems(value as KubeObject, value as KubeObject)).toEqual([]);
  });

  it.each<[string, KubeObject, Json]>([
    ['the binding of a pod', samples.podSample, { spec: { nodeName: 'n' } }],
    ['a bound claim', samples.claimSample, { spec: { volumeName: 'v', storageClassName: 'c' } }],
    ['a claim that grows', samples.claimSample, { spec: { resources: { requests: { storage: '2Gi' } } } }],
  ])('what the simulated controllers change: %s', (_what, old, change) => {
    expect(problems(withChange(old, change), old)).toEqual([]);
  });

  it('no claim that shrinks', () => {
    const smaller = withChange(samples.claimSample, { spec: { resources: { requests: { storage: '1Mi' } } } });
    expect(problems(smaller, samples.claimSample)).toEqual(['Forbidden: field can not be less than status.capacity']);
  });
});
