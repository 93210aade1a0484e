import { describe, expect, it } from '@jest/globals';
import { KubeProtocolError } from '#kube';
import type { KubeObject } from '#model';
import { apiError } from '../testing/fake-server.ts';
import { managedNames, stateOf, tracked, world } from '../testing/world.ts';
import type { LiveWorld } from '../testing/world.ts';

const named = (name: string): KubeObject => ({ apiVersion: 'v1', ...tracked(name) });

/** The values of the live objects of an Application, and its kinds that are not fresh. */
async function managedOf(w: LiveWorld, name: string, readsStale = false): Promise<readonly unknown[]> {
  const targets = [named(name)];
  const { objects, degraded } = await w.cluster().managed({ app: 'shop', targets, readsStale }, w.signal);
  return [[...objects.values()].map((object) => object['data']), degraded.kinds.map(({ state }) => state)];
}

describe('a kind whose lists have no resourceVersion', () => {
  const unversioned = (): Promise<LiveWorld> =>
    world((server) => {
      server.unversioned.add('configmaps');
      server.put(tracked('a', 'shop', { data: { key: '1' } }));
    });

  it('is polled: a change is seen within about a minute, and the change event is sent once', async () => {
    const w = await unversioned();
    await w.clock.advance(600_000);
    expect(stateOf(w, 'ConfigMap')).toMatchObject({ state: 'polled', isPolledByNature: true });
    expect(w.cluster().info().state).toBe('synced');
    expect(w.changes).toEqual([]);
    w.server.put(tracked('a', 'shop', { data: { key: '2' } }));
    w.server.put(tracked('b'));
    await w.clock.advance(75_000);
    expect(await managedNames(w)).toEqual(['a', 'b']);
    expect(await managedOf(w, 'a')).toEqual([[{ key: '2' }, undefined], ['polled']]);
    expect(w.changes).toHaveLength(2);
    w.server.remove('ConfigMap', 'b');
    await w.clock.advance(75_000);
    expect(await managedNames(w)).toEqual(['a']);
    await w.stop();
  });

  it('costs about one list a minute at rest, and at most one in 10 s if it changes all the time', async () => {
    const w = await unversioned();
    await w.clock.advance(300_000);
    const atRest = w.server.count('list configmaps');
    await w.clock.advance(600_000);
    expect(w.server.count('list configmaps') - atRest).toBeLessThanOrEqual(11);
    const before = w.server.count('list configmaps');
    for (let i = 0; i < 600; i += 1) {
      w.server.put(tracked('a', 'shop', { data: { key: `busy-${i}` } }));
      await w.clock.advance(1000);
    }
    const busy = w.server.count('list configmaps') - before;
    expect(busy).toBeGreaterThan(40);
    expect(busy).toBeLessThanOrEqual(60);
    expect(w.server.count('watch configmaps')).toBe(0);
    await w.stop();
  });

  it('keeps an object that we created until a list contains it', async () => {
    const w = await unversioned();
    let release = (): void => undefined;
    await w.clock.advance(1000);
    w.server.listAnswers = new Promise((resolve) => (release = resolve));
    await w.clock.advance(30_000);
    const created = w.server.put(tracked('new'));
    w.cluster().observe({ ...created, metadata: { ...created.metadata, resourceVersion: '' } });
    release();
    w.server.listAnswers = Promise.resolve();
    await w.clock.advance(0);
    expect(await managedNames(w)).toEqual(['a', 'new']);
    await w.stop();
  });

  it('is read by name if a user asks, although the last list is older', async () => {
    const w = await unversioned();
    await w.clock.advance(300_000);
    w.server.put(tracked('a', 'shop', { data: { key: 'drifted' } }));
    expect(await managedOf(w, 'a')).toEqual([[{ key: '1' }], ['polled']]);
    expect(await managedOf(w, 'a', true)).toEqual([[{ key: 'drifted' }], ['polled']]);
    // What was read stays, so the next pass acts on it.
    expect(await managedOf(w, 'a')).toEqual([[{ key: 'drifted' }], ['polled']]);
    await w.stop();
  });
});

describe('a kind without the verb watch', () => {
  const widget = (value: string): KubeObject => ({ ...named('w'), kind: 'Widget', data: { key: value } });

  it('is polled as soon as an Application has objects of it, and not before', async () => {
    const w = await world((server) => {
      server.unwatchable.add('widgets');
      server.serve('', 'v1', 'Widget');
      server.put(widget('1'));
    });
    await w.clock.advance(300_000);
    expect(w.server.count('list widgets')).toBe(0);
    const query = { app: 'shop', targets: [widget('1')] };
    await w.cluster().managed(query, w.signal);
    await w.clock.advance(1000);
    expect(stateOf(w, 'Widget')).toMatchObject({ state: 'polled', objects: 1 });
    w.server.put(widget('2'));
    await w.clock.advance(75_000);
    const { objects } = await w.cluster().managed(query, w.signal);
    expect([...objects.values()].map((object) => object['data'])).toEqual([{ key: '2' }]);
    expect(w.server.count('watch widgets')).toBe(0);
    await w.stop();
  });
});

describe('a kind whose watch is refused while lists work', () => {
  const page = new KubeProtocolError('watch configmaps', 'the answer is not JSON');

  it.each([501, 500, 502, 503, 504, 403, 'an HTML page'] as const)(
    'with %s is listed at each retry: drift is seen within 35 s, and Applications are not notified at each retry',
    async (fault) => {
      const w = await world((server) => server.put(tracked('a', 'shop', { data: { key: '1' } })));
      if (typeof fault === 'number') w.server.faults.set('watch configmaps', fault);
      else w.server.watchErrors.set('configmaps', page);
      w.server.cutWatches(typeof fault === 'number' ? apiError(fault) : page);
      await w.clock.advance(300_000);
      expect(stateOf(w, 'ConfigMap')).toMatchObject({ state: 'polled', isPolledByNature: false });
      const quiet = w.changes.length;
      await w.clock.advance(300_000);
      expect(w.changes).toHaveLength(quiet);
      w.server.put(tracked('a', 'shop', { data: { key: '2' } }));
      await w.clock.advance(35_000);
      expect(await managedOf(w, 'a')).toEqual([[{ key: '2' }], ['polled']]);
      const before = w.changes.length;
      w.server.faults.clear();
      w.server.watchErrors.clear();
      await w.clock.advance(55_000);
      expect(stateOf(w, 'ConfigMap')).toMatchObject({ state: 'synced' });
      // Applications are compared again, and lose their condition.
      expect(w.changes.slice(before).map(({ key }) => key)).toContain('/ConfigMap//');
      expect(await managedOf(w, 'a')).toEqual([[{ key: '2' }], []]);
      await w.stop();
    },
  );

  it('is degraded while its lists fail too, and a user who asks gets what the server has', async () => {
    const w = await world((server) => server.put(tracked('a', 'shop', { data: { key: '1' } })));
    for (const verb of ['watch', 'list', 'look']) w.server.faults.set(`${verb} configmaps`, 503);
    w.server.cutWatches(apiError(503));
    await w.clock.advance(300_000);
    w.server.put(tracked('a', 'shop', { data: { key: '2' } }));
    expect(await managedOf(w, 'a')).toEqual([[{ key: '1' }], ['degraded']]);
    expect(await managedOf(w, 'a', true)).toEqual([[{ key: '2' }], ['degraded']]);
    w.server.remove('ConfigMap', 'a');
    expect(await managedOf(w, 'a', true)).toEqual([[], ['degraded']]);
    expect(await managedOf(w, 'a')).toEqual([[], ['degraded']]);
    await w.stop();
  });
});
