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

describe('an Application that is deleted', () => {
  it('deletes its resources if it has the finalizer', async () => {
    repo.commit({ 'app/a.yaml': config('a'), 'app/web.yaml': deployment() });
    await world.replica();
    const finalizers = ['resources-finalizer.argocd.argoproj.io'];
    world.application('demo', { ...repo.source(), ...automated }, { finalizers });
    await world.until('demo', synced);
    world.hub.store.delete('argoproj.io', 'Application', 'argocd', 'demo');
    await eventually(() => expect(world.app('demo')).toBeUndefined());
    expect(world.live('', 'ConfigMap', 'a')).toBeUndefined();
    expect(world.live('apps', 'Deployment', 'web')).toBeUndefined();
  });

  it('keeps its resources without the finalizer, and always those with Delete=false', async () => {
    const keep = { 'argocd.argoproj.io/sync-options': 'Delete=false' };
    repo.commit({ 'app/a.yaml': config('a'), 'kept/b.yaml': config('b', '1', keep), 'kept/c.yaml': config('c') });
    await world.replica();
    world.application('bare', { ...repo.source(), ...automated });
    const finalizers = ['resources-finalizer.argocd.argoproj.io'];
    world.application('kept', { ...repo.source({ path: 'kept' }), ...automated }, { finalizers });
    await world.until('bare', synced);
    await world.until('kept', synced);
    for (const name of ['bare', 'kept']) world.hub.store.delete('argoproj.io', 'Application', 'argocd', name);
    await eventually(() => expect([world.app('bare'), world.app('kept')]).toEqual([undefined, undefined]));
    expect(['a', 'b', 'c'].map((name) => world.live('', 'ConfigMap', name) !== undefined)).toEqual([true, true, false]);
  });
});
