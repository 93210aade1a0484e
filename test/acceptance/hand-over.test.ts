import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '#support';
import { automated, config, synced } from './objects.ts';
import type { Application } from '#model';
import type { Replica } from './world.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

let world: World;
let repo: GitFixture;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
});
afterEach(() => world.close());

/** Long enough for the lease of a stopped replica to expire, which takes at least 16.5 s. */
const leases = 60_000;

describe('two replicas', () => {
  it(
    'share no Application, and when the owner stops the other one resumes its work',
    async () => {
      repo.commit({ 'app/a.yaml': config('a') });
      world.hub.store.create({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'test', namespace: 'argocd' },
        spec: {
          replicas: 2,
          selector: { matchLabels: { app: 'test' } },
          template: { metadata: { labels: { app: 'test' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
        },
      });
      const identity = { dynamic: true, replicas: 2 };
      const both = await Promise.all([
        world.replica({}, { ...identity, hostname: 'one' }),
        world.replica({}, { ...identity, hostname: 'two' }),
      ]);
      const owns = ({ controller }: Replica): boolean =>
        controller.snapshot().applications.some(({ key }) => key === 'argocd/demo');
      world.application('demo', { ...repo.source(), ...automated });
      await world.until('demo', synced, 20_000);
      expect(both.map(owns).sort()).toEqual([false, true]);

      const owner = both.find(owns);
      const other = both.find((replica) => replica !== owner);
      await owner?.stop();
      world.tamper('', 'ConfigMap', 'a', { data: { key: 'tampered' } });
      await eventually(() => expect(world.live('', 'ConfigMap', 'a')).toMatchObject({ data: { key: '1' } }), 40_000);
      await world.until('demo', synced);
      expect(other?.controller.snapshot().applications.map(({ key }) => key)).toEqual(['argocd/demo']);
    },
    leases,
  );
});

describe('an Application whose cluster had no owner', () => {
  // T-SHARD-3
  it('loses the UnownedClusterWarning when a replica takes it over', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    await world.replica();
    world.application('demo', { ...repo.source(), ...automated });
    await world.until('demo', synced);
    world.edit('demo', (object) => {
      const { status } = object as Application & Record<string, unknown>;
      const conditions = [{ type: 'UnownedClusterWarning', message: 'nobody looks after it' }];
      Object.assign(object, { status: { ...status, conditions } });
    });
    world.refresh('demo');
    await world.until('demo', (app) => {
      expect(app.metadata.annotations?.['argocd.argoproj.io/refresh']).toBeUndefined();
      expect(app.status?.conditions ?? []).toEqual([]);
    });
  });
});
