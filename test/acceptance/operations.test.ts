import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { config, synced } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

let world: World;
let repo: GitFixture;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
});
afterEach(() => world.close());

describe('an operation', () => {
  it('syncs an Application without automated sync, and records who started it', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    await world.replica();
    world.application('manual', repo.source());
    await world.until('manual', (app) => {
      expect([app.status?.sync?.status, app.status?.health?.status]).toEqual(['OutOfSync', 'Missing']);
    });
    world.sync('manual');
    const app = await world.until('manual', synced);
    expect(app.status?.operationState).toMatchObject({
      phase: 'Succeeded',
      operation: { initiatedBy: { username: 'me' } },
    });
  });

  it('that was requested while no replica ran starts with the next replica', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    const replica = await world.replica();
    world.application('manual', repo.source());
    await world.until('manual', (app) => expect(app.status?.sync?.status).toBe('OutOfSync'));
    await replica.stop();
    world.sync('manual');
    await world.replica();
    await world.until('manual', synced);
  });

  it('can roll back to an earlier revision, and changes only the resources that it names', async () => {
    const first = repo.commit({ 'app/a.yaml': config('a'), 'app/b.yaml': config('b') });
    await world.replica();
    world.application('manual', repo.source());
    await world.until('manual', (app) => expect(app.status?.sync?.status).toBe('OutOfSync'));
    world.sync('manual');
    await world.until('manual', synced);
    const second = repo.commit({ 'app/a.yaml': config('a', '2'), 'app/b.yaml': config('b', '2') });
    world.refresh('manual');
    await world.until('manual', (app) => expect(app.status?.sync?.revision).toBe(second));
    world.sync('manual', { resources: [{ kind: 'ConfigMap', name: 'a' }] });
    await world.until('manual', (app) => {
      expect(world.live('', 'ConfigMap', 'a')).toMatchObject({ data: { key: '2' } });
      expect(app.operation ?? null).toBeNull();
    });
    expect(world.live('', 'ConfigMap', 'b')).toMatchObject({ data: { key: '1' } });
    world.sync('manual', { revision: first });
    await world.until('manual', (app) => {
      expect(app.status?.operationState?.syncResult?.revision).toBe(first);
      expect(app.status?.operationState?.phase).toBe('Succeeded');
    });
    expect(world.live('', 'ConfigMap', 'a')).toMatchObject({ data: { key: '1' } });
  });
});
