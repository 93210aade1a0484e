import { describe, expect, it } from '@jest/globals';
import { annotations, defaultSettings, keyOf } from '#model';
import type { KubeObject } from '#model';
import { FakeClock } from '#support';
import { ChangeBatch } from './changes.ts';
import { ClusterCache } from './cluster-cache.ts';
import { ingestWith } from './node.ts';
import { NodeStore } from './node-store.ts';
import type { LiveChange } from './types.ts';

function world() {
  const clock = new FakeClock();
  const store = new NodeStore();
  const told: LiveChange[] = [];
  const emit = (change: LiveChange): void => void told.push(change);
  const changes = new ChangeBatch({ server: 'https://a', store, clock, batchMs: 50, emit });
  const cache = new ClusterCache({ store, changes, ingest: ingestWith(defaultSettings, () => true) });
  cache.speak();
  let version = 100;
  const change = (name: string): KubeObject => {
    version += 1;
    const tracking = { [annotations.trackingId]: `app-${name}:/ConfigMap:ns/${name}` };
    const metadata = { name, namespace: 'ns', uid: name, resourceVersion: String(version), annotations: tracking };
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { version: String(version) } };
    cache.put(cache.read(object));
    return object;
  };
  /** Changes an object 50 times a second. */
  const storm = async (name: string, seconds: number): Promise<void> => {
    for (let i = 0; i < seconds * 50; i += 1) {
      change(name);
      await clock.advance(20);
    }
  };
  const of = (name: string): number => told.filter(({ apps }) => apps.has(`app-${name}`)).length;
  return { clock, cache, changes, change, storm, of, told };
}

describe('an object that changes too often', () => {
  it('15.3: costs its Application little, and others nothing (T-STORM-1)', async () => {
    const w = world();
    await w.storm('chatty', 20);
    const before = w.of('chatty');
    await w.storm('chatty', 60);
    expect(w.of('chatty') - before).toBeLessThanOrEqual(7);
    w.change('calm');
    await w.clock.advance(50);
    expect(w.of('calm')).toBe(1);
    expect(w.changes.chatty().map(({ key }) => key)).toEqual(['/ConfigMap/ns/chatty']);
    w.changes.stop();
    expect(w.clock.pending).toBe(0);
  });

  it('15.3: is still told, within ten seconds of its last change (T-STORM-3)', async () => {
    const w = world();
    await w.storm('chatty', 20);
    const before = w.of('chatty');
    w.change('chatty');
    await w.clock.advance(10_000);
    expect(w.of('chatty')).toBeGreaterThan(before);
    expect(w.clock.pending).toBe(0);
  });

  it('15.3: goes back to the fast lane when it is calm, and tells at once that it is gone', async () => {
    const w = world();
    await w.storm('chatty', 20);
    const last = w.change('chatty');
    const before = w.of('chatty');
    w.cache.delete(last);
    await w.clock.advance(50);
    expect(w.of('chatty')).toBe(before + 1);
    await w.storm('other', 20);
    await w.clock.advance(120_000);
    const calm = w.of('other');
    w.change('other');
    await w.clock.advance(50);
    expect(w.of('other')).toBe(calm + 1);
    expect(w.changes.chatty()).toEqual([]);
    expect(keyOf(last)).toBe('/ConfigMap/ns/chatty');
  });

  it('15.3: an ordinary roll-out stays in the fast lane', async () => {
    const w = world();
    for (let i = 0; i < 30; i += 1) {
      w.change('rolling');
      await w.clock.advance(50);
    }
    expect(w.of('rolling')).toBe(30);
  });
});
