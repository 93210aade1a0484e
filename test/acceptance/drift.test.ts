import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '#support';
import { automated, config, deployment, synced } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

let world: World;
let repo: GitFixture;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
});
afterEach(() => world.close());

describe('drift', () => {
  it('with self-heal is reverted: deleted objects are recreated, edited ones restored', async () => {
    repo.commit({ 'app/web.yaml': deployment(), 'app/a.yaml': config('a') });
    await world.replica();
    world.application('demo', { ...repo.source(), ...automated });
    await world.until('demo', synced);

    world.cluster.store.delete('apps', 'Deployment', 'apps', 'web');
    await eventually(() => expect(world.live('apps', 'Deployment', 'web')).toBeDefined(), 2000);
    await world.until('demo', synced);
    world.tamper('', 'ConfigMap', 'a', { data: { key: 'tampered' } });
    await eventually(() => expect(world.live('', 'ConfigMap', 'a')).toMatchObject({ data: { key: '1' } }), 2000);
    await world.until('demo', synced);
  });

  it('without self-heal is reported at once and left alone', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    await world.replica();
    world.application('demo', { ...repo.source(), syncPolicy: { automated: {} } });
    await world.until('demo', synced);
    world.tamper('', 'ConfigMap', 'a', { data: { key: 'tampered' } });
    await world.until('demo', (app) => expect(app.status?.sync?.status).toBe('OutOfSync'));
    world.refresh('demo');
    const app = await world.until('demo', (now) => {
      expect(now.metadata.annotations?.['argocd.argoproj.io/refresh']).toBeUndefined();
    });
    expect(app.status?.sync?.status).toBe('OutOfSync');
    expect(world.live('', 'ConfigMap', 'a')).toMatchObject({ data: { key: 'tampered' } });
  });

  it('does not include fields and objects that others add and Git does not mention', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    await world.replica();
    world.application('demo', { ...repo.source(), ...automated });
    await world.until('demo', synced);
    world.tamper('', 'ConfigMap', 'a', { data: { key: '1', other: 'mine' } });
    world.cluster.store.create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'theirs', namespace: 'apps' },
    });
    world.refresh('demo');
    await world.until('demo', (now) => {
      expect(now.metadata.annotations?.['argocd.argoproj.io/refresh']).toBeUndefined();
      synced(now);
    });
    expect(world.live('', 'ConfigMap', 'a')).toMatchObject({ data: { key: '1', other: 'mine' } });
    expect(world.live('', 'ConfigMap', 'theirs')).toBeDefined();
  });
});
