import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
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

describe('sync waves', () => {
  it('start only when the previous wave is applied and healthy', async () => {
    repo.commit({
      'app/db.yaml': deployment('postgres:does-not-exist', { name: 'db', wave: 0 }),
      'app/web.yaml': deployment('nginx:1', { name: 'web', wave: 1 }),
      'app/last.yaml': config('last', '1', { 'argocd.argoproj.io/sync-wave': '2' }),
    });
    const created: string[] = [];
    world.cluster.store.subscribe(({ type, object }) => {
      const ofGit = object.kind === 'Deployment' || object.metadata.name === 'last';
      if (type === 'ADDED' && ofGit) created.push(object.metadata.name ?? '');
    });
    await world.replica();
    world.application('demo', { ...repo.source(), ...automated });
    await world.until('demo', (app) => {
      expect(app.status?.operationState).toMatchObject({
        phase: 'Running',
        message: 'waiting for healthy state of apps/Deployment/db',
      });
    });
    expect(world.live('apps', 'Deployment', 'web')).toBeUndefined();

    // The missing image is pushed: the first wave becomes healthy, and the others follow.
    const db = world.live('apps', 'Deployment', 'db');
    const spec = JSON.parse(JSON.stringify(db?.['spec']).replace('postgres:does-not-exist', 'postgres:1')) as object;
    world.tamper('apps', 'Deployment', 'db', { spec });
    await world.until('demo', (app) => expect(app.status?.operationState?.phase).toBe('Succeeded'));
    expect(world.live('', 'ConfigMap', 'last')).toBeDefined();
    expect(created).toEqual(['db', 'web', 'last']);
  });
});

describe('a sync', () => {
  it('opens no watch: those that are open show the health of what it has applied', async () => {
    repo.commit({ 'app/web.yaml': deployment(), 'app/a.yaml': config('a') });
    await world.replica();
    world.application('demo', { ...repo.source(), ...automated });
    await world.until('demo', synced);
    const [opened, written]: [string[], string[]] = [[], []];
    world.cluster.onRequest(({ verb, resource }) => {
      if (verb === 'watch') opened.push(resource);
      if (['create', 'patch'].includes(verb)) written.push(resource);
    });
    repo.commit({ 'app/db.yaml': deployment('postgres:1', { name: 'db' }), 'app/b.yaml': config('b') });
    world.refresh('demo');
    await world.until('demo', (app) => {
      synced(app);
      expect(app.status?.resources).toHaveLength(4);
    });
    expect(written).toEqual(expect.arrayContaining(['deployments', 'configmaps']));
    expect(opened).toEqual([]);
  });
});
