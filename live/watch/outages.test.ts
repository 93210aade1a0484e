import { describe, expect, it } from '@jest/globals';
import { KubeConnectionError } from '#kube';
import { resourceKey } from '#model';
import { createLogger } from '#telemetry';
import { apiError, FakeServer } from '../testing/fake-server.ts';
import { configMap, managedNames, row, tracked, url, world } from '../testing/world.ts';
import type { LiveWorld } from '../testing/world.ts';

describe('an outage', () => {
  // T-HANG-4
  it.each([
    ['watches only', ['watch *']] as const,
    ['everything', ['watch *', 'list *', 'look *', 'get *', 'discover', 'version']] as const,
  ])(
    '%s answered with 401 for five minutes: others go on, and all is current soon after, without a restart',
    async (_name, refused) => {
      const others = new Map<string, FakeServer>();
      const w = await world(
        (server) => {
          server.put(tracked('stays'));
          server.put(tracked('goes'));
          server.replays = true;
          const other = new FakeServer(server.clock);
          other.serve('', 'v1', 'ConfigMap');
          others.set('https://b', other);
        },
        { others },
      );
      await w.clock.advance(1000);
      const before = w.cluster();
      const [lists, watches] = [w.server.count('list configmaps'), w.server.requests.length];
      for (const fault of refused) w.server.faults.set(fault, 401);
      w.server.cutWatches(apiError(401));
      await w.clock.advance(150_000);
      w.server.remove('ConfigMap', 'goes');
      w.server.put(tracked('comes'));
      others.get('https://b')?.put(tracked('there'));
      await w.clock.advance(150_000);
      // Requests are limited while the server refuses them: three kinds, five minutes.
      expect(w.server.requests.length - watches).toBeLessThan(150);
      expect(w.changes.filter(({ server: at }) => at === 'https://b')).toHaveLength(1);
      expect(w.changes.filter(({ server: at }) => at === url)).toEqual([]);
      w.server.faults.clear();
      await w.clock.advance(60_000);
      expect(await managedNames(w)).toEqual(['comes', 'stays']);
      expect(w.server.watching()).toEqual(['configmaps', 'deployments', 'pods']);
      expect(w.cluster()).toBe(before);
      expect(w.cluster().info()).toMatchObject({ state: 'synced' });
      expect(w.server.count('list configmaps') - lists).toBeLessThan(40);
      w.server.put(tracked('later'));
      await w.clock.advance(1000);
      expect(await managedNames(w)).toEqual(['comes', 'later', 'stays']);
      await w.stop();
    },
  );

  // T-CACHE-1
  it('keeps the rows of a kind that fails, and reports the kind as degraded', async () => {
    const w = await world((server) => server.put(tracked('a')));
    w.server.faults.set('list configmaps', 500);
    w.server.faults.set('watch configmaps', 500);
    w.server.cutWatches(apiError(410));
    await w.clock.advance(120_000);
    w.server.put({ kind: 'Pod', metadata: { name: 'p', namespace: 'ns' } });
    await w.clock.advance(1000);
    const { objects, degraded } = await w.cluster().managed({ app: 'shop', targets: [] }, w.signal);
    expect([...objects.keys()]).toEqual([configMap('a')]);
    expect(degraded.kinds.map((kind) => [kind.kind, kind.state])).toEqual([['ConfigMap', 'degraded']]);
    expect(await row(w, resourceKey('', 'Pod', 'ns', 'p'))).toMatchObject({ key: resourceKey('', 'Pod', 'ns', 'p') });
    expect(w.cluster().info().state).toBe('synced');
    await w.stop();
  });

  it('is followed by a relist, and the Applications of the kind are notified', async () => {
    const w = await world((server) => {
      for (const name of ['kept', 'gone', 'changed']) server.put(tracked(name));
    });
    w.server.faults.set('list configmaps', 500);
    w.server.faults.set('watch configmaps', 500);
    w.server.cutWatches(apiError(410));
    await w.clock.advance(60_000);
    w.server.remove('ConfigMap', 'gone');
    w.server.put(tracked('changed', 'shop', { data: { x: '1' } }));
    w.server.put(tracked('new'));
    w.changes.length = 0;
    w.server.faults.clear();
    await w.clock.advance(120_000);
    expect(await managedNames(w)).toEqual(['changed', 'kept', 'new']);
    expect(w.changes.map(({ key }) => key.split('/').pop()).sort()).toEqual(['changed', 'gone', 'kept', 'new']);
    expect((await w.cluster().managed({ app: 'shop', targets: [] }, w.signal)).degraded.kinds).toEqual([]);
    await w.stop();
  });

  // T-CACHE-3
  it('shows a forbidden kind as forbidden and goes on with the others', async () => {
    const w = await world((server) => {
      server.put(tracked('a'));
      server.faults.set('list pods', 403);
    });
    expect(w.cluster().info().state).toBe('synced');
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'ns' } };
    const { degraded } = await w.cluster().managed({ app: 'shop', targets: [pod] }, w.signal);
    expect(degraded.kinds.map(({ kind, state }) => `${kind} ${state}`)).toEqual(['Pod forbidden']);
    expect(await managedNames(w)).toEqual(['a']);
    await w.stop();
  });

  it.each([
    [
      'after a break',
      (w: LiveWorld) => w.server.cutWatches(new KubeConnectionError(url, 'refused', new Error('ECONNREFUSED'))),
    ],
    ['after a silence', (w: LiveWorld) => w.server.cutWatches()],
  ])('logs a restored server once, not once per kind (%s)', async (_name, cut) => {
    const lines: string[] = [];
    const destination = { write: (line: string) => void lines.push(line) };
    const logger = createLogger({ level: 'warn', format: 'json', destination });
    const w = await world((server) => void server.put(tracked('a')), { logger });
    await w.clock.advance(120_000);
    w.server.setBack();
    cut(w);
    await w.clock.advance(60_000);
    const said = lines.map((line) => JSON.parse(line) as { msg: string; server: string });
    expect(said).toMatchObject([{ msg: expect.stringMatching(/went back; reading everything again$/), server: url }]);
    // Every kind was relisted.
    for (const kind of ['configmaps', 'pods', 'deployments'])
      expect([kind, w.server.count(`list ${kind}`)]).toEqual([kind, 2]);
    await w.stop();
  });

  it('resumes watches that end or break, without a relist', async () => {
    const w = await world((server) => server.put(tracked('a')));
    const lists = w.server.count('list configmaps');
    await w.clock.advance(30_000);
    w.server.cutWatches();
    await w.clock.advance(30_000);
    w.server.cutWatches(new KubeConnectionError(url, 'reset', new Error('ECONNRESET')));
    await w.clock.advance(30_000);
    w.server.put(tracked('b'));
    await w.clock.advance(1000);
    expect(await managedNames(w)).toEqual(['a', 'b']);
    expect(w.server.count('list configmaps')).toBe(lists);
    await w.stop();
  });

  // T-CACHE-7
  it('takes an object of the same name with another uid for another object', async () => {
    const w = await world((server) => server.put(tracked('a')));
    w.server.faults.set('watch configmaps', 500);
    w.server.cutWatches(apiError(410));
    await w.clock.settle();
    w.server.remove('ConfigMap', 'a');
    const again = tracked('a');
    w.server.put({ ...again, metadata: { ...again.metadata, uid: 'second' } });
    w.server.faults.clear();
    await w.clock.advance(60_000);
    expect((await row(w, configMap('a')))?.uid).toBe('second');
    expect(w.changes.filter(({ key }) => key === configMap('a'))).toHaveLength(1);
    await w.stop();
  });

  // T-CACHE-4
  it('repairs events that a watch has silently lost', async () => {
    const w = await world(
      (server) => {
        server.put(tracked('a'));
        server.put(tracked('b'));
      },
      { tuning: { auditMs: 600_000 } },
    );
    w.server.silent.add('configmaps');
    w.server.remove('ConfigMap', 'a');
    w.server.put(tracked('b', 'shop', { data: { x: '1' } }));
    w.server.put(tracked('c'));
    await w.clock.advance(60_000);
    expect(await managedNames(w)).toEqual(['a', 'b']);
    await w.clock.advance(640_000);
    expect(await managedNames(w)).toEqual(['b', 'c']);
    expect(w.changes).toHaveLength(3);
    await w.stop();
  });
});
