import { describe, expect, it } from '@jest/globals';
import { defaultSettings } from '#model';
import { ClusterIgnored, ClusterUnavailable } from './errors.ts';
import { configMap, managedNames, row, tracked, url, world } from './testing/world.ts';

describe('the first fill of a cache', () => {
  it('is complete when every kind was listed, and emits no changes', async () => {
    const w = await world((server) => server.put(tracked('a')));
    expect(w.cluster().info()).toMatchObject({
      state: 'synced',
      serverVersion: 'v1.33.1',
      resourcesCount: 1,
      apisCount: 3,
    });
    expect((await row(w, configMap('a')))?.app).toBe('shop');
    await w.clock.advance(1000);
    expect(w.changes).toEqual([]);
    expect(w.server.watching()).toEqual(['configmaps', 'deployments', 'pods']);
    await w.stop();
  });

  // T-CACHE-1
  it('waits for slow kinds, but not for ever for one that fails', async () => {
    const w = await world((server) => {
      server.put(tracked('a'));
      server.faults.set('list pods', 500);
    });
    const info = w.cluster().info();
    expect(info.state).toBe('synced');
    expect(info.kinds.find((kind) => kind.kind === 'Pod')).toMatchObject({
      state: 'degraded',
      message: 'the server says 500',
    });
    expect(info.kinds.filter((kind) => kind.state === 'synced')).toHaveLength(2);
    await w.stop();
  });

  // T-HANG-1
  it('waits for a list that hangs no longer than its deadline', async () => {
    const w = await world((server) => {
      server.put(tracked('a'));
      server.faults.set('list pods', 'hang');
    });
    let arrived = false;
    const waiting = w.live.cluster(url, w.signal).then(() => (arrived = true));
    await w.clock.advance(59_000);
    expect([w.cluster().info().state, arrived]).toEqual(['connecting', false]);
    await w.clock.advance(2000);
    expect([w.cluster().info().state, arrived]).toEqual(['synced', true]);
    await waiting;
    expect(await managedNames(w)).toEqual(['a']);
    await w.stop();
  });

  it('retries a failed discovery, and reports the error that users know', async () => {
    const w = await world((server) => server.faults.set('version', 'refuse'));
    const live = await w.live.cluster(url, w.signal);
    expect(live.info()).toMatchObject({ state: 'failed', message: 'cannot reach https://a: connection refused' });
    expect(() => live.discovery()).toThrow(ClusterUnavailable);
    expect(() => live.discovery()).toThrow(
      'error synchronizing cache state : failed to sync cluster https://a: failed to get server version: cannot reach https://a: connection refused',
    );
    await expect(live.managed({ app: 'shop', targets: [] }, w.signal)).rejects.toThrow(ClusterUnavailable);
    w.server.faults.clear();
    await w.clock.advance(10_000);
    expect(live.info().state).toBe('synced');
    expect(live.info().message).toBeUndefined();
    await w.stop();
  });

  it('times out a discovery that hangs', async () => {
    const w = await world((server) => server.faults.set('discover', 'hang'));
    expect(w.cluster().info().state).toBe('connecting');
    await w.clock.advance(61_000);
    expect(w.cluster().info()).toMatchObject({
      state: 'failed',
      message: 'discovery of https://a took longer than 60 s',
    });
    await w.stop();
  });

  it('rejects for clusters that are not watched, also if one is removed during the wait', async () => {
    const w = await world((server) => server.faults.set('list *', 'hang'));
    await expect(w.live.cluster('https://b', w.signal)).rejects.toThrow(
      'controller is configured to ignore cluster https://b',
    );
    const waiting = w.live.cluster(url, w.signal);
    w.live.setClusters([], defaultSettings);
    await expect(waiting).rejects.toThrow(ClusterIgnored);
    expect(w.live.peek(url)).toBeUndefined();
    await w.clock.settle();
    expect(w.server.closed).toBe(1);
    await w.stop();
  });
});
