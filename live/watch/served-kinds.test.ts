import { describe, expect, it } from '@jest/globals';
import { findResource } from '#kube';
import { annotations, defaultSettings, resourceKey } from '#model';
import { clusterAt, crd, row, url, withCrds, world } from '../testing/world.ts';

// T-CACHE-5
describe('kinds that come and go', () => {
  const widgetKey = resourceKey('example.com', 'Widget', 'ns', 'w');
  const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w', namespace: 'ns' } };

  it('watches a new kind soon after its definition, and stops when the definition is deleted', async () => {
    const w = await world(withCrds);
    w.server.put(crd('widgets.example.com'));
    await w.clock.advance(500);
    w.server.serve('example.com', 'v1', 'Widget');
    w.server.put(widget);
    await w.clock.advance(5000);
    expect(await row(w, widgetKey)).toMatchObject({ key: widgetKey });
    expect(w.changes.map(({ key }) => key)).toContain(widgetKey);
    w.changes.length = 0;
    w.server.kinds.pop();
    w.server.remove('CustomResourceDefinition', 'widgets.example.com', '', 'apiextensions.k8s.io');
    await w.clock.advance(5000);
    expect(await row(w, widgetKey)).toBeUndefined();
    expect(w.server.watching()).not.toContain('widgets');
    expect(w.changes.map(({ key }) => key)).toContain(widgetKey);
    await w.stop();
  });

  it('repeats discovery if the server takes long to serve the kind', async () => {
    const w = await world(withCrds);
    w.server.put(crd('widgets.example.com'));
    await w.clock.advance(12_000);
    w.server.serve('example.com', 'v1', 'Widget');
    await w.clock.advance(12_000);
    expect(w.server.watching()).toContain('widgets');
    await w.stop();
  });

  it('neither postpones nor multiplies discovery for a stream of definitions', async () => {
    const w = await world(withCrds);
    const before = w.server.count('discover');
    w.server.serve('example.com', 'v1', 'Widget');
    for (let i = 0; i < 100; i += 1) {
      w.server.put(crd('widgets.example.com'));
      await w.clock.advance(100);
    }
    expect(w.server.watching()).toContain('widgets');
    expect(w.server.count('discover') - before).toBeLessThanOrEqual(11);
    await w.stop();
  });

  it.each([503, 403])(
    'keeps kinds that a starting server does not list yet (%s), and drops them when they are removed',
    async (status) => {
      const w = await world(
        (server) => {
          server.serve('example.com', 'v1', 'Widget');
          server.put(widget);
        },
        { tuning: { discoveryMs: 10_000 } },
      );
      const served = w.server.kinds.splice(-1);
      w.server.faults.set('look widgets', status);
      await w.clock.advance(20_000);
      expect(await row(w, widgetKey)).toMatchObject({ key: widgetKey });
      expect(w.server.watching()).toContain('widgets');
      expect(w.cluster().isNamespaced({ group: 'example.com', kind: 'Widget' })).toBe(true);
      expect(w.cluster().info().message).toBe(
        'discovery does not list example.com/Widget, which was served before and has not been removed',
      );
      w.server.faults.clear();
      w.server.kinds.push(...served);
      await w.clock.advance(30_000);
      expect(w.changes).toEqual([]);
      expect(w.cluster().info().message).toBeUndefined();
      w.server.kinds.pop();
      await w.clock.advance(30_000);
      expect(w.server.watching()).not.toContain('widgets');
      expect(await row(w, widgetKey)).toBeUndefined();
      await w.stop();
    },
  );

  it('accepts the removal of a forbidden kind after two minutes, not after five', async () => {
    const w = await world((server) => server.serve('example.com', 'v1', 'Widget'), { tuning: { discoveryMs: 10_000 } });
    w.server.faults.set('look widgets', 403).set('list widgets', 403).set('watch widgets', 403);
    w.server.kinds.pop();
    w.server.serve('example.com', 'v1', 'Gadget');
    await w.clock.advance(150_000);
    expect(w.server.watching()).toContain('gadgets');
    expect(w.server.watching()).not.toContain('widgets');
    expect(w.cluster().info().message).toBeUndefined();
    await w.stop();
  });

  it('accepts in the end a discovery that lacks a served kind', async () => {
    const w = await world((server) => server.serve('example.com', 'v1', 'Widget'), { tuning: { discoveryMs: 10_000 } });
    w.server.kinds.pop();
    w.server.faults.set('look widgets', 500);
    await w.clock.advance(400_000);
    expect(w.server.watching()).not.toContain('widgets');
    await w.stop();
  });

  it('repeats the first discovery soon, because it may have been incomplete', async () => {
    const w = await world();
    w.server.serve('example.com', 'v1', 'Widget');
    await w.clock.advance(20_000);
    expect(w.server.watching()).toContain('widgets');
    await w.stop();
  });

  it('keeps the kinds of a group that discovery cannot read (an aggregated API that is down)', async () => {
    const w = await world((server) => server.serve('example.com', 'v1', 'Widget'), { tuning: { discoveryMs: 10_000 } });
    w.server.put(widget);
    w.server.kinds.pop();
    w.server.failedGroups.set('example.com', 'down');
    await w.clock.advance(60_000);
    expect(w.server.watching()).toContain('widgets');
    expect(await row(w, widgetKey)).toMatchObject({ key: widgetKey });
    expect(w.cluster().isNamespaced({ group: 'example.com', kind: 'Widget' })).toBe(true);
    expect(
      w
        .cluster()
        .discovery()
        .preferred.map(({ kind }) => kind),
    ).toContain('Widget');
    expect(findResource(w.cluster().discovery(), { group: 'example.com', kind: 'Widget' }, 'v1')).toMatchObject({
      group: 'example.com',
      kind: 'Widget',
    });
    w.server.failedGroups.clear();
    await w.clock.advance(60_000);
    expect(w.server.watching()).not.toContain('widgets');
    await w.stop();
  });

  it('keeps all kinds outside of core if discovery can read no other group', async () => {
    const w = await world(
      (server) => {
        server.serve('example.com', 'v1', 'Widget');
        server.put(widget);
      },
      { tuning: { discoveryMs: 10_000 } },
    );
    const [configMaps, pods] = w.server.kinds.splice(0);
    w.server.kinds.push(configMaps!);
    w.server.failedGroups.set('*', 'too many requests');
    await w.clock.advance(60_000);
    expect(w.server.watching()).toEqual(['configmaps', 'deployments', 'widgets']);
    expect(await row(w, widgetKey)).toMatchObject({ key: widgetKey });
    const unknown = { apiVersion: 'other.example.com/v1', kind: 'Thing', metadata: { name: 't', namespace: 'ns' } };
    const { unread } = await w.cluster().managed({ app: 'shop', targets: [unknown] }, w.signal);
    expect(unread).toMatchObject([{ kind: 'Thing', message: expect.stringMatching(/too many requests$/) }]);
    w.server.failedGroups.clear();
    w.server.kinds.push(pods!);
    await w.clock.advance(60_000);
    expect(w.server.watching()).toEqual(['configmaps', 'pods']);
    await w.stop();
  });

  it('does not restore a removed kind when discovery can read no group', async () => {
    const w = await world((server) => server.serve('example.com', 'v1', 'Widget'), { tuning: { discoveryMs: 10_000 } });
    w.server.kinds.pop();
    await w.clock.advance(30_000);
    expect(w.server.watching()).not.toContain('widgets');
    w.server.failedGroups.set('*', 'too many requests');
    w.server.kinds.pop();
    await w.clock.advance(30_000);
    expect(w.server.watching()).toEqual(['configmaps', 'deployments', 'pods']);
    expect(findResource(w.cluster().discovery(), { group: 'example.com', kind: 'Widget' })).toBeUndefined();
    await w.stop();
  });

  it('keeps the kinds of an unreadable version while another version of the group is readable', async () => {
    const policy = resourceKey('cilium.io', 'ClusterPolicy', '', 'p');
    const w = await world(
      (server) => {
        server.serve('cilium.io', 'v2', 'ClusterPolicy', false);
        server.serve('cilium.io', 'v2', 'Policy');
        server.serve('cilium.io', 'v1', 'Policy');
        const tracking = { [annotations.trackingId]: 'shop:cilium.io/ClusterPolicy:/p' };
        server.put({
          apiVersion: 'cilium.io/v2',
          kind: 'ClusterPolicy',
          metadata: { name: 'p', annotations: tracking },
        });
      },
      { tuning: { discoveryMs: 10_000 } },
    );
    const all = w.server.kinds.splice(0);
    w.server.kinds.push(...all.filter(({ version }) => version === 'v1'));
    w.server.failedGroups.set('cilium.io', 'the server is busy');
    await w.clock.advance(60_000);
    const cluster = w.cluster();
    // If the kind counted as namespaced, its target would get the destination's namespace, and the
    // live object would be pruned.
    expect(cluster.isNamespaced({ group: 'cilium.io', kind: 'ClusterPolicy' })).toBe(false);
    expect(findResource(cluster.discovery(), { group: 'cilium.io', kind: 'Policy' })?.version).toBe('v2');
    expect(findResource(cluster.discovery(), { group: 'cilium.io', kind: 'Policy' }, 'v1')).toMatchObject({
      group: 'cilium.io',
      kind: 'Policy',
    });
    expect(await row(w, policy)).toMatchObject({ key: policy });
    expect(w.server.watching()).toEqual(['clusterpolicys', 'configmaps', 'deployments', 'pods', 'policys']);
    w.server.failedGroups.clear();
    await w.clock.advance(60_000);
    expect(cluster.isNamespaced({ group: 'cilium.io', kind: 'ClusterPolicy' })).toBeUndefined();
    expect(await row(w, policy)).toBeUndefined();
    await w.stop();
  });

  it('keeps the rows while it switches to another preferred version', async () => {
    const w = await world(
      (server) => {
        server.serve('example.com', 'v1', 'Widget');
        server.put(widget);
      },
      { tuning: { discoveryMs: 10_000 } },
    );
    w.server.kinds.pop();
    w.server.serve('example.com', 'v2', 'Widget');
    w.server.faults.set('list widgets', 500);
    await w.clock.advance(20_000);
    expect(await row(w, widgetKey)).toMatchObject({ key: widgetKey });
    expect(w.changes).toEqual([]);
    expect(
      w
        .cluster()
        .info()
        .kinds.find(({ kind }) => kind === 'Widget'),
    ).toMatchObject({ version: 'v2', state: 'degraded' });
    await w.stop();
  });

  it('does not watch excluded kinds, built in or by settings', async () => {
    const settings = {
      ...defaultSettings,
      exclusions: [{ apiGroups: ['apps'], kinds: ['*'], clusters: ['https://*'] }],
    };
    const w = await world(
      (server) => {
        server.serve('', 'v1', 'Event');
        server.serve('coordination.k8s.io', 'v1', 'Lease');
      },
      { settings },
    );
    expect(w.server.watching()).toEqual(['configmaps', 'pods']);
    w.live.setClusters([clusterAt(url)], defaultSettings);
    await w.clock.advance(100);
    expect(w.server.watching()).toEqual(['configmaps', 'deployments', 'pods']);
    await w.stop();
  });
});
