import { describe, expect, it } from '@jest/globals';
import { inClusterServer } from '#model';
import type { FakeHub } from './testing/fake-hub.ts';
import { cluster, settingsWorld } from './testing/settings-world.ts';
import type { SettingsStore } from './types.ts';

describe('an unreadable cluster Secret is not replaced', () => {
  const inCluster = { ...cluster('hub', 'narrow'), server: inClusterServer };
  const put = (hub: FakeHub, name: string, data: Record<string, string>, createdAt = '2026-01-01'): void =>
    hub.put('Secret', name, data, { secretType: 'cluster', createdAt });
  const token = (store: SettingsStore, destination: object): string | undefined => {
    const found = store.resolve(destination);
    return 'error' in found ? found.error : (found.connection.credentials.bearerToken?.reveal() ?? 'own identity');
  };
  const unreadable: [string, Record<string, string>, string][] = [
    ['config', { ...inCluster, config: '{"b' }, 'the key "config" is not valid JSON'],
    ['server', { ...inCluster, server: '' }, 'the key "server" is missing or empty'],
    ['every key', {}, 'the key "server" is missing or empty'],
  ];
  const destinations = [{ server: inClusterServer }, { name: 'in-cluster' }, { name: 'hub' }];

  it.each(unreadable)("by the controller's own identity: %s, at run time", async (_key, data, error) => {
    const { store, hub, clock, metrics, stop } = await settingsWorld((h) => put(h, 'hub', inCluster));
    for (const destination of destinations) expect(token(store, destination)).toBe('narrow');
    put(hub, 'hub', data);
    await clock.settle();
    expect(store.clusters()).toEqual([]);
    expect(await metrics.expose()).toContain('driftless_secret_unreadable{secret="argocd/hub"} 1');
    for (const destination of destinations)
      expect(store.resolve(destination)).toMatchObject({
        claim: `Secret argocd/hub cannot be read: ${error}`,
        error: expect.stringContaining(`Secret argocd/hub cannot be read: ${error}`) as unknown,
      });
    put(hub, 'hub', { ...data, name: 'other' });
    await clock.settle();
    expect(store.clusters()).toEqual([]);
    put(hub, 'hub', inCluster);
    await clock.settle();
    for (const destination of destinations) expect(token(store, destination)).toBe('narrow');
    await stop();
  });

  it.each(unreadable)("by the controller's own identity: %s, at start", async (_key, data, error) => {
    const { store, hub, clock, stop } = await settingsWorld((h) => put(h, 'hub', data));
    expect(store.clusters()).toEqual([]);
    expect(token(store, { name: 'in-cluster' })).toContain(`Secret argocd/hub cannot be read: ${error}`);
    put(hub, 'hub', { ...cluster('hub'), server: 'https://other' });
    await clock.settle();
    expect(token(store, { name: 'in-cluster' })).toBe('own identity');
    await stop();
  });

  it.each([
    ['of another cluster', { ...cluster('x'), config: '[' }],
    ['of one project', { ...inCluster, config: '[', project: 'tenant' }],
  ])('%s takes nothing from the in-cluster', async (_title, data) => {
    const { store, stop } = await settingsWorld((h) => put(h, 'x', data));
    expect(token(store, { name: 'in-cluster' })).toBe('own identity');
    await stop();
  });

  it('while one that only limits its namespaces is deleted and created again', async () => {
    const limited = { server: inClusterServer, name: 'hub', namespaces: 'red' };
    const { store, hub, clock, stop } = await settingsWorld((h) => put(h, 'hub', limited));
    const namespaces = (): unknown => store.clusters().map((one) => one.namespaces);
    expect(namespaces()).toEqual([['red']]);
    hub.remove('Secret', 'hub');
    await clock.settle();
    expect(namespaces()).toEqual([]);
    put(hub, 'hub', limited);
    await clock.settle();
    expect([namespaces(), store.problems()]).toEqual([[['red']], []]);
    // A later deletion has its own minute.
    await clock.advance(50_000);
    hub.remove('Secret', 'hub');
    await clock.advance(50_000);
    expect(namespaces()).toEqual([]);
    await clock.advance(20_000);
    expect(namespaces()).toEqual([[]]);
    await stop();
  });

  it('a new one without a URL takes no cluster over', async () => {
    const { store, hub, clock, stop } = await settingsWorld();
    put(hub, 'new', { name: 'new' });
    await clock.settle();
    expect(token(store, { name: 'in-cluster' })).toBe('own identity');
    await stop();
  });

  it('by a later Secret with its URL, whose names are named too', async () => {
    const { store, hub, clock, stop } = await settingsWorld((h) => {
      put(h, 'a', cluster('dest', 'first'));
      put(h, 'b', { ...cluster('dest', 'second'), name: 'alias' }, '2026-02-01');
    });
    expect(token(store, { name: 'alias' })).toBe('first');
    put(hub, 'a', { ...cluster('dest'), server: '' });
    await clock.settle();
    for (const destination of [{ server: 'https://dest' }, { name: 'dest' }, { name: 'alias' }])
      expect(token(store, destination)).toContain('Secret argocd/a cannot be read');
    put(hub, 'a', cluster('dest', 'first'));
    put(hub, 'b', { ...cluster('dest', 'second'), config: '[' }, '2026-02-01');
    await clock.settle();
    expect(token(store, { server: 'https://dest' })).toBe('first');
    await stop();
  });

  it('while it is deleted and created again; a longer deletion is an edit', async () => {
    const { store, hub, clock, changes, stop } = await settingsWorld((h) => put(h, 'hub', inCluster));
    hub.remove('Secret', 'hub');
    await clock.settle();
    expect(token(store, { name: 'in-cluster' })).toContain('Secret argocd/hub cannot be read: it was deleted');
    expect(store.problems()).toMatchObject([{ object: 'Secret argocd/hub' }]);
    put(hub, 'hub', inCluster);
    await clock.advance(120_000);
    expect(token(store, { name: 'in-cluster' })).toBe('narrow');
    hub.remove('Secret', 'hub');
    await clock.advance(59_000);
    expect(store.clusters()).toEqual([]);
    changes.length = 0;
    await clock.advance(2000);
    expect(token(store, { name: 'in-cluster' })).toBe('own identity');
    expect(changes).toEqual([{ settings: false, clusters: true, repositories: false }]);
    await stop();
  });

  it('a deleted Secret of the in-cluster that narrowed nothing leaves no gap', async () => {
    const { store, hub, clock, stop } = await settingsWorld((h) =>
      put(h, 'hub', { server: inClusterServer, name: 'hub' }),
    );
    hub.remove('Secret', 'hub');
    await clock.settle();
    expect(token(store, { name: 'in-cluster' })).toBe('own identity');
    await stop();
  });
});
