import { describe, expect, it } from '@jest/globals';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { createSchemaBook } from './book.ts';
import { claimSample, kindIn, podSample, withChange } from './samples.ts';

/** test/conformance/scenarios/refusals.ts has the refusals, with a real server's answers. */
const book = createSchemaBook();
const problems = (old: KubeObject, change: Json): string[] => {
  const kind = kindIn(book, old.kind);
  const [before, after] = [old, withChange(old, change)].map((object) => book.applyDefaults(kind, object));
  return book.validate(kind, after!, before).map(({ message }) => message);
};

describe('validation accepts what the simulated controllers change', () => {
  it.each<[string, KubeObject, Json]>([
    ['the binding of a pod', podSample, { spec: { nodeName: 'n' } }],
    ['a bound claim', claimSample, { spec: { volumeName: 'v', storageClassName: 'c' } }],
    ['a claim that grows', claimSample, { spec: { resources: { requests: { storage: '2Gi' } } } }],
  ])('%s', (_what, old, change) => {
    expect(problems(old, change)).toEqual([]);
  });

  it('but no claim that shrinks', () => {
    const text = 'Forbidden: field can not be less than status.capacity';
    expect(problems(claimSample, { spec: { resources: { requests: { storage: '1Mi' } } } })).toEqual([text]);
  });
});
