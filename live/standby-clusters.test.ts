import { describe, expect, it } from '@jest/globals';
import { defaultSettings } from '#model';
import { clusterAt, configMap, row, tracked, url, world } from './testing/world.ts';

describe('a standby cluster', () => {
  it('is kept current, without change events and metrics', async () => {
    const w = await world((server) => server.put(tracked('a')));
    w.live.setClusters([], defaultSettings, undefined, [clusterAt(url)]);
    w.server.put(tracked('b'));
    await w.clock.advance(1000);
    expect(w.changes).toEqual([]);
    expect(w.live.infos()).toEqual([]);
    expect(await w.metrics.expose()).not.toContain(`argocd_cluster_info{server="${url}"`);
    expect((await row(w, configMap('b')))?.app).toBe('shop');
    await w.stop();
  });

  it('has a filled cache when it becomes owned: it is not relisted, and emits changes', async () => {
    const w = await world((server) => server.put(tracked('a')));
    w.live.setClusters([], defaultSettings, undefined, [clusterAt(url)]);
    await w.clock.advance(60_000);
    const lists = w.server.count('list configmaps');
    w.live.setClusters([clusterAt(url)], defaultSettings);
    const settled = await w.live.cluster(url, w.signal);
    expect(settled.info().resourcesCount).toBe(1);
    w.server.put(tracked('c'));
    await w.clock.advance(1000);
    expect(w.changes.map(({ key }) => key)).toEqual([configMap('c')]);
    expect(w.live.infos()).toHaveLength(1);
    expect(w.server.count('list configmaps')).toBe(lists);
    await w.stop();
  });
});
