import { describe, expect, it } from '@jest/globals';
import { annotations, defaultSettings, keyOf } from '#model';
import type { KubeObject } from '#model';
import { FakeClock } from '#support';
import { ChangeBatch } from './change-batch.ts';
import { ClusterCache } from './cluster-cache.ts';
import { createNodeReader } from '../objects/stored-node.ts';
import { NodeStore } from './node-store.ts';
import type { LiveChange } from '../types.ts';

function world() {
  const clock = new FakeClock();
  const store = new NodeStore();
  const told: LiveChange[] = [];
  const emit = (change: LiveChange): void => void told.push(change);
  const changes = new ChangeBatch({ server: 'https://a', store, clock, batchMs: 50, emit });
  const cache = new ClusterCache({ store, changes, readNode: createNodeReader(defaultSettings, () => true) });
  cache.startEmitting();
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
  // T-STORM-1
  it('costs its Application little, and others nothing', async () => {
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
    // A write of before is answered now.
    w.change('late');
    expect(w.clock.pending).toBe(0);
  });

  // T-STORM-3
  it('is still told, within ten seconds of its last change', async () => {
    const w = world();
    await w.storm('chatty', 20);
    const before = w.of('chatty');
    w.change('chatty');
    await w.clock.advance(10_000);
    expect(w.of('chatty')).toBeGreaterThan(before);
    expect(w.clock.pending).toBe(0);
  });

  it('is no longer throttled when it is quiet, and its deletion is emitted at once', async () => {
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

  it('is not throttled for an ordinary rollout', async () => {
    const w = world();
    for (let i = 0; i < 30; i += 1) {
      w.change('rolling');
      await w.clock.advance(50);
    }
    expect(w.of('rolling')).toBe(30);
  });
});

describe('a change of an Application', () => {
  it('is emitted at once if it is the first after a quiet second; what follows is collected', async () => {
    const w = world();
    w.change('web');
    await w.clock.advance(1);
    expect(w.of('web')).toBe(1);
    w.change('web');
    await w.clock.advance(10);
    w.change('web');
    await w.clock.advance(39);
    expect(w.of('web')).toBe(1);
    await w.clock.advance(1);
    expect(w.of('web')).toBe(2);
    await w.clock.advance(949);
    w.change('web');
    await w.clock.advance(1);
    expect(w.of('web')).toBe(2);
    await w.clock.advance(1050);
    expect(w.of('web')).toBe(3);
    w.change('web');
    await w.clock.advance(1);
    expect(w.of('web')).toBe(4);
  });

  it('is emitted at once although others change all the time', async () => {
    const w = world();
    await w.storm('chatty', 3);
    w.change('calm');
    await w.clock.advance(1);
    expect(w.of('calm')).toBe(1);
  });

  it('is emitted at once if it is a deletion', async () => {
    const w = world();
    const object = w.change('web');
    await w.clock.advance(2000);
    w.cache.delete(object);
    await w.clock.advance(1);
    expect(w.of('web')).toBe(2);
  });

  it('is emitted once per object if many Applications change together', async () => {
    const w = world();
    for (let i = 0; i < 300; i += 1) w.change(String(i));
    await w.clock.advance(60);
    expect(w.told).toHaveLength(300);
  });
});
