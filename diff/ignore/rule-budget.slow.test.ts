import { describe, expect, it } from '@jest/globals';
import { defaultSettings } from '#model';
import type { KubeObject, ResourceIgnoreDifferences } from '#model';
import { diffObjects } from '../comparison/diff.ts';
import { respectIgnored } from '../respect/respect.ts';
import { withinBudget } from './rule-budget.ts';

const target: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', namespace: 'apps' },
  data: { kept: '1', loose: 'git', other: 'git' },
};
const live: KubeObject = { ...target, data: { kept: '1', loose: 'live', other: 'live' } };
const settings = defaultSettings;
const pointers = (count: number, from = 0): string[] => Array.from({ length: count }, (_, i) => `/data/k${i + from}`);
const compare = (ignoreDifferences: readonly ResourceIgnoreDifferences[]): ReturnType<typeof diffObjects> =>
  diffObjects(target, live, { settings, ignoreDifferences });

describe('the budget of ignore rules', () => {
  it.each<[string, ResourceIgnoreDifferences[]]>([
    ['pointers', [{ kind: 'ConfigMap', jsonPointers: ['/data/loose', ...pointers(100_000)] }]],
    [
      'short pointers',
      [{ kind: 'ConfigMap', jsonPointers: pointers(13_000).map((path) => path.slice('/data'.length)) }],
    ],
    ['pointers of other kinds', [{ kind: 'Other', jsonPointers: pointers(100_000) }]],
    ['entries', Array.from({ length: 100_000 }, (_, i) => ({ kind: `K${i}`, jsonPointers: ['/a'] }))],
    ['managers', [{ kind: 'ConfigMap', managedFieldsManagers: pointers(100_000) }]],
    ['programs', [{ kind: 'ConfigMap', jqPathExpressions: pointers(10_000).map((_, i) => `.data.k${i}`) }]],
    ['long pointers', [{ kind: 'ConfigMap', jsonPointers: [`/${'a/'.repeat(300_000)}`] }]],
    ['a long glob', [{ kind: '{a,'.repeat(100_000), jsonPointers: ['/a'] }]],
  ])('makes differences undecided, with a fault, under too many or too large %s', (_what, rules) => {
    const result = compare(rules);
    expect(result).toMatchObject({ modified: true, undecided: true });
    expect(result.faults).toMatchObject([{ where: 'spec.ignoreDifferences', undecided: true }]);
    expect(result.faults[0]?.problem).toContain('exceed the limit for one Application');
  });

  it('keeps the rules that fit in force', () => {
    const result = compare([{ kind: 'ConfigMap', jsonPointers: ['/data/loose', ...pointers(100_000)] }]);
    expect(result.paths).toEqual(['/data/other']);
  });

  it('finds an equal object not modified although rules exceed the budget', () => {
    const rules = [{ kind: 'ConfigMap', jsonPointers: ['/data/loose', '/data/other', ...pointers(100_000)] }];
    expect(compare(rules)).toMatchObject({ modified: false, undecided: false });
  });

  it('counts repeated pointers once', () => {
    const twice = Array.from({ length: 100_000 }, (_, i) => (i % 2 === 0 ? '/data/loose' : '/data/other'));
    const result = compare([{ kind: 'ConfigMap', jsonPointers: twice }]);
    expect(result).toMatchObject({ modified: false, faults: [] });
    expect(withinBudget([{ kind: 'ConfigMap', jsonPointers: twice }]).list[0]?.jsonPointers).toHaveLength(2);
  });

  it('applies a repeated list index each time, as in Argo CD', () => {
    const list = (items: string[]): KubeObject => ({ ...target, data: undefined, spec: { list: items } });
    const rules = [{ kind: 'ConfigMap', jsonPointers: ['/spec/list/0', '/spec/list/0'] }];
    const result = diffObjects(list(['a', 'b', 'c']), list(['x', 'y', 'c']), { settings, ignoreDifferences: rules });
    expect(result.modified).toBe(false);
  });

  it('limits the work of pointers into large lists, with a fault', () => {
    const items = Array.from({ length: 20_000 }, (_, i) => `item ${i}`);
    const listed = (first: string): KubeObject => ({ ...target, data: undefined, spec: { list: [first, ...items] } });
    const rules = [
      { kind: 'ConfigMap', jsonPointers: Array.from({ length: 9000 }, (_, i) => `/spec/list/${9000 - i}`) },
    ];
    const result = diffObjects(listed('a'), listed('b'), { settings, ignoreDifferences: rules });
    expect(result).toMatchObject({ modified: true, undecided: true });
    expect(result.faults).toMatchObject([{ problem: 'and the other ignore rules take too much work together' }]);
  });

  it('applies to RespectIgnoreDifferences', () => {
    const ignoreDifferences = [{ kind: 'ConfigMap', jsonPointers: ['/data/loose', ...pointers(100_000)] }];
    const sent = respectIgnored(target, live, { settings, ignoreDifferences }, 'whole');
    expect(sent['data']).toMatchObject({ loose: 'live', other: 'git' });
  });
});

describe('the cost of many rules', () => {
  /** The shortest of three runs in ms. Only ratios of it are compared. */
  const cost = (work: () => void): number => {
    const tries = [0, 1, 2].map(() => {
      const start = performance.now();
      work();
      return performance.now() - start;
    });
    return Math.min(...tries);
  };
  const objects = Array.from({ length: 200 }, (_, i) => ({ ...live, metadata: { name: `o${i}`, namespace: 'apps' } }));
  const costOf = (rules: () => ResourceIgnoreDifferences[]): number =>
    cost(() => {
      const ignoreDifferences = structuredClone(rules());
      for (const object of objects) diffObjects(target, object, { settings, ignoreDifferences });
    });

  it.each<[string, () => ResourceIgnoreDifferences[]]>([
    ['pointers', () => [{ kind: 'ConfigMap', jsonPointers: pointers(100_000) }]],
    ['managers', () => [{ kind: 'ConfigMap', managedFieldsManagers: pointers(100_000) }]],
    [
      'entries',
      () => Array.from({ length: 100_000 }, (_, i) => ({ kind: 'ConfigMap', name: `x${i}`, jsonPointers: ['/a'] })),
    ],
  ])('is about the cost of reading them, whatever the number of objects: %s', (_what, rules) => {
    const reading = cost(() => void structuredClone(rules()));
    expect(costOf(rules) / (reading + costOf(() => []))).toBeLessThan(8);
  });
});
