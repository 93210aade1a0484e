import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { config, hookJob, synced } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

let world: World;
let repo: GitFixture;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
});
afterEach(() => world.close());

const hook = (type: string, more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> => ({
  'argocd.argoproj.io/hook': type,
  ...more,
});

describe('hooks', () => {
  it('run before and after their sync, and are deleted as their delete policy says', async () => {
    repo.commit({
      'app/a.yaml': config('a'),
      'app/before.yaml': hookJob(
        'before',
        hook('PreSync', { 'argocd.argoproj.io/hook-delete-policy': 'HookSucceeded' }),
      ),
      'app/after.yaml': hookJob('after', hook('PostSync')),
    });
    await world.replica();
    world.application('demo', repo.source());
    await world.until('demo', (app) => expect(app.status?.sync?.status).toBe('OutOfSync'));
    world.sync('demo');
    const app = await world.until('demo', (now) => {
      expect(now.status?.operationState?.phase).toBe('Succeeded');
      synced(now);
    });
    const ran = app.status?.operationState?.syncResult?.resources?.map((r) => [r.name, r.syncPhase, r.hookPhase]);
    expect(ran).toEqual([
      ['before', 'PreSync', 'Succeeded'],
      ['a', 'Sync', 'Succeeded'],
      ['after', 'PostSync', 'Succeeded'],
    ]);
    expect([world.live('batch', 'Job', 'before'), world.live('batch', 'Job', 'after')?.metadata.name]).toEqual([
      undefined,
      'after',
    ]);
  });

  it('stop the sync if a PreSync hook fails: no object changes, and SyncFail hooks run', async () => {
    repo.commit({
      'app/a.yaml': config('a'),
      'app/before.yaml': hookJob('before', hook('PreSync'), true),
      'app/alarm.yaml': hookJob('alarm', hook('SyncFail')),
    });
    await world.replica();
    world.application('demo', repo.source());
    await world.until('demo', (app) => expect(app.status?.sync?.status).toBe('OutOfSync'));
    world.sync('demo');
    await world.until('demo', (app) => expect(app.status?.operationState?.phase).toBe('Failed'));
    expect(world.live('', 'ConfigMap', 'a')).toBeUndefined();
    expect(world.live('batch', 'Job', 'alarm')).toBeDefined();
  });

  it('with a generated name run under a new name in each operation', async () => {
    const manifest = `apiVersion: batch/v1
kind: Job
metadata: { generateName: migrate-, annotations: { argocd.argoproj.io/hook: PreSync } }
spec: { template: { spec: { restartPolicy: Never, containers: [{ name: main, image: "busybox:1" }] } } }
`;
    repo.commit({ 'app/a.yaml': config('a'), 'app/hook.yaml': manifest });
    await world.replica();
    world.application('demo', repo.source());
    await world.until('demo', (app) => expect(app.status?.sync?.status).toBe('OutOfSync'));
    world.sync('demo');
    const app = await world.until('demo', (now) => {
      expect(now.status?.operationState?.phase).toBe('Succeeded');
    });
    const results = app.status?.operationState?.syncResult?.resources?.map(({ name, hookPhase }) => [name, hookPhase]);
    expect(results).toEqual([
      [expect.stringMatching(/^migrate-[0-9a-f]{7}-presync-\d+$/), 'Succeeded'],
      ['a', 'Running'],
    ]);
    expect(app.status?.conditions ?? []).toEqual([]);
  });
});
