import { describe, expect, it } from '@jest/globals';
import { defaultSettings } from '#model';
import type { KubeObject, Settings } from '#model';
import { createLogger } from '#telemetry';
import { apiError } from '../testing/fake-server.ts';
import type { FakeServer } from '../testing/fake-server.ts';
import { clusterAt, managedNames, tracked, url, world } from '../testing/world.ts';
import type { LiveWorld } from '../testing/world.ts';

describe('resource.respectRBAC', () => {
  const respecting = (respectRBAC: Settings['respectRBAC']): Settings => ({
    ...defaultSettings,
    version: respectRBAC,
    respectRBAC,
  });
  const refused = (server: FakeServer): void => {
    server.put(tracked('a'));
    server.faults.set('list configmaps', 403);
  };
  const kindsOf = (w: LiveWorld): readonly string[] =>
    w
      .cluster()
      .info()
      .kinds.map(({ kind, state }) => `${kind} ${state}`)
      .sort();
  const nameOf = (name: string): KubeObject => ({ apiVersion: 'v1', ...tracked(name) });

  it('normal leaves out a kind whose list is forbidden, and reports it; off reports the kind as forbidden', async () => {
    const lines: string[] = [];
    const destination = { write: (line: string) => void lines.push(line) };
    const logger = createLogger({ level: 'info', format: 'json', destination });
    const w = await world(refused, { settings: respecting('normal'), logger });
    const { state, kinds, apisCount } = w.cluster().info();
    expect([state, apisCount, kindsOf(w)]).toEqual([
      'synced',
      2,
      ['ConfigMap left-out', 'Deployment synced', 'Pod synced'],
    ]);
    const [said] = kinds.filter(({ kind }) => kind === 'ConfigMap');
    expect(said?.message).toBe('left out because of resource.respectRBAC: the server says 403');
    expect(lines.filter((line) => line.includes('left out of the cache'))).toHaveLength(1);
    expect(await w.metrics.expose()).toContain('driftless_cluster_kinds{server="https://a",state="left-out"} 1');
    expect(w.server.count('review configmaps')).toBe(0);
    w.live.setClusters([clusterAt(url)], respecting('off'));
    expect(kindsOf(w)).toContain('ConfigMap forbidden');
    await w.stop();
  });

  it('reads targets and last known objects of a left-out kind one by one', async () => {
    const w = await world(
      (server) => {
        refused(server);
        server.put(tracked('gone-from-git'));
        server.put(tracked('foreign', 'other'));
      },
      { settings: respecting('normal') },
    );
    const had = ['a', 'gone-from-git', 'foreign', 'deleted'].map(nameOf);
    const read = await w
      .cluster()
      .managed({ app: 'shop', targets: [nameOf('a'), nameOf('new')], lastKnown: had }, w.signal);
    expect([...read.objects.values()].map(({ metadata }) => metadata.name)).toEqual(['a', 'gone-from-git']);
    expect(read.unread).toEqual([]);
    expect(read.degraded.kinds).toMatchObject([{ kind: 'ConfigMap', state: 'left-out' }]);
    w.server.faults.set('get configmaps', 403);
    const unread = (await w.cluster().managed({ app: 'shop', targets: [nameOf('a')], lastKnown: had }, w.signal))
      .unread;
    expect(unread.map(({ name }) => name)).toEqual(['a', 'deleted', 'foreign', 'gone-from-git']);
    expect(unread[0]?.message).toContain('the server says 403');
    await w.stop();
  });

  it('does not read last known objects of a listed kind', async () => {
    const w = await world((server) => void server.put(tracked('a')), { settings: respecting('normal') });
    const read = await w
      .cluster()
      .managed({ app: 'shop', targets: [], lastKnown: [nameOf('a'), nameOf('gone')] }, w.signal);
    expect([...read.objects.values()].map(({ metadata }) => metadata.name)).toEqual(['a']);
    expect(w.server.count('get configmaps')).toBe(0);
    await w.stop();
  });

  it('does not cache our own writes of a left-out kind, whose deletion would be missed', async () => {
    const w = await world(refused, { settings: respecting('normal') });
    w.cluster().observe(w.server.put(tracked('a')));
    w.server.remove('ConfigMap', 'a');
    expect((await w.cluster().managed({ app: 'shop', targets: [nameOf('a')] }, w.signal)).objects.size).toBe(0);
    await w.stop();
  });

  it.each([
    ['denied', false, 'left-out'],
    ['allowed', true, 'forbidden'],
  ])('strict asks the server first (%s)', async (_name, allowed, state) => {
    const w = await world(
      (server) => {
        refused(server);
        server.reviews.set('configmaps', allowed);
      },
      { settings: respecting('strict') },
    );
    expect(kindsOf(w)).toContain(`ConfigMap ${state}`);
    expect(w.server.count('review configmaps')).toBe(1);
    expect(w.server.count('review pods')).toBe(0);
    await w.stop();
  });

  it('strict leaves out nothing while the server cannot answer', async () => {
    const w = await world(
      (server) => {
        refused(server);
        server.reviews.set('configmaps', false);
        server.faults.set('review configmaps', 500);
      },
      { settings: respecting('strict') },
    );
    expect(kindsOf(w)).toContain('ConfigMap forbidden');
    w.server.faults.delete('review configmaps');
    await w.clock.advance(120_000);
    expect(kindsOf(w)).toContain('ConfigMap left-out');
    await w.stop();
  });

  it('keeps the rows of a kind whose list becomes forbidden', async () => {
    const w = await world((server) => void server.put(tracked('a')), { settings: respecting('normal') });
    w.server.faults.set('list configmaps', 403).set('watch configmaps', 403);
    w.server.cutWatches(apiError(410));
    await w.clock.advance(120_000);
    expect(kindsOf(w)).toContain('ConfigMap forbidden');
    expect(await managedNames(w)).toEqual(['a']);
    await w.stop();
  });

  it('lists a kind once it is permitted, and notifies its Applications', async () => {
    const w = await world(refused, { settings: respecting('normal') });
    w.server.faults.clear();
    await w.clock.advance(120_000);
    expect(kindsOf(w)).toContain('ConfigMap synced');
    expect(w.changes.map(({ apps }) => [...apps.keys()])).toEqual([['shop']]);
    await w.stop();
  });
});
