import { describe, expect, it } from '@jest/globals';
import { Secret } from '#base';
import { defaultSettings } from '#model';
import type { Cluster, FilteredResource, Settings } from '#model';
import { adaptation } from './adapt.ts';
import { bodyRule, isExcluded } from './filter.ts';
import { plainVersion } from './discovery.ts';

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

  it('with inclusions for this cluster leaves only those in, and an exclusion wins', () => {
    const inclusions = [rule({ apiGroups: ['apps'], clusters: ['https://prod*'] })];
    expect(verdict({ inclusions }, 'apps', 'Deployment')).toBe(false);
    expect(verdict({ inclusions }, 'batch', 'Job')).toBe(true);
    expect(verdict({ inclusions, exclusions: [rule({ kinds: ['Deployment'] })] }, 'apps', 'Deployment')).toBe(true);
    const elsewhere = [rule({ apiGroups: ['apps'], clusters: ['https://dev*'] })];
    expect(verdict({ inclusions: elsewhere }, 'batch', 'Job')).toBe(false);
  });
});

it.each([
  ['v1.30.11+IKS', 'v1.30.11'],
  ['v1.33.0-alpha.1', 'v1.33.0'],
  ['1.29', 'v1.29'],
  ['weird', 'weird'],
])('plainVersion(%s) is %s', (text, expected) => {
  expect(plainVersion(text)).toBe(expected);
});

describe('adaptation', () => {
  const cluster: Cluster = {
    id: 'u',
    server: url,
    name: 'a',
    namespaces: ['x', 'y'],
    clusterResources: false,
    labels: {},
    annotations: {},
    connection: { server: url, insecure: false, credentials: { bearerToken: new Secret('t') } },
  };
  const step = (over: Partial<Cluster>, settings: Partial<Settings> = {}) =>
    adaptation(
      { cluster, settings: defaultSettings, bodies: undefined },
      { cluster: { ...cluster, ...over }, settings: { ...defaultSettings, ...settings }, bodies: undefined },
    );
  const nothing = { act: 'keep', newCredentials: false, reconfigure: false, readAgain: false };
  const connection = (over: Partial<Cluster['connection']>): Partial<Cluster> => ({
    connection: { ...cluster.connection, ...over },
  });

  it.each([
    ['labels', { labels: { a: 'b' } }],
    ['annotations', { annotations: { a: 'b' } }],
    ['name, shard and id', { name: 'b', shard: 3, id: 'v' }],
    ['the order of namespaces', { namespaces: ['y', 'x'] }],
    ['an equal token', connection({ credentials: { bearerToken: new Secret('t') } })],
  ])('is nothing for %s', (_what, over) => {
    expect(step(over)).toEqual(nothing);
  });

  it.each([
    ['server', { server: 'https://other' }],
    ['CA', { caData: 'x' }],
    ['insecure', { insecure: true }],
    ['server name', { tlsServerName: 'x' }],
    ['proxy', { proxyUrl: 'http://p' }],
  ])('is a new cache for another %s', (_what, over) => {
    expect(step(connection(over))).toEqual({ act: 'rebuild' });
  });

  it('is a swap of credentials for another token, and single watches for other namespaces or filters', () => {
    expect(step(connection({ credentials: { bearerToken: new Secret('u') } }))).toEqual({
      ...nothing,
      newCredentials: true,
    });
    expect(step({ namespaces: ['x'] })).toEqual({ ...nothing, reconfigure: true });
    expect(step({ clusterResources: true })).toEqual({ ...nothing, reconfigure: true });
    expect(step({}, { exclusions: [rule({})] })).toEqual({ ...nothing, reconfigure: true });
  });

  it('9.2: reads every object again when other parts of the cluster are ours, and only then', () => {
    const filter = (owned: readonly number[] | undefined) =>
      owned === undefined ? undefined : { of: 4, owned, namespace: 'argocd' };
    const change = (before?: readonly number[], after?: readonly number[]) =>
      adaptation(
        { cluster, settings: defaultSettings, bodies: filter(before) },
        { cluster, settings: defaultSettings, bodies: filter(after) },
      );
    const again = { ...nothing, reconfigure: true, readAgain: true };
    expect(change([0, 1], [0, 1])).toEqual(nothing);
    expect(change(undefined, undefined)).toEqual(nothing);
    expect([change([0], [0, 1]), change(undefined, [0]), change([0])]).toEqual([again, again, again]);
  });

  it('11.3: "invalidate cache" lists everything again, once for each time that somebody asks', () => {
    const again = { ...nothing, reconfigure: true, readAgain: true };
    const asked = (time?: string): Pick<Cluster, 'annotations'> => ({
      annotations: time === undefined ? {} : { 'argocd.argoproj.io/refresh': time },
    });
    const change = (before?: string, after?: string) =>
      adaptation(
        { cluster: { ...cluster, ...asked(before) }, settings: defaultSettings, bodies: undefined },
        { cluster: { ...cluster, ...asked(after) }, settings: defaultSettings, bodies: undefined },
      );
    const [first, second] = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:05Z'];
    expect([change(undefined, first), change(first, second)]).toEqual([again, again]);
    expect([change(first, first), change(first)]).toEqual([nothing, nothing]);
  });

  it('11.2: reads every object again when other labels are to be shown', () => {
    expect(step({}, { raw: { 'resource.customLabels': 'team' } })).toMatchObject({ readAgain: true });
  });

  it('reads every object again when tracking, health or ignored updates change, and for nothing else', () => {
    const again = { ...nothing, reconfigure: true, readAgain: true };
    expect(step({}, { tracking: { ...defaultSettings.tracking, installationId: 'x' } })).toEqual(again);
    expect(step({}, { ignoreResourceUpdatesEnabled: false })).toEqual(again);
    expect(step({}, { overrides: { 'apps/Deployment': { useOpenLibs: false, knownTypeFields: [] } } })).toEqual(again);
    expect(step({}, { version: '2', sensitiveAnnotations: ['x'], raw: { a: 'b' } })).toEqual(nothing);
  });
});

it('9.2: whole objects are kept of the applications in our parts: every application is in exactly one', () => {
  const rules = [0, 1, 2].map((part) => bodyRule({ of: 3, owned: [part], namespace: 'argocd' }));
  const names = Array.from({ length: 60 }, (_, i) => (i % 2 === 0 ? `app-${i}` : `team_app-${i}`));
  for (const name of names) expect(rules.filter((keeps) => keeps(name))).toHaveLength(1);
  for (const keeps of rules) expect(names.some(keeps)).toBe(true);
  // The same application under either of its names.
  for (const keeps of rules) expect(keeps('argocd_app-1')).toBe(keeps('app-1'));
  expect(names.every(bodyRule(undefined))).toBe(true);
});
