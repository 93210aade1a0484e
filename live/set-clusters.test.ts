import { describe, expect, it } from '@jest/globals';
import { seededRandom } from '#base';
import { SharedClients } from '#kube';
import { appKey, defaultSettings, partIndex } from '#model';
import { PromMetrics, silentLogger } from '#telemetry';
import { createLiveClusters } from './live-clusters.ts';
import { FakeServer } from './testing/fake-server.ts';
import { clusterAt, configMap, managedNames, row, tracked, url, world } from './testing/world.ts';

describe('setClusters', () => {
  // T-AUTH-1
  it('swaps credentials in place: no list, no watch, no new client', async () => {
    const w = await world((server) => server.put(tracked('a')));
    await w.clock.advance(30_000);
    // Discovery runs periodically anyway.
    const ofObjects = (): readonly string[] => w.server.requests.filter((one) => !/^(version|discover)$/.test(one));
    const before = ofObjects();
    const live = w.cluster();
    for (let i = 0; i < 60; i += 1) {
      w.live.setClusters([clusterAt(url, { labels: { round: String(i) } }, `token-${i}`)], defaultSettings);
      await w.clock.advance(1000);
      expect(await managedNames(w)).toEqual(['a']);
    }
    expect(ofObjects()).toEqual(before);
    expect(w.server.credentials).toHaveLength(60);
    expect(w.cluster()).toBe(live);
    await w.stop();
  });

  it('does nothing for labels, shard and name', async () => {
    const w = await world();
    const before = [...w.server.requests];
    w.live.setClusters([clusterAt(url, { shard: 3, name: 'b', labels: { a: 'b' } })], defaultSettings);
    await w.clock.advance(1000);
    expect(w.server.requests).toEqual(before);
    expect(w.server.credentials).toEqual([]);
    await w.stop();
  });

  // T-CACHE-8
  it('starts and stops only the watches of namespaces that come and go', async () => {
    const w = await world((server) => server.put(tracked('a')), {
      cluster: clusterAt(url, { namespaces: ['ns', 'two'] }),
    });
    const before = w.server.count('list configmaps');
    w.live.setClusters([clusterAt(url, { namespaces: ['two', 'ns', 'three'] })], defaultSettings);
    await w.clock.advance(100);
    expect(w.server.count('list configmaps')).toBe(before + 1);
    w.live.setClusters([clusterAt(url, { namespaces: ['three'] })], defaultSettings);
    await w.clock.advance(100);
    expect(w.server.watching().filter((entry) => entry.startsWith('configmaps'))).toEqual(['configmaps three']);
    expect(await row(w, configMap('a'))).toBeUndefined();
    await w.stop();
  });

  it('creates a new cache for another certificate authority', async () => {
    const w = await world((server) => server.put(tracked('a')));
    const old = w.cluster();
    const moved = clusterAt(url);
    w.live.setClusters([{ ...moved, connection: { ...moved.connection, caData: 'other' } }], defaultSettings);
    await w.clock.advance(100);
    expect(w.cluster()).not.toBe(old);
    expect(w.cluster().info().state).toBe('synced');
    expect(w.server.closed).toBe(1);
    await w.stop();
  });

  it('notifies all Applications of a new cache, because changes in between have no event', async () => {
    const w = await world((server) => {
      server.put(tracked('a'));
      server.put(tracked('gone', 'other'));
    });
    w.server.silent.add('configmaps');
    w.server.remove('ConfigMap', 'gone');
    const moved = clusterAt(url);
    w.live.setClusters([{ ...moved, connection: { ...moved.connection, caData: 'x' } }], defaultSettings);
    w.live.setClusters([{ ...moved, connection: { ...moved.connection, caData: 'y' } }], defaultSettings);
    await w.clock.advance(100);
    expect(w.changes.map(({ key, apps }) => [key, Object.fromEntries(apps)])).toEqual([
      [configMap('gone'), { other: { managed: true } }],
      [configMap('a'), { shop: { managed: true } }],
    ]);
    await w.stop();
  });

  it('reads everything again when tracking changes, and keeps the rows meanwhile', async () => {
    const w = await world((server) => {
      const own = tracked('a');
      server.put({ ...own, metadata: { ...own.metadata, labels: { 'my/label': 'labelled' } } });
    });
    const tracking = { method: 'label', labelKey: 'my/label', installationId: '' } as const;
    w.live.setClusters([clusterAt(url)], { ...defaultSettings, version: '2', tracking });
    expect(await row(w, configMap('a'))).toMatchObject({ key: configMap('a') });
    expect((await w.cluster().managed({ app: 'labelled', targets: [] }, w.signal)).degraded.kinds).toEqual([]);
    await w.clock.advance(100);
    expect(await managedNames(w, 'labelled')).toEqual(['a']);
    const concerned = w.changes.flatMap(({ apps }) => [...apps.keys()]).sort();
    expect(concerned).toEqual(['labelled', 'shop']);
    expect(await managedNames(w, 'shop')).toEqual([]);
    await w.stop();
  });

  // T-SHARD-6
  it('keeps whole objects of own applications only, and fetches those of one that has just come here', async () => {
    const w = await world((server) => {
      server.put(tracked('a', 'shop'));
      server.put(tracked('b', 'other'));
    });
    const part = (app: string): number => partIndex(appKey('argocd', app), 64);
    expect(part('shop')).not.toBe(part('other'));
    const own = (...owned: readonly number[]): void => {
      const bodies = { of: 64, owned, namespace: 'argocd' };
      w.live.setClusters([clusterAt(url)], defaultSettings, new Map([[url, bodies]]));
    };
    own(part('shop'));
    await w.clock.advance(100);
    const gets = (): number => w.server.requests.filter((request) => request.startsWith('get')).length;
    const before = gets();
    expect(await managedNames(w, 'shop')).toEqual(['a']);
    expect(gets()).toBe(before);
    // The row is cached nevertheless: owners, health and Application.
    expect((await row(w, configMap('b')))?.app).toBe('other');
    expect(await managedNames(w, 'other')).toEqual(['b']);
    expect(gets()).toBe(before + 1);
    own(part('shop'), part('other'));
    await w.clock.advance(100);
    expect([await managedNames(w, 'shop'), await managedNames(w, 'other')]).toEqual([['a'], ['b']]);
    expect(gets()).toBe(before + 1);
    await w.stop();
  });

  it('lends the current client to writers while the cluster is watched', async () => {
    const w = await world();
    const first = w.clients.of(url);
    w.live.setClusters([clusterAt(url, {}, 'two')], defaultSettings);
    expect([w.clients.of(url) === first, w.server.credentials]).toEqual([true, ['two']]);
    const moved = clusterAt(url);
    w.live.setClusters([{ ...moved, connection: { ...moved.connection, caData: 'x' } }], defaultSettings);
    await w.clock.advance(100);
    const second = w.clients.of(url);
    expect([second === undefined, second === first, w.server.closed]).toEqual([false, false, 1]);
    w.live.setClusters([], defaultSettings);
    await w.clock.settle();
    expect([w.clients.of(url), w.server.closed]).toEqual([undefined, 2]);
    await w.stop();
  });

  it('closes the client of a cluster that is removed before its watches start', async () => {
    const server = new FakeServer();
    const clients = new SharedClients((connection) => server.client(connection));
    const live = createLiveClusters({
      clients,
      clock: server.clock,
      random: seededRandom(1),
      logger: silentLogger,
      metrics: new PromMetrics(),
    });
    live.setClusters([clusterAt(url)], defaultSettings);
    expect(clients.of(url)).not.toBe(undefined);
    live.setClusters([], defaultSettings);
    await server.clock.settle();
    expect([clients.of(url), server.closed]).toEqual([undefined, 1]);
  });

  it('stops everything of a removed cluster', async () => {
    const w = await world();
    w.live.setClusters([], defaultSettings);
    await w.clock.settle();
    expect(w.server.watching()).toEqual([]);
    expect([w.clock.pending, w.server.closed, w.live.infos()]).toEqual([0, 1, []]);
    await w.stop();
  });
});
