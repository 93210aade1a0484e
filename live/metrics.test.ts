import { describe, expect, it } from '@jest/globals';
import { defaultSettings } from '#model';
import { tracked, world } from './testing/world.ts';

describe('metrics', () => {
  it('count the watches in sync', async () => {
    const w = await world((server) => server.faults.set('list pods', 'hang'));
    await w.clock.advance(1000);
    expect(await w.metrics.expose()).toContain('driftless_cluster_open_watches{server="https://a"} 2');
    w.server.faults.clear();
    await w.clock.advance(120_000);
    expect(await w.metrics.expose()).toContain('driftless_cluster_open_watches{server="https://a"} 3');
    await w.stop();
  });

  it("have Argo CD's names", async () => {
    const w = await world((server) => server.put(tracked('a')));
    w.server.put(tracked('b'));
    await w.clock.advance(5000);
    const text = await w.metrics.expose();
    expect(text).toContain('argocd_cluster_info{server="https://a",k8s_version="v1.33.1",name="a"} 1');
    expect(text).toContain('argocd_cluster_api_resource_objects{server="https://a"} 2');
    expect(text).toContain('argocd_cluster_api_resources{server="https://a"} 3');
    expect(text).toContain('argocd_cluster_cache_age_seconds{server="https://a"} 5');
    expect(text).toContain('argocd_cluster_connection_status{server="https://a",k8s_version="v1.33.1"} 1');
    expect(text).toContain('argocd_cluster_events_total{server="https://a",group="",kind="ConfigMap"} 1');
    expect(text).toContain('driftless_cluster_kinds{server="https://a",state="synced"} 3');
    expect(w.cluster().info().eventsCount).toBe(1);
    await w.stop();
  });

  it('have the events of the last batch, and the time of each batch', async () => {
    const w = await world((server) => server.put(tracked('a')));
    const batch = /^argocd_resource_events_processed_in_batch\{server="https:\/\/a"\} (\d+)$/m;
    const batches = /^argocd_resource_events_processing_count\{server="https:\/\/a"\} (\d+)$/m;
    const values = async (): Promise<readonly (string | undefined)[]> => {
      const text = await w.metrics.expose();
      return [batch.exec(text)?.[1], batches.exec(text)?.[1]];
    };
    expect(await values()).toEqual([undefined, undefined]);
    for (const name of ['b', 'c', 'd']) w.server.put(tracked(name));
    await w.clock.advance(1000);
    expect(await values()).toEqual(['3', '1']);
    w.server.put(tracked('e'));
    await w.clock.advance(1000);
    expect(await values()).toEqual(['1', '2']);
    await w.clock.advance(60_000);
    expect(await values()).toEqual(['1', '2']);
    w.live.setClusters([], defaultSettings);
    await w.clock.advance(1000);
    expect(await values()).toEqual([undefined, undefined]);
    await w.stop();
  });
});
