import { describe, expect, it } from '@jest/globals';
import { configMap, row, tracked, world } from '../testing/world.ts';

describe('the response of our own write', () => {
  it('is visible at once; its echo is no change, and an older response does not undo it', async () => {
    const w = await world((server) => server.put(tracked('a')));
    w.server.silent.add('configmaps');
    const written = w.server.put(tracked('a', 'shop', { data: { x: 'ours' } }));
    w.cluster().observe(written);
    w.cluster().observe({ ...written, metadata: { ...written.metadata, resourceVersion: '50' }, data: { x: 'old' } });
    const { objects } = await w.cluster().managed({ app: 'shop', targets: [] }, w.signal);
    expect(objects.get(configMap('a'))).toMatchObject({ data: { x: 'ours' } });
    await w.clock.advance(100);
    expect(w.changes).toHaveLength(1);
    await w.stop();
  });

  it('gives the same evidence when it is repeated, and another one when the object has changed', async () => {
    const w = await world((server) => server.put(tracked('a')), { tuning: { auditMs: 600_000 } });
    const query = { app: 'shop', targets: [] };
    const written = w.server.put(tracked('a', 'shop', { data: { x: 'ours' } }));
    w.cluster().observe(written);
    const evidence = await w.cluster().evidence(query, w.signal);
    expect(evidence).toEqual(expect.stringMatching(/./));
    w.cluster().observe(written);
    await w.clock.advance(100);
    expect(await w.cluster().evidence(query, w.signal)).toBe(evidence);
    w.server.put(tracked('a', 'shop', { data: { x: 'theirs' } }));
    await w.clock.advance(100);
    expect(await w.cluster().evidence(query, w.signal)).not.toBe(evidence);
    await w.stop();
  });

  it('does not restore an object that the watch has seen deleted', async () => {
    const w = await world((server) => server.put(tracked('a')));
    const written = w.server.put(tracked('a', 'shop', { data: { x: '1' } }));
    w.server.remove('ConfigMap', 'a');
    await w.clock.settle();
    w.cluster().observe(written);
    expect(await row(w, configMap('a'))).toBeUndefined();
    await w.stop();
  });

  it('causes one relist if it contradicts the cache, and does not restart that list', async () => {
    const w = await world((server) => server.put(tracked('a')));
    const lists = w.server.count('list configmaps');
    const stored = w.server.put(tracked('a', 'shop', { data: { x: '1' } }));
    await w.clock.settle();
    let answer = (): void => undefined;
    w.server.listAnswers = new Promise((resolve) => (answer = resolve));
    for (let i = 0; i < 10; i += 1) {
      w.cluster().observe({ ...stored, metadata: { ...stored.metadata, resourceVersion: String(50 + i) } });
      await w.clock.advance(6000);
    }
    expect(w.server.count('list configmaps') - lists).toBe(1);
    answer();
    await w.clock.advance(1000);
    expect(w.server.watching()).toContain('configmaps');
    w.cluster().observe({ ...stored, metadata: { ...stored.metadata, resourceVersion: '70' } });
    w.cluster().observe({ ...stored, metadata: { ...stored.metadata, resourceVersion: '71' } });
    await w.clock.advance(1000);
    expect(w.server.count('list configmaps') - lists).toBe(2);
    await w.stop();
  });

  it('survives a list that began before it', async () => {
    const w = await world((server) => server.put(tracked('a')), { tuning: { relistMs: 60_000 } });
    w.server.silent.add('configmaps');
    let answer = (): void => undefined;
    w.server.listAnswers = new Promise((resolve) => (answer = resolve));
    await w.clock.advance(70_000);
    w.cluster().observe(w.server.put(tracked('new')));
    answer();
    await w.clock.advance(1000);
    expect(await row(w, configMap('new'))).toMatchObject({ key: configMap('new') });
    // The next list begins after the write.
    w.server.remove('ConfigMap', 'new');
    await w.clock.advance(70_000);
    expect(await row(w, configMap('new'))).toBeUndefined();
    await w.stop();
  });
});
