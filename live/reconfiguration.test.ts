import { describe, expect, it } from '@jest/globals';
import { SecretValue } from '#base';
import { defaultSettings } from '#model';
import type { Cluster, Settings } from '#model';
import { planReconfiguration } from './reconfiguration.ts';

const url = 'https://prod.example.com:6443';

describe('planReconfiguration', () => {
  const cluster: Cluster = {
    id: 'u',
    server: url,
    name: 'a',
    namespaces: ['x', 'y'],
    clusterResources: false,
    labels: {},
    annotations: {},
    connection: { server: url, insecure: false, credentials: { bearerToken: new SecretValue('t') } },
  };
  const step = (over: Partial<Cluster>, settings: Partial<Settings> = {}) =>
    planReconfiguration(
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
    ['an equal token', connection({ credentials: { bearerToken: new SecretValue('t') } })],
  ])('needs nothing for %s', (_what, over) => {
    expect(step(over)).toEqual(nothing);
  });

  it.each([
    ['server', { server: 'https://other' }],
    ['CA', { caData: 'x' }],
    ['insecure', { insecure: true }],
    ['server name', { tlsServerName: 'x' }],
    ['proxy', { proxyUrl: 'http://p' }],
  ])('needs a new cache for another %s', (_what, over) => {
    expect(step(connection(over))).toEqual({ act: 'rebuild' });
  });

  it('needs a new client for another project, so that running writes keep their credentials', () => {
    expect(step({ project: 'one' })).toEqual({ act: 'rebuild' });
  });

  it('swaps credentials for another token, and starts or stops watches for other namespaces or filters', () => {
    expect(step(connection({ credentials: { bearerToken: new SecretValue('u') } }))).toEqual({
      ...nothing,
      newCredentials: true,
    });
    expect(step({ namespaces: ['x'] })).toEqual({ ...nothing, reconfigure: true });
    expect(step({ clusterResources: true })).toEqual({ ...nothing, reconfigure: true });
    expect(step({}, { exclusions: [{ apiGroups: [], kinds: [], clusters: [] }] })).toEqual({
      ...nothing,
      reconfigure: true,
    });
  });

  it('reads every object again if and only if other parts of the cluster become owned', () => {
    const filter = (owned: readonly number[] | undefined) =>
      owned === undefined ? undefined : { of: 4, owned, namespace: 'argocd' };
    const change = (before?: readonly number[], after?: readonly number[]) =>
      planReconfiguration(
        { cluster, settings: defaultSettings, bodies: filter(before) },
        { cluster, settings: defaultSettings, bodies: filter(after) },
      );
    const again = { ...nothing, reconfigure: true, readAgain: true };
    expect(change([0, 1], [0, 1])).toEqual(nothing);
    expect(change(undefined, undefined)).toEqual(nothing);
    expect([change([0], [0, 1]), change(undefined, [0]), change([0])]).toEqual([again, again, again]);
  });

  it('lists everything again once per "invalidate cache" request', () => {
    const again = { ...nothing, reconfigure: true, readAgain: true };
    const asked = (time?: string): Pick<Cluster, 'annotations'> => ({
      annotations: time === undefined ? {} : { 'argocd.argoproj.io/refresh': time },
    });
    const change = (before?: string, after?: string) =>
      planReconfiguration(
        { cluster: { ...cluster, ...asked(before) }, settings: defaultSettings, bodies: undefined },
        { cluster: { ...cluster, ...asked(after) }, settings: defaultSettings, bodies: undefined },
      );
    const [first, second] = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:05Z'];
    expect([change(undefined, first), change(first, second)]).toEqual([again, again]);
    expect([change(first, first), change(first)]).toEqual([nothing, nothing]);
  });

  it('reads every object again if the custom labels change', () => {
    expect(step({}, { raw: { 'resource.customLabels': 'team' } })).toMatchObject({ readAgain: true });
  });

  it('reads every object again if tracking, health or ignored updates change, but not for other settings', () => {
    const again = { ...nothing, reconfigure: true, readAgain: true };
    expect(step({}, { tracking: { ...defaultSettings.tracking, installationId: 'x' } })).toEqual(again);
    expect(step({}, { ignoreResourceUpdatesEnabled: false })).toEqual(again);
    expect(step({}, { overrides: { 'apps/Deployment': { useOpenLibs: false, knownTypeFields: [] } } })).toEqual(again);
    expect(step({}, { version: '2', sensitiveAnnotations: ['x'], raw: { a: 'b' } })).toEqual(nothing);
  });
});
