import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { seededRandom, systemClock } from '#base';
import { startSimCluster } from '#sim';
import type { SimRequest } from '#sim';
import { eventually } from '#support';
import { automated, config, synced } from './objects.ts';
import { appKey } from '#model';
import type { Application, KubeObject } from '#model';
import type { GitFixture, Replica } from './world.ts';
import { World } from './world.ts';

let world: World;
let repo: GitFixture;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
});
afterEach(() => world.close());

const demo = appKey('argocd', 'demo');

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
      const owns = ({ controller }: Replica): boolean => controller.report.owned().has(demo);
      world.application('demo', { ...repo.source(), ...automated });
      await world.until('demo', synced, 20_000);
      expect(both.map(owns).sort()).toEqual([false, true]);

      const owner = both.find(owns);
      const other = both.find((replica) => replica !== owner);
      await owner?.stop();
      world.tamper('', 'ConfigMap', 'a', { data: { key: 'tampered' } });
      await eventually(() => expect(world.live('', 'ConfigMap', 'a')).toMatchObject({ data: { key: '1' } }), 40_000);
      await world.until('demo', synced);
      expect(other?.controller.report.owned()).toEqual(new Set([demo]));
    },
    leases,
  );
});

describe('a replica that ends while one cluster resets its writes', () => {
  // T-SHARD-2
  it(
    'hands over its other clusters at once, and that one when no write can land any more',
    async () => {
      repo.commit({ 'app/a.yaml': config('a') });
      const healthy = await startSimCluster({ clock: systemClock, random: seededRandom(3), name: 'healthy' });
      try {
        healthy.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'apps' } });
        world.addCluster('healthy', healthy.url);
        const first = await world.replica();
        const destination = { server: healthy.url, namespace: 'apps' };
        world.application('flaky', { ...repo.source(), ...automated });
        world.application('healthy', { ...repo.source(), ...automated, destination });
        await world.until('flaky', synced, 40_000);
        await world.until('healthy', synced, 40_000);

        let resets = 0;
        const isWrite = ({ verb, resource }: SimRequest): boolean => verb === 'patch' && resource === 'configmaps';
        const stopCounting = world.cluster.onRequest((request) => {
          resets += Number(isWrite(request));
        });
        const heal = world.cluster.addFault({ verb: 'patch', resource: 'configmaps', fault: { kind: 'reset' } });
        world.tamper('', 'ConfigMap', 'a', { data: { key: 'tampered' } });
        await eventually(() => expect(resets).toBeGreaterThan(0), 40_000);
        await first.stop();
        stopCounting();
        heal();
        const drifted = structuredClone(healthy.store.get('', 'ConfigMap', 'apps', 'a'));
        healthy.store.update({ ...drifted, data: { key: 'tampered' } } as KubeObject);
        const { controller } = await world.replica();
        const owned = (): readonly string[] => [...controller.report.owned()];
        await eventually(() => expect(owned()).toEqual(['argocd/healthy']), 10_000);
        const repaired = { data: { key: '1' } };
        await eventually(() => expect(healthy.store.get('', 'ConfigMap', 'apps', 'a')).toMatchObject(repaired), 30_000);
        await eventually(() => expect(world.live('', 'ConfigMap', 'a')).toMatchObject(repaired), 30_000);
      } finally {
        await healthy.close();
      }
    },
    4 * leases,
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
