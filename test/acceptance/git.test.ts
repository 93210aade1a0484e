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

describe('an automated Application', () => {
  it('deploys what is in Git and follows new commits', async () => {
    const first = repo.commit({ 'app/web.yaml': deployment(), 'app/a.yaml': config('a'), 'app/b.yaml': config('b') });
    await world.replica();
    world.application('demo', { ...repo.source(), ...automated });
    const app = await world.until('demo', synced);
    expect(app.status).toMatchObject({
      sync: { revision: first, comparedTo: { source: { path: 'app' } } },
      sourceType: 'Directory',
      controllerNamespace: 'argocd',
      operationState: { phase: 'Succeeded', message: 'successfully synced (all tasks run)' },
    });
    expect(app.status?.resources?.map((r) => `${r.kind ?? ''}/${r.name ?? ''} ${r.status ?? ''}`)).toEqual([
      'ConfigMap/a Synced',
      'ConfigMap/b Synced',
      'Deployment/web Synced',
    ]);

    const second = repo.commit({ 'app/a.yaml': config('a', '2') });
    world.refresh('demo');
    const after = await world.until('demo', (now) => {
      expect(now.status?.sync?.revision).toBe(second);
      expect(now.metadata.annotations?.['argocd.argoproj.io/refresh']).toBeUndefined();
      synced(now);
    });
    expect(world.live('', 'ConfigMap', 'a')).toMatchObject({ data: { key: '2' } });
    expect(after.status?.history?.map((entry) => entry.revision)).toEqual([first, second]);
  });

  it('causes no writes when idle', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    const replica = await world.replica({ appResyncMs: 300, jitterMs: 0 });
    world.application('demo', { ...repo.source(), ...automated });
    await world.until('demo', synced);
    // Events and the last status write arrive a little later.
    await eventually(() =>
      expect(replica.controller.report.pools().every(({ progress }) => progress().running === 0)).toBe(true),
    );
    const version = world.app('demo')?.metadata.resourceVersion;
    const at = (): number => replica.controller.report.activity().passes[0]?.at ?? 0;
    const before = at();
    await eventually(() => expect(at()).toBeGreaterThan(before + 600));
    expect(world.app('demo')?.metadata.resourceVersion).toBe(version);
  });
});
