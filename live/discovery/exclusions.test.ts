import { describe, expect, it } from '@jest/globals';
import type { FilteredResource, Settings } from '#model';
import { isExcluded } from './exclusions.ts';

const url = 'https://prod.example.com:6443';
const rule = (over: Partial<FilteredResource>): FilteredResource => ({
  apiGroups: [],
  kinds: [],
  clusters: [],
  ...over,
});

describe('isExcluded', () => {
  const verdict = (settings: Partial<Settings>, group: string, kind: string): boolean =>
    isExcluded({ exclusions: [], inclusions: [], ...settings }, { group, kind }, url);

  it.each([
    ['', 'Event', true],
    ['events.k8s.io', 'Event', true],
    ['metrics.k8s.io', 'PodMetrics', true],
    ['coordination.k8s.io', 'Lease', true],
    ['coordination.k8s.io', 'LeaseCandidate', false],
    ['example.com', 'Event', false],
    ['apps', 'Deployment', false],
  ])('of %s/%s without settings is %s', (group, kind, expected) => {
    expect(verdict({}, group, kind)).toBe(expected);
    expect(verdict({ inclusions: [rule({})] }, group, kind)).toBe(expected);
  });

  it.each([
    [rule({}), true],
    [rule({ apiGroups: ['*.io'] }), true],
    [rule({ apiGroups: ['a', 'cilium.io'], kinds: ['CiliumIdentity'] }), true],
    [rule({ kinds: ['*'] }), true],
    [rule({ kinds: ['Cilium*'] }), false],
    [rule({ apiGroups: ['cilium'] }), false],
    [rule({ clusters: ['https://prod*'] }), true],
    [rule({ clusters: ['https://dev*'] }), false],
  ])('by %j: %s', (exclusion, expected) => {
    expect(verdict({ exclusions: [exclusion] }, 'cilium.io', 'CiliumIdentity')).toBe(expected);
  });

  it('excludes everything else if the cluster has inclusions, and exclusions win', () => {
    const inclusions = [rule({ apiGroups: ['apps'], clusters: ['https://prod*'] })];
    expect(verdict({ inclusions }, 'apps', 'Deployment')).toBe(false);
    expect(verdict({ inclusions }, 'batch', 'Job')).toBe(true);
    expect(verdict({ inclusions, exclusions: [rule({ kinds: ['Deployment'] })] }, 'apps', 'Deployment')).toBe(true);
    const elsewhere = [rule({ apiGroups: ['apps'], clusters: ['https://dev*'] })];
    expect(verdict({ inclusions: elsewhere }, 'batch', 'Job')).toBe(false);
  });
});
