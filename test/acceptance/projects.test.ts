import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Application } from '#model';
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

/** Creates an AppProject beside `default`. */
function project(name: string, spec: object): void {
  world.hub.store.create({
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'AppProject',
    metadata: { name, namespace: 'argocd' },
    spec: { sourceRepos: ['*'], destinations: [{ server: '*', namespace: '*' }], ...spec },
  });
}

const refused = (message: string) => (app: Application) => {
  const texts = (app.status?.conditions ?? []).map((condition) => condition.message);
  const results = app.status?.operationState?.syncResult?.resources?.map((r) => r.message ?? '') ?? [];
  expect([...texts, ...results, app.status?.operationState?.message ?? ''].join('\n')).toContain(message);
};

describe('a project', () => {
  it.each<[string, object, string]>([
    ['a repository', { sourceRepos: ['https://elsewhere.example/*'] }, 'is not permitted in project'],
    [
      'a destination',
      { destinations: [{ server: '*', namespace: 'other' }] },
      'do not match any of the allowed destinations',
    ],
  ])('stops an Application with %s that it does not permit: nothing is written', async (_what, spec, message) => {
    repo.commit({ 'app/a.yaml': config('a') });
    await world.replica();
    project('tight', spec);
    world.application('demo', { ...repo.source(), ...automated, project: 'tight' });
    await world.until('demo', refused(message));
    expect(world.live('', 'ConfigMap', 'a')).toBeUndefined();
  });

  it('stops kinds that it does not permit, and the sync names them', async () => {
    repo.commit({ 'app/web.yaml': deployment(), 'app/a.yaml': config('a') });
    await world.replica();
    project('tight', { namespaceResourceBlacklist: [{ group: 'apps', kind: 'Deployment' }] });
    const policy = { syncPolicy: { automated: {}, retry: { limit: 0 } } };
    world.application('demo', { ...repo.source(), ...policy, project: 'tight' });
    await world.until('demo', refused('resource apps:Deployment is not permitted in project tight'));
    expect(world.live('apps', 'Deployment', 'web')).toBeUndefined();
  });

  it('can withdraw a permission at any time: the next sync is refused', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    await world.replica();
    project('team', {});
    world.application('demo', { ...repo.source(), ...automated, project: 'team' });
    await world.until('demo', synced);
    const before = world.hub.store.get('argoproj.io', 'AppProject', 'argocd', 'team');
    world.hub.store.update({ ...structuredClone(before), spec: { sourceRepos: [], destinations: [] } } as never);
    await world.until('demo', refused('do not match any of the allowed destinations'));
    world.tamper('', 'ConfigMap', 'a', { data: { key: 'tampered' } });
    world.refresh('demo');
    await world.until('demo', (app) => {
      expect(app.metadata.annotations?.['argocd.argoproj.io/refresh']).toBeUndefined();
    });
    expect(world.live('', 'ConfigMap', 'a')).toMatchObject({ data: { key: 'tampered' } });
  });

  it('delays automated syncs outside its sync windows, and a condition reports it', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    await world.replica();
    project('calm', {
      syncWindows: [{ kind: 'deny', schedule: '* * * * *', duration: '1h', applications: ['*'], manualSync: true }],
    });
    world.application('demo', { ...repo.source(), ...automated, project: 'calm' });
    await world.until('demo', (app) => expect(app.status?.sync?.status).toBe('OutOfSync'));
    world.refresh('demo');
    await world.until('demo', (app) => {
      expect(app.metadata.annotations?.['argocd.argoproj.io/refresh']).toBeUndefined();
    });
    expect(world.live('', 'ConfigMap', 'a')).toBeUndefined();
    world.sync('demo');
    await world.until('demo', synced);
  });
});
