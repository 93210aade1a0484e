import { describe, expect, it } from '@jest/globals';
import { defaultSettings } from '#model';
import { silentLogger } from '#telemetry';
import type { Logger } from '#telemetry';
import { apiError } from '../testing/fake-server.ts';
import type { FakeServer } from '../testing/fake-server.ts';
import { clusterAt, configMap, row, stateOf, tracked, url, world } from '../testing/world.ts';
import type { LiveWorld } from '../testing/world.ts';

const namespaces = ['ns', 'two'];

/** A cluster of which two namespaces are watched, on a server that streams lists. */
function streaming(
  prepare: (server: FakeServer) => void = () => undefined,
  options: Parameters<typeof world>[1] = {},
): Promise<LiveWorld> {
  const served = (server: FakeServer): void => {
    server.serverVersion = 'v1.36.3';
    server.put(tracked('a'));
    prepare(server);
  };
  return world(served, { cluster: clusterAt(url, { namespaces }), ...options });
}

const requestsOf = ({ server }: LiveWorld, resource: string): string[] =>
  server.requests.filter((request) => request.includes(` ${resource}`));

describe('a cluster of which single namespaces are watched', () => {
  it('is filled and watched by one request for each kind and namespace', async () => {
    const w = await streaming();
    expect(w.cluster().info()).toMatchObject({ state: 'synced', resourcesCount: 1 });
    expect(requestsOf(w, 'configmaps')).toEqual(['stream configmaps', 'stream configmaps']);
    expect(w.server.watching()).toHaveLength(6);
    w.server.put(tracked('b'));
    w.server.remove('ConfigMap', 'a');
    await w.clock.advance(100);
    expect(await row(w, configMap('a'))).toBeUndefined();
    expect(await row(w, configMap('b'))).toBeDefined();
    expect(requestsOf(w, 'configmaps')).toHaveLength(2);
    await w.stop();
  });

  it('is not complete before every stream has sent its bookmark, and uses lists after ten seconds', async () => {
    const w = await streaming((server) => server.endlessStreams.add('configmaps'));
    await w.clock.advance(9_900);
    expect(w.cluster().info().state).toBe('connecting');
    expect(stateOf(w, 'ConfigMap')).toMatchObject({ state: 'listing' });
    await w.clock.advance(200);
    expect(w.cluster().info()).toMatchObject({ state: 'synced', resourcesCount: 1 });
    const used = ['stream configmaps', 'list configmaps', 'list configmaps whole', 'watch configmaps'];
    expect(requestsOf(w, 'configmaps').sort()).toEqual([...used, ...used].sort());
    await w.stop();
  });

  it.each([
    ['an old server', 'v1.33.5', namespaces],
    ['a server that is watched as a whole', 'v1.36.3', []],
  ])('lists %s as ever', async (_name, version, watched) => {
    const cluster = clusterAt(url, { namespaces: watched });
    const w = await streaming((server) => (server.serverVersion = version), { cluster });
    expect(w.cluster().info()).toMatchObject({ state: 'synced', resourcesCount: 1 });
    expect(w.server.requests.filter((request) => request.startsWith('stream'))).toEqual([]);
    await w.stop();
  });

  it('removes objects that a streamed list no longer has, and keeps them while the server fails', async () => {
    const w = await streaming();
    w.server.silent.add('configmaps');
    w.server.remove('ConfigMap', 'a');
    w.server.faults.set('stream configmaps', 500);
    w.server.faults.set('list configmaps', 500);
    w.server.cutWatches(apiError(410));
    await w.clock.advance(60_000);
    expect(await row(w, configMap('a'))).toBeDefined();
    expect(stateOf(w, 'ConfigMap')).toMatchObject({ state: 'degraded' });
    w.server.faults.clear();
    await w.clock.advance(90_000);
    expect(await row(w, configMap('a'))).toBeUndefined();
    expect(stateOf(w, 'ConfigMap')).toMatchObject({ state: 'synced' });
    await w.stop();
  });

  it('is read again in pages if a streamed list shows that the server was restored', async () => {
    const warnings: string[] = [];
    const logger: Logger = { ...silentLogger, child: () => logger, warn: (message) => void warnings.push(message) };
    const w = await streaming(undefined, { logger });
    w.server.save();
    w.server.put(tracked('a', 'shop', { data: { key: 'later' } }));
    w.server.put(tracked('b'));
    await w.clock.advance(100);
    w.server.silent.add('configmaps');
    w.server.restore();
    w.server.put(tracked('a', 'shop', { data: { key: 'restored' } }));
    w.server.cutWatches(apiError(410));
    await w.clock.advance(10_000);
    expect(warnings).toContain('The resource versions of the API server went back; reading everything again');
    expect(requestsOf(w, 'configmaps')).toContain('list configmaps whole');
    const { objects } = await w.cluster().managed({ app: 'shop', targets: [] }, w.signal);
    expect([...objects.values()].map((object) => [object.metadata.name, object['data']])).toEqual([
      ['a', { key: 'restored' }],
    ]);
    await w.stop();
  });

  it('never goes back to an earlier state while a server with a late cache streams a list', async () => {
    const w = await streaming((server) => {
      server.put(tracked('gone'));
      server.put(tracked('again'));
    });
    w.server.save();
    w.server.put(tracked('a', 'shop', { data: { key: 'later' } }));
    w.server.remove('ConfigMap', 'gone');
    w.server.remove('ConfigMap', 'again');
    w.server.put({ ...tracked('again'), metadata: { ...tracked('again').metadata, uid: 'second' } });
    await w.clock.advance(100);
    const contents = async (): Promise<unknown> => {
      const { objects } = await w.cluster().managed({ app: 'shop', targets: [] }, w.signal);
      return [...objects.values()].map(({ metadata, data }) => [metadata.name, metadata.uid, data]).sort();
    };
    const current = [
      ['a', 'uid-a', { key: 'later' }],
      ['again', 'second', undefined],
    ];
    expect(await contents()).toEqual(current);
    let catchUp: () => void = () => undefined;
    w.server.streamLag = new Promise((resolve) => (catchUp = resolve));
    const changed = w.changes.length;
    w.server.cutWatches(apiError(410));
    await w.clock.advance(5_000);
    expect(await contents()).toEqual(current);
    catchUp();
    await w.clock.advance(100);
    expect(await contents()).toEqual(current);
    expect(w.changes.slice(changed)).toEqual([]);
    expect(requestsOf(w, 'configmaps')).toEqual(Array.from({ length: 4 }, () => 'stream configmaps'));
    await w.stop();
  });

  it('takes back objects of a restored server whose versions have passed those of the cache', async () => {
    const w = await streaming((server) => void server.put(tracked('gone')));
    w.server.save();
    w.server.put(tracked('a', 'shop', { data: { key: 'later' } }));
    w.server.remove('ConfigMap', 'gone');
    await w.clock.advance(100);
    w.server.silent.add('configmaps');
    w.server.restore();
    for (let i = 0; i < 5; i += 1) w.server.put(tracked('other'));
    w.server.cutWatches(apiError(410));
    await w.clock.advance(1_000);
    const { objects } = await w.cluster().managed({ app: 'shop', targets: [] }, w.signal);
    expect([...objects.values()].map((object) => [object.metadata.name, object['data']]).sort()).toEqual([
      ['a', undefined],
      ['gone', undefined],
      ['other', undefined],
    ]);
    expect(requestsOf(w, 'configmaps').filter((request) => request.startsWith('list'))).toEqual([]);
    await w.stop();
  });

  it('leaves a kind out by resource.respectRBAC, as the list says', async () => {
    const refused = (server: FakeServer): void => {
      server.faults.set('stream pods', 403);
      server.faults.set('list pods', 403);
      server.reviews.set('pods', false);
    };
    const w = await streaming(refused, { settings: { ...defaultSettings, respectRBAC: 'strict' } });
    expect(stateOf(w, 'Pod')).toMatchObject({ state: 'left-out' });
    expect(w.server.count('review pods')).toBe(2);
    expect(w.cluster().info().state).toBe('synced');
    await w.stop();
  });
});
