import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { eventually, widgetCrd } from '#support';
import { openCache } from './live.ts';
import type { CachedObject, CacheOptions, ClusterCache, ResourceRef } from './live.ts';
import { kubeConfigOf, startCluster } from './sim.ts';
import type { SimCluster } from './sim.ts';

const refOf = (kind: string, namespace = 'shop', group = ''): ResourceRef => ({ group, kind, namespace, name: 'a' });
const objectOf = (kind: string, name = 'a', metadata: KubeObject['metadata'] = {}): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: 'shop', ...metadata },
});

describe('what a cache does not know', () => {
  let sim: SimCluster;
  const caches: ClusterCache[] = [];
  beforeEach(async () => {
    sim = await startCluster({ workloads: { enabled: false, delayMs: 0 } });
    sim.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
    for (const kind of ['ConfigMap', 'Secret']) sim.store.create(objectOf(kind));
  });
  afterEach(async () => {
    for (const cache of caches.splice(0)) await cache.close();
    await sim.close();
  });

  async function open(options: CacheOptions = {}): Promise<ClusterCache> {
    const cache = await openCache({ kubeConfig: kubeConfigOf(sim), ...options });
    caches.push(cache);
    return cache;
  }

  it.each<[string, ResourceRef, CacheOptions, string]>([
    [
      'an excluded kind',
      refOf('Secret'),
      { exclude: [{ groups: [''], kinds: ['Secret'] }] },
      'excluded by the filters',
    ],
    ['a kind that is not included', refOf('Secret'), { include: [{ groups: ['apps'] }] }, 'excluded by the filters'],
    ['a kind that is not served', refOf('Widget', 'shop', 'example.com'), {}, 'does not serve example.com/Widget'],
    ['another namespace', refOf('Secret'), { namespaces: ['other'] }, 'outside of the namespaces'],
    ['a cluster-scoped kind', refOf('Namespace', ''), { namespaces: ['shop'] }, 'cluster-scoped'],
  ])('is neither gone nor awaited: %s', async (_what, ref, options, reason) => {
    const cache = await open(options);
    const message: unknown = expect.stringContaining(reason);
    for (const until of ['gone', 'healthy', (object: unknown) => object === undefined] as const)
      await expect(cache.waitFor(ref, until)).rejects.toMatchObject({ code: 'KIND_INCOMPLETE', message });
  });

  it('is neither gone nor awaited: a kind that may not be read', async () => {
    for (const verb of ['list', 'watch'] as const)
      sim.addFault({ verb, resource: 'secrets', fault: { kind: 'status', code: 403 } });
    const cache = await open();
    const refused = { code: 'KIND_INCOMPLETE', message: expect.stringContaining('secrets is forbidden') as unknown };
    await expect(cache.waitFor(refOf('Secret'), 'gone')).rejects.toMatchObject(refused);
    sim.store.delete('', 'ConfigMap', 'shop', 'a');
    expect(await cache.waitFor(refOf('ConfigMap'), 'gone')).toBeUndefined();
  });

  it('waits for a kind whose list fails, and says so at the deadline', async () => {
    const repair = sim.addFault({ verb: 'list', resource: 'secrets', fault: { kind: 'status', code: 500 } });
    const cache = await open();
    const ref = { ...refOf('Secret'), name: 'gone' };
    await expect(cache.waitFor(ref, 'gone', { deadlineMs: 20 })).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      message: expect.stringMatching(/waiting for \/Secret\/shop\/gone \(.+\)/) as unknown,
    });
    const gone = cache.waitFor(ref, 'gone');
    repair();
    cache.invalidate();
    expect(await gone).toBeUndefined();
  });

  it('waits for objects of a kind that is served by now', async () => {
    const cache = await open();
    sim.store.create(widgetCrd());
    await eventually(() => expect(cache.apiMetadata({ group: 'example.com', kind: 'Widget' })).toBeDefined());
    expect(await cache.waitFor(refOf('Widget', 'shop', 'example.com'), 'gone')).toBeUndefined();
  });

  it('hands what it knew of a deleted object to handlers', async () => {
    const owner = sim.store.create(objectOf('ConfigMap', 'owner'));
    const named = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.metadata.uid ?? '' };
    const child = (): KubeObject =>
      sim.store.create(objectOf('ConfigMap', 'child', { labels: { team: 'one' }, ownerReferences: [named] }));
    const { uid } = child().metadata;
    const cache = await open({ keep: ({ kind }) => kind });
    const seen: CachedObject[] = [];
    let created = 0;
    cache.subscribe({ created: () => (created += 1), deleted: (object) => seen.push(object) });
    await eventually(async () => expect(created).toBe((await cache.list()).objects.length));
    sim.store.delete('', 'ConfigMap', 'shop', 'child');
    const known = {
      uid,
      labels: { team: 'one' },
      kept: 'ConfigMap',
      owners: [{ ...refOf('ConfigMap'), name: 'owner' }],
    };
    await eventually(() => expect(seen).toMatchObject([{ name: 'child', ...known }]));
    const before = created;
    child();
    await eventually(() => expect(created).toBe(before + 1));
    sim.store.delete('', 'ConfigMap', 'shop', 'owner');
    await eventually(() => expect(seen.map(({ name }) => name).sort()).toEqual(['child', 'child', 'owner']));
    expect(seen.filter(({ name }) => name === 'child')[1]?.owners).toEqual(known.owners);
  });
});
