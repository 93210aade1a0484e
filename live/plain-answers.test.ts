import { describe, expect, it } from '@jest/globals';
import { defaultSettings, resourceKey } from '#model';
import type { ResourceKey } from '#model';
import { apiError } from './testing/fake-server.ts';
import { clusterAt, configMap, tracked, url, world } from './testing/world.ts';
import type { LiveWorld } from './testing/world.ts';

describe('answers', () => {
  const settled = async (): Promise<LiveWorld> => {
    const w = await world((server) => {
      const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid: 'uid-a' };
      server.put(tracked('a'));
      server.put({ kind: 'Pod', metadata: { name: 'p', namespace: 'ns', ownerReferences: [owner] } });
      server.put({ kind: 'Pod', metadata: { name: 'alone', namespace: 'ns' } });
      server.faults.set('list deployments', 403);
    });
    return w;
  };
  const pod = resourceKey('', 'Pod', 'ns', 'p');

  it('can be cloned to another thread', async () => {
    const w = await settled();
    w.server.put(tracked('a', 'shop', { data: { x: '1' } }));
    await w.clock.advance(100);
    const cluster = w.cluster();
    const answers = {
      info: cluster.info(),
      discovery: cluster.discovery(),
      managed: await cluster.managed(
        {
          app: 'shop',
          targets: [
            { apiVersion: 'v1', ...tracked('b') },
            { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd', namespace: 'ns' } },
          ],
        },
        w.signal,
      ),
      rows: await cluster.rows([configMap('a'), pod, configMap('missing')], w.signal),
      tree: await cluster.tree({ roots: [configMap('a')], excluded: [] }, w.signal),
      topLevel: await cluster.list({ namespaces: ['ns'], topLevelOnly: true }, w.signal),
      changes: w.changes,
    };
    expect(structuredClone(answers)).toStrictEqual(answers);
    expect(answers.managed.degraded.kinds).toMatchObject([{ kind: 'Deployment', state: 'forbidden' }]);
    const owned = [...answers.rows.values()].map(({ name, owners }) => [name, owners.map(({ key }) => key)]);
    expect(owned).toEqual([
      ['a', []],
      ['p', [configMap('a')]],
    ]);
    expect(answers.tree.map(({ name, parents }) => [name, parents])).toEqual([
      ['a', []],
      ['p', [configMap('a')]],
    ]);
    expect(answers.topLevel.map(({ name }) => name).sort()).toEqual(['a', 'alone']);
    expect(answers.changes).toHaveLength(1);
    await w.stop();
  });

  it('do not change when the cluster does', async () => {
    const w = await settled();
    const ask = async (): Promise<object> => ({
      rows: await w.cluster().rows([configMap('a'), pod], w.signal),
      tree: await w.cluster().tree({ roots: [configMap('a')], excluded: [] }, w.signal),
      managed: await w.cluster().managed({ app: 'shop', targets: [] }, w.signal),
    });
    const before = await ask();
    const then = structuredClone(before);
    w.server.put(tracked('a', 'shop', { data: { x: '2' } }));
    w.server.remove('Pod', 'p');
    await w.clock.advance(100);
    expect(before).toStrictEqual(then);
    expect(await ask()).not.toEqual(then);
    await w.stop();
  });

  it('leave out excluded objects of a tree, and descendants without another parent', async () => {
    const w = await world((server) => {
      const ref = (name: string) => ({ apiVersion: 'v1', kind: 'Pod', name, uid: `uid-${name}` });
      const child = (name: string, ...owners: readonly string[]): void =>
        void server.put({ kind: 'Pod', metadata: { name, namespace: 'ns', ownerReferences: owners.map(ref) } });
      child('top');
      child('left', 'top');
      child('right', 'top');
      child('both', 'left', 'right');
      child('only', 'left');
    });
    const of = (name: string): ResourceKey => resourceKey('', 'Pod', 'ns', name);
    const names = async (...excluded: readonly string[]): Promise<readonly string[]> =>
      (await w.cluster().tree({ roots: [of('top')], excluded: excluded.map(of) }, w.signal)).map(({ name }) => name);
    expect(await names()).toEqual(['top', 'left', 'right', 'both', 'only']);
    expect(await names('left')).toEqual(['top', 'right', 'both']);
    expect(await names('left', 'right')).toEqual(['top']);
    expect(await names('top')).toEqual([]);
    await w.stop();
  });

  it('have another discovery version if and only if the served APIs change', async () => {
    const w = await world(undefined, { tuning: { discoveryMs: 10_000 } });
    const before = w.cluster().discovery();
    await w.clock.advance(60_000);
    expect(w.server.count('discover')).toBeGreaterThan(3);
    expect(w.cluster().discovery()).toBe(before);
    w.server.serve('example.com', 'v1', 'Widget');
    await w.clock.advance(60_000);
    const after = w.cluster().discovery();
    expect(after.version).toBeGreaterThan(before.version);
    w.server.failedGroups.set('apps', 'down');
    await w.clock.advance(60_000);
    expect(w.cluster().discovery().version).toBeGreaterThan(after.version);
    await w.stop();
  });

  it('have another version of degraded kinds if and only if these change, also in a new cache', async () => {
    const w = await world((server) => void server.put(tracked('a')));
    const degraded = async () => (await w.cluster().managed({ app: 'shop', targets: [] }, w.signal)).degraded;
    const fresh = await degraded();
    w.server.put(tracked('b'));
    await w.clock.advance(1000);
    expect(await degraded()).toEqual({ version: fresh.version, kinds: [] });
    w.server.faults.set('list configmaps', 500).set('watch configmaps', 500);
    w.server.cutWatches(apiError(410));
    await w.clock.advance(120_000);
    const broken = await degraded();
    expect([broken.version > fresh.version, broken.kinds.map(({ kind }) => kind)]).toEqual([true, ['ConfigMap']]);
    w.server.faults.set('list configmaps', 403);
    await w.clock.advance(120_000);
    const forbidden = await degraded();
    expect([forbidden.version > broken.version, forbidden.kinds[0]?.state]).toEqual([true, 'forbidden']);
    w.server.faults.clear();
    const moved = clusterAt(url);
    w.live.setClusters([{ ...moved, connection: { ...moved.connection, caData: 'x' } }], defaultSettings);
    await w.clock.advance(1000);
    const again = await degraded();
    expect([again.version > forbidden.version, again.kinds]).toEqual([true, []]);
    await w.stop();
  });
});
