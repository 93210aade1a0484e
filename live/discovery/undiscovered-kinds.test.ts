import { describe, expect, it } from '@jest/globals';
import { annotations } from '#model';
import { crd, withCrds, world } from '../testing/world.ts';
import type { LiveWorld } from '../testing/world.ts';

describe('a kind that is defined but not discovered', () => {
  const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w', namespace: 'ns' } };

  /** A CustomResourceDefinition whose kind is served. */
  const established = (name: string, extra: Record<string, unknown> = {}) => ({
    ...crd(name),
    spec: {
      names: { kind: 'Widget', plural: 'widgets' },
      scope: 'Namespaced',
      versions: [{ name: 'v1', served: true }],
    },
    status: { conditions: [{ type: 'Established', status: 'True' }] },
    ...extra,
  });
  const widgetOfShop = {
    ...widget,
    metadata: { ...widget.metadata, annotations: { [annotations.trackingId]: 'shop:example.com/Widget:ns/w' } },
  };
  const target = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w', namespace: 'ns' } };
  const unreadOf = async (w: LiveWorld): Promise<readonly string[]> =>
    (await w.cluster().managed({ app: 'shop', targets: [target] }, w.signal)).unread.map(({ message }) => message);

  it('delays readiness for a moment if a CRD defines it', async () => {
    const w = await world((server) => {
      withCrds(server);
      server.serve('example.com', 'v1', 'Widget');
      server.put(established('widgets.example.com'));
      server.put(widgetOfShop);
      server.unnamed.add('widgets');
    });
    expect([w.cluster().info().state, w.cluster().discoveryDoubt()]).toEqual([
      'connecting',
      'discovery does not list the kind and will run again shortly',
    ]);
    await w.clock.advance(2_000);
    expect(w.cluster().info().state).toBe('connecting');
    w.server.unnamed.clear();
    await w.clock.advance(4_000);
    expect(w.cluster().info().state).toBe('synced');
    expect(w.server.watching()).toContain('widgets');
    expect(await unreadOf(w)).toEqual([]);
    await w.stop();
  });

  it.each([undefined, 503, 403])(
    'is unknown instead of missing, if a CRD defines it (status of its endpoint: %s)',
    async (status) => {
      const w = await world((server) => {
        withCrds(server);
        server.serve('example.com', 'v1', 'Widget');
        server.put(established('widgets.example.com'));
        server.put(widgetOfShop);
        server.unnamed.add('widgets');
        if (status !== undefined) server.faults.set('look widgets', status);
      });
      await w.clock.advance(20_000);
      expect(w.cluster().info().state).toBe('synced');
      expect(w.cluster().discovery().failedGroups.get('example.com')).toBe(
        'discovery does not list widgets.example.com, but CustomResourceDefinition widgets.example.com exists',
      );
      expect(await unreadOf(w)).toEqual([expect.stringContaining('does not list widgets.example.com')]);
      w.server.unnamed.clear();
      await w.clock.advance(60_000);
      expect(w.cluster().discovery().failedGroups.size).toBe(0);
      expect(await unreadOf(w)).toEqual([]);
      expect((await w.cluster().managed({ app: 'shop', targets: [] }, w.signal)).objects.size).toBe(1);
      await w.stop();
    },
  );

  it.each([
    ['whose address is not found', established('widgets.example.com')],
    ['that is not established', established('widgets.example.com', { status: {} })],
    ['without a version that is served', established('widgets.example.com', { spec: { versions: [] } })],
  ])('is not waited for, with a CRD %s', async (_what, definition) => {
    const w = await world((server) => {
      withCrds(server);
      server.put(definition);
    });
    await w.clock.advance(1_500);
    expect(w.cluster().info().state).toBe('synced');
    expect(w.cluster().discovery().failedGroups.size).toBe(0);
    expect(await unreadOf(w)).toEqual([]);
    const before = w.server.count('get customresourcedefinitions');
    await w.clock.advance(900_000);
    expect(w.server.count('get customresourcedefinitions')).toBe(before);
    await w.stop();
  });

  it('is not probed if it is one of many: discovery is repeated instead', async () => {
    const names = Array.from({ length: 50 }, (_, i) => `widgets.e${i}.example.com`);
    const w = await world((server) => {
      withCrds(server);
      for (const name of names) server.put(established(name));
    });
    await w.clock.advance(10_000);
    expect(w.server.count('get customresourcedefinitions')).toBe(0);
    expect(w.cluster().discovery().failedGroups.size).toBe(50);
    await w.clock.advance(60_000);
    expect(w.cluster().discovery().failedGroups.size).toBe(0);
    await w.stop();
  });

  it.each([
    ['is not available', { service: { name: 's' } }, 'False', true],
    ['is available and has nothing', { service: { name: 's' } }, 'True', false],
    ['is the server itself', {}, 'True', false],
  ])('depends on its APIService, which %s', async (_what, spec, status, isOpen) => {
    const w = await world((server) => {
      server.serve('apiregistration.k8s.io', 'v1', 'APIService', false);
      const metadata = { name: 'v1.far.example.com' };
      const conditions = [{ type: 'Available', status }];
      server.put({
        apiVersion: 'apiregistration.k8s.io/v1',
        kind: 'APIService',
        metadata,
        spec,
        status: { conditions },
      });
    });
    await w.clock.advance(120_000);
    expect(w.cluster().info().state).toBe('synced');
    expect(w.cluster().discovery().failedGroups.has('far.example.com')).toBe(isOpen);
    await w.stop();
  });

  it('is possible in the first minute of discovery if CRDs cannot be read', async () => {
    const w = await world((server) => {
      withCrds(server);
      server.faults.set('list customresourcedefinitions', 403);
    });
    expect(w.cluster().info().state).toBe('synced');
    expect(w.cluster().discoveryDoubt()).toMatch(/may be incomplete so soon/);
    await w.clock.advance(60_000);
    expect(w.cluster().discoveryDoubt()).toMatch(/may be incomplete so soon/);
    await w.clock.advance(20_000);
    expect(w.cluster().discoveryDoubt()).toBeUndefined();
    await w.stop();
  });

  it('is ruled out at once if all definitions can be read', async () => {
    const w = await world((server) => {
      withCrds(server);
      server.serve('apiregistration.k8s.io', 'v1', 'APIService', false);
    });
    expect(w.cluster().discoveryDoubt()).toBeUndefined();
    await w.stop();
  });
});
