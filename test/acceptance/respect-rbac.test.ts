import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '#support';
import { automated, config, synced } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

let world: World;
let repo: GitFixture;

const refused = { kind: 'status', code: 403, message: 'configmaps is forbidden: User "u" cannot' } as const;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
  world.hub.store.create({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'argocd-cm', namespace: 'argocd', labels: { 'app.kubernetes.io/part-of': 'argocd' } },
    data: { 'resource.respectRBAC': 'normal' },
  });
  world.cluster.addFault({ verb: 'list', resource: 'configmaps', fault: refused });
});
afterEach(() => world.close());

function resource(name: string): unknown {
  return world.app('demo')?.status?.resources?.find((one) => one.name === name);
}

describe('resource.respectRBAC: normal, with a kind that may not be listed', () => {
  it('objects are synced, healed, kept when Git drops them, and deleted with the Application', async () => {
    repo.commit({ 'app/a.yaml': config('a'), 'app/b.yaml': config('b') });
    const { facts } = await world.replica();
    world.application('demo', { ...repo.source(), ...automated });
    const app = await world.until('demo', synced);
    expect(app.status?.conditions ?? []).toEqual([]);
    const kinds = facts.watched().flatMap(({ info }) => info.kinds);
    expect(kinds.filter(({ message }) => message !== undefined)).toEqual([
      expect.objectContaining({
        kind: 'ConfigMap',
        state: 'left-out',
        message: expect.stringMatching(/^left out because of resource.respectRBAC: configmaps is forbidden/),
      }),
    ]);

    world.tamper('', 'ConfigMap', 'a', { data: { key: 'tampered' } });
    world.refresh('demo');
    await eventually(() => expect(world.live('', 'ConfigMap', 'a')).toMatchObject({ data: { key: '1' } }), 5000);

    const kept = world.live('', 'ConfigMap', 'b');
    expect(kept).toMatchObject({ data: { key: '1' } });
    repo.commit({ 'app/b.yaml': null });
    world.refresh('demo');
    const dropped = await world.until('demo', (now) => {
      expect(now.status?.sync?.status).toBe('OutOfSync');
      expect(now.status?.conditions?.map(({ type }) => type)).toContain('StaleResourceWarning');
      expect(now.operation ?? null).toBeNull();
    });
    expect(resource('b')).toMatchObject({ status: 'OutOfSync', requiresPruning: true });
    expect(dropped.status?.conditions?.find(({ type }) => type === 'StaleResourceWarning')?.message).toMatch(
      /^The live state of \/ConfigMap is not up to date, nothing of this kind is pruned: left out because of resource\.respectRBAC/,
    );
    // A second comparison has no cache with the object either.
    world.refresh('demo');
    await world.until('demo', (now) =>
      expect(now.metadata.annotations?.['argocd.argoproj.io/refresh']).toBeUndefined(),
    );
    expect(resource('b')).toMatchObject({ status: 'OutOfSync', requiresPruning: true });
    expect(world.live('', 'ConfigMap', 'b')).toEqual(kept);

    world.edit('demo', ({ metadata }) =>
      Object.assign(metadata, { finalizers: ['resources-finalizer.argocd.argoproj.io'] }),
    );
    world.hub.store.delete('argoproj.io', 'Application', 'argocd', 'demo');
    await eventually(() => expect(world.app('demo')).toBeUndefined(), 20_000);
    expect(['a', 'b'].map((name) => world.live('', 'ConfigMap', name))).toEqual([undefined, undefined]);
  });

  it('an object that may not be read either is Unknown with a condition, not Missing, and not recreated', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    await world.replica();
    world.application('demo', { ...repo.source(), ...automated });
    await world.until('demo', synced);
    world.cluster.addFault({ verb: 'get', resource: 'configmaps', name: 'a', fault: refused });
    const { resourceVersion } = world.live('', 'ConfigMap', 'a')?.metadata ?? {};
    world.refresh('demo');
    const app = await world.until('demo', (now) => expect(now.status?.sync?.status).toBe('Unknown'));
    expect(resource('a')).toMatchObject({ status: 'Unknown' });
    expect(app.status?.conditions?.map(({ type, message }) => `${type}: ${message}`)).toEqual([
      expect.stringMatching(/^ComparisonError: .*configmaps is forbidden: User "u" cannot/),
    ]);
    expect(world.live('', 'ConfigMap', 'a')?.metadata.resourceVersion).toBe(resourceVersion);
  });
});
