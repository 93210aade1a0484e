import { describe, expect, it } from '@jest/globals';
import { annotations, resourceKey } from '#model';
import { configMap, row, tracked, url, world } from '../testing/world.ts';
import type { LiveChange } from '../types.ts';

describe('change events', () => {
  it('are emitted once per object and batch, with the Applications before and after', async () => {
    const w = await world((server) => server.put(tracked('a')));
    w.server.put(tracked('a', 'shop', { data: { x: '1' } }));
    w.server.put(tracked('a', 'other', { data: { x: '2' } }));
    await w.clock.advance(1);
    const apps = new Map([
      ['shop', { managed: true }],
      ['other', { managed: true }],
    ]);
    expect(w.changes).toEqual([{ server: url, key: configMap('a'), apps }]);
    w.server.put(tracked('a', 'other', { data: { x: '3' } }));
    w.server.put(tracked('a', 'other', { data: { x: '4' } }));
    await w.clock.advance(49);
    expect(w.changes).toHaveLength(1);
    await w.clock.advance(2);
    expect(w.changes).toHaveLength(2);
    await w.stop();
  });

  it('are not emitted for irrelevant changes', async () => {
    const w = await world((server) => server.put(tracked('a', 'shop', { status: { n: 1 } })));
    w.server.put(tracked('a', 'shop', { status: { n: 2 } }));
    await w.clock.advance(100);
    expect(w.changes).toEqual([]);
    w.server.put(tracked('a', 'shop', { data: { x: 'new' } }));
    await w.clock.advance(100);
    expect(w.changes).toHaveLength(1);
    await w.stop();
  });

  it('name the Application of the topmost owner, also if owners arrive later', async () => {
    const w = await world((server) => server.serve('apps', 'v1', 'ReplicaSet'));
    const owner = (kind: string, name: string) => ({ apiVersion: 'apps/v1', kind, name, uid: `uid-${name}` });
    w.server.put({
      kind: 'Pod',
      metadata: { name: 'web-1-x', namespace: 'ns', ownerReferences: [owner('ReplicaSet', 'web-1')] },
    });
    const set = { name: 'web-1', namespace: 'ns', ownerReferences: [owner('Deployment', 'web')] };
    w.server.put({ apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata: set });
    const tracking = { [annotations.trackingId]: 'shop:apps/Deployment:ns/web' };
    w.server.put({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace: 'ns', annotations: tracking },
    });
    await w.clock.advance(100);
    // The Deployment makes its Application known, so it comes first and at once.
    const concerned = w.changes.map(({ key, apps }) => [key, Object.fromEntries(apps)]);
    expect(concerned).toEqual([
      ['apps/Deployment/ns/web', { shop: { managed: true } }],
      ['/Pod/ns/web-1-x', { shop: { managed: false } }],
      ['apps/ReplicaSet/ns/web-1', { shop: { managed: false } }],
    ]);
    w.changes.length = 0;
    w.server.remove('Pod', 'web-1-x');
    await w.clock.advance(100);
    expect(w.changes.map(({ apps }) => Object.fromEntries(apps))).toEqual([{ shop: { managed: false } }]);
    await w.stop();
  });

  it('name the namespace of untracked objects, and are not emitted for untracked cluster-scoped ones', async () => {
    const w = await world((server) => server.serve('', 'v1', 'Node', false));
    w.server.put({ kind: 'ConfigMap', metadata: { name: 'free', namespace: 'ns' } });
    w.server.put({ kind: 'Node', metadata: { name: 'n' } });
    await w.clock.advance(100);
    expect(w.changes).toEqual([{ server: url, key: configMap('free'), apps: new Map(), orphanNamespace: 'ns' }]);
    await w.stop();
  });

  it('are not emitted for Endpoints', async () => {
    const w = await world((server) => server.serve('', 'v1', 'Endpoints'));
    w.server.put({ kind: 'Endpoints', metadata: { name: 'web', namespace: 'ns' } });
    await w.clock.advance(100);
    expect(w.changes).toEqual([]);
    expect(await row(w, resourceKey('', 'Endpoints', 'ns', 'web'))).toMatchObject({
      key: resourceKey('', 'Endpoints', 'ns', 'web'),
    });
    await w.stop();
  });

  it('reach all listeners, even if one throws', async () => {
    const w = await world();
    const heard: LiveChange[] = [];
    const stopListening = w.live.onChange(() => {
      throw new Error('a bug');
    });
    w.live.onChange((change) => heard.push(change));
    w.server.put(tracked('a'));
    await w.clock.advance(100);
    expect(heard).toHaveLength(1);
    stopListening();
    await w.stop();
  });
});
