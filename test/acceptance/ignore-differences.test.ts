import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { automated, deployment, synced } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

let world: World;
let repo: GitFixture;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
});
afterEach(() => world.close());

describe('RespectIgnoreDifferences', () => {
  it.each([[], ['ServerSideApply=true'], ['Replace=true']])(
    'a sync (%s) applies changes of Git and keeps ignored fields as they are live',
    async (...more: string[]) => {
      repo.commit({ 'app/web.yaml': deployment() });
      await world.replica();
      world.application('demo', {
        ...repo.source(),
        ignoreDifferences: [{ group: 'apps', kind: 'Deployment', jsonPointers: ['/spec/replicas'] }],
        syncPolicy: { ...automated.syncPolicy, syncOptions: ['RespectIgnoreDifferences=true', ...more] },
      });
      await world.until('demo', synced);
      const spec = (): { replicas?: number; paused?: boolean } =>
        world.live('apps', 'Deployment', 'web')?.['spec'] as object;
      world.tamper('apps', 'Deployment', 'web', { spec: { ...spec(), replicas: 4 } });
      const second = repo.commit({ 'app/web.yaml': `${deployment().trimEnd()}\n  minReadySeconds: 1\n` });
      world.refresh('demo');
      await world.until('demo', (app) => {
        expect(app.status?.sync?.revision).toBe(second);
        expect(app.status?.operationState?.phase).toBe('Succeeded');
        synced(app);
      });
      expect(spec()).toMatchObject({ replicas: 4, minReadySeconds: 1 });
    },
  );

  it('works with jq programs that need jq itself: their fields are ignored, and kept by a sync', async () => {
    repo.commit({ 'app/web.yaml': deployment() });
    await world.replica();
    world.application('demo', {
      ...repo.source(),
      ignoreDifferences: [{ group: 'apps', kind: 'Deployment', jqPathExpressions: ['limit(1; .spec.replicas)'] }],
      syncPolicy: { ...automated.syncPolicy, syncOptions: ['RespectIgnoreDifferences=true'] },
    });
    await world.until('demo', synced, 60_000);
    const spec = (): object => world.live('apps', 'Deployment', 'web')?.['spec'] as object;
    world.tamper('apps', 'Deployment', 'web', { spec: { ...spec(), replicas: 4 } });
    const second = repo.commit({ 'app/web.yaml': `${deployment().trimEnd()}\n  minReadySeconds: 1\n` });
    world.refresh('demo');
    const app = await world.until(
      'demo',
      (now) => {
        expect(now.status?.sync?.revision).toBe(second);
        synced(now);
      },
      60_000,
    );
    expect(app.status?.conditions ?? []).toEqual([]);
    expect(spec()).toMatchObject({ replicas: 4, minReadySeconds: 1 });
  });
});
